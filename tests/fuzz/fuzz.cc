#include "fuzz.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <system_error>

#include "base/error.h"
#include "base/text.h"
#include "cost/memory_plan.h"
#include "cost/pipeline.h"
#include "spec/write.h"

namespace pipesim::fuzz {
namespace {

using Texts = std::vector<std::pair<std::string, std::string>>;

Texts TextsOf(const spec::Experiment& experiment) {
  Texts texts;
  for (const auto& [path, setting] : experiment.settings) texts.emplace_back(path, setting.text);
  return texts;
}

void RequireSameTexts(const spec::Experiment& one, const spec::Experiment& other,
                      const std::string& how) {
  const Texts a = TextsOf(one), b = TextsOf(other);
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i)
    Require(a[i] == b[i], how + " gives the same setting: " + a[i].first + ": " + a[i].second +
                              " became " + b[i].first + ": " + b[i].second);
  Require(a.size() == b.size(), how + " gives the same settings");
}

void RequireComplete(const base::ConfigError& error) {
  Require(!error.problems().empty(), "a ConfigError has problems");
  for (const base::Problem& problem : error.problems()) {
    Require(!problem.what.empty(), "a problem says what is wrong");
    Require(!problem.source.empty(), "a problem has a place: " + problem.what);
    Require(problem.line >= 0 && problem.width >= 1 && (problem.line == 0 || problem.column >= 1),
            "a problem's place is one: " + problem.what);
  }
  RequirePrintable(base::FormatProblems(error.problems()));
}

}  // namespace

void Require(bool kept, const std::string& promise) {
  if (kept) return;
  std::fprintf(stderr, "broken promise: %s\n", promise.c_str());
  std::abort();
}

void RequirePrintable(const std::string& text) {
  for (const std::string& line : base::Split(text, '\n'))
    Require(base::Printable(line) == line, "a text is printable: " + line);
}

bool Accepted(const std::function<void()>& read) {
  try {
    read();
    return true;
  } catch (const base::ConfigError& error) {
    RequireComplete(error);
  } catch (const base::UsageError& error) {
    Require(error.what()[0] != '\0', "a UsageError says why");
  } catch (const base::EnvironmentError& error) {
    Require(error.what()[0] != '\0', "an EnvironmentError says why");
  }
  return false;
}

spec::DataFolders Folders() {
  static const char* const named = std::getenv("PIPESIM_DATA_DIR");
  return {{named != nullptr ? named : PIPESIM_SOURCE_DIR}};
}

void CheckExperiment(const spec::Experiment& experiment) {
  std::vector<spec::Override> overrides;
  for (const auto& [path, setting] : experiment.settings)
    overrides.push_back({path, setting.text, "--set"});
  const auto read = [&](const std::string& file, const std::vector<spec::Override>& changes) {
    return spec::ReadExperimentText(file, "again.yaml", changes, Folders()).experiment;
  };
  try {
    RequireSameTexts(experiment, read("", overrides), "reading the settings as flags");
    // The rest of a written experiment is the defaults'.
    read(spec::WriteExperiment(experiment), {});
  } catch (const base::ConfigError& error) {
    Require(false, "settings read back: " + base::FormatProblems(error.problems()));
  }
  spec::BatchesPerEpoch(experiment);
  if (!experiment.device.Id().IsChosen()) return;
  // Commands read the folder, which says how many classes there are, before they ask for costs.
  const bool real_files = experiment.storage.kind == spec::StorageKind::kFiles;
  if (real_files && experiment.dataset.classes <= 0) return;
  cost::PlanMemory(experiment);
  cost::Stated(experiment);
}

bool StaysInside(const std::filesystem::path& path) {
  if (path.empty() || path.is_absolute() || path.string().find('\0') != std::string::npos)
    return false;
  for (const std::filesystem::path& part : path)
    if (part == "..") return false;
  return true;
}

MemoryFile::MemoryFile() : fd_(memfd_create("pipesim-fuzz", MFD_CLOEXEC)) {
  if (fd_ < 0) throw std::system_error(errno, std::generic_category(), "memfd_create");
}
MemoryFile::~MemoryFile() { close(fd_); }

void MemoryFile::Write(std::string_view content) const {
  const auto size = static_cast<off_t>(content.size());
  if (ftruncate(fd_, 0) != 0 || pwrite(fd_, content.data(), content.size(), 0) != size)
    throw std::system_error(errno, std::generic_category(), "memfd");
}

std::string MemoryFile::path() const { return "/proc/self/fd/" + std::to_string(fd_); }

TemporaryFolder::TemporaryFolder() {
  std::string name = (std::filesystem::temp_directory_path() / "pipesim-fuzz-XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("no temporary folder");
  path_ = name;
}
TemporaryFolder::~TemporaryFolder() {
  std::error_code error;
  std::filesystem::remove_all(path_, error);
}

}  // namespace pipesim::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  pipesim::fuzz::Try({reinterpret_cast<const char*>(data), size});
  return 0;
}
