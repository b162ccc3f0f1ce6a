// Tuning in few runs: run as it is, let predictions name the most promising settings, run those,
// correct the predictions by what was measured, and so on; then shrink to the smallest settings
// that are nearly as fast. The runs and predictions are functions; knows neither processes nor
// engines.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "spec/experiment.h"

namespace pipesim::advise {

/// The settings that tuning changes.
struct Configuration {
  int workers = 0;
  int prefetch_factor = 2;  ///< unused at 0 workers
  int compute_threads = 0;  ///< 0: a device of its own trains
  spec::Dispatch dispatch = spec::Dispatch::kRoundRobin;
  std::int64_t batch_size = 64;
  bool persistent_workers = false;

  auto operator<=>(const Configuration&) const = default;
  /// Samples of all batches that may be finished and not yet taken.
  std::int64_t SamplesHeld() const;
};

/// The values to choose from.
struct TuneSpace {
  int cores = 1;
  int fewest_workers = 0;
  int most_workers = 0;                   ///< that are worth a look; max(cores, 4 × now, 4) are, too
  int fewest_prefetch = 1;                ///< a smaller one is only taken where memory is short
  std::vector<int> compute_threads = {};  ///< ascending; empty: not varied
  bool shared_dispatch = true;            ///< do the workers allow it?
  bool persistent_workers = false;        ///< may workers be kept from one epoch to the next?
  bool batch = false;                     ///< may the batch size change?
};

enum class RunStatus { kOk, kOutOfMemory, kFailed, kInterrupted };

struct Hint {
  Configuration configuration;
  double samples_per_s = 0;
};

struct RunOutcome {
  RunStatus status = RunStatus::kOk;
  double samples_per_s = 0;     ///< with kOk
  std::string bottleneck = {};  ///< "io-bound"; empty: unknown
  std::string failure = {};     ///< why it did not end well
  /// What the run's own what-ifs predict for other configurations.
  std::vector<Hint> hints = {};
};

enum class Phase { kBase, kTry, kConfirm, kShrink };

struct TuneStep {
  Phase phase = Phase::kBase;
  Configuration configuration;
  std::optional<double> predicted;  ///< samples/s, before it ran
  RunOutcome outcome;
  std::string why;  ///< a few words
};

struct TuneRules {
  int most_runs = 8;          ///< the run as it is among them
  double enough_gain = 0.02;  ///< a smaller predicted gain is not tried
  double within = 0.02;       ///< of the best rate, for the smallest configuration
  bool confirm = true;        ///< run the fastest again: runs vary
};

struct TuneTools {
  std::function<RunOutcome(const Configuration&)> run;
  /// Samples/s; nullopt: it does not fit into memory. May change after each run.
  std::function<std::optional<double>(const Configuration&)> predict;
};

enum class TuneEnd { kNothingMoreToGain, kRunsUsedUp, kInterrupted, kNothingRan };

struct Tuned {
  std::vector<TuneStep> steps;
  std::optional<Configuration> best;     ///< the smallest within `within` of the fastest; nullopt:
                                         ///< nothing ran
  double samples_per_s = 0;              ///< its measured rate, the mean of its runs
  double fastest_samples_per_s = 0;      ///< of all configurations
  std::optional<double> remaining_gain;  ///< predicted for the best untried configuration
  TuneEnd end = TuneEnd::kNothingMoreToGain;
};

/// `first`: the outcome of the run as it is, which the caller made to learn the space.
Tuned Tune(const Configuration& base, const RunOutcome& first, const TuneSpace& space,
           const TuneTools& tools, const TuneRules& rules);

}  // namespace pipesim::advise
