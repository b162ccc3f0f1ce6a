#include "trace/builder.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace pipesim::trace {
namespace {

using base::Duration;
using base::Instant;

constexpr Duration kFirstWidth = std::chrono::milliseconds(1);
constexpr std::size_t kMaxResourceSamples = 4096;
constexpr std::size_t kMaxBadSamples = 100;
constexpr std::size_t kMaxMetEpochs = 4096;
constexpr std::size_t kUsualSpans = 16;  ///< of a batch: room for them need not be moved

double Count(Duration duration) { return static_cast<double>(duration.count()); }

}  // namespace

TraceBuilder::TraceBuilder(Instant begin, std::uint64_t seed, const TraceOptions& options)
    : max_buckets_(options.max_buckets),
      keep_spans_(options.keep_spans),
      only_rate_(options.only_rate),
      step_series_(options.step_series),
      keep_first_(options.keep_first),
      rank_(seed),
      last_done_(begin) {
  if (keep_first_) device_steps_.KeepFirst();
  trace_.begin = trace_.end = trace_.bucket_origin = begin;
  trace_.bucket_width = kFirstWidth;
  MakeBucketsFor(begin + options.lasts);
  if (keep_spans_) trace_.first_spans.reserve(kSpanBatches * kUsualSpans);
}

bool TraceBuilder::AddDeviceOrTransfer(const Span& span) {
  const Duration own = span.end - span.begin - span.contended;
  if (span.role == Role::kDevice && span.state == State::kTransfer) {
    AddTransfer(span);
    return true;
  }
  if (span.role == Role::kConsumer && span.state == State::kTransfer) consumer_transfer_ += own;
  if (span.role == Role::kDevice && span.state == State::kBusy) {
    device_steps_.Offer(rank_(span.batch), span.batch, span.end, Count(own));
  }
  return false;
}

void TraceBuilder::AddToStepSeries(const StepRecord& step, std::uint64_t rank) {
  if (trace_.steps > 0) {
    step_times_.Offer(rank, step.step, step.done, Count(step.done - last_done_));
  }
  steps_.Offer(rank, step.step, step.done, Count(step.starved),
               static_cast<double>(step.occupancy));
  if (step.loss) losses_.Offer(rank, step.step, step.done, *step.loss);
}

/// To the series and the epochs.
void TraceBuilder::AddStep(const StepRecord& step) {
  const std::uint64_t rank = rank_(step.step);
  if (step_series_) AddToStepSeries(step, rank);
  if (consumer_transfer_ > Duration::zero() && !device_tells_transfers_) {
    transfers_.Offer(rank, step.step, step.done, Count(consumer_transfer_));
  }
  consumer_transfer_ = Duration::zero();
  epochs_.Add(trace_.epochs, step, last_done_);
}

void TraceBuilder::Record(const StepRecord& step) {
  if (!trace_.first_batch) trace_.first_batch = step.taken;
  if (!only_rate_) AddStep(step);
  ++trace_.steps;
  trace_.samples += step.samples;
  last_done_ = step.done;
  last_epoch_ = step.epoch;
  last_loaded_ = step.loaded;
  if (noted_) noted_->steps.push_back(Mark() - noted_->begin);
  const bool kept = (trace_.steps & (trace_.checkpoint_stride - 1)) == 0;
  const bool first = grows_first_ && trace_.checkpoint_stride > 1;
  if (!kept && !first) return;
  const Checkpoint checkpoint{.steps = trace_.steps,
                              .samples = trace_.samples,
                              .epoch = step.epoch,
                              .at = step.done,
                              .loaded = step.loaded};
  if (first) GrowFirst(checkpoint);
  if (kept) Keep(checkpoint);
}

void TraceBuilder::GrowFirst(const Checkpoint& checkpoint) {
  std::vector<Checkpoint>& first = trace_.first_progress;
  grows_first_ = first.size() < kMostFirstCheckpoints && !first.empty() && first.back().steps + 1 == checkpoint.steps;
  if (grows_first_) first.push_back(checkpoint);
}

void TraceBuilder::Record(const BatchRecord& batch) {
  if (only_rate_) return;
  epochs_.Add(trace_.epochs, batch);
  // The batch was done when the last span before its record ended; without workers the consumer
  // made it.
  const ThreadTotals* maker = FindTotals(Role::kWorker, batch.worker);
  if (maker == nullptr) maker = FindTotals(Role::kConsumer, 0);
  const Instant at = maker == nullptr ? trace_.begin : maker->end;
  batches_.Offer(rank_(batch.batch), batch.batch, at, Count(batch.read), Count(batch.read_cpu),
                 Count(batch.prepare + batch.prepare_wait), Count(batch.collate), Count(batch.contended));
}

void TraceBuilder::Record(const ResourceSample& sample) {
  if (only_rate_ || resource_readings_++ % resource_stride_ != 0) return;
  std::vector<ResourceSample>& kept = trace_.resources;
  kept.push_back(sample);
  if (kept.size() < kMaxResourceSamples) return;
  for (std::size_t i = 0; 2 * i < kept.size(); ++i) kept[i] = kept[2 * i];
  kept.resize((kept.size() + 1) / 2);
  resource_stride_ *= 2;
}

void TraceBuilder::RecordPresence(Role role, std::uint16_t thread, Instant begin, Instant end) {
  if (begin >= end) return;
  MakeBucketsFor(end);
  ThreadTotals& totals = trace_.threads[SlotOf(role, thread).place];
  totals.begin = std::min(totals.begin, std::max(begin, trace_.bucket_origin));
  totals.end = std::max(totals.end, end);
}

