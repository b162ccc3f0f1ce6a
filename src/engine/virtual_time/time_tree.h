// The pending events of a virtual run: which thread goes on, and when. A tournament: every actor
// has a leaf, every inner node names the earlier of the two below it, so that a change replays one
// path of log2 n comparisons, none of which a branch must guess.
#pragma once

#include <bit>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

namespace pipesim::engine::virtual_time {

/// One pending time for each actor. `time` is in whatever unit the owner counts. Of equal times the
/// lower actor comes first. Not thread-safe.
class TimeTree {
 public:
  static constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max() - 1;
  struct Entry {
    std::int64_t time = kNever;
    std::int64_t actor = 0;
  };

  /// Actors are numbered from 0 to `actors` - 1.
  explicit TimeTree(int actors)
      : leaves_(std::bit_ceil(static_cast<std::size_t>(actors))), nodes_(2 * leaves_) {
    for (std::size_t leaf = 0; leaf < leaves_; ++leaf) {
      nodes_[leaves_ + leaf].actor = static_cast<std::int64_t>(leaf);
    }
  }

  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  /// The earliest entry's time; kNever when there is none.
  std::int64_t first_time() {
    if (popped_ != kNobody) Replay(std::exchange(popped_, kNobody), kNever);
    return nodes_[1].time;
  }
  /// Requires a pending entry.
  Entry Pop() {
    first_time();
    --size_;
    // The actor almost always waits again at once, so its path is replayed then.
    popped_ = nodes_[1].actor;
    return nodes_[1];
  }
  /// The actor's time; kNever when it has no entry.
  std::int64_t TimeOf(std::int64_t actor) const {
    return actor == popped_ ? kNever : nodes_[leaves_ + static_cast<std::size_t>(actor)].time;
  }
  /// Moves the actor's entry, if it has one.
  void Delay(std::int64_t actor, std::int64_t by) {
    if (const std::int64_t time = TimeOf(actor); time != kNever) Replay(actor, time + by);
  }
  /// Drops the actor's entry, if it has one.
  void Remove(std::int64_t actor) {
    if (TimeOf(actor) == kNever) return;
    --size_;
    Replay(actor, kNever);
  }
  /// Requires that the actor has no entry, and time < kNever.
  void Push(std::int64_t time, std::int64_t actor) {
    ++size_;
    if (actor == popped_) popped_ = kNobody;
    Replay(actor, time);
  }

 private:
  static constexpr std::int64_t kNobody = -1;

  void Replay(std::int64_t actor, std::int64_t time) {
    std::size_t at = leaves_ + static_cast<std::size_t>(actor);
    Entry best{time, actor};
    nodes_[at] = best;
    while (at > 1) {
      // On equal times the left entry wins, so a right entry must be strictly earlier.
      const Entry rival = nodes_[at ^ 1];
      const bool loses = rival.time < best.time + static_cast<std::int64_t>(at & 1);
      best.time = loses ? rival.time : best.time;
      best.actor = loses ? rival.actor : best.actor;
      at /= 2;
      nodes_[at] = best;
    }
  }

  std::size_t leaves_;
  std::vector<Entry> nodes_;  ///< 1 is the root, the children of n are 2n and 2n + 1
  std::size_t size_ = 0;
  std::int64_t popped_ = kNobody;  ///< the actor whose leaf still holds the popped entry
};

}  // namespace pipesim::engine::virtual_time
