// Where time went on one axis, in bounded memory: totals of several kinds of intervals in at most
// 65,536 bins that double in width. Intervals come in any order; those of one kind that overlap
// count once, as exactly as the bins tell.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <utility>
#include <vector>

namespace pipesim::interop {

/// Times are in microseconds, as in a Chrome trace.
template <std::size_t kKinds>
class TimeBins {
 public:
  using Times = std::array<float, kKinds>;

  /// Adds [begin, begin + time). Ignores what is no time.
  void Add(std::size_t kind, double begin_us, double time_us) {
    if (!(time_us > 0) || !(time_us < kLongest_us) || !(std::abs(begin_us) < kFarthest_us)) return;
    if (bins_.empty()) origin_us_ = begin_us;
    MakeRoomFor(begin_us, begin_us + time_us);
    double at = begin_us;
    const double end = begin_us + time_us;
    for (auto bin = static_cast<std::size_t>((at - origin_us_) / width_us_); at < end; ++bin) {
      if (bin >= bins_.size()) bins_.resize(bin + 1);
      const double border = origin_us_ + static_cast<double>(bin + 1) * width_us_;
      const double until = std::min(end, border);
      bins_[bin][kind] += static_cast<float>(std::max(0.0, until - at));
      at = std::max(at, border);
    }
  }
  double width_us() const { return width_us_; }
  /// The bins that lie wholly in [from, to): visit(times, none above the bin's width).
  template <class Visit>
  void ForEachWithin(double from_us, double to_us, const Visit& visit) const {
    for (std::size_t bin = 0; bin < bins_.size(); ++bin) {
      const double begin = origin_us_ + static_cast<double>(bin) * width_us_;
      if (begin < from_us || begin + width_us_ > to_us) continue;
      Times times = bins_[bin];
      for (float& time : times) time = std::min(time, static_cast<float>(width_us_));
      visit(times);
    }
  }

 private:
  static constexpr std::size_t kMost = std::size_t{1} << 16;
  static constexpr double kLongest_us = 1e12;   // eleven days
  static constexpr double kFarthest_us = 1e17;  // 3,000 years, from any epoch

  /// Widens the bins until the axis from its origin, or from `begin`, to `end` has no more than kMost.
  void MakeRoomFor(double begin_us, double end_us) {
    const auto bins_for = [&](double from) {
      return (std::max(end_us, origin_us_ + static_cast<double>(bins_.size()) * width_us_) - from) /
             width_us_;
    };
    while (bins_for(std::min(begin_us, origin_us_)) + 2 > static_cast<double>(kMost)) Double();
    if (begin_us >= origin_us_) return;
    const auto before = static_cast<std::size_t>((origin_us_ - begin_us) / width_us_) + 1;
    bins_.insert(bins_.begin(), before, Times{});
    origin_us_ -= static_cast<double>(before) * width_us_;
  }
  void Double() {
    for (std::size_t bin = 0; bin < bins_.size(); ++bin) {
      const Times times = std::exchange(bins_[bin], Times{});
      for (std::size_t kind = 0; kind < kKinds; ++kind) bins_[bin / 2][kind] += times[kind];
    }
    bins_.resize((bins_.size() + 1) / 2);
    width_us_ *= 2;
  }

  double origin_us_ = 0, width_us_ = 1;
  std::vector<Times> bins_;
};

}  // namespace pipesim::interop
