#include "advise/size.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

namespace pipesim::advise {
namespace {

// The resolution of a continuous axis.
constexpr double kStep = 1.01;
// A continuous axis first moves by a factor of two: 1.01^70.
constexpr std::int64_t kFirstStride = 70;
// A metric that rises less than this while the value grows fourfold is limited by something else.
constexpr double kRise = 0.005;

double FourDigits(double value) {
  const double unit = std::pow(10, std::floor(std::log10(value)) - 3);
  return std::round(value / unit) * unit;
}

/// The axis as numbered steps: integers, or powers of kStep from the start.
class SizeSearch {
 public:
  SizeSearch(const SizeQuestion& question, const RatesOf& rates_of)
      : q_(question), rates_of_(rates_of) {}

  SizeAnswer Find() {
    const std::int64_t first = q_.whole ? Rounded(q_.least) : 0;
    const auto [without, with] = q_.falls || !At(first).meets ? Grow(first) : Shrink(first);
    return Answer(without, with);
  }

 private:
  /// Two steps of which the first misses the target and the second meets it; either may be absent.
  struct Bracket {
    std::optional<std::int64_t> without, with;
  };

  static std::int64_t Rounded(double value) { return std::llround(value); }
  double ValueOf(std::int64_t step) const {
    return q_.whole ? static_cast<double>(step)
                    : FourDigits(q_.start * std::pow(kStep, static_cast<double>(step)));
  }
  bool Within(std::int64_t step) const {
    return ValueOf(step) >= q_.least && ValueOf(step) <= q_.most;
  }

  const SizeTry& At(std::int64_t step) {
    const auto known = tries_.find(step);
    if (known != tries_.end()) return known->second;
    SizeTry attempt{ValueOf(step), rates_of_(ValueOf(step)), false};
    const auto reached = Reached(attempt);
    attempt.meets = reached && *reached >= q_.target;
    return tries_.emplace(step, attempt).first->second;
  }
  std::optional<double> Reached(const SizeTry& attempt) const {
    return attempt.rates ? attempt.rates->Of(q_.metric) : std::nullopt;
  }

  /// Upwards from `first`, until the target is met on a rising axis or missed on a falling one.
  Bracket Grow(std::int64_t first) {
    const bool until = !q_.falls;
    std::int64_t before = first, earlier = first;
    if (At(first).meets == until) return {until ? std::nullopt : std::optional(first), std::nullopt};
    for (std::int64_t stride = q_.whole ? 1 : kFirstStride;; stride *= 2) {
      std::int64_t step = before + stride;
      while (step > before && !Within(step)) --step;
      if (step == before) break;
      const SizeTry& attempt = At(step);
      if (attempt.meets == until)
        return until ? Bracket{before, step} : Bracket{step, before};
      if (until && (!attempt.rates || !Rises(earlier, step))) break;
      earlier = before == first ? first : before;
      before = step;
    }
    if (!until) return {std::nullopt, before};
    return q_.whole ? AroundTheBest() : Bracket{before, std::nullopt};
  }

  /// Downwards from `first`, which meets the target, on a rising axis.
  Bracket Shrink(std::int64_t first) {
    std::int64_t before = first;
    for (std::int64_t stride = kFirstStride;; stride *= 2) {
      std::int64_t step = before - stride;
      while (step < before && !Within(step)) ++step;
      if (step == before || q_.whole) return {std::nullopt, before};
      if (!At(step).meets) return {step, before};
      before = step;
    }
  }

  /// Whether the metric rose from `from`, at least two strides back, to `to`.
  bool Rises(std::int64_t from, std::int64_t to) {
    if (to - from < (q_.whole ? 3 : 2 * kFirstStride)) return true;
    const auto low = Reached(At(from)), high = Reached(At(to));
    return !low || !high || *high > *low * (1 + kRise);
  }

  /// Climbs from the best try to the peak between its neighbors; meets the target there or nowhere.
  Bracket AroundTheBest() {
    const auto reached = [&](std::int64_t step) { return Reached(At(step)).value_or(-1); };
    const auto best = std::max_element(tries_.begin(), tries_.end(), [&](const auto& a, const auto& b) {
      return Reached(a.second).value_or(-1) < Reached(b.second).value_or(-1);
    });
    std::int64_t peak = best->first;
    std::int64_t low = best == tries_.begin() ? peak : std::prev(best)->first;
    std::int64_t high = std::next(best) == tries_.end() ? peak : std::next(best)->first;
    // The peak is the best of those seen; either side may hold a higher one.
    while (peak - low > 1 || high - peak > 1) {
      const std::int64_t left = low + (peak - low) / 2, right = high - (high - peak) / 2;
      if (At(left).meets) return {low, left};
      if (At(right).meets) return {peak, right};
      if (reached(left) > reached(peak)) {
        high = std::exchange(peak, left);
      } else if (reached(right) > reached(peak)) {
        low = std::exchange(peak, right);
      } else {
        low = left;
        high = right;
      }
    }
    return {peak, std::nullopt};
  }

  SizeAnswer Answer(std::optional<std::int64_t> without, std::optional<std::int64_t> with) {
    while (without && with && std::abs(*with - *without) > 1) {
      const std::int64_t middle = *without + (*with - *without) / 2;
      (At(middle).meets ? with : without) = middle;
    }
    SizeAnswer answer;
    if (with) answer.answer = At(*with);
    if (with && without) answer.neighbor = At(*without);
    double highest = 0;
    for (const auto& [step, attempt] : tries_) {
      answer.tried.push_back(attempt);
      highest = std::max(highest, Reached(attempt).value_or(0));
    }
    for (const SizeTry& attempt : answer.tried) {
      const auto reached = Reached(attempt);
      if (!reached || *reached < highest * (1 - kRise)) continue;
      if (!answer.best) answer.best = attempt;
      answer.ample = attempt;
    }
    return answer;
  }

  const SizeQuestion& q_;
  const RatesOf& rates_of_;
  std::map<std::int64_t, SizeTry> tries_;
};

}  // namespace

std::optional<double> Rates::Of(Metric metric) const {
  if (metric == Metric::kUtilization) return utilization;
  return samples_per_s;
}

SizeAnswer FindSize(const SizeQuestion& question, const RatesOf& rates_of) {
  return SizeSearch(question, rates_of).Find();
}

}  // namespace pipesim::advise
