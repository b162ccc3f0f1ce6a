// The pending events of a virtual run: which thread goes on, and when. A flat 4-ary heap: no
// allocation once it has grown, and half the depth of a binary one.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

namespace pipesim::engine::virtual_time {

/// `time` is in whatever unit the owner counts. Of equal times the lower actor comes first, so that
/// the order never depends on how the heap was filled. Not thread-safe.
class TimeHeap {
 public:
  struct Entry {
    std::int64_t time = 0;
    std::int64_t actor = 0;
  };

  bool empty() const { return size() == 0; }
  std::size_t size() const { return entries_.size() - (hole_ ? 1 : 0); }
  void Reserve(std::size_t entries) { entries_.reserve(entries); }

  /// The earliest entry's time; the far future when there is none.
  std::int64_t first_time() {
    FillHole();
    return entries_.empty() ? std::numeric_limits<std::int64_t>::max() : entries_.front().time;
  }
  /// There is one.
  Entry Pop() {
    FillHole();
    hole_ = true;
    return entries_.front();
  }
  void Push(std::int64_t time, std::int64_t actor) {
    const Entry entry{time, actor};
    if (hole_) {  // almost always: who went on waits again
      hole_ = false;
      SiftDown(entry);
    } else {
      entries_.push_back(entry);
      SiftUp(entries_.size() - 1, entry);
    }
  }

 private:
  static constexpr std::size_t kChildren = 4;

  // As one number, compared without a branch.
  static bool Earlier(const Entry& a, const Entry& b) {
    return (a.time < b.time) | ((a.time == b.time) & (a.actor < b.actor));
  }
  void FillHole() {
    if (!hole_) return;
    hole_ = false;
    const Entry last = entries_.back();
    entries_.pop_back();
    if (!entries_.empty()) SiftDown(last);
  }
  /// Places `entry`, which stands nowhere yet, at the root or below.
  void SiftDown(const Entry& entry) {
    const std::size_t size = entries_.size();
    std::size_t at = 0;
    for (;;) {
      const std::size_t first = at * kChildren + 1;
      if (first >= size) break;
      std::size_t least = first;
      const std::size_t end = std::min(first + kChildren, size);
      for (std::size_t child = first + 1; child < end; ++child) {
        least = Earlier(entries_[child], entries_[least]) ? child : least;
      }
      if (!Earlier(entries_[least], entry)) break;
      entries_[at] = entries_[least];
      at = least;
    }
    entries_[at] = entry;
  }
  void SiftUp(std::size_t at, const Entry& entry) {
    while (at > 0) {
      const std::size_t parent = (at - 1) / kChildren;
      if (!Earlier(entry, entries_[parent])) break;
      entries_[at] = entries_[parent];
      at = parent;
    }
    entries_[at] = entry;
  }

  std::vector<Entry> entries_;
  bool hole_ = false;  ///< entries_.front() has been popped and not yet replaced
};

}  // namespace pipesim::engine::virtual_time
