// The diagnosis: which demand or setting limits training, what each change would gain, and what to
// do next. Every gain comes from a predictor that the caller passes in (bounds on measured demands,
// or the virtual engine).
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "diagnose/variant.h"
#include "diagnose/verdicts.h"
#include "diagnose/observed.h"
#include "measure/measurement.h"
#include "spec/experiment.h"
#include "spec/presets.h"

namespace pipesim::diagnose {

enum class Confidence { kHigh, kLow, kNone };
constexpr std::string_view ToText(Confidence confidence) {
  if (confidence == Confidence::kHigh) return "high";
  return confidence == Confidence::kLow ? "low" : "none";
}

struct Evidence {
  std::string text;   ///< a clause with its number in it
  std::string field;  ///< JSON path of the number: "resources.storage_utilization"
  double value = 0;
  std::optional<double> limit;
};

/// In the order of what they cost. kNothing: an upper bound, which nobody can buy.
enum class Takes { kFlag, kCode, kMemory, kDevice, kNothing };

/// What the change gained when the run tried it (design section 5, probes).
struct TriedGain {
  double samples_per_s = 0;
  double gain = 0;
  measure::Interval gain_interval;
  bool refutes = false;  ///< the prediction: it would have counted, and there was nothing
  bool stands = false;   ///< is promised instead of the prediction, which is known less well
};

struct WhatIf {
  std::string change;                                    ///< "workers 4 to 8"
  std::vector<std::pair<std::string, std::string>> set;  ///< paths and values; may be empty
  double samples_per_s = 0;
  double gain = 0;  ///< after / before − 1
  std::optional<measure::Interval> gain_interval;
  std::optional<Verdict> then;  ///< the verdict after it; nullopt: nothing known limits then
  Takes takes = Takes::kFlag;
  bool changes_training = false;
  std::optional<bool> feasible_here;  ///< nullopt: this run does not show it
  std::optional<Demand> eases;        ///< the demand that it lowers; nullopt: a setting, or several
  std::optional<Takes> pair_takes;    ///< of two changes at once: what the cheaper one takes
  Settings after;                     ///< the run's settings with the change
  std::function<Variant(const Variant&)> make;  ///< the change
  std::optional<TriedGain> tried;     ///< nullopt: the run did not try it
};

struct Missing {
  std::string signal, reason;
};

struct Recommendation {
  std::string text;  ///< what the command changes, or why there is nothing to do
  std::vector<std::pair<std::string, std::string>> set =
      {};                    ///< what to change; app makes argv of it
  std::string pytorch = {};  ///< "DataLoader(..., num_workers=6, prefetch_factor=2)"; may be empty
  std::optional<double> samples_per_s = {}, gain = {};
  bool tried = false;  ///< both were measured by a probe, else predicted
};

/// The workers and prefetch factor that reach Thresholds::enough_share of the best rate (less kDrawnNoise) with the
/// fewest finished batches in memory.
struct EnoughWorkers {
  int workers = 0;
  int prefetch_factor = 2;
  double share_of_best = 0;
  std::int64_t bytes_per_worker = 0;  ///< of finished batches that each keeps in memory
  bool more_may_gain = false;         ///< more would by bounds, and were not looked at (MostWorkers)
};

enum class Full { kYes, kNo, kUnsure, kUnknown };
struct LadderRow {
  std::string resource;  ///< "GPU", "CPU", "IO"
  std::optional<double> used, limit;
  std::string unit;  ///< "cores", "bytes/s", "fraction"
  Full full = Full::kUnknown;
  bool is_limit = false;
};

struct Diagnosis {
  Verdict bottleneck = Verdict::kInconclusive;
  Confidence confidence = Confidence::kNone;
  std::optional<Side> side;  ///< certain even when the verdict is not
  std::optional<Verdict> second;
  std::string headline;  ///< one clause for readers who do not know pipesim
  std::vector<Evidence> evidence;
  std::vector<std::string> ruled_out;
  /// When inconclusive: the verdicts still open, the leading one first.
  std::vector<Verdict> candidates;
  std::vector<Missing> missing;
  /// Largest gain first, without rows of infinite gain (nothing measured limits any more).
  std::vector<WhatIf> what_if;
  std::optional<Recommendation> recommendation;
  std::optional<EnoughWorkers> enough;
  std::optional<double> model_error;  ///< predicted / measured − 1 of the run as it was
  std::optional<ObservedCheck> observed;  ///< where the user said what the real system does
  std::vector<LadderRow> ladder;
  std::optional<double> probes_s;  ///< that trying took; nullopt: nothing was tried
};

/// Every threshold of the decision, in one place (design section 2).
struct Thresholds {
  double gain_that_counts = 0.05;
  double tried_in_vain = 0.02;  ///< a probe that gains less, and surely less than counts, refutes
  double pair_gain_for_balanced = 0.10;
  double tie = 0.05;
  double model_error = 0.10;
  /// Of a model that misses by more, up to this: a gain that outweighs it still decides, with low
  /// confidence.
  double model_error_outweighed = 0.25;
  /// Of a setting of a run whose pool lacks cores, what makes it certain: the gain that counts and twice the 11 % by
  /// which such runs differ, rounded up.
  double gain_beyond_pools = 0.30;
  double observed_apart = 0.10;  ///< of what the user sees: the description is another system's
  double rank_interval = 0.05;  ///< half-width of the throughput's interval that still ranks
  double side_share = 0.5;     ///< of the timeline: more than all the other sides together
  double enough_share = 0.99;  ///< of the best throughput that "enough workers" must reach
  /// The same where workers share the cores of a CPU that trains. Predictions are known within about 5 %
  /// there (docs/accuracy.md), and counts of workers differ by less.
  double enough_share_beside_training = 0.95;
};

/// What may be had instead of what the run had.
struct Offers {
  spec::Presets presets;
  std::optional<base::Bytes> free_memory;  ///< of this machine; nullopt: unknown, or another one
  std::optional<std::int64_t> samples = {};  ///< of the data set, where fewer stand for them
};

/// What a diagnosis comes to, without its reasons and remedies.
struct Judgement {
  Verdict bottleneck = Verdict::kInconclusive;
  Confidence confidence = Confidence::kNone;
  bool operator==(const Judgement&) const = default;
};

/// `pipeline`: what the run's parts cost, which `predict` runs again with changes.
/// `quick` answers the hundreds of predictions that do not decide the verdict (the limit after each
/// change, the interval of each gain); if empty, `predict` does.
Diagnosis Diagnose(const spec::Experiment& experiment, const measure::Measurement& measurement,
                   const cost::Pipeline& pipeline, const Predictor& predict,
                   const Thresholds& thresholds = {}, const Predictor& quick = {},
                   const Offers& offers = {});

/// The verdict of Diagnose with the same arguments, for about a third of its predictions.
Judgement Judge(const spec::Experiment& experiment, const measure::Measurement& measurement,
                const cost::Pipeline& pipeline, const Predictor& predict,
                const Thresholds& thresholds = {}, const Predictor& quick = {});

}  // namespace pipesim::diagnose
