#include "engine/threaded/consumer.h"

#include <mutex>

#include "engine/rules.h"
#include "engine/threaded/probing.h"

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

/// The timer of a trainer that shares its interpreter with the pin thread: it launches while it holds the lock, and
/// starves until it has it.
class SharingTimer final : public StateTimer {
 public:
  SharingTimer(StateTimer& timer, std::mutex& interpreter)
      : timer_(timer), lock_(interpreter, std::defer_lock) {}
  void Enter(State state) override {
    if (lock_.owns_lock()) lock_.unlock();
    if (state == State::kHost && !lock_.try_lock()) {
      timer_.Enter(State::kStarved);
      lock_.lock();
    }
    timer_.Enter(state);
  }
  Instant scheduled() const override { return timer_.scheduled(); }
  void WaitedUntil(Instant end) override { timer_.WaitedUntil(end); }

 private:
  StateTimer& timer_;
  std::unique_lock<std::mutex> lock_;
};

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
      timer_(run.clock, *sink_, trace::Role::kConsumer, 0, State::kHost, run.begin, run.marks),
      feed_(MakeBatchFeed(run, timer_, *sink_)) {}

Consumer::~Consumer() = default;

Instant Consumer::Run(const ProbeMeans& means) {
  base::UseFinestTimerSlack();
  if (!asynchronous_) timer_.HostIsCpuWork();
  run_.thread_ids.AddSelf(trace::Role::kConsumer);
  // A device that has failed gets no further calls.
  EndingOnFailure(run_, "training", [&] {
    TrainEpochs();
    if (!run_.ending()) Probe(means);
    FinishDownTo(0);
  });
  gave_up_ = !submitted_.empty();
  timer_.SetBatch(-1, 0);
  timer_.Enter(State::kHost);
  timer_.EndMarks();
  const Instant end = timer_.begun();
  if (device_) device_->Finish(end, State::kHost);
  return measured_until_.value_or(end);
}

void Consumer::TrainEpochs() {
  const std::optional<std::int64_t> epochs = run_.experiment.run.epochs;
  while (!run_.ending() && !run_.measured()) {
    const bool trained = TrainEpoch(++epoch_);
    if (run_.ending() || run_.measured()) break;
    if (!trained) {
      run_.End(trace::EndReason::kFailed, "a whole epoch had no usable sample");
    } else if (epochs && epoch_ + 1 >= *epochs) {
      run_.End(trace::EndReason::kEpochs);
    }
  }
}

bool Consumer::TrainEpoch(std::int64_t epoch) {
  const std::int64_t before = steps_;
  feed_->BeginEpoch(epoch);
  while (!run_.measured()) {
    const std::optional<BatchFeed::Taken> taken = feed_->Next();
    if (!taken) break;
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
  record.loss = Submit(batch, taken.slot);
  timer_.Enter(State::kHost);
  record.done = timer_.begun();
  record.loaded = run_.loaded.load(std::memory_order_relaxed);
  timer_.SetBatch(-1, 0);
  sink_->Record(record);
}

std::optional<double> Consumer::Submit(const Batch& batch, int slot) {
  const bool read_back = ReadsBack(run_.experiment.training, steps_);
  if (asynchronous_ && run_.pin && run_.pipeline.hand_over.processes) {
    SharingTimer timer(timer_, run_.interpreter);
    trainer_.Submit(batch, steps_, read_back, timer);
  } else {
    trainer_.Submit(batch, steps_, read_back, timer_);
  }
  submitted_.push_back({steps_, batch.number, batch.samples, slot});
  ++steps_;
  // After a read-back, or on a synchronous device, no step is left to wait for.
  return read_back || !asynchronous_ ? FinishDownTo(0) : std::nullopt;
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
    if (oldest.slot != kKeptSlot) run_.ready_pool().Release(oldest.slot);
    loss = done->loss;
  }
  return loss;
}

/// What probing asks of the consumer. Nothing of it is recorded.
class Consumer::Seat final : public ProbeSeat {
 public:
  Seat(Consumer& consumer, const ProbeMeans& means)
      : consumer_(consumer),
        means_(means),
        own_threads_(consumer.trainer_.info().compute_threads) {}

