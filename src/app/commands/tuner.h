// What tuning asks of the program: a configuration run in a process of its own or predicted, and
// predictions from what was measured so far. Prints nothing.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "advise/tune.h"
#include "app/prediction_input.h"
#include "base/clock.h"
#include "report/report.h"

namespace pipesim::app {

class Tuner {
 public:
  /// All must outlive it. `real`: run; else predict only.
  Tuner(const Arguments& arguments, const ExperimentReader& reader, predict::Basis basis, bool real,
        const base::StopFlag& stop);

  /// Runs the experiment as it is; the later configurations differ from it.
  advise::RunOutcome RunBase();
  advise::RunOutcome Run(const advise::Configuration& configuration);
  /// Samples/s; nullopt: it does not fit. Rests on the fastest run so far.
  std::optional<double> Predict(const advise::Configuration& configuration);

  /// After RunBase: the configuration as it is, and what may be tried instead.
  const advise::Configuration& base() const { return base_; }
  advise::TuneSpace Space(bool batch) const;
  /// The experiment keys that differ from the experiment as it is.
  Changes ChangesOf(const advise::Configuration& configuration) const;

 private:
  advise::RunOutcome RunForReal(const Changes& changes, report::Document& document);
  advise::RunOutcome RunPredicted(const Changes& changes);
  void Refit(const report::Document& document, double samples_per_s);
  std::vector<advise::Hint> HintsOf(const report::Document& document) const;

  const Arguments& arguments_;
  const ExperimentReader& reader_;
  predict::Basis basis_, quick_;  ///< of a whole prediction, and of the many of a search
  const bool real_;
  const base::StopFlag& stop_;
  advise::Configuration base_;
  double fastest_ = 0;  ///< of the runs so far
  std::map<advise::Configuration, std::optional<double>> predicted_;
};

}  // namespace pipesim::app
