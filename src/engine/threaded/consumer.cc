#include "engine/threaded/consumer.h"

#include "engine/rules.h"

namespace pipesim::engine::threaded {

using base::Instant;
using trace::State;

/// Passes the consumer's spans to its ring and, for an asynchronous device, to the timeline that
/// attributes the device's gaps.
class Consumer::Sink final : public trace::SpanSink {
 public:
  Sink(trace::SpanSink& ring, DeviceTimeline* device) : ring_(ring), device_(device) {}
  void Record(const trace::Span& span) override {
    if (device_ != nullptr) device_->HostWas(span.state, span.begin, span.end);
    ring_.Record(span);
  }
  void Record(const trace::StepRecord& step) override { ring_.Record(step); }
  void Record(const trace::BatchRecord& batch) override { ring_.Record(batch); }

 private:
  trace::SpanSink& ring_;
  DeviceTimeline* device_;
};

namespace {

std::optional<DeviceTimeline> MakeTimeline(RunState& run, bool asynchronous) {
  if (!asynchronous) return std::nullopt;
  return DeviceTimeline(run.begin, run.rings.ring(0));
}

}  // namespace

Consumer::Consumer(RunState& run, Trainer& trainer)
    : run_(run),
      trainer_(trainer),
      asynchronous_(trainer.info().asynchronous),
      device_(MakeTimeline(run, asynchronous_)),
      sink_(std::make_unique<Sink>(run.rings.ring(0), device_ ? &*device_ : nullptr)),
      timer_(run.clock, *sink_, trace::Role::kConsumer, 0, State::kHost, run.begin),
      feed_(MakeBatchFeed(run, timer_, *sink_)) {}

Consumer::~Consumer() = default;

Instant Consumer::Run() {
  base::UseFinestTimerSlack();
  if (!asynchronous_) timer_.HostIsCpuWork();
  run_.thread_ids.AddSelf(trace::Role::kConsumer);
  // A device that has failed gets no further calls.
  EndingOnFailure(run_, "training", [&] {
    TrainEpochs();
    FinishDownTo(0);
  });
  gave_up_ = !submitted_.empty();
  timer_.SetBatch(-1, 0);
  timer_.Enter(State::kHost);
  const Instant end = timer_.begun();
  if (device_) device_->Finish(end, State::kHost);
  return end;
}

void Consumer::TrainEpochs() {
  const std::optional<std::int64_t> epochs = run_.experiment.run.epochs;
  for (std::int64_t epoch = 0; !run_.ending(); ++epoch) {
    const bool trained = TrainEpoch(epoch);
    if (run_.ending()) break;
    if (!trained) {
      run_.End(trace::EndReason::kFailed, "a whole epoch had no usable sample");
    } else if (epochs && epoch + 1 >= *epochs) {
      run_.End(trace::EndReason::kEpochs);
    }
  }
}

bool Consumer::TrainEpoch(std::int64_t epoch) {
  const std::int64_t before = steps_;
  feed_->BeginEpoch(epoch);
  while (const std::optional<BatchFeed::Taken> taken = feed_->Next()) {
    Train(*taken);
    if (run_.experiment.run.steps && steps_ >= *run_.experiment.run.steps) {
      run_.End(trace::EndReason::kSteps);
    }
  }
  return steps_ > before;
}

void Consumer::Train(const BatchFeed::Taken& taken) {
  const Batch& batch = run_.ready_pool()[taken.slot].batch;
  timer_.SetBatch(batch.number, batch.samples);
  if (batch.samples == 0) {
    run_.ready_pool().Release(taken.slot);
    return;
  }
  // The batch needs an input buffer: the device holds at most in_flight.
  timer_.Enter(State::kCompute);
  trace::StepRecord record{.step = steps_,
                           .batch = batch.number,
                           .epoch = batch.epoch,
                           .samples = batch.samples,
                           .occupancy = static_cast<std::int32_t>(taken.occupancy),
                           .taken = timer_.begun(),
                           .done = {},
                           .starved = taken.starved,
                           .loss = std::nullopt};
  FinishDownTo(MostInFlight(run_.experiment.device) - 1);
  if (gave_up_) return;

  const bool read_back = ReadsBack(run_.experiment.training, steps_);
  trainer_.Submit(batch, steps_, read_back, timer_);
  submitted_.push_back({steps_, batch.number, batch.samples, taken.slot});
  ++steps_;
  // After a read-back, or on a synchronous device, no step is left to wait for.
  if (read_back || !asynchronous_) record.loss = FinishDownTo(0);
  timer_.Enter(State::kHost);
  record.done = timer_.begun();
  record.loaded = run_.loaded.load(std::memory_order_relaxed);
  timer_.SetBatch(-1, 0);
  sink_->Record(record);
}

std::optional<double> Consumer::FinishDownTo(std::size_t most) {
  std::optional<double> loss;
  if (submitted_.size() > most && timer_.state() != State::kCompute) {
    timer_.Enter(State::kCompute);
  }
  while (submitted_.size() > most) {
    const Submitted oldest = submitted_.front();
    const std::optional<StepDone> done = trainer_.WaitDone(oldest.step, timer_, run_.give_up);
    if (!done) {
      gave_up_ = true;
      return loss;
    }
    submitted_.pop_front();
    if (device_) device_->Done(*done, oldest.batch, oldest.samples, timer_.state());
    run_.ready_pool().Release(oldest.slot);
    loss = done->loss;
  }
  return loss;
}

}  // namespace pipesim::engine::threaded
