#include "trace/first_steps.h"

#include <algorithm>

#include "trace/keepers.h"

namespace pipesim::trace {
namespace {

/// A step's share of a bucket's time counts in proportion, so that few buckets tell little.
constexpr std::int64_t kLeastBuckets = 16;

/// As a run of so many steps keeps it: from every step.
const std::vector<Checkpoint>* ProgressOfEach(const RunTrace& trace, std::int64_t steps) {
  const std::vector<Checkpoint>& kept =
      trace.first_progress.empty() ? trace.progress : trace.first_progress;
  return !kept.empty() && kept.front().steps == 1 && kept.back().steps >= steps ? &kept : nullptr;
}

/// All of the first steps, those in flight included; nullptr where some were dropped.
const std::vector<Sampled>* DeviceSteps(const RunTrace& trace, std::int64_t steps) {
  const Reservoir& kept = trace.series[static_cast<std::size_t>(Series::kDeviceStep)];
  if (kept.seen == std::ssize(kept.kept)) return &kept.kept;
  const std::vector<Sampled>& first = trace.first_device_steps;
  return std::ssize(first) > steps ? &first : nullptr;
}

}  // namespace

std::optional<RunTrace> FirstSteps(const RunTrace& trace, std::int64_t steps) {
  const std::vector<Checkpoint>* progress = ProgressOfEach(trace, steps);
  const std::vector<Sampled>* device_steps = DeviceSteps(trace, steps);
  if (progress == nullptr || device_steps == nullptr || !trace.others.empty() || steps < 1)
    return std::nullopt;
  const Checkpoint& last = (*progress)[static_cast<std::size_t>(steps - 1)];
  const auto buckets = (last.at - trace.bucket_origin) / trace.bucket_width;
  if (last.steps != steps || buckets < kLeastBuckets) return std::nullopt;
  RunTrace first;
  first.begin = trace.begin;
  first.end = last.at;
  first.bucket_width = trace.bucket_width;
  first.bucket_origin = trace.bucket_origin;
  first.steps = steps;
  first.samples = last.samples;
  for (auto mark = progress->begin(); mark != progress->begin() + steps; ++mark)
    if ((mark->steps & (first.checkpoint_stride - 1)) == 0)
      KeepCheckpoint(*mark, first.checkpoint_stride, first.progress);
  first.first_batch = trace.first_batch;
  first.end_reason = EndReason::kSteps;
  first.effective = trace.effective;
  Reservoir& on_device = first.series[static_cast<std::size_t>(Series::kDeviceStep)];
  for (const Sampled& step : *device_steps)
    if (step.at <= last.at) on_device.kept.push_back(step);
  on_device.seen = std::ssize(on_device.kept);
  for (const ThreadTotals& thread : trace.threads) {
    ThreadTotals& kept = first.threads.emplace_back();
    kept.role = thread.role;
    kept.index = thread.index;
    kept.begin = thread.begin;
    kept.end = thread.end;  // the last bucket may be longer than the steps
    for (std::size_t state = 0; state < kStateCount; ++state) {
      const std::vector<base::Duration>& times = thread.times[state];
      const auto count = std::min<std::ptrdiff_t>(std::ssize(times), buckets + 1);
      kept.times[state].assign(times.begin(), times.begin() + count);
    }
    kept.repeated = thread.repeated;
  }
  return first;
}

}  // namespace pipesim::trace
