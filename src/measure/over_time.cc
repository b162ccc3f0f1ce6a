#include "measure/over_time.h"

#include <algorithm>
#include <initializer_list>
#include <utility>

namespace pipesim::measure {
namespace {

using base::Instant;
using trace::Role;
using trace::State;
using Line = OverTime::Line;

/// The borders of the slices.
struct Slices {
  Instant begin;
  base::Duration width{};
  std::size_t count = 0;

  Instant At(std::size_t border) const {
    return begin + width * static_cast<std::int64_t>(border);
  }
};

/// A counter as it was read, in order of time.
using Counter = std::vector<std::pair<Instant, double>>;

/// By linear interpolation; nullopt outside the readings. `from`: a reading at or before `at`, as
/// a place to start; moves forward.
std::optional<double> ValueAt(const Counter& counter, Instant at, std::size_t& from) {
  if (counter.empty() || at < counter.front().first || at > counter.back().first)
    return std::nullopt;
  while (from + 1 < counter.size() && counter[from + 1].first < at) ++from;
  if (from + 1 == counter.size()) return counter[from].second;
  const auto& [before, low] = counter[from];
  const auto& [after, high] = counter[from + 1];
  if (after <= before) return high;
  return low + (high - low) * (base::ToSeconds(at - before) / base::ToSeconds(after - before));
}

/// How fast the counter grows in each slice, a second. The first slice may begin before the first
/// reading and the last one end after the last: then over the part that was read.
Line Growth(const Slices& slices, const Counter& counter) {
  Line line(slices.count);
  if (counter.size() < 2) return line;
  std::size_t place = 0;
  for (std::size_t i = 0; i < slices.count; ++i) {
    const Instant from = std::max(slices.At(i), counter.front().first);
    const Instant to = std::min(slices.At(i + 1), counter.back().first);
    if (to - from < slices.width / 2) continue;
    const auto low = ValueAt(counter, from, place), high = ValueAt(counter, to, place);
    if (low && high) line[i] = (*high - *low) / base::ToSeconds(to - from);
  }
  return line;
}

Line Share(const trace::RunTrace& trace, const Slices& slices, Role role,
           std::initializer_list<State> states) {
  Line line(slices.count);
  for (std::size_t i = 0; i < slices.count; ++i) {
    base::Duration time{};
    for (const State state : states)
      time += TimeIn(trace, role, state, slices.At(i), slices.At(i + 1));
    line[i] = std::clamp(base::ToSeconds(time) / base::ToSeconds(slices.width), 0.0, 1.0);
  }
  return line;
}

Line MeanIn(const Slices& slices, const trace::Reservoir& series) {
  std::vector<double> sum(slices.count), count(slices.count);
  for (const trace::Sampled& sample : series.kept) {
    if (sample.at < slices.begin) continue;
    const auto slice = static_cast<std::size_t>((sample.at - slices.begin) / slices.width);
    const std::size_t last = std::min(slice, slices.count - 1);  // the end belongs to the last
    sum[last] += sample.value;
    ++count[last];
  }
  Line line(slices.count);
  for (std::size_t i = 0; i < slices.count; ++i)
    if (count[i] > 0) line[i] = sum[i] / count[i];
  return line;
}

Counter Samples(const trace::RunTrace& trace) {
  Counter counter{{trace.begin, 0.0}};
  for (const trace::Checkpoint& step : trace.progress)
    counter.emplace_back(step.at, static_cast<double>(step.samples));
  return counter;
}

Counter ProcessCpu(const trace::RunTrace& trace) {
  Counter counter;
  for (const trace::ResourceSample& sample : trace.resources)
    if (sample.process_cpu >= base::Duration::zero())
      counter.emplace_back(sample.at, base::ToSeconds(sample.process_cpu));
  return counter;
}

Counter StorageBytes(const trace::RunTrace& trace) {
  Counter counter;
  for (const trace::ResourceSample& sample : trace.resources)
    counter.emplace_back(sample.at, static_cast<double>(sample.storage_bytes.count));
  return counter;
}

/// What a reading was at the middle of each slice, by linear interpolation.
template <class Read>  // const trace::GpuReading& -> optional<double>
Line Level(const trace::RunTrace& trace, const Slices& slices, Read read) {
  Counter counter;
  for (const trace::ResourceSample& sample : trace.resources)
    if (const std::optional<double> value = read(sample.gpu)) counter.emplace_back(sample.at, *value);
  Line line(slices.count);
  std::size_t place = 0;
  for (std::size_t i = 0; i < slices.count; ++i)
    line[i] = ValueAt(counter, slices.At(i) + slices.width / 2, place);
  return line;
}

std::optional<OverTime::Gpu> GpuOf(const trace::RunTrace& trace, const Slices& slices) {
  using Reading = trace::GpuReading;
  const auto memory_bytes = [](const Reading& at) {
    return at.memory_used ? std::optional(static_cast<double>(at.memory_used->count)) : std::nullopt;
  };
  OverTime::Gpu gpu;
  gpu.utilization = Level(trace, slices, [](const Reading& at) { return at.utilization; });
  gpu.memory_bytes = Level(trace, slices, memory_bytes);
  gpu.power_w = Level(trace, slices, [](const Reading& at) { return at.power_w; });
  gpu.sm_clock_mhz = Level(trace, slices, [](const Reading& at) { return at.sm_clock_mhz; });
  gpu.memory_clock_mhz = Level(trace, slices, [](const Reading& at) { return at.memory_clock_mhz; });
  for (const Line* line : {&gpu.utilization, &gpu.memory_bytes, &gpu.power_w, &gpu.sm_clock_mhz,
                           &gpu.memory_clock_mhz})
    for (const auto& value : *line)
      if (value) return gpu;
  return std::nullopt;
}

/// Events around a step of a real GPU do not show the gaps between its kernels: it computes no longer
/// than its steps take alone.
void LeaveOutLaunchGaps(const trace::RunTrace& trace, std::int64_t batch_size, OverTime& lines) {
  const trace::Effective& effective = trace.effective;
  if (!effective.device_asynchronous || effective.device.IsEmulated() || !effective.device_step) return;
  const double sample_s = base::ToSeconds(*effective.device_step) / static_cast<double>(batch_size);
  for (std::size_t i = 0; i < lines.device_busy.size(); ++i) {
    const std::optional<double> rate = lines.samples_per_s[i];
    std::optional<double>& busy = lines.device_busy[i];
    if (rate && busy) busy = std::min(*busy, *rate * sample_s);
  }
}

std::vector<double> EpochBegins(const trace::RunTrace& trace) {
  std::vector<double> begins;
  for (std::size_t i = 1; i < trace.epochs.size(); ++i)
    begins.push_back(base::ToSeconds(trace.epochs[i].begin - trace.begin));
  if (begins.size() > kMostEpochMarks) begins.clear();
  return begins;
}

}  // namespace

std::optional<OverTime> OverTimeOf(const trace::RunTrace& trace, std::int64_t batch_size) {
  if (trace.steps <= 0 || trace.end <= trace.begin) return std::nullopt;
  Slices slices{trace.begin, {}, std::min(kMostSlices, static_cast<std::size_t>(trace.steps))};
  slices.width = (trace.end - trace.begin) / static_cast<std::int64_t>(slices.count);
  if (slices.width <= base::Duration::zero()) return std::nullopt;
  OverTime lines;
  lines.slice_s = base::ToSeconds(slices.width);
  lines.samples_per_s = Growth(slices, Samples(trace));
  lines.device_busy =
      trace.effective.device_asynchronous
          ? Share(trace, slices, Role::kDevice, {State::kBusy})
          : Share(trace, slices, Role::kConsumer,
                  {State::kForward, State::kBackward, State::kOptimizer, State::kCompute});
  LeaveOutLaunchGaps(trace, batch_size, lines);
  lines.starved = Share(trace, slices, Role::kConsumer, {State::kStarved});
  lines.occupancy =
      MeanIn(slices, trace.series[static_cast<std::size_t>(trace::Series::kOccupancy)]);
  lines.cores_used = Growth(slices, ProcessCpu(trace));
  lines.storage_bytes_per_s = Growth(slices, StorageBytes(trace));
  lines.gpu = GpuOf(trace, slices);
  lines.epoch_begins_s = EpochBegins(trace);
  return lines;
}

}  // namespace pipesim::measure
