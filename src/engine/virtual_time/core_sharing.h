// How the cores of the modelled machine are shared: between the threads of the run, with other
// programs, and under a CPU quota. Formulas only; processors.h keeps the time.
#pragma once

#include <optional>

#include "base/units.h"
#include "cost/machine.h"

namespace pipesim::engine::virtual_time {

/// Threads that do equal parts of a step and meet at barriers, spinning until the last arrives.
struct PoolOfThreads {
  int threads = 1;
  base::Duration each{};  ///< of the step, on each thread, alone
  int barriers = 1;       ///< in the step
  base::Duration on_one{};  ///< the step on one thread; 0: unknown. Only of threads that sleep at barriers
};

/// The kernel gives n runnable threads on C cores min(1, C/n) of one each (processor sharing).
///
/// A pool of T threads gets on while all T have a core at once. The kernel does not gang-schedule
/// them, so among n threads on C >= T cores that is C (C-1) … (C-T+1) / (n (n-1) … (n-T+1)) of the
/// time (Ousterhout, "Scheduling techniques for concurrent systems", ICDCS 1982); meanwhile they
/// hold their share of the cores. For T = C and one more thread both shares add up to one: the
/// step waits while the other thread works. But no less than what the pool's slowest thread gets:
/// its share of the fullest core and, at each barrier, one slice of each other thread there. With
/// regions between barriers that are long against a slice, nothing else is lost.
///
/// Beside T others on C = T cores each thread of the pool has half of a core. One that spun until the step began
/// is off its core then with probability 1 - C / (n - 1) and waits a slice for it, which is all that short steps take.
///
/// With fewer than T cores, two of the pool share one. A thread that waits at a barrier spins to
/// the end of its slice before the other can arrive, so each barrier costs a slice of each thread
/// on that core. Measured on Linux 6.18 with a pool of 2 on one of two cores, and of 16 on 15 of
/// 16: 128 ms for a step of 3 ms with 17 barriers, slices of 4 ms.
///
/// d other programs that hold f cores in all are on k cores with the binomial probability of d
/// tries at f/d; the pool's progress is the mean over k.
///
/// Other programs of the run's own scheduling group share thread by thread: the kernel moves threads from fuller
/// cores to emptier ones. Measured on Linux 6.18, one beside n burning workers on 2 cores, three runs of 2.5 s each:
/// 0.97 to 1, 0.71 to 0.78, 0.49 to 0.51, 0.33 to 0.34 of a core for n = 1, 2, 3, 5.
///
/// A pool whose threads sleep at barriers wakes up where a core is idle, and leaves threads that work on without
/// sleeping alone as long as a core is left: its threads then take turns on what is left, the last core
/// as long as one thread would take. Measured on Linux 6.18, a pool of 2 beside one burning thread on 2
/// cores: the worker waits for a core 0.1 % of its time, a step takes 1.7 ms (alone 2.1, on one thread 1.5).
///
/// A quota stops all threads alike (sched-bwc), so it scales every rate.
class CoreSharing {
 public:
  /// `slice`: how long a thread that lost its core waits for its turn; nullopt: barriers are free.
  CoreSharing(const cost::Machine& machine, std::optional<base::Duration> slice);
  /// `cores` of nobody else; 0 for no limit.
  explicit CoreSharing(double cores, std::optional<base::Duration> slice = std::nullopt)
      : CoreSharing(cost::Machine{.cores = cores}, slice) {}

  /// The share of a core that each of `threads` runnable threads gets.
  double RateOfEach(double threads) const;
  /// The pool's progress among `threads` runnable ones, its own included, over that alone.
  double RateOf(const PoolOfThreads& pool, double threads) const;
  bool HasSlices() const { return slice_.has_value(); }
  /// The cores that a pool of sleeping threads has beside `threads` that do not sleep; nullopt where they leave
  /// it no whole one, so that all share.
  std::optional<double> LeftToSleepers(double threads) const;
  /// The rates where they do: of each other thread, and of the pool over that alone.
  struct Rates {
    double of_each = 1, of_pool = 1;
    double cores_of_pool = 0;
  };
  Rates BesideSleepers(const PoolOfThreads& pool, double threads, double left) const;

 private:
  double Held(double threads) const;
  double HeldByPeers(double threads) const;
  double HeldFromThreads(double threads) const;
  double Throttle(double threads) const;
  /// Of so many threads on a processor each.
  double ThrottleOf(double running) const;
  double RateOn(double cores, const PoolOfThreads& pool, double threads) const;

  double processors_, quota_;  ///< 0: no limit
  cost::OtherPrograms others_;
  std::optional<base::Duration> slice_;
};

}  // namespace pipesim::engine::virtual_time