void TraceBuilder::RecordBadSample(DataFault fault) {
  ++trace_.bad_sample_count;
  if (trace_.bad_samples.size() < kMaxBadSamples) trace_.bad_samples.push_back(std::move(fault));
}

void TraceBuilder::Record(const MetEpoch& epoch) {
  std::vector<MetEpoch>& kept = trace_.met_epochs;
  if (!kept.empty() && kept.back().epoch == epoch.epoch)
    kept.back() = epoch;
  else if (kept.size() < kMaxMetEpochs)
    kept.push_back(epoch);
}

RunTrace TraceBuilder::Snapshot(Instant end, EndReason reason) const {
  TraceBuilder copy = *this;
  return copy.Finish(end, reason, {});
}

RunTrace TraceBuilder::Finish(Instant end, EndReason reason, std::string failure) {
  trace_.end = end;
  trace_.end_reason = reason;
  trace_.failure = std::move(failure);
  // Only the end after a number of epochs says that the last one is whole.
  if (reason == EndReason::kEpochs && !trace_.epochs.empty()) trace_.epochs.back().complete = true;
  trace_.last_spans = spans_.Last();
  const auto series = [this](Series first) {
    return &trace_.series[static_cast<std::size_t>(first)];
  };
  static_assert(static_cast<int>(Series::kOccupancy) == static_cast<int>(Series::kStarved) + 1);
  static_assert(static_cast<int>(Series::kContendedTime) ==
                static_cast<int>(Series::kReadTime) + 4);
  step_times_.Finish(series(Series::kStepTime));
  steps_.Finish(series(Series::kStarved));
  batches_.Finish(series(Series::kReadTime));
  device_steps_.Finish(series(Series::kDeviceStep), &trace_.first_device_steps);
  transfers_.Finish(series(Series::kTransferTime));
  losses_.Finish(series(Series::kLoss));
  return std::move(trace_);
}

TraceBuilder::Slot& TraceBuilder::MakeSlot(Role role, std::uint16_t index) {
  std::vector<Slot>& slots = slots_[static_cast<std::size_t>(role)];
  if (slots.size() <= index) slots.resize(index + std::size_t{1});
  slots[index].place = trace_.threads.size();
  trace_.threads.push_back({.role = role,
                            .index = index,
                            .begin = Instant::max(),
                            .end = trace_.begin,
                            .times = {},
                            .repeated = {}});
  return slots[index];
}

const ThreadTotals* TraceBuilder::FindTotals(Role role, std::uint16_t index) const {
  const std::vector<Slot>& slots = slots_[static_cast<std::size_t>(role)];
  if (slots.size() <= index || slots[index].place == Slot::kNowhere) return nullptr;
  return &trace_.threads[slots[index].place];
}

void TraceBuilder::AddTime(Slot& slot, const Span& span) {
  ThreadTotals& totals = trace_.threads[slot.place];
  const Instant begin = std::max(span.begin, trace_.bucket_origin);
  totals.begin = std::min(totals.begin, begin);
  totals.end = std::max(totals.end, span.end);
  if (begin >= span.end) return;
  MakeBucketsFor(span.end);
  if (begin < slot.from || slot.to < begin) {
    const Duration width = trace_.bucket_width;
    slot.bucket = static_cast<std::size_t>((begin - trace_.bucket_origin) / width);
    slot.from = trace_.bucket_origin + width * static_cast<std::int64_t>(slot.bucket);
    slot.to = slot.from + width;
  }
  AddToBuckets(slot, span, begin);
}

void TraceBuilder::AddToBuckets(Slot& slot, const Span& span, Instant begin) {
  ThreadTotals& totals = trace_.threads[slot.place];
  const auto for_each_piece = [&](const auto& add) {
    for (Instant at = begin; at < span.end;) {
      if (at == slot.to) {
        ++slot.bucket;
        slot.from = slot.to;
        slot.to += trace_.bucket_width;
      }
      const Instant until = std::min(span.end, slot.to);
      add(at, until);
      at = until;
    }
  };
  if (span.contended == Duration::zero()) {
    return for_each_piece(
        [&](Instant at, Instant until) { TimeAt(totals, slot.bucket, span.state) += until - at; });
  }
  Duration contended_before = ContendedUntil(span, begin);
  for_each_piece([&](Instant at, Instant until) {
    const Duration contended = ContendedUntil(span, until) - contended_before;
    AddToBucket(totals, slot.bucket, span.state, until - at, contended);
    contended_before += contended;
  });
}

void TraceBuilder::MakeBucketsFor(Instant end) {
  const Duration to = end - trace_.bucket_origin;
  while (to > trace_.bucket_width * static_cast<std::int64_t>(max_buckets_)) DoubleBuckets();
}

void TraceBuilder::DoubleBuckets() {
  trace_.bucket_width *= 2;
  for (std::vector<Slot>& slots : slots_) {
    for (Slot& slot : slots) slot.to = Instant::min();
  }
  for (ThreadTotals& thread : trace_.threads) {
    for (std::vector<Duration>& times : thread.times) {
      const std::size_t pairs = times.size() / 2;
      for (std::size_t i = 0; i < pairs; ++i) times[i] = times[2 * i] + times[2 * i + 1];
      if (times.size() % 2 != 0) times[pairs] = times.back();
      times.resize((times.size() + 1) / 2);
    }
  }
}

void TraceBuilder::AddTransfer(const Span& span) {
  if (only_rate_) return;
  // The device's clock is the better witness: what the consumer spent in kTransfer so far goes.
  if (!device_tells_transfers_) {
    transfers_ = {};
    device_tells_transfers_ = true;
  }
  transfers_.Offer(rank_(span.batch), span.batch, span.end, Count(span.end - span.begin));
}

}  // namespace pipesim::trace
