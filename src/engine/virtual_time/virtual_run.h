// The state that the virtual threads of all accelerators of one run share: the time, the pending
// events, the cores, the storage with its cache, and how a run ends.
#pragma once

#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "cost/sample_cache.h"
#include "cost/storage.h"
#include "engine/sampler.h"
#include "engine/virtual_time/actor.h"
#include "engine/virtual_time/barrier.h"
#include "engine/virtual_time/processors.h"
#include "engine/virtual_time/rank.h"
#include "engine/virtual_time/resource_counters.h"
#include "engine/virtual_time/time_tree.h"
#include "engine/virtual_time/virtual_executor.h"
#include "trace/builder.h"

namespace pipesim::engine::virtual_time {

/// A run ends in two stages, as with threads. End: every consumer finishes the step it is in and
/// takes no further batch, workers go on. `over`: the first consumer is done, and the run stops.
/// Limits of steps and epochs apply to the first accelerator; the others keep up their load until
/// it reaches them. A CPU trains on the threads that the step was measured on, or on fewer if the
/// experiment limits them.
int ThreadsOfStep(const spec::Experiment& experiment, const cost::Step& step);

struct VirtualRun {
  /// A run that would last longer ends there: nanoseconds count three centuries.
  static constexpr base::Duration kLatest = std::chrono::hours(24 * 365 * 100);

  /// Both outlive the run.
  VirtualRun(const spec::Experiment& of, const cost::Pipeline& costs, KeptDraws draws,
             const RunControl& control);

  /// Resumes `actor` when `wait` is over. False: it is already over and nothing was scheduled.
  bool Begin(const Actor& actor, const Wait& wait);
  /// Likewise, at `when`.
  bool Sleep(const Actor& actor, base::Instant when) {
    if (when <= now) return false;
    events.Push(when.time_since_epoch().count(), actor.id());
    return true;
  }
  /// Ends a thread's wait for another thread, after the wake-up latency if there is one.
  void Wake(Actor& actor);
  /// Resumes threads in the order of time until `over`.
  void Loop();
  /// The state of a run of one accelerator, without the watchers: they only look on until the run
  /// ends.
  void Visit(StateVisitor& visitor);
  int monitor() const { return threads_of_rank * static_cast<int>(ranks.size()); }
  /// The monitor, or a watcher of a timeout.
  bool Watches(int actor) const {
    return actor >= monitor() && actor <= monitor() + static_cast<int>(ranks.size());
  }

  /// The first call sets the reason.
  void End(trace::EndReason reason, std::string failure = {});
  bool ending() const { return ended.has_value(); }
  /// Samples need not be waited for.
  bool storage_is_free() const {
    return pipeline.storage.AloneSeconds(1, pipeline.samples.stored.in_units.Mean()) <= 0;
  }
  /// For the monitor: nothing is pending except the other watchers' events and a pool that spins.
  bool Stuck() const {
    return events.size() <= watchers && processors.idle() && (!transfers || transfers->idle());
  }

  /// Preparing, by each of `threads`; collating a batch, pinning `samples` prepared samples.
  Work PrepareWork(base::Duration cost, int threads) const;
  Work CollateWork(const Rank& rank, const MadeBatch& batch) const;
  /// The parts of a batch's way out of a worker process: the worker's main thread's, that of its other
  /// threads, the taker's.
  Work ShareWork(const Rank& rank, const MadeBatch& batch) const;
  Work SendWork(const Rank& rank, const MadeBatch& batch) const;
  /// Serving it included, for which the worker's main thread lacks the lock if it works now.
  Work ReceiveWork(Rank& rank, const MadeBatch& batch) const;
  /// True: its taker waits, before that, for the worker that made it: until it rests, but no longer than
  /// receive_wait for its interpreter's lock, and then for its answers.
  bool WaitForAnswers(Rank& rank, const MadeBatch& batch, const Actor& taker);
  /// Call when a worker takes its interpreter's lock, or gives it up.
  void SetHoldsLock(Rank& rank, int worker, bool holds);
  /// False: the trainer's other thread has its interpreter's lock; the taker is woken up with it.
  bool TakeInterpreter(Rank& rank, Actor& taker);
  /// Does nothing if `holder` does not hold it.
  void FreeInterpreter(Rank& rank, const Actor& holder);
  Work PinWork(std::int64_t samples) const;
  /// What was used so far. With cores_suffice a task is counted when it begins.
  ResourceCounters Counters() const;
  /// The same before the present stretches.
  ResourceCounters CountersBeforeStretches() const;
  /// With the counters at `at`.
  trace::ResourceSample SampleOf(const ResourceCounters& counters, base::Instant at) const;

  struct Ending {
    trace::EndReason reason = trace::EndReason::kEnough;
    std::string failure;
  };

  const spec::Experiment& experiment;
  const cost::Pipeline& pipeline;
  const std::int64_t samples_per_epoch, batches_per_epoch;  ///< of each accelerator
  const base::Bytes sample_bytes;   ///< prepared
  const int threads_of_rank;        ///< that may work: consumer, workers, pin thread
  const bool pins;                  ///< batches are copied into page-locked memory
  /// Of the trainer's pool (cost::Machine); nullopt: no pool spins, barriers cost nothing.
  const std::optional<base::Duration> pool_spin, barrier_slice;
  const bool cores_suffice;  ///< a core for every thread, and none spins: no waiting

  base::Instant now{};
  TimeTree events;
  Processors processors;
  /// A storage's bandwidth that reads share fairly: one core for all of them.
  std::optional<Processors> transfers;
  base::Duration cpu_used{};
  /// By id: each rank's consumer, workers and pin thread, then the monitor, each rank's watcher of
  /// its timeout, each rank's pool.
  std::vector<Actor*> actors;
  std::size_t watchers = 0;    ///< pending ones beside the monitor

  const Sampler sampler;
  cost::StorageServer storage;
  std::optional<cost::SampleCache> cache;  ///< that decides what storage serves
  const bool skips_periods;                ///< its state may recur, see recurrence.h
  const bool is_asked;                     ///< by the monitor, whether it may end
  const base::StopFlag* const stop;        ///< ends the run once it is set; or nullptr
  trace::TraceBuilder builder;             ///< of the first rank, and of what all share
  std::deque<Rank> ranks;
  std::optional<Barrier> barrier;          ///< after each step of all ranks (run.barrier)

  /// The thread whose event it is. At the end of work: -1, since of equal times these come first.
  int resumed = 0;
  std::int64_t simulated = 0;  ///< events
  std::optional<Ending> ended;
  bool over = false;
};

}  // namespace pipesim::engine::virtual_time
