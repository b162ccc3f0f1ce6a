// What the user sees on the real system, against what the description of it gives. A description
// that gives another rate is to be mended before its what-ifs mean anything.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "measure/measurement.h"
#include "spec/experiment.h"

namespace pipesim::diagnose {

struct Diagnosis;

/// What `--observed` says; all absent: nothing.
struct Observed {
  std::optional<double> device_utilization = {}, samples_per_s = {};
  std::optional<double> cpu_utilization = {};  ///< of the cores that the run may use
  std::optional<double> step_s = {};           ///< from one step to the next

  bool IsEmpty() const;
};

struct ObservedQuantity {
  std::string_view name;  ///< "samples_per_s"
  double observed = 0;
  std::optional<double> described;  ///< nullopt: the run does not have it
  bool differs = false;
};

struct ObservedCheck {
  std::vector<ObservedQuantity> quantities;
  /// Sentences: which part of the description would have to be different. Empty when none differs.
  std::vector<std::string> mend;

  bool Differs() const;
};

/// Quantities differ when they are more than Thresholds::observed_apart of the observed one apart.
ObservedCheck CheckObserved(const Observed& observed, const spec::Experiment& experiment,
                            const measure::Measurement& measurement);

/// Adds the check to `diagnosis`, and lowers its confidence where the description differs. Does
/// nothing when nothing was observed.
void HeedObserved(const Observed& observed, const spec::Experiment& experiment,
                  const measure::Measurement& measurement, Diagnosis& diagnosis);

}  // namespace pipesim::diagnose
