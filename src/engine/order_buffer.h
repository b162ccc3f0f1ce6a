// The reorder buffer: holds batches that arrive early. Knows no threads and no time.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "engine/state_visitor.h"

namespace pipesim::engine {

/// In order: returns index 0, 1, 2, … of an epoch. Otherwise: in order of arrival. Not thread-safe.
template <class T>
class OrderBuffer {
 public:
  explicit OrderBuffer(bool in_order) : in_order_(in_order) {}

  /// All batches of the previous epoch must have been taken.
  void BeginEpoch() { next_ = arrivals_ = 0; }
  /// Whether it is the turn of `index`. If so, counts it as taken, without a Put.
  bool Passes(std::int64_t index) {
    if ((in_order_ ? index : arrivals_) != next_) return false;
    ++next_;
    ++arrivals_;
    return true;
  }
  /// Call once per index and epoch.
  void Put(std::int64_t index, T item) {
    const std::int64_t place = in_order_ ? index : arrivals_++;
    while (place - next_ >= static_cast<std::int64_t>(waiting_.size())) Grow();
    At(place) = std::move(item);
    ++size_;
  }
  /// nullopt while the next one has not arrived.
  std::optional<T> Take() {
    if (size_ == 0 || !At(next_)) return std::nullopt;
    --size_;
    return std::exchange(At(next_++), std::nullopt);
  }
  std::int64_t size() const { return size_; }
  /// visit_item(visitor, item) visits an item that waits.
  template <class VisitItem>
  void Visit(StateVisitor& visitor, const VisitItem& visit_item) {
    const auto places = static_cast<std::int64_t>(waiting_.size());
    for (std::int64_t ahead = 0; ahead < places && !visitor.moves(); ++ahead) {
      if (!At(next_ + ahead)) continue;
      visitor.Same(ahead);
      visit_item(visitor, *At(next_ + ahead));
    }
    if (visitor.moves()) Move(visitor, visit_item);
    visitor.Index(next_);
    visitor.Index(arrivals_);
  }

 private:
  template <class VisitItem>
  void Move(StateVisitor& visitor, const VisitItem& visit_item) {
    std::vector<std::optional<T>> before(waiting_.size());
    before.swap(waiting_);
    const std::size_t mask = before.size() - 1;
    const auto by = static_cast<std::size_t>(visitor.moved_index());
    for (std::size_t place = 0; place <= mask; ++place) {
      if (before[place]) visit_item(visitor, *before[place]);
      waiting_[(place + by) & mask] = std::move(before[place]);
    }
  }
  /// Waiting numbers start at next_ and span less than the number of places.
  std::optional<T>& At(std::int64_t number) {
    return waiting_[static_cast<std::size_t>(number) & (waiting_.size() - 1)];
  }
  void Grow() {
    std::vector<std::optional<T>> before(waiting_.size() * 2);
    before.swap(waiting_);
    const auto held = static_cast<std::int64_t>(before.size());
    for (std::int64_t number = next_; number < next_ + held; ++number) {
      At(number) = std::move(before[static_cast<std::size_t>(number) & (before.size() - 1)]);
    }
  }

  bool in_order_;
  std::int64_t next_ = 0, arrivals_ = 0, size_ = 0;
  std::vector<std::optional<T>> waiting_ = std::vector<std::optional<T>>(4);  ///< a power of two
};

}  // namespace pipesim::engine