  std::optional<std::int64_t> Train() override {
    const auto taken = Take();
    if (!taken) return std::nullopt;
    const std::int64_t samples = SamplesOf(*taken);
    consumer_.Train(*taken);
    return Unless(consumer_.gave_up_, samples);
  }
  std::optional<std::int64_t> Drop() override {
    const auto taken = Take();
    if (!taken) return std::nullopt;
    const std::int64_t samples = SamplesOf(*taken);
    consumer_.run_.ready_pool().Release(taken->slot);
    return samples;
  }

  /// A full batch: an epoch's last one may hold less.
  bool BeginFreeData() override {
    const auto full = consumer_.run_.experiment.loader.batch_size;
    for (kept_ = Take(); kept_ && SamplesOf(*kept_) < full; kept_ = Take()) {
      consumer_.run_.ready_pool().Release(kept_->slot);
    }
    if (kept_) consumer_.run_.gate.Close();
    return kept_.has_value();
  }
  std::optional<std::int64_t> TrainAgain() override { return Again(kKeptSlot); }
  void EndFreeData() override {
    // Steps finish in order: when this one is done, none reads the batch any more.
    Again(kept_->slot);
    consumer_.run_.gate.Open();
  }

  void Use(const LiveSetting& setting) override {
    Deal(setting.workers, setting.prefetch_factor);
    if (setting.compute_threads > 0) consumer_.trainer_.UseComputeThreads(setting.compute_threads);
  }
  void UseOwn() override {
    const spec::Loader& own = consumer_.run_.experiment.loader;
    Deal(own.workers, own.prefetch_factor);
    consumer_.trainer_.UseComputeThreads(own_threads_);
  }
  std::int64_t Stock() const override {
    return consumer_.run_.loaded.load(std::memory_order_relaxed) - taken_;
  }
  bool Starved() const override { return starved_; }
  Instant Now() const override { return consumer_.timer_.Now(); }

 private:
  static std::optional<std::int64_t> Unless(bool over, std::int64_t samples) {
    return over ? std::nullopt : std::optional(samples);
  }
  std::optional<BatchFeed::Taken> Take() {
    const auto taken = consumer_.TakeNext();
    if (!taken) return std::nullopt;
    taken_ += SamplesOf(*taken);
    starved_ = taken->starved > base::Duration::zero();
    return taken;
  }
  std::int64_t SamplesOf(const BatchFeed::Taken& taken) const {
    return consumer_.run_.ready_pool()[taken.slot].batch.samples;
  }
  std::optional<std::int64_t> Again(int slot) {
    const Batch& batch = consumer_.run_.ready_pool()[kept_->slot].batch;
    const std::int64_t samples = batch.samples;
    consumer_.timer_.Enter(State::kCompute);
    consumer_.FinishDownTo(MostInFlight(consumer_.run_.experiment.device) - 1);
    if (consumer_.gave_up_) return std::nullopt;
    consumer_.Submit(batch, slot);
    consumer_.timer_.Enter(State::kHost);
    return Unless(consumer_.gave_up_ || consumer_.run_.ending(), samples);
  }

  void Deal(int workers, int prefetch_factor) {
    if (consumer_.run_.experiment.loader.workers == 0) return;
    consumer_.run_.dispatcher.Use(workers, prefetch_factor);
    means_.start_workers(workers);
  }

  Consumer& consumer_;
  const ProbeMeans& means_;
  const int own_threads_;
  std::int64_t taken_ = 0;  ///< samples
  bool starved_ = false;
  std::optional<BatchFeed::Taken> kept_;
};

std::optional<BatchFeed::Taken> Consumer::TakeNext() {
  for (;;) {
    if (auto taken = feed_->Next()) return taken;
    if (run_.ending()) return std::nullopt;
    feed_->BeginEpoch(++epoch_);
  }
}

void Consumer::Probe(const ProbeMeans& means) {
  timer_.SetBatch(-1, 0);
  timer_.Enter(State::kHost);
  const Instant end = timer_.begun();
  measured_until_ = end;
  run_.rings.EndRecordingAt(end);
  const trace::EndReason reason = run_.ended()->reason;
  // Parked, so that the batches in stock are still those of the run while the plan is made.
  run_.gate.Close();
  const std::optional<ProbePlan> plan = means.plan(run_.rings.With(
      [&](const trace::TraceBuilder& builder) { return builder.Snapshot(end, reason); }));
  run_.gate.Open();
  if (plan && !run_.ending()) {
    Seat seat(*this, means);
    probes_ = RunProbes(seat, *plan, run_.ShapeOfProbes(end));
  }
  run_.End(reason);
}

}  // namespace pipesim::engine::threaded
