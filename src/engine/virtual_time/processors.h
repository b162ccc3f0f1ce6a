// The cores of the modelled machine: processor sharing between all threads that want to run, and
// the memory bandwidth that copying threads share on top. What Linux does in a threaded run.
#pragma once

#include <vector>

#include "base/units.h"
#include "engine/state_visitor.h"
#include "engine/virtual_time/core_sharing.h"
#include "engine/virtual_time/time_tree.h"

namespace pipesim::engine::virtual_time {

/// Work for the cores, of one thread or of several that do equal parts side by side.
struct Work {
  base::Duration each{};  ///< what each thread needs on a core of its own
  int threads = 1;
  /// The threads are a pool: they meet at barriers all the time and spin until the last arrives.
  bool meets = false;
  bool spins = false;  ///< nobody waits for the end of it
  int barriers = 1;  ///< how often a pool meets
  base::Duration on_one{};  ///< of a pool that sleeps there: all of it on one thread; 0: unknown
  /// > 0: the threads copy at this many bytes/s when alone and share the memory with other copying
  /// threads.
  double bytes_per_s = 0;
};

/// Threads share the cores as CoreSharing says. Threads that copy hinder each other
/// (cost::SharedMemory). Kept by the service that a thread would have attained since the start
/// (Kleinrock's processor sharing; virtual time of Parekh and Gallager, IEEE/ACM ToN 1(3), 1993): all
/// of one kind attain at the same rate, so a task's end on that clock is known when it begins and a
/// change costs O(log n). Kinds are threads that do not copy, and those that copy equally fast.
///
/// Only a few pools that meet at barriers run at once; a change costs O(1) for each.
///
/// Not thread-safe.
class Processors {
 public:
  /// `hindrance`: cost::SharedMemory's; 0 where copying threads do not hinder each other. `actors`:
  /// the number of actors, each with at most one task at a time.
  Processors(const CoreSharing& sharing, double hindrance, int actors);

  void Begin(int actor, const Work& work, base::Instant now);
  /// Drops the actor's task, if it has one; not of threads that meet.
  void Cancel(int actor, base::Instant now);
  /// When the first task will end if none is begun before; Instant::max() without any.
  base::Instant next() const { return next_; }
  struct Finished {
    int actor = 0;
    base::Duration contended{};  ///< of its time, without a core
  };
  /// Ends the first task, at next().
  Finished Finish();
  /// The actor's unfinished task's time without a core until `now` <= next(); 0 without a task.
  base::Duration ContendedSoFar(int actor, base::Instant now) const;
  /// The CPU time of all threads since the start. Between two changes it grows at a steady rate.
  struct Usage {
    base::Instant updated;
    /// Whole ns and parts of 2^-24 ns. Integers, so that the sum over a period does not depend on when
    /// it begins.
    std::int64_t used_ns = 0, used_parts = 0;
    std::int64_t threads = 0;  ///< since then, each at `rate` of a core
    double rate = 1;
    /// Until `now`, no earlier than `updated` and before the next change.
    base::Duration At(base::Instant now) const;
  };
  Usage usage() const;
  /// Likewise, until `now`.
  base::Duration Used(base::Instant now) const { return usage().At(now); }
  void Visit(StateVisitor& visitor);
  /// No thread works; some may spin.
  bool idle() const { return threads_ == spinning_; }

 private:
  // Service is counted in 1/256 ns: rounding where rates change stays far below the nanosecond, and
  // the clocks last for a year without an idle moment.
  static constexpr std::int64_t kTicksPerNs = 256;
  struct Clock {
    explicit Clock(int actors) : ends(actors) {}
    std::int64_t attained = 0;  ///< ticks, at updated_
    double rate = 1;
    TimeTree ends;  ///< by attained service
  };
  struct Copying {
    double bytes_per_s = 0;  ///< of each thread, alone
    Clock clock;
  };
  /// A task of threads that meet at barriers, with the ticks left at updated_.
  struct Pool {
    int actor = 0;
    Work work;
    double left = 0, rate = 1;
  };
  struct Task {
    base::Instant begin;
    std::int64_t core_begin = 0;  ///< core_'s service then
    Work work;
    bool runs = false;
  };

  std::int64_t AttainedAt(const Clock& clock, base::Instant now) const;
  void Advance(base::Instant now);
  void Change(const Work& work, int sign);
  void SetRates();
  double RateOfEach();
  /// A pool whose threads get on together: they spin at barriers, or sleep there and yield to others.
  bool IsPool(const Work& work) const {
    return work.meets && (sharing_.HasSlices() || work.on_one > base::Duration::zero());
  }
  bool SetRatesBesideSleepers();
  void FindNext();
  base::Instant EndOfFirstPool() const;
  int TakeFirst();
  base::Instant EndOfFirst(Clock& clock) const;
  Clock& ClockOf(const Work& work);

  CoreSharing sharing_;
  std::vector<double> rates_;  ///< of each thread, by the number of threads, as far as known
  double hindrance_;
  int actors_;
  Clock core_;
  std::vector<Copying> copying_;  ///< a few: collate, pin, cache hits, decoding
  std::vector<Task> tasks_;  ///< by actor
  std::vector<Pool> pools_;
  base::Instant updated_{}, next_ = base::Instant::max();
  std::int64_t threads_ = 0;   ///< that want to run
  std::int64_t spinning_ = 0;  ///< of these
  double wanted_bytes_per_s_ = 0;
  double used_of_each_ = 1;  ///< of a core, on average over threads_
  std::int64_t used_ns_ = 0, used_parts_ = 0;  ///< Usage, until updated_
};

}  // namespace pipesim::engine::virtual_time
