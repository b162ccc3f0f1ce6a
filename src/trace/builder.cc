#include "trace/builder.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace pipesim::trace {
namespace {

using base::Duration;
using base::Instant;

constexpr Duration kFirstWidth = std::chrono::milliseconds(1);
constexpr std::size_t kMaxCheckpoints = 4096;
constexpr std::size_t kMaxResourceSamples = 4096;
constexpr std::size_t kMaxBadSamples = 100;

double Count(Duration duration) { return static_cast<double>(duration.count()); }

}  // namespace

TraceBuilder::TraceBuilder(Instant begin, std::uint64_t seed, std::size_t max_buckets)
    : max_buckets_(max_buckets), rank_(seed), last_done_(begin) {
  trace_.begin = trace_.end = trace_.bucket_origin = begin;
  trace_.bucket_width = kFirstWidth;
}

void TraceBuilder::Record(const Span& span) {
  if (observer_) observer_(span);
  spans_.Add(trace_.first_spans, span);
  const Duration own = span.end - span.begin - span.contended;
  if (span.role == Role::kDevice && span.state == State::kTransfer) {
    AddTransfer(span);
    return;  // beside the device's partition
  }
  if (span.role == Role::kConsumer && span.state == State::kTransfer) consumer_transfer_ += own;
  if (span.role == Role::kDevice && span.state == State::kBusy) {
    AddValue(Series::kDeviceStep, span.batch, rank_(span.batch), span.end, Count(own));
  }
  AddTime(Totals(span.role, span.thread), span);
}

void TraceBuilder::Record(const StepRecord& step) {
  const std::uint64_t rank = rank_(step.step);
  if (!trace_.first_batch) trace_.first_batch = step.taken;
  if (trace_.steps > 0) {
    AddValue(Series::kStepTime, step.step, rank, step.done, Count(step.done - last_done_));
  }
  AddValue(Series::kStarved, step.step, rank, step.done, Count(step.starved));
  AddValue(Series::kOccupancy, step.step, rank, step.done, step.occupancy);
  if (step.loss) AddValue(Series::kLoss, step.step, rank, step.done, *step.loss);
  if (consumer_transfer_ > Duration::zero() && !device_tells_transfers_) {
    AddValue(Series::kTransferTime, step.step, rank, step.done, Count(consumer_transfer_));
  }
  consumer_transfer_ = Duration::zero();
  epochs_.Add(trace_.epochs, step, last_done_);
  ++trace_.steps;
  trace_.samples += step.samples;
  last_done_ = step.done;
  AddCheckpoint(step);
}

void TraceBuilder::Record(const BatchRecord& batch) {
  epochs_.Add(trace_.epochs, batch);
  // The batch was done when the last span before its record ended; without workers the consumer
  // made it.
  const ThreadTotals* maker = FindTotals(Role::kWorker, batch.worker);
  if (maker == nullptr) maker = FindTotals(Role::kConsumer, 0);
  const Instant at = maker == nullptr ? trace_.begin : maker->end;
  const std::uint64_t rank = rank_(batch.batch);
  AddValue(Series::kReadTime, batch.batch, rank, at, Count(batch.read));
  AddValue(Series::kReadCpuTime, batch.batch, rank, at, Count(batch.read_cpu));
  AddValue(Series::kPrepareTime, batch.batch, rank, at, Count(batch.prepare));
  AddValue(Series::kCollateTime, batch.batch, rank, at, Count(batch.collate));
  AddValue(Series::kContendedTime, batch.batch, rank, at, Count(batch.contended));
}

void TraceBuilder::Record(const ResourceSample& sample) {
  if (resource_readings_++ % resource_stride_ != 0) return;
  std::vector<ResourceSample>& kept = trace_.resources;
  kept.push_back(sample);
  if (kept.size() < kMaxResourceSamples) return;
  for (std::size_t i = 0; 2 * i < kept.size(); ++i) kept[i] = kept[2 * i];
  kept.resize((kept.size() + 1) / 2);
  resource_stride_ *= 2;
}

void TraceBuilder::RecordBadSample(DataFault fault) {
  ++trace_.bad_sample_count;
  if (trace_.bad_samples.size() < kMaxBadSamples) trace_.bad_samples.push_back(std::move(fault));
}

void TraceBuilder::SetSpanObserver(std::function<void(const Span&)> observer) {
  observer_ = std::move(observer);
}

RunTrace TraceBuilder::Finish(Instant end, EndReason reason, std::string failure) {
  trace_.end = end;
  trace_.end_reason = reason;
  trace_.failure = std::move(failure);
  // Only the end after a number of epochs says that the last one is whole.
  if (reason == EndReason::kEpochs && !trace_.epochs.empty()) trace_.epochs.back().complete = true;
  trace_.last_spans = spans_.Last();
  for (std::size_t i = 0; i < trace_.series.size(); ++i) reservoirs_[i].Finish(trace_.series[i]);
  return std::move(trace_);
}

