// Walks through the state of a simulation, part by part, to find that it recurs and to skip what
// repeats itself. Knows no engine.
#pragma once

#include <algorithm>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/units.h"

namespace pipesim::engine {

/// What counts up in every run, at one moment, or what two moments differ by.
struct Moment {
  base::Duration time{};
  std::int64_t steps = 0;  ///< done; a batch's number over the run counts like a step's
  std::int64_t index = 0;  ///< of a batch in its epoch
  std::int64_t epochs = 0;
};

/// Each part of the state has a method Visit(StateVisitor&) that passes every variable on which the
/// future depends, once, in a fixed order, by what it means. Either notes them, so that two moments
/// with equal notes have equal futures, or only hashes what would be noted, or moves the state on by some
/// whole periods. A variable
/// that a part forgets makes a run with skipped periods differ from one without
/// (tests/unit/virtual_time/recurrence_test.cc).
class StateVisitor {
 public:
  /// Notes the state at `now`.
  explicit StateVisitor(const Moment& now) : now_(now) {}
  /// Hashes the state at `now`.
  static StateVisitor Hashing(const Moment& now) {
    StateVisitor visitor(now);
    visitor.hashes_ = true;
    return visitor;
  }
  /// Moves the state on by `times` periods, each of which adds `period` and `totals`.
  StateVisitor(const Moment& period, const std::vector<std::int64_t>& totals, std::int64_t times)
      : moved_{period.time * times, period.steps * times, period.index * times,
               period.epochs * times},
        period_totals_(&totals),
        times_(times) {}

  bool moves() const { return period_totals_ != nullptr; }
  /// May leave out what hardly differs where the rest is the same: equal hashes are no proof.
  bool hashes() const { return hashes_; }
  const Moment& now() const { return now_; }
  base::Duration moved_time() const { return moved_.time; }
  std::int64_t moved_index() const { return moved_.index; }

  void Time(base::Instant& at) {
    if (moves()) {
      at += moved_.time;
    } else {
      Note((at.time_since_epoch() - now_.time).count());
    }
  }
  void Time(std::optional<base::Instant>& at) {
    Same(at.has_value());
    if (at) Time(*at);
  }
  /// A time that matters only as far as it is still to come.
  void Pending(base::Instant& at) {
    if (moves()) {
      at += moved_.time;
    } else {
      Note(std::max(at.time_since_epoch(), now_.time).count() - now_.time.count());
    }
  }
  /// Of a step or batch over the whole run; negative: none.
  void Number(std::int64_t& number) {
    if (!moves()) {
      Note(number < 0 ? INT64_MIN : number - now_.steps);
    } else if (number >= 0) {
      number += moved_.steps;
    }
  }
  /// Of a batch in its epoch.
  void Index(std::int64_t& index) { Relative(index, now_.index, moved_.index); }
  /// Of the first batch of an epoch, over the whole run.
  void FirstNumber(std::int64_t& number) {
    Relative(number, now_.steps - now_.index, moved_.steps - moved_.index);
  }
  void Epoch(std::int64_t& epoch) { Relative(epoch, now_.epochs, moved_.epochs); }
  /// Recurs as it is.
  template <class T>
  void Same(const T& value) {
    if (!moves()) Note(Bits(value));
  }
  /// The elements of a queue (size(), operator[]), by visit(element); a hash has its size and its two ends.
  template <class Queue, class Visit>
  void Each(Queue& queue, const Visit& visit) {
    const std::size_t size = queue.size();
    Same(size);
    const std::size_t stride = hashes_ && size > 1 ? size - 1 : 1;
    for (std::size_t i = 0; i < size; i += stride) visit(queue[i]);
  }
  /// Grows by the same amount in each period, and decides nothing.
  void Total(std::int64_t& total) {
    if (moves()) {
      total += (*period_totals_)[next_total_++] * times_;
    } else if (!hashes_) {
      totals_.push_back(total);
    }
  }
  void Total(base::Duration& total) {
    std::int64_t count = total.count();
    Total(count);
    total = base::Duration(count);
  }
  void Total(base::Bytes& total) { Total(total.count); }

  std::uint64_t hash() const { return hash_; }
  std::vector<std::int64_t> TakeNotes() { return std::move(notes_); }
  std::vector<std::int64_t> TakeTotals() { return std::move(totals_); }

 private:
  template <class T>
  static std::int64_t Bits(const T& value) {
    if constexpr (std::is_pointer_v<T>) {
      return static_cast<std::int64_t>(reinterpret_cast<std::intptr_t>(value));
    } else if constexpr (std::floating_point<T>) {
      return std::bit_cast<std::int64_t>(static_cast<double>(value));
    } else if constexpr (std::is_same_v<T, base::Duration>) {
      return value.count();
    } else if constexpr (std::is_same_v<T, base::Bytes>) {
      return value.count;
    } else {
      return static_cast<std::int64_t>(value);
    }
  }
  void Note(std::int64_t value) {
    if (!hashes_) return notes_.push_back(value);
    // A multiplication carries each bit up, the shift brings the upper half back (as the finalizer of
    // splitmix64 does twice, whose constant this is).
    hash_ = (hash_ ^ static_cast<std::uint64_t>(value)) * 0xbf58476d1ce4e5b9;
    hash_ ^= hash_ >> 32;
  }
  void Relative(std::int64_t& value, std::int64_t origin, std::int64_t moved) {
    if (moves()) {
      value += moved;
    } else {
      Note(value - origin);
    }
  }

  Moment now_, moved_;
  const std::vector<std::int64_t>* period_totals_ = nullptr;  ///< nullptr: notes
  std::int64_t times_ = 0;
  bool hashes_ = false;
  std::uint64_t hash_ = 1;
  std::size_t next_total_ = 0;
  std::vector<std::int64_t> notes_, totals_;
};

}  // namespace pipesim::engine
