#include "engine/virtual_time/consumer.h"

#include <algorithm>

namespace pipesim::engine::virtual_time {

using base::Duration;
using trace::State;

namespace {

std::optional<EmulatedDevice> MakeDevice(const VirtualRun& run, int rank) {
  if (run.pipeline.step.on_cpu()) return std::nullopt;
  return EmulatedDevice(run.experiment, run.pipeline, rank);
}

/// The step of the CPU that trains, on the threads that the experiment gives it.
std::optional<cost::StepServer> MakeCpuStep(const VirtualRun& run, int rank) {
  cost::Step step = run.pipeline.step;
  if (!step.on_cpu()) return std::nullopt;
  const int threads = ThreadsOfStep(run.experiment, step);
  const std::int64_t batch = run.experiment.loader.batch_size;
  const double full_s = base::ToSeconds(step.Mean(batch));
  if (threads < step.threads && full_s > 0)
    step = step.Scaled(base::ToSeconds(step.MeanOn(batch, threads)) / full_s);
  return cost::StepServer(step, batch, run.experiment.run.seed, rank);
}

std::optional<DeviceTimeline> MakeTimeline(base::Instant now, trace::TraceBuilder* recorder,
                                           bool asynchronous) {
  if (!asynchronous || recorder == nullptr) return std::nullopt;
  return DeviceTimeline(now, *recorder);
}

}  // namespace

Consumer::Consumer(VirtualRun& run, Rank& rank, const PinThread* pin, PoolSpin& pool)
    : Actor(rank.first_actor),
      run_(run),
      rank_(rank),
      pin_(pin),
      pool_(pool),
      device_(MakeDevice(run, rank.number)),
      cpu_step_(MakeCpuStep(run, rank.number)),
      step_threads_(cpu_step_ ? ThreadsOfStep(run.experiment, run.pipeline.step) : 0),
      timeline_(MakeTimeline(run.now, rank.recorder, device_.has_value())),
      account_(rank.recorder, trace::Role::kConsumer, 0, State::kHost, run.now,
               timeline_ ? &*timeline_ : nullptr),
      maker_(run, rank, account_, 0),
      ready_(run.experiment.loader.in_order) {}

Duration Consumer::FullStep() const {
  return device_ ? device_->FullStep() : cpu_step_->full();
}

void Consumer::Resume(Duration contended) {
  account_.Contended(contended);
  contended_ = contended;
  while (Go()) {
  }
}

void Consumer::Visit(StateVisitor& visitor) {
  visitor.Same(phase_);
  visitor.Same(contended_);
  visitor.Time(host_begin_);
  visitor.Same(host_time_);
  visitor.Same(rank_.interpreter.holder);
  visitor.Same(rank_.interpreter.waiting != nullptr);
  if (device_) {
    device_->Visit(visitor, host_begin_);
    visitor.Time(copy_.begin);
    visitor.Time(copy_.end);
    visitor.Same(copy_.host_waits);
  }
  if (timeline_) timeline_->Visit(visitor);
  account_.Visit(visitor);
  if (rank_.queue) {
    ready_.Visit(visitor, VisitBatch);
  } else {
    maker_.Visit(visitor);
    visitor.Time(making_since_);
  }
  visitor.Epoch(epoch_);
  visitor.Index(taken_);
  visitor.Same(launched_);
  if (const std::int64_t every = run_.experiment.training.sync_every; every > 0)
    visitor.Same(steps_ % every);
  visitor.Number(steps_);
  visitor.Time(starved_since_);
  visitor.Same(starved_);
  visitor.Time(waits_since_);
  VisitBatch(visitor, batch_);
  visitor.Number(record_.step);
  visitor.Number(record_.batch);
  visitor.Epoch(record_.epoch);
  visitor.Same(record_.samples);
  visitor.Same(record_.occupancy);
  visitor.Time(record_.taken);
  visitor.Same(record_.starved);
  visitor.Each(submitted_, [&](Submitted& submitted) {
    visitor.Time(submitted.done.begin);
    visitor.Time(submitted.done.end);
    visitor.Time(submitted.done.transfer_begin);
    visitor.Time(submitted.done.transfer_end);
    visitor.Number(submitted.batch);
    visitor.Same(submitted.samples);
  });
  visitor.Time(last_step_);
  visitor.Same(steps_at_once_);
}

bool Consumer::Go() {
  switch (phase_) {
    case Phase::kBeginEpoch:
      return BeginEpoch();
    case Phase::kLaunched:
      return Launched();
    case Phase::kLook:
      return Look();
    case Phase::kReceive:
      return Receive();
    case Phase::kOpen:
      return Open();
    case Phase::kOpened:
      return Opened();
    case Phase::kMake:
      return Make();
    case Phase::kOwnPin:
      return OwnPin();
    case Phase::kTrain:
      return Train();
    case Phase::kMakeRoom:
      return MakeRoom();
    case Phase::kLaunch:
      return Launch();
    case Phase::kLaunchUnlocked:
      return LaunchUnlocked();
    case Phase::kSubmit:
      return Submit();
    case Phase::kReadBack:
      return ReadBack();
    case Phase::kMeet:
      return Meet();
    case Phase::kEndStep:
      return EndStep();
    case Phase::kFinish:
      return Finish();
  }
  return false;
}

bool Consumer::After(const Wait& wait, Phase next) {
  phase_ = next;
  return !run_.Begin(*this, wait);
}

bool Consumer::BeginEpoch() {
  ++epoch_;
  taken_ = 0;
  launched_ = 0;
  const bool starts = epoch_ == 0 || !run_.experiment.loader.persistent_workers;
  if (!starts || run_.pipeline.hand_over.launch <= Duration::zero()) return DealBatches();
  account_.Enter(State::kStarved, run_.now);
  return LaunchWorker();
}

// Launching worker processes blocks the training loop. Those that are launched make themselves ready
// meanwhile; batches are dealt when all are launched.
bool Consumer::LaunchWorker() {
  if (launched_ == rank_.workers) return DealBatches();
  return After(Wait::For({.each = run_.pipeline.hand_over.launch}), Phase::kLaunched);
}

bool Consumer::Launched() {
  rank_.dispatcher.Launched(epoch_, launched_++, [this](int worker) { WakeWorker(worker); });
  return LaunchWorker();
}

bool Consumer::DealBatches() {
  phase_ = Phase::kLook;
  rank_.order.emplace(run_.sampler.WholeEpochOrder(epoch_, rank_.number));
  ready_.BeginEpoch();
  rank_.dispatcher.BeginEpoch(epoch_, run_.batches_per_epoch,
                              [this](int worker) { WakeWorker(worker); });
  return true;
}

void Consumer::WakeWorker(int worker) {
  run_.Wake(*run_.actors[static_cast<std::size_t>(rank_.first_actor + 1 + worker)]);
}

bool Consumer::Look() {
  if (run_.ending() || taken_ == run_.batches_per_epoch) return EndEpoch();
  record_.step = steps_;
  record_.epoch = epoch_;
  if (!rank_.queue) {
    making_since_ = run_.now;
    maker_.Begin({.index = taken_});
    phase_ = Phase::kMake;
    return true;
  }
  std::int64_t made = rank_.ready_channel().size() + ready_.size();
  if (pin_ != nullptr) made += rank_.queue->size() + pin_->holds();
  record_.occupancy = static_cast<std::int32_t>(made);
  phase_ = Phase::kReceive;
  return Receive();
}

bool Consumer::Receive() {
  waits_since_.reset();
  if (const auto waiting = ready_.Take()) return Received(*waiting);
  while (const auto popped = rank_.ready_channel().Pop()) {
    rank_.dispatcher.Arrived(popped->batch.maker);
    batch_ = popped->batch;
    // A pin thread has opened it.
    const bool opens = pin_ == nullptr && run_.pipeline.hand_over.processes;
    const bool passes = !opens && ready_.Passes(batch_.deal.index);
    if (!opens && !passes) ready_.Put(batch_.deal.index, batch_);
    if (popped->released != nullptr) run_.Wake(*popped->released);
    if (opens) {
      EndStarving();
      account_.Enter(State::kReceive, run_.now);
      phase_ = Phase::kOpen;
      return !run_.WaitForAnswers(rank_, batch_, *this);
    }
    if (passes) return Received(batch_);
  }
  if (!starved_since_) {
    account_.Enter(State::kStarved, run_.now);
    starved_since_ = run_.now;
    rank_.dispatcher.ConsumerWaits(run_.now);
  }
  if (run_.ending()) {
    rank_.dispatcher.ConsumerGoesOn(run_.now);
    return EndEpoch();
  }
  waits_since_ = run_.now;
  rank_.ready_channel().SetReader(this);
  return false;
}

bool Consumer::Open() {
  rank_.opens_of = -1;
  return After(Wait::For(run_.ReceiveWork(rank_, batch_)), Phase::kOpened);
}

bool Consumer::Opened() {
  phase_ = Phase::kReceive;
  if (ready_.Passes(batch_.deal.index)) return Received(batch_);
  ready_.Put(batch_.deal.index, batch_);
  return true;
}

void Consumer::EndStarving() {
  if (!starved_since_) return;
  starved_ += run_.now - *starved_since_;
  rank_.dispatcher.ConsumerGoesOn(run_.now);
  starved_since_.reset();
}

bool Consumer::Received(const MadeBatch& batch) {
  EndStarving();
  Taken(batch, std::exchange(starved_, Duration::zero()));
  rank_.dispatcher.Taken(batch.deal, [this](int worker) { WakeWorker(worker); });
  return Train();
}

void Consumer::Taken(const MadeBatch& batch, Duration starved) {
  ++taken_;
  batch_ = batch;
  record_.batch = rank_.dispatcher.NumberOf(batch.deal);
  record_.samples = batch.samples;
  record_.starved = starved;
  phase_ = Phase::kTrain;
}

bool Consumer::Make() {
  const Duration contended = std::exchange(contended_, Duration::zero());
  if (run_.ending()) return EndEpoch();
  if (const Wait wait = maker_.Next(contended); wait.kind != Wait::Kind::kNoMore) {
    return !run_.Begin(*this, wait);
  }
  Taken(maker_.batch(), run_.now - making_since_);
  if (run_.pins) phase_ = Phase::kOwnPin;
  return true;
}

bool Consumer::OwnPin() {
  account_.Enter(State::kPin, run_.now);
  return After({.kind = Wait::Kind::kWork, .work = run_.PinWork(batch_.samples)}, Phase::kTrain);
}

bool Consumer::TimePasses() {
  constexpr std::int64_t kMostAtOnce = 1'000'000;
  const spec::Run& limits = run_.experiment.run;
  if (steps_at_once_ > kMostAtOnce && !limits.steps && !limits.epochs) {
    run_.End(trace::EndReason::kFailed,
             "virtual time stands still: every stage of the pipeline is free, so that no duration "
             "ever passes; give a stage a cost, or the run a number of steps");
  }
  return true;
}

// Other accelerators have no step limit. If nothing costs them time, they would train forever at
// one instant while the first waits for a later one: for its workers to start, or for reads that
// are cache hits here. More steps at one instant than the window holds mean that batches take no
// time to make. The pauses grow with the run, like the monitor's, so their number is logarithmic.
bool Consumer::Rests() {
  constexpr std::int64_t kMostAtOnce = 1000;
  constexpr Duration kLeast = std::chrono::milliseconds(1);
  constexpr int kPartOfElapsed = 128;
  if (steps_at_once_ <= kMostAtOnce + run_.experiment.loader.Window()) return true;
  const Duration elapsed = run_.now.time_since_epoch();
  return !run_.Sleep(*this, run_.now + std::max(kLeast, elapsed / kPartOfElapsed));
}

bool Consumer::EndEpoch() {
  starved_since_.reset();
  starved_ = {};
  const std::optional<std::int64_t> epochs = run_.experiment.run.epochs;
  if (!run_.ending() && run_.batches_per_epoch == 0) {
    run_.End(trace::EndReason::kFailed, "a whole epoch had no usable sample");
  }
  if (!run_.ending() && rank_.is_first() && epochs && epoch_ + 1 >= *epochs) {
    run_.End(trace::EndReason::kEpochs);
  }
  phase_ = run_.ending() ? Phase::kFinish : Phase::kBeginEpoch;
  return true;
}

bool Consumer::Finish() {
  if (!FinishDownTo(0)) return false;
  account_.SetBatch(-1, 0);
  account_.Enter(State::kHost, run_.now);
  account_.Finish(run_.now);
  if (timeline_) timeline_->Finish(run_.now, State::kHost);
  if (rank_.is_first()) run_.over = true;
  return false;
}

}  // namespace pipesim::engine::virtual_time
