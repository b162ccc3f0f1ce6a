// Measures what PyTorch's worker processes cost with the user's own Python: runs a script that comes
// with the program and reads its figures.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "spec/machine_profile.h"

namespace pipesim::app {

/// Runs tools/measure_loader.py of the program's data folder with `python`, a name on PATH or a
/// path, and fills in the figures that it measured. Takes about a minute; the script shows its
/// progress on stderr, unless `quiet`. Returns which Python it was. Throws base::EnvironmentError when there is no
/// such Python, it has no torch, or the script fails.
std::string MeasurePython(const std::string& python, bool quiet, spec::MachineFigures& figures);

/// The figures of the script's output. Throws base::EnvironmentError where it is not what the script
/// prints; `python` names it there.
std::string ReadPythonFigures(std::string_view output, const std::string& python,
                              spec::MachineFigures& figures);

}  // namespace pipesim::app
