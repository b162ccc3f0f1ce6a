#include "spec/data_files.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/files.h"
#include "base/names.h"
#include "base/text.h"
#include "spec/yaml_tree.h"

namespace pipesim::spec {
namespace {

namespace fs = std::filesystem;

struct KindRule {
  std::string_view folder, word;
  Origin origin;
};

KindRule RuleOf(DataKind kind) {
  switch (kind) {
    case DataKind::kModel:
      return {"models", "model", Origin::kModel};
    case DataKind::kStorage:
      return {"configs/storage", "storage preset", Origin::kPreset};
    case DataKind::kMachine:
      return {"configs/machines", "machine profile", Origin::kPreset};
    case DataKind::kDevice:
      break;
  }
  return {"configs/devices", "device preset", Origin::kPreset};
}

bool IsPath(std::string_view text) {
  return text.find('/') != std::string_view::npos || text.ends_with(".yaml") ||
         text.ends_with(".yml") || text.ends_with(".json");
}

bool IsFile(const fs::path& path) {
  std::error_code error;
  return fs::is_regular_file(path, error);
}

Node Parse(const fs::path& path, Origin origin, std::vector<base::Problem>& problems) {
  std::error_code error;
  // Reading a device or a pipe might never end.
  if (fs::exists(path, error) && !fs::is_regular_file(path, error)) {
    throw base::EnvironmentError(path.string() + " is not a regular file");
  }
  if (fs::file_size(path, error) > kLargestFileBytes && !error) {
    base::Problem problem;
    problem.source = path.string();
    problem.what = "larger than 1 MiB, too large for an experiment file";
    problems.push_back(std::move(problem));
    return {};
  }
  return ParseYaml(base::ReadFile(path), path.string(), origin, problems);
}

}  // namespace

/// Thread-safe. What could not be read is tried again.
class ParsedFiles {
 public:
  struct File {
    Node tree;
    std::vector<base::Problem> problems;
  };
  std::shared_ptr<const File> Of(const fs::path& path, Origin origin) {
    const std::lock_guard lock(mutex_);
    std::shared_ptr<const File>& kept = files_[{path, origin}];
    if (!kept) {
      File file;
      file.tree = Parse(path, origin, file.problems);
      kept = std::make_shared<const File>(std::move(file));
    }
    return kept;
  }
  /// A model by its name or path, and the folder where that is looked for first.
  std::shared_ptr<const ModelFile> Model(const std::string& text, const fs::path& beside) {
    const std::lock_guard lock(mutex_);
    const auto kept = models_.find({beside, text});
    return kept == models_.end() ? nullptr : kept->second;
  }
  void Keep(const std::string& text, const fs::path& beside,
            std::shared_ptr<const ModelFile> model) {
    const std::lock_guard lock(mutex_);
    models_.emplace(std::pair(beside, text), std::move(model));
  }

 private:
  std::mutex mutex_;
  std::map<std::pair<fs::path, Origin>, std::shared_ptr<const File>> files_;
  std::map<std::pair<fs::path, std::string>, std::shared_ptr<const ModelFile>> models_;
};

DataFolders ReadingOnce(DataFolders folders) {
  folders.parsed = std::make_shared<ParsedFiles>();
  return folders;
}

Node ParseFile(const fs::path& path, Origin origin, const DataFolders& folders,
               std::vector<base::Problem>& problems) {
  if (!folders.parsed) return Parse(path, origin, problems);
  const auto file = folders.parsed->Of(path, origin);
  problems.insert(problems.end(), file->problems.begin(), file->problems.end());
  return file->tree;
}

std::optional<fs::path> DataFiles::Find(DataKind kind, const std::string& text) const {
  if (IsPath(text)) {
    for (const fs::path& candidate : {beside_ / text, fs::path(text)}) {
      if (IsFile(candidate)) return candidate;
    }
    return std::nullopt;
  }
  const auto named = [&](const std::string& name) -> std::optional<fs::path> {
    for (const fs::path& root : folders_.roots) {
      fs::path candidate = root / RuleOf(kind).folder / (name + ".yaml");
      if (IsFile(candidate)) return candidate;
    }
    return std::nullopt;
  };
  if (auto exact = named(text)) return exact;
  const std::vector<std::string> names = DataNames(folders_, kind);
  const auto at = base::FindName(text, names);
  return at ? named(names[*at]) : std::nullopt;
}

std::optional<DataFile> DataFiles::Load(Reading& reading, DataKind kind, const std::string& text,
                                        const Place& place) const {
  const KindRule rule = RuleOf(kind);
  const auto path = Find(kind, text);
  if (!path) {
    const std::vector<std::string> names = DataNames(folders_, kind);
    const std::string shown = base::Printable(text.substr(0, 200));
    std::string suggestion = base::Nearest(text, names).value_or(base::Join(names, ", "));
    if (IsPath(text)) suggestion = "a path from this file's folder or the working folder";
    reading.Problem(place, "there is no " + std::string(rule.word) + " '" + shown + "'",
                    std::move(suggestion));
    return std::nullopt;
  }
  std::vector<base::Problem> problems;
  DataFile file{ParseFile(*path, rule.origin, folders_, problems),
                IsPath(text) ? fs::absolute(*path).lexically_normal().string()
                             : path->stem().string()};
  const bool good = problems.empty();
  reading.Add(std::move(problems));
  if (good && !file.tree.IsMap()) {
    reading.Problem(place, path->string() + " is not a " + std::string(rule.word));
    return std::nullopt;
  }
  if (!good) return std::nullopt;
  return file;
}

std::shared_ptr<const ModelFile> DataFiles::KnownModel(const std::string& text) const {
  return folders_.parsed ? folders_.parsed->Model(text, beside_) : nullptr;
}

void DataFiles::Keep(const std::string& text, std::shared_ptr<const ModelFile> model) const {
  if (folders_.parsed) folders_.parsed->Keep(text, beside_, std::move(model));
}

fs::path DataFiles::Resolve(const std::string& text, Origin origin) const {
  const fs::path path(text);
  const bool from_file = origin == Origin::kFile && !beside_.empty();
  return fs::absolute(from_file ? beside_ / path : path).lexically_normal();
}

std::vector<std::string> DataNames(const DataFolders& folders, DataKind kind) {
  std::vector<std::string> names;
  for (const fs::path& root : folders.roots) {
    std::error_code error;
    for (fs::directory_iterator it(root / RuleOf(kind).folder, error), end; !error && it != end;
         it.increment(error)) {
      if (it->path().extension() == ".yaml") names.push_back(it->path().stem().string());
    }
  }
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

}  // namespace pipesim::spec
