// The catalogue of known pains: configs/scenarios/*.yaml. Each is an experiment whose first comment
// says what users complain about and which verdict its construction guarantees. Reads the comments
// only; spec reads the experiment.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "spec/read.h"

namespace pipesim::app {

struct Scenario {
  std::string name;  ///< of the file, without .yaml
  std::filesystem::path file;
  std::string pain;     ///< one line
  std::string met_as;   ///< how users notice it
  std::string verdict;  ///< a name of diagnose::kVerdicts
  bool can_predict = true, can_run = true;
  int busy_programs = 0;   ///< other programs that a run needs beside it
  std::string text;        ///< why the verdict is certain, and what helps
  std::string experiment;  ///< the file without the comment
};

/// Reads a scenario from the text of `file`. The first lines are comments, `# field: value`, then
/// an empty comment, then the explanation:
///   pain, met as, verdict; shown by (predict, run or both); beside (optional: "1 busy program").
/// Throws std::runtime_error that names the file and what is missing or unknown.
Scenario ReadScenario(const std::filesystem::path& file, std::string_view text);

/// All scenarios of the data folders, by name.
std::vector<Scenario> ReadScenarios(const spec::DataFolders& folders);

}  // namespace pipesim::app
