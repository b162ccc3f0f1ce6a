// Marks when a worker is inside a call that cannot be interrupted (a read of a real file), so that
// the run can end without the worker.
#pragma once

#include <atomic>

namespace pipesim::engine::threaded {

/// Thrown in a worker that returns from a call after the run has ended without it: it must leave at
/// once and use nothing but the run's shared state.
struct LeftBehind {};

class CallGuard {
 public:
  /// Called by the worker. Throws LeftBehind, or what `call` throws.
  template <class Call>
  void Inside(Call&& call) {
    place_.store(kInside);
    try {
      call();
    } catch (...) {
      ComeBack();
      throw;
    }
    ComeBack();
  }
  /// Called by the thread that waits for the worker. False: the worker is not inside a call and
  /// will leave by itself.
  bool Abandon() {
    int inside = kInside;
    return place_.compare_exchange_strong(inside, kAbandoned);
  }

 private:
  enum Place : int { kOutside, kInside, kAbandoned };
  void ComeBack() {
    int inside = kInside;
    if (!place_.compare_exchange_strong(inside, kOutside)) throw LeftBehind{};
  }
  std::atomic<int> place_{kOutside};
};

}  // namespace pipesim::engine::threaded
