// Finds that a run repeats itself, and skips the repetitions. Constant costs in integer nanoseconds
// bring the state of the pipeline back exactly, relative to the present time and step; from then on
// the run goes round in periods, and every period leaves the same records, later by its length.
//
// Periods are looked for at two scales: within an epoch, and from epoch to epoch. None is skipped
// over a timeout's event, or over a monitor's that asks whether the run may end, and the last period
// before the end of the epoch or of the run is simulated, so that nothing is decided in what is
// skipped. What a monitor only samples there is known from the noted period.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "engine/state_visitor.h"
#include "engine/virtual_time/virtual_run.h"

namespace pipesim::engine::virtual_time {

/// Looks whether a state is one of the last that it has seen. It looks at a bounded number of states
/// after 1, 2, 4, ... looks and leaves out the others, so that runs that never recur hardly pay for it.
/// States are known by a hash of 64 bits: whoever skips periods compares their states once more.
class StateSearch {
 public:
  /// What the run has done since a state of the same hash, the last one of several; nullopt: none was seen.
  std::optional<Moment> Look(const Moment& now, std::uint64_t hash);
  /// How many looks to leave out from here on; they count as done.
  std::int64_t Pause() const { return pause_; }

 private:
  struct Seen {
    std::uint64_t hash = 0;
    Moment at;
  };
  std::int64_t looks_ = 0, pause_ = 0;
  std::vector<Seen> seen_;  ///< the last, in a ring
  std::size_t oldest_ = 0;
};

class Recurrence {
 public:
  /// Does nothing unless run.skips_periods.
  explicit Recurrence(VirtualRun& run);

  /// Call after each event, when no thread is running.
  void AfterEvent() {
    if (!enabled_) return;
    if (noting_ != nullptr) NoteCounters();
    if (run_.builder.trace().steps >= look_at_ || run_.ranks.front().dispatcher.epoch() != epoch_)
      Look();
  }

 private:
  static constexpr std::int64_t kNever = INT64_MAX;

  struct CountersAt {
    base::Duration since;  ///< the period began
    ResourceCounters counters;
  };
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
    /// After each of its events, the latest last, without what stretches add; empty: not noted.
    std::vector<CountersAt> counters;
    std::vector<Stretch> stretches;  ///< that ran in it, in the order in which they began
    base::Duration longest{};        ///< of them
    ResourceCounters end_counters;
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
  void NoteCounters();
  void NoteStretchesThatRun(Cycle& cycle);
  void StopNoting();
  static void AddStretches(const Cycle& cycle, base::Duration since, ResourceCounters& counters);
  void Skip(const Cycle& cycle, std::int64_t times);
  /// What it would do within a skipped period is known.
  bool MonitorIsSkipped(const Cycle& cycle) const {
    return !cycle.counters.empty() || (run_.builder.only_rate() && !run_.is_asked);
  }
  void SampleSkipped(const Cycle& cycle, base::Instant begin, const ResourceCounters& at_begin);
  trace::ResourceSample SampleIn(const Cycle& cycle, base::Instant begin,
                                 const ResourceCounters& at_begin, base::Instant at) const;
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
  std::int64_t look_at_epoch_ = 0;      ///< for a period of epochs
  std::int64_t epoch_of_period_ = -1;  ///< the next one that begins a known period of epochs
  Cycle within_, epochs_;
  Cycle* noting_ = nullptr;  ///< whose counters are noted
};

}  // namespace pipesim::engine::virtual_time