ThreadTotals& TraceBuilder::Totals(Role role, std::uint16_t index) {
  std::vector<int>& places = places_[static_cast<std::size_t>(role)];
  if (places.size() <= index) places.resize(index + std::size_t{1}, -1);
  if (places[index] < 0) {
    places[index] = static_cast<int>(trace_.threads.size());
    trace_.threads.push_back({.role = role,
                              .index = index,
                              .begin = Instant::max(),
                              .end = trace_.begin,
                              .buckets = {}});
  }
  return trace_.threads[static_cast<std::size_t>(places[index])];
}

const ThreadTotals* TraceBuilder::FindTotals(Role role, std::uint16_t index) const {
  const std::vector<int>& places = places_[static_cast<std::size_t>(role)];
  if (places.size() <= index || places[index] < 0) return nullptr;
  return &trace_.threads[static_cast<std::size_t>(places[index])];
}

void TraceBuilder::AddTime(ThreadTotals& totals, const Span& span) {
  const Instant begin = std::max(span.begin, trace_.bucket_origin);
  totals.begin = std::min(totals.begin, begin);
  totals.end = std::max(totals.end, span.end);
  if (begin >= span.end) return;
  const Duration to = span.end - trace_.bucket_origin;
  while (to > trace_.bucket_width * static_cast<std::int64_t>(max_buckets_)) DoubleBuckets();
  const Duration width = trace_.bucket_width;
  if (!totals.buckets.empty()) {
    // Almost always: in the last bucket so far, as a whole.
    auto& last = totals.buckets.back();
    const Instant last_begin =
        trace_.bucket_origin + width * static_cast<std::int64_t>(totals.buckets.size() - 1);
    if (last_begin <= span.begin && span.end <= last_begin + width) {
      last[static_cast<std::size_t>(span.state)] += span.end - begin - span.contended;
      last[static_cast<std::size_t>(State::kContended)] += span.contended;
      return;
    }
  }
  auto bucket = static_cast<std::size_t>((begin - trace_.bucket_origin) / width);
  const auto last = static_cast<std::size_t>((to - Duration(1)) / width);
  if (totals.buckets.size() <= last) totals.buckets.resize(last + 1);

  // Contention is spread evenly. Its running total is what is rounded, so the parts add up to it
  // exactly and none exceeds its bucket's share.
  const double per_ns = Count(span.contended) / Count(span.end - span.begin);
  const auto contended_until = [&](Instant when) {
    if (when == span.end || span.contended == Duration::zero()) return span.contended;
    return Duration(std::llround(per_ns * Count(when - span.begin)));
  };
  Duration contended_before = contended_until(begin);
  for (Instant at = begin; at < span.end; ++bucket) {
    const Instant bucket_end =
        trace_.bucket_origin + width * (static_cast<std::int64_t>(bucket) + 1);
    const Instant until = std::min(span.end, bucket_end);
    const Duration contended = contended_until(until) - contended_before;
    auto& times = totals.buckets[bucket];
    times[static_cast<std::size_t>(span.state)] += (until - at) - contended;
    times[static_cast<std::size_t>(State::kContended)] += contended;
    contended_before += contended;
    at = until;
  }
}

void TraceBuilder::DoubleBuckets() {
  trace_.bucket_width *= 2;
  for (ThreadTotals& thread : trace_.threads) {
    auto& buckets = thread.buckets;
    for (std::size_t i = 0; i < buckets.size(); ++i) {
      if (i % 2 == 0) {
        buckets[i / 2] = buckets[i];
        continue;
      }
      for (std::size_t state = 0; state < kStateCount; ++state) {
        buckets[i / 2][state] += buckets[i][state];
      }
    }
    buckets.resize((buckets.size() + 1) / 2);
  }
}

void TraceBuilder::AddValue(Series series, std::int64_t key, std::uint64_t rank, Instant at,
                            double value) {
  const auto index = static_cast<std::size_t>(series);
  reservoirs_[index].Offer(trace_.series[index], {.key = key, .at = at, .value = value}, rank);
}

void TraceBuilder::AddTransfer(const Span& span) {
  // The device's clock is the better witness: what the consumer spent in kTransfer so far goes.
  if (!device_tells_transfers_) {
    trace_.series[static_cast<std::size_t>(Series::kTransferTime)] = {};
    reservoirs_[static_cast<std::size_t>(Series::kTransferTime)] = {};
    device_tells_transfers_ = true;
  }
  AddValue(Series::kTransferTime, span.batch, rank_(span.batch), span.end,
           Count(span.end - span.begin));
}

void TraceBuilder::AddCheckpoint(const StepRecord& step) {
  if ((trace_.steps & (trace_.checkpoint_stride - 1)) != 0) return;
  trace_.progress.push_back(
      {.steps = trace_.steps, .samples = trace_.samples, .epoch = step.epoch, .at = step.done});
  if (trace_.progress.size() < kMaxCheckpoints) return;
  trace_.checkpoint_stride *= 2;
  std::erase_if(trace_.progress, [stride = trace_.checkpoint_stride](const Checkpoint& kept) {
    return kept.steps % stride != 0;
  });
}

}  // namespace pipesim::trace
