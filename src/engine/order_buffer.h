// Batches that have arrived, until it is their turn. Free of threads and time.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <utility>

namespace pipesim::engine {

/// In order: gives out index 0, 1, 2, … of an epoch. Otherwise: in order of arrival.
/// Not thread-safe.
template <class T>
class OrderBuffer {
 public:
  explicit OrderBuffer(bool in_order) : in_order_(in_order) {}

  /// Everything of the epoch before has been given out.
  void BeginEpoch() { next_ = arrivals_ = 0; }
  void Put(std::int64_t index, T item) {
    waiting_.emplace(in_order_ ? index : arrivals_++, std::move(item));
  }
  /// nullopt while the next one has not arrived.
  std::optional<T> Take() {
    const auto first = waiting_.begin();
    if (first == waiting_.end() || first->first != next_) return std::nullopt;
    ++next_;
    T item = std::move(first->second);
    waiting_.erase(first);
    return item;
  }
  std::int64_t size() const { return static_cast<std::int64_t>(waiting_.size()); }

 private:
  bool in_order_;
  std::int64_t next_ = 0, arrivals_ = 0;
  std::map<std::int64_t, T> waiting_;
};

}  // namespace pipesim::engine
