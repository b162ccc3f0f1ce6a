#include "cost/step_table.h"

#include <algorithm>
#include <stdexcept>

#include "cost/rates.h"

namespace pipesim::cost {
namespace {

using base::Duration;
using spec::StepPoint;

double Ns(const StepPoint& point) { return static_cast<double>(point.time.count()); }
double SampleCount(const StepPoint& point) { return static_cast<double>(point.samples); }

double OnLine(const StepPoint& a, const StepPoint& b, double samples) {
  return Ns(a) + (Ns(b) - Ns(a)) / (SampleCount(b) - SampleCount(a)) * (samples - SampleCount(a));
}

/// One point for each batch size: the mean of its times.
std::vector<StepPoint> MeanOfEqual(std::vector<StepPoint> points) {
  std::vector<StepPoint> merged;
  for (auto at = points.begin(); at != points.end();) {
    const auto next = std::find_if(at, points.end(), [&](const StepPoint& point) {
      return point.samples != at->samples;
    });
    double sum_ns = 0;
    for (auto same = at; same != next; ++same) sum_ns += Ns(*same);
    merged.push_back(
        {at->samples, Duration(std::llround(sum_ns / static_cast<double>(next - at)))});
    at = next;
  }
  return merged;
}

}  // namespace

StepTable::StepTable(std::span<const StepPoint> measured)
    : points_(measured.begin(), measured.end()) {
  std::stable_sort(points_.begin(), points_.end(), [](const StepPoint& a, const StepPoint& b) {
    return a.samples < b.samples;
  });
  if (points_.empty()) throw std::invalid_argument("a table of no steps");
  if (points_.front().samples <= 0) throw std::invalid_argument("a step of no samples");
  points_ = MeanOfEqual(std::move(points_));
}

StepTable StepTable::Scaled(double factor) const {
  StepTable scaled = *this;
  for (StepPoint& point : scaled.points_) Scale(point.time, factor);
  return scaled;
}

bool StepTable::Covers(std::int64_t samples) const {
  return samples >= smallest() && samples <= largest();
}

Duration StepTable::At(std::int64_t samples) const {
  const auto n = static_cast<double>(samples);
  const StepPoint &first = points_.front(), &last = points_.back();
  double ns = 0;
  if (points_.size() == 1) {
    ns = Ns(first) * n / SampleCount(first);
  } else if (samples >= last.samples) {
    ns = std::clamp(OnLine(*(points_.end() - 2), last, n), Ns(last), Ns(last) * n / SampleCount(last));
  } else if (samples < first.samples) {
    ns = std::clamp(OnLine(first, points_[1], n), Ns(first) * n / SampleCount(first), Ns(first));
  } else {
    const auto above = std::upper_bound(
        points_.begin(), points_.end(), samples,
        [](std::int64_t value, const StepPoint& point) { return value < point.samples; });
    ns = OnLine(*(above - 1), *above, n);
  }
  return Duration(std::llround(ns));
}

}  // namespace pipesim::cost
