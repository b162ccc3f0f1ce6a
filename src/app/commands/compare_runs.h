// Runs configurations in turn, so that a slow change of the machine meets all alike.
#pragma once

#include <string>
#include <vector>

#include "app/command_line/arguments.h"
#include "base/clock.h"
#include "report/report.h"

namespace pipesim::app {

/// One configuration to run.
struct Contestant {
  std::string name;                ///< for progress and failures: "B", "B, workers 2"
  std::vector<std::string> words;  ///< of the command line, `run` first
};

/// The experiment of a file, with the flags of `arguments` that describe one. Throws
/// base::ConfigError with every problem of it.
spec::Experiment ExperimentOfFile(const Arguments& arguments, const std::string& file);

/// Of an experiment file, with the flags of `arguments` that describe an experiment. Throws
/// base::ConfigError with every problem of it.
Contestant ContestantOfFile(const Arguments& arguments, const std::string& name,
                            const std::string& file);

/// Of settings that a report holds: keys and values.
Contestant ContestantOfSettings(const Arguments& arguments, const std::string& name,
                                const std::vector<std::pair<std::string, std::string>>& settings);

struct RunsInTurn {
  std::vector<std::vector<report::Document>> of_each;  ///< finished runs of each contestant
  std::vector<std::string> failures;
  bool interrupted = false;

  std::size_t FewestDone() const;
};

/// Adds `rounds` runs of each to `runs`, every run a process of its own. Each round begins with the
/// next contestant, so that none profits from its place; a contestant's run r uses its seed + r.
/// Ends early when a run fails or `stop` is set; a run cut short is dropped. `show`: says on stderr
/// what runs.
void RunInTurn(const std::vector<Contestant>& contestants, std::size_t rounds,
               const base::StopFlag& stop, bool show, RunsInTurn& runs);

/// The run of median rate with all of them as its repeats. `runs`: at least one.
report::Document Combined(const std::vector<report::Document>& runs);

}  // namespace pipesim::app
