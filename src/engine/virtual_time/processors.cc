#include "engine/virtual_time/processors.h"

#include <algorithm>

#include "base/rounding.h"

namespace pipesim::engine::virtual_time {

using base::Duration;
using base::Instant;

namespace {
constexpr double kPartsOfNs = 0x1p24;
}

Processors::Processors(const CoreSharing& sharing, double hindrance, int actors)
    : sharing_(sharing),
      hindrance_(hindrance),
      actors_(actors),
      core_(actors),
      tasks_(static_cast<std::size_t>(actors)) {}

Processors::Clock& Processors::ClockOf(const Work& work) {
  if (hindrance_ == 0 || !(work.bytes_per_s > 0)) return core_;
  for (Copying& copying : copying_)
    if (copying.bytes_per_s == work.bytes_per_s) return copying.clock;
  copying_.push_back({work.bytes_per_s, Clock(actors_)});
  return copying_.back().clock;
}

std::int64_t Processors::AttainedAt(const Clock& clock, Instant now) const {
  const std::int64_t ticks = (now - updated_).count() * kTicksPerNs;
  if (clock.rate == 1) return clock.attained + ticks;  // exact
  return clock.attained + base::RoundToInteger(static_cast<double>(ticks) * clock.rate);
}

void Processors::Advance(Instant now) {
  if (now == updated_) return;
  core_.attained = AttainedAt(core_, now);
  for (auto& [bytes_per_s, clock] : copying_)
    if (!clock.ends.empty()) clock.attained = AttainedAt(clock, now);
  for (Pool& pool : pools_) {
    pool.left -= static_cast<double>((now - updated_).count() * kTicksPerNs) * pool.rate;
  }
  const std::int64_t wanted_ns = (now - updated_).count() * threads_;
  if (used_of_each_ == 1) {
    used_ns_ += wanted_ns;
  } else {
    const double used_ns = static_cast<double>(wanted_ns) * used_of_each_;
    const auto whole_ns = static_cast<std::int64_t>(used_ns);
    used_ns_ += whole_ns;
    used_parts_ += base::RoundToInteger((used_ns - static_cast<double>(whole_ns)) * kPartsOfNs);
  }
  updated_ = now;
}

void Processors::Change(const Work& work, int sign) {
  threads_ += sign * work.threads;
  if (work.spins) spinning_ += sign * work.threads;
  wanted_bytes_per_s_ += sign * work.threads * work.bytes_per_s;
  if (threads_ == 0) {
    wanted_bytes_per_s_ = 0;  // drops the rounding error
    core_.attained = 0;
    for (Copying& copying : copying_) copying.clock.attained = 0;
  }
  SetRates();
}

double Processors::RateOfEach() {
  const auto threads = static_cast<std::size_t>(threads_);
  while (rates_.size() <= threads)
    rates_.push_back(sharing_.RateOfEach(static_cast<double>(rates_.size())));
  return rates_[threads];
}

void Processors::SetRates() {
  const auto threads = static_cast<double>(threads_);
  const bool yields = SetRatesBesideSleepers();
  if (!yields) core_.rate = used_of_each_ = RateOfEach();
  for (auto& [own, clock] : copying_) {
    const double others = std::max(0.0, wanted_bytes_per_s_ - own) * core_.rate;
    clock.rate = core_.rate / (1 + hindrance_ * own * others);
  }
  for (Pool& pool : pools_) {
    const Work& work = pool.work;
    if (sharing_.HasSlices()) {
      pool.rate = sharing_.RateOf({work.threads, work.each, work.barriers}, threads);
    } else if (!yields) {
      pool.rate = core_.rate;
    }
  }
}

/// False where no pool sleeps at barriers, several do, or the other threads leave it no core.
bool Processors::SetRatesBesideSleepers() {
  if (sharing_.HasSlices() || pools_.size() != 1) return false;
  Pool& pool = pools_.front();
  const Work& work = pool.work;
  const auto others = static_cast<double>(threads_ - work.threads);
  const auto left = sharing_.LeftToSleepers(others);
  if (!left) return false;
  const CoreSharing::Rates rates = sharing_.BesideSleepers(
      {.threads = work.threads, .each = work.each, .on_one = work.on_one}, others, *left);
  core_.rate = rates.of_each;
  pool.rate = rates.of_pool;
  used_of_each_ = (others * rates.of_each + rates.cores_of_pool) / static_cast<double>(threads_);
  return true;
}

Instant Processors::EndOfFirst(Clock& clock) const {
  if (clock.ends.empty()) return Instant::max();
  const std::int64_t ticks = std::max<std::int64_t>(clock.ends.first_time() - clock.attained, 0);
  if (clock.rate == 1) return updated_ + Duration((ticks + kTicksPerNs - 1) / kTicksPerNs);
  const double ns = static_cast<double>(ticks) / (clock.rate * kTicksPerNs);
  return updated_ + Duration(base::CeilToInteger(ns));
}

Instant Processors::EndOfFirstPool() const {
  Instant first = Instant::max();
  for (const Pool& pool : pools_) {
    const double ns = std::max(pool.left, 0.0) / (pool.rate * kTicksPerNs);
    first = std::min(first, updated_ + Duration(base::CeilToInteger(ns)));
  }
  return first;
}

void Processors::FindNext() {
  next_ = EndOfFirst(core_);
  for (Copying& copying : copying_) next_ = std::min(next_, EndOfFirst(copying.clock));
  if (!pools_.empty()) next_ = std::min(next_, EndOfFirstPool());
}

void Processors::Begin(int actor, const Work& work, Instant now) {
  Advance(now);
  Clock& clock = ClockOf(work);
  if (IsPool(work)) {
    const auto ticks = static_cast<double>(work.each.count() * kTicksPerNs);
    pools_.push_back({.actor = actor, .work = work, .left = ticks});
  }
  Change(work, +1);
  tasks_[static_cast<std::size_t>(actor)] = {now, core_.attained, work, true};
  if (!IsPool(work)) {
    clock.ends.Push(clock.attained + work.each.count() * kTicksPerNs, actor);
  }
  FindNext();
}

void Processors::Cancel(int actor, Instant now) {
  Task& task = tasks_[static_cast<std::size_t>(actor)];
  if (!task.runs) return;
  Advance(now);
  ClockOf(task.work).ends.Remove(actor);
  task.runs = false;
  Change(task.work, -1);
  FindNext();
}

Processors::Finished Processors::Finish() {
  Advance(next_);
  const int actor = TakeFirst();
  Task& task = tasks_[static_cast<std::size_t>(actor)];
  const Finished finished{actor, ContendedSoFar(actor, next_)};
  task.runs = false;
  Change(task.work, -1);
  FindNext();
  return finished;
}

/// The first task that ends now; pools come before others.
int Processors::TakeFirst() {
  const auto due = std::find_if(pools_.begin(), pools_.end(), [this](const Pool& pool) {
    return pool.left < pool.rate * kTicksPerNs / 2;
  });
  if (due != pools_.end()) {
    const int actor = due->actor;
    pools_.erase(due);
    return actor;
  }
  Clock* first_clock = &core_;
  for (Copying& copying : copying_)
    if (EndOfFirst(copying.clock) < EndOfFirst(*first_clock)) first_clock = &copying.clock;
  const TimeTree::Entry first = first_clock->ends.Pop();
  // Rounding may have left it a tick short.
  first_clock->attained = std::max(first_clock->attained, first.time);
  return static_cast<int>(first.actor);
}

Duration Processors::ContendedSoFar(int actor, Instant now) const {
  const Task& task = tasks_[static_cast<std::size_t>(actor)];
  if (!task.runs) return Duration::zero();
  const std::int64_t on_core_ticks = AttainedAt(core_, now) - task.core_begin;
  const Duration elapsed = now - task.begin;
  const Duration on_core((on_core_ticks + kTicksPerNs / 2) / kTicksPerNs);
  return std::clamp(elapsed - on_core, Duration::zero(), elapsed);
}

Processors::Usage Processors::usage() const {
  return {updated_, used_ns_, used_parts_, threads_, used_of_each_};
}

Duration Processors::Usage::At(Instant now) const {
  const double since_ns = static_cast<double>((now - updated).count() * threads) * rate;
  const double parts_ns = static_cast<double>(used_parts) / kPartsOfNs;
  return Duration(used_ns + base::RoundToInteger(parts_ns + since_ns));
}

void Processors::Visit(StateVisitor& visitor) {
  visitor.Total(used_ns_);
  visitor.Total(used_parts_);
  visitor.Same(threads_);
  visitor.Same(spinning_);
  if (next_ != Instant::max()) visitor.Time(next_);
  if (threads_ == 0) {  // nothing runs, and what was before is forgotten
    if (visitor.moves()) updated_ += visitor.moved_time();
    return;
  }
  visitor.Time(updated_);
  visitor.Same(wanted_bytes_per_s_);
  for (const Pool& pool : pools_) {
    visitor.Same(pool.actor);
    visitor.Same(pool.left);
  }
  for (std::size_t actor = 0; actor < tasks_.size(); ++actor) {
    Task& task = tasks_[actor];
    visitor.Same(task.runs);
    if (!task.runs) continue;
    const Clock& clock = ClockOf(task.work);
    const std::int64_t end = clock.ends.TimeOf(static_cast<std::int64_t>(actor));
    visitor.Same(end == TimeTree::kNever ? end : end - clock.attained);
    if (visitor.hashes()) continue;  // the rest mostly follows
    visitor.Time(task.begin);
    visitor.Same(task.core_begin - core_.attained);
    visitor.Same(task.work.each);
    visitor.Same(task.work.threads);
    visitor.Same(task.work.meets);
    visitor.Same(task.work.spins);
    visitor.Same(task.work.barriers);
    visitor.Same(task.work.on_one);
    visitor.Same(task.work.bytes_per_s);
  }
}

}  // namespace pipesim::engine::virtual_time
