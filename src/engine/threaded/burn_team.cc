#include "engine/threaded/burn_team.h"

#include <algorithm>
#include <chrono>

namespace pipesim::engine::threaded {

BurnTeam::BurnTeam(int threads, const std::function<void()>& on_start) {
  try {
    for (int helper = 1; helper < threads; ++helper) {
      helpers_.emplace_back([this, on_start] { Help(on_start); });
    }
  } catch (...) {
    End();
    throw;
  }
}

BurnTeam::~BurnTeam() { End(); }

void BurnTeam::End() {
  {
    const std::lock_guard lock(mutex_);
    over_ = true;
  }
  called_.notify_all();
  for (std::thread& helper : helpers_) helper.join();
  helpers_.clear();
}

void BurnTeam::Burn(base::Duration cost, const base::StopFlag& stop) {
  owed_ += cost;
  const base::Duration share = owed_ / threads();
  owed_ -= share * threads();
  {
    const std::lock_guard lock(mutex_);
    share_ = share;
    stop_ = &stop;
    burning_ = static_cast<int>(helpers_.size());
    ++call_;
  }
  called_.notify_all();
  own_.Burn(share, stop);
  std::unique_lock lock(mutex_);
  finished_.wait(lock, [&] { return burning_ == 0; });
}

void BurnTeam::Help(const std::function<void()>& on_start) {
  on_start();
  Burner burner;
  std::uint64_t seen = 0;
  std::unique_lock lock(mutex_);
  for (;;) {
    called_.wait(lock, [&] { return over_ || call_ != seen; });
    if (over_) return;
    seen = call_;
    const base::Duration share = share_;
    const base::StopFlag& stop = *stop_;
    lock.unlock();
    burner.Burn(share, stop);
    lock.lock();
    if (--burning_ == 0) finished_.notify_one();
  }
}

base::Duration MeasureHandover(int burns, base::Duration share) {
  constexpr int kThreads = 2;
  BurnTeam team(kThreads, [] { base::UseFinestTimerSlack(); });
  const base::StopFlag never;
  team.Burn(kThreads * share, never);  // calibrates the burn loop
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < burns; ++i) team.Burn(kThreads * share, never);
  const base::Duration each = (std::chrono::steady_clock::now() - begin) / burns;
  return std::max(base::Duration::zero(), each - share);
}

}  // namespace pipesim::engine::threaded
