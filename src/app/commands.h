// One function a subcommand. Each returns the exit code and throws what main turns into a message.
#pragma once

#include "app/arguments.h"
#include "base/error.h"

namespace pipesim::app {

base::ExitCode Run(const Arguments& arguments);
base::ExitCode Predict(const Arguments& arguments);
base::ExitCode Calibrate(const Arguments& arguments);
base::ExitCode Validate(const Arguments& arguments);
base::ExitCode Report(const Arguments& arguments);
base::ExitCode Explain(const Arguments& arguments);

/// The whole program behind main: dispatches, and turns every exception into a message and a code.
base::ExitCode Main(const std::vector<std::string>& words);

}  // namespace pipesim::app
