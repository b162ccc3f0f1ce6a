// Finds that a run repeats itself, and skips the repetitions. Constant costs in integer nanoseconds
// bring the state of the pipeline back exactly, relative to the present time and step; from then on
// the run goes round in periods, and every period leaves the same records, later by its length.
//
// Periods are looked for at two scales: within an epoch, and from epoch to epoch. None is skipped
// over a monitor's or a timeout's event, and the last period before the end of the epoch or of the
// run is simulated, so that nothing is decided in what is skipped.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "engine/state_visitor.h"
#include "engine/virtual_time/virtual_run.h"

namespace pipesim::engine::virtual_time {

/// Looks whether a state is one that it has seen. The state that others are compared with is
/// replaced after 1, 2, 4, ... looks, so that it is past the start sooner or later (Brent, "An
/// improved Monte Carlo factorization algorithm", BIT 20, 1980), and compared with a bounded number
/// of states, so that runs that never recur hardly pay for it.
class StateSearch {
 public:
  /// What the run has done since an equal state; nullopt: none was seen.
  std::optional<Moment> Look(const Moment& now, const std::vector<std::int64_t>& state);
  /// How many looks may be left out from here on.
  std::int64_t Pause() const { return pause_; }

 private:
  std::int64_t looks_ = 0, pause_ = 0;
  Moment reference_at_;
  std::vector<std::int64_t> reference_;
};

class Recurrence {
 public:
  /// Does nothing unless run.skips_periods.
  explicit Recurrence(VirtualRun& run);

  /// Call after each event, when no thread is running.
  void AfterEvent() {
    if (!enabled_) return;
    if (run_.builder.trace().steps >= look_at_ || run_.ranks.front().dispatcher.epoch() != epoch_)
      Look();
  }

 private:
  static constexpr std::int64_t kNever = INT64_MAX;

  /// One scale's search, and what it has found.
  struct Cycle {
    enum class Phase { kSearching, kNoting, kKnown, kGivenUp };
    Phase phase = Phase::kSearching;
    StateSearch search;
    Moment begin;                      ///< of the period that is noted
    Moment length;                     ///< of a period
    std::vector<std::int64_t> state;   ///< at a period's begin
    std::vector<std::int64_t> totals;  ///< at the begin; once known, what a period adds
    trace::Period records;
  };

  void Look();
  void BeginEpoch();
  void LookWithinEpoch();
  void LookAtEpoch();
  void LookForAnother();
  StateVisitor StateNow();
  bool Search(Cycle& cycle);
  void BeginNoting(Cycle& cycle);
  bool EndNoting(Cycle& cycle);
  void Skip(const Cycle& cycle, std::int64_t times);
  std::int64_t TimesWithinEpoch() const;
  std::int64_t TimesOfEpochs() const;
  std::int64_t TimesBeforeWatchers(const Cycle& cycle) const;
  std::int64_t TimesBeforeLastStep(const Cycle& cycle) const;
  Moment Now() const;

  VirtualRun& run_;
  bool enabled_;
  std::int64_t stride_;      ///< steps between looks
  std::int64_t epoch_ = -1;  ///< of the last look
  std::int64_t look_at_ = kNever;
  bool aligned_ = false;  ///< at the begin of a known period within the epoch
  std::int64_t looks_in_epoch_ = 0;
  std::int64_t epoch_of_period_ = -1;  ///< the next one that begins a known period of epochs
  Cycle within_, epochs_;
};

}  // namespace pipesim::engine::virtual_time
