// Marks when a worker is inside a call that nobody can interrupt (a read of a real file), so that a
// run can end without it.
#pragma once

#include <atomic>

namespace pipesim::engine::threaded {

/// Thrown in a worker that comes back from a call after the run has gone on without it: it must
/// leave at once and touch nothing but the run's shared state.
struct LeftBehind {};

class CallGuard {
 public:
  /// In the worker. Throws LeftBehind, or what `call` throws.
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
  /// In whoever waits for it. False: it is not inside a call, and will leave by itself.
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
