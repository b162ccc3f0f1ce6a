// A FIFO queue in a ring buffer that grows on demand and never shrinks.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

namespace pipesim::engine {

template <class T>
class Ring {
 public:
  bool empty() const { return size_ == 0; }
  std::size_t size() const { return size_; }
  /// 0 is the front.
  const T& operator[](std::size_t place) const { return slots_[(first_ + place) & mask()]; }
  T& operator[](std::size_t place) { return slots_[(first_ + place) & mask()]; }
  const T& front() const { return slots_[first_]; }
  /// `item` must not be an element of this ring.
  void push_back(const T& item) { emplace_back() = item; }
  /// Appends an element for the caller to fill; its old content is unspecified.
  T& emplace_back() {
    if (size_ == slots_.size()) Grow();
    return slots_[(first_ + size_++) & mask()];
  }
  void pop_front() {
    first_ = (first_ + 1) & mask();
    --size_;
  }

 private:
  std::size_t mask() const { return slots_.size() - 1; }
  void Grow() {
    std::vector<T> larger(slots_.empty() ? 4 : slots_.size() * 2);
    for (std::size_t i = 0; i < size_; ++i) larger[i] = std::move(slots_[(first_ + i) & mask()]);
    slots_ = std::move(larger);
    first_ = 0;
  }

  std::vector<T> slots_;  ///< size: a power of two
  std::size_t first_ = 0, size_ = 0;
};

}  // namespace pipesim::engine
