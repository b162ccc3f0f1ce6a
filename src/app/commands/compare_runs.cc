#include "app/commands/compare_runs.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>

#include "app/delivery.h"
#include "app/process/supervisor.h"
#include "base/standard_streams.h"
#include "base/text.h"
#include "report/view.h"

namespace pipesim::app {
namespace {

/// The flags that describe an experiment, without the number of repeats, which counts rounds here.
Arguments FlagsOfRun(const Arguments& arguments) {
  Arguments run = arguments;
  run.command = FindCommand("run");
  run.positional.clear();
  std::erase_if(run.options, [](const Argument& argument) {
    return argument.option->set != kExperimentFlags && argument.option->set != kMachineFlags;
  });
  std::erase_if(run.options,
                [](const Argument& argument) { return argument.option->path == "run.repeats"; });
  return run;
}

Arguments RunOfFile(const Arguments& arguments, const std::string& file) {
  Arguments run = FlagsOfRun(arguments);
  run.positional = {file};
  return run;
}

/// Probes are left out: the other side is what is tried here.
std::vector<std::string> WordsOf(const Arguments& run,
                                 const std::vector<std::pair<std::string, std::string>>& settings) {
  std::vector<std::string> words = WithChanges(run, {});
  words.front() = "run";  // in place of the program's name
  // Flags win over the settings of a report, so these come first.
  std::vector<std::string> before;
  for (const auto& [key, value] : settings)
    before.insert(before.end(), {"--set", key + "=" + value});
  words.insert(words.begin() + 1, before.begin(), before.end());
  words.insert(words.end(),
               {"--set", "run.probes=off", "--set", "run.repeats=1", "--quiet", "--no-save"});
  return words;
}

double RateOfDocument(const report::Document& document) {
  return report::View(&document, true).At("result.samples_per_s").NumberOr(0);
}

std::uint64_t SeedOf(const report::Document& document) {
  const std::string text = report::Setting(report::View(&document, true), "run.seed");
  std::uint64_t seed = 1;
  std::from_chars(text.data(), text.data() + text.size(), seed);
  return seed;
}

std::string FailureOf(const Outcome& outcome) {
  const report::View view(&outcome.document, true);
  const std::string failure = view.At("result.failure").Text();
  if (!failure.empty()) return failure;
  return outcome.notes.empty() ? "it ended without a report" : outcome.notes.front();
}

std::vector<std::string> WordsOfRepeat(const Contestant& contestant,
                                       const std::vector<report::Document>& before) {
  std::vector<std::string> words = contestant.words;
  if (!before.empty())
    words.insert(words.end(),
                 {"--set", fmt::format("run.seed={}", SeedOf(before.front()) + before.size())});
  return words;
}

}  // namespace

spec::Experiment ExperimentOfFile(const Arguments& arguments, const std::string& file) {
  spec::Request request = RequestOf(RunOfFile(arguments, file));
  request.for_run = true;
  request.files_here = true;
  return ReadAsked(request);
}

Contestant ContestantOfFile(const Arguments& arguments, const std::string& name,
                            const std::string& file) {
  ExperimentOfFile(arguments, file);
  return {name, WordsOf(RunOfFile(arguments, file), {})};
}

Contestant ContestantOfSettings(const Arguments& arguments, const std::string& name,
                                const std::vector<std::pair<std::string, std::string>>& settings) {
  return {name, WordsOf(FlagsOfRun(arguments), settings)};
}

std::size_t RunsInTurn::FewestDone() const {
  std::size_t fewest = of_each.empty() ? 0 : of_each.front().size();
  for (const auto& runs : of_each) fewest = std::min(fewest, runs.size());
  return fewest;
}

void RunInTurn(const std::vector<Contestant>& contestants, std::size_t rounds,
               const base::StopFlag& stop, bool show, RunsInTurn& runs) {
  const std::size_t sides = contestants.size();
  runs.of_each.resize(sides);
  for (std::size_t i = 0; i < rounds * sides; ++i) {
    const std::size_t who = (i + i / sides) % sides;
    const Contestant& one = contestants[who];
    if (show)
      base::PrintError(
          fmt::format("run {} of {}: {}\n", i + 1, rounds * sides, base::Printable(one.name)));
    Outcome outcome = RunBeside(WordsOfRepeat(one, runs.of_each[who]), &stop);
    const std::string status = report::View(&outcome.document, true).At("result.status").Text();
    if (stop.IsSet() || status == "interrupted") {
      runs.interrupted = true;
      return;
    }
    if (status != "ok") {
      runs.failures.push_back(fmt::format("{}, run {}: {}", one.name, runs.of_each[who].size() + 1,
                                          FailureOf(outcome)));
      return;
    }
    runs.of_each[who].push_back(std::move(outcome.document));
  }
}

report::Document Combined(const std::vector<report::Document>& runs) {
  std::vector<const report::Document*> slowest_first;
  for (const report::Document& run : runs) slowest_first.push_back(&run);
  std::stable_sort(slowest_first.begin(), slowest_first.end(),
                   [](const report::Document* one, const report::Document* other) {
                     return RateOfDocument(*one) < RateOfDocument(*other);
                   });
  report::Document median = *slowest_first[(slowest_first.size() - 1) / 2];
  median["repeats"] = report::Document::array();
  for (const report::Document* run : slowest_first) median["repeats"].push_back(run->at("result"));
  return median;
}

}  // namespace pipesim::app
