#include "app/commands/scenarios.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <stdexcept>

#include "base/files.h"
#include "base/text.h"
#include "diagnose/verdicts.h"

namespace pipesim::app {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void RefuseScenario(const fs::path& file, std::string_view what) {
  throw std::runtime_error(fmt::format("{}: {}", file.string(), what));
}

/// A comment's text; the line must begin with '#'.
std::string_view CommentText(std::string_view line) { return base::Trim(line.substr(1)); }

void SetShownBy(Scenario& scenario, std::string_view value) {
  scenario.can_predict = value.find("predict") != std::string_view::npos;
  scenario.can_run = value.find("run") != std::string_view::npos;
  if (!scenario.can_predict && !scenario.can_run)
    RefuseScenario(scenario.file, "`shown by` names neither predict nor run");
}

void SetField(Scenario& scenario, std::string_view line) {
  const std::size_t colon = line.find(':');
  if (colon == std::string_view::npos)
    RefuseScenario(scenario.file, fmt::format("'{}' is no `field: value`", line));
  const std::string_view field = line.substr(0, colon);
  const std::string_view value = base::Trim(line.substr(colon + 1));
  if (field == "pain") {
    scenario.pain = value;
  } else if (field == "met as") {
    scenario.met_as = value;
  } else if (field == "verdict") {
    scenario.verdict = value;
  } else if (field == "shown by") {
    SetShownBy(scenario, value);
  } else if (field == "beside") {
    const char* end = value.data() + value.size();
    if (std::from_chars(value.data(), end, scenario.busy_programs).ec != std::errc())
      RefuseScenario(scenario.file, "`beside` takes a number of busy programs");
  } else {
    RefuseScenario(scenario.file, fmt::format("unknown field '{}'", field));
  }
}

void CheckScenario(const Scenario& scenario) {
  if (scenario.pain.empty()) RefuseScenario(scenario.file, "`pain` is missing");
  if (scenario.met_as.empty()) RefuseScenario(scenario.file, "`met as` is missing");
  if (diagnose::FindVerdict(scenario.verdict) == nullptr)
    RefuseScenario(scenario.file, fmt::format("'{}' is no verdict", scenario.verdict));
}

}  // namespace

Scenario ReadScenario(const fs::path& file, std::string_view text) {
  Scenario scenario;
  scenario.name = file.stem().string();
  scenario.file = file;
  const std::vector<std::string> lines = base::Split(text, '\n');
  std::size_t at = 0;
  const auto in_comment = [&] { return at < lines.size() && lines[at].starts_with("#"); };
  for (; in_comment() && !CommentText(lines[at]).empty(); ++at)
    SetField(scenario, CommentText(lines[at]));
  for (; in_comment(); ++at) {
    if (!scenario.text.empty()) scenario.text += " ";
    scenario.text += CommentText(lines[at]);
  }
  for (; at < lines.size(); ++at) {
    if (!lines[at].empty()) scenario.experiment += lines[at] + "\n";
  }
  CheckScenario(scenario);
  return scenario;
}

std::vector<Scenario> ReadScenarios(const spec::DataFolders& folders) {
  std::vector<Scenario> scenarios;
  for (const fs::path& root : folders.roots) {
    std::error_code error;
    for (fs::directory_iterator it(root / "configs/scenarios", error), end; !error && it != end;
         it.increment(error)) {
      const bool known = std::any_of(scenarios.begin(), scenarios.end(), [&](const Scenario& s) {
        return s.name == it->path().stem();
      });
      if (it->path().extension() == ".yaml" && !known)
        scenarios.push_back(ReadScenario(it->path(), base::ReadFile(it->path())));
    }
  }
  std::sort(scenarios.begin(), scenarios.end(),
            [](const Scenario& a, const Scenario& b) { return a.name < b.name; });
  return scenarios;
}

}  // namespace pipesim::app
