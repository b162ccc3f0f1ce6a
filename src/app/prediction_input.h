// The inputs of a prediction on the command line: the basis, the experiment, and the same experiment
// with changes, for searches.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "app/command_line/arguments.h"
#include "predict/basis.h"

namespace pipesim::app {

/// The profile, the --from report and this machine. Throws base::ConfigError,
/// base::EnvironmentError.
predict::Basis BasisOf(const Arguments& arguments);

/// The same for a search, which makes dozens of predictions within about two seconds.
predict::Basis ForSearch(predict::Basis basis);

/// The request of the command line, on top of the settings of the --from report.
spec::Request PredictionRequest(const Arguments& arguments, const predict::Basis& basis);

/// Experiment keys and values.
using Changes = std::vector<std::pair<std::string, std::string>>;

/// Reads the experiment of a request, and again with changes. Every file is opened once, a folder of
/// samples counted once.
class ExperimentReader {
 public:
  /// Prints warnings. Throws as spec::ReadExperiment does.
  explicit ExperimentReader(spec::Request request);
  /// With folders that others read from, too.
  ExperimentReader(spec::Request request, spec::DataFolders folders);

  const spec::Experiment& asked() const { return asked_; }
  spec::Experiment With(const Changes& changes) const;
  /// The same for changes that know where the user wrote them.
  spec::Experiment WithOverrides(const std::vector<spec::Override>& changes) const;
  /// Gives an experiment of the same folder of samples what was counted there.
  void SetCounted(spec::Experiment& experiment) const;

 private:
  spec::Request request_;
  spec::DataFolders folders_;
  spec::Experiment asked_;
  bool counted_ = false;
};

}  // namespace pipesim::app
