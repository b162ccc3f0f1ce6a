#include "engine/threaded/monitor.h"

#include <algorithm>
#include <chrono>

namespace pipesim::engine::threaded {

using base::Duration;
using base::Instant;
using trace::Role;
using trace::State;

namespace {

constexpr Duration kTick = std::chrono::milliseconds(10);
constexpr Duration kSampleEvery = std::chrono::milliseconds(100);
/// NVML's own figures are means over 1/6 s to 1 s; a reading is several calls into the driver.
constexpr Duration kReadingEvery = std::chrono::milliseconds(200);
constexpr Duration kProgressEvery = std::chrono::milliseconds(200);
constexpr Duration kLately = std::chrono::seconds(1);

double Share(Duration part, Duration whole) {
  return whole > Duration::zero() ? base::ToSeconds(part) / base::ToSeconds(whole) : 0;
}

/// Measured by the device's clock, or as the consumer's compute time where the device has none.
Duration DeviceBusy(const trace::RunTrace& trace, Instant from, Instant to) {
  if (trace::Has(trace, Role::kDevice)) {
    return trace::TimeIn(trace, Role::kDevice, State::kBusy, from, to);
  }
  Duration busy{};
  for (const State state :
       {State::kForward, State::kBackward, State::kOptimizer, State::kCompute}) {
    busy += trace::TimeIn(trace, Role::kConsumer, state, from, to);
  }
  return busy;
}

}  // namespace

Monitor::Monitor(RunState& run, const RunControl& control, const base::CpuAllowance& cpus)
    : run_(run),
      control_(control),
      resources_(cpus, run.thread_ids, run.disk),
      next_sample_(run.begin),
      next_reading_(run.begin),
      next_progress_(run.begin + kProgressEvery) {
  thread_ = std::thread([this] { Loop(); });
}

Monitor::~Monitor() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  stop_changed_.notify_all();
  thread_.join();
}

void Monitor::Loop() {
  run_.thread_ids.AddSelf(std::nullopt);
  std::unique_lock lock(mutex_);
  while (!stop_) {
    lock.unlock();
    EndingOnFailure(run_, "watching the run", [&] { Tick(run_.clock.Now()); });
    lock.lock();
    stop_changed_.wait_for(lock, kTick, [&] { return stop_; });
  }
  lock.unlock();
  if (measured_) return;
  EndingOnFailure(run_, "watching the run", [&] { SampleResources(run_.clock.Now()); });
}

void Monitor::Tick(Instant now) {
  run_.rings.Drain();
  CheckStop(now);
  if (run_.ending()) {
    run_.ReleaseWaiters();
  } else {
    CheckTimeout(now);
  }
  if (measured_) return;
  // The last sample is taken when the measured part ends.
  measured_ = run_.measured();
  if (now >= next_sample_ || measured_) {
    next_sample_ = now + kSampleEvery;
    ReadGpuIfDue(now);
    SampleResources(now);
    AskEnough(now);
  }
  if (now >= next_progress_) {
    next_progress_ = now + kProgressEvery;
    ReportProgress(now);
  }
}

void Monitor::CheckStop(Instant now) {
  const bool stop = control_.stop != nullptr && control_.stop->IsSet();
  if (stop) run_.End(trace::EndReason::kInterrupted);
  // A run that ends as planned lets the device finish, however long its steps are.
  const std::optional<RunState::Ending> ending = run_.ended();
  if (!stop && !(ending && ending->Failed())) return;
  if (!hurried_since_) hurried_since_ = now;
  if (now - *hurried_since_ >= kGrace) run_.give_up.Set();
}

void Monitor::CheckTimeout(Instant now) {
  const Duration timeout = run_.experiment.loader.timeout;
  const Instant since{Duration(run_.consumer_waits_since.load())};
  if (timeout == Duration::zero() || since == Instant{} || now - since < timeout) return;
  run_.End(trace::EndReason::kFailed, NoBatchWithin(timeout, run_.dispatcher.Missing()));
}

void Monitor::SampleResources(Instant now) {
  trace::ResourceSample sample = resources_.Read(now, run_.storage.use());
  sample.loaded = run_.loaded.load(std::memory_order_relaxed);
  sample.gpu = gpu_;
  run_.rings.With([&](trace::TraceBuilder& builder) { builder.Record(sample); });
}

void Monitor::ReadGpuIfDue(Instant now) {
  if (!run_.read_gpu || now < next_reading_) return;
  next_reading_ = now + kReadingEvery;
  gpu_ = run_.read_gpu();
}

void Monitor::AskEnough(Instant now) {
  if (!control_.enough || run_.ending() || run_.measured()) return;
  const std::optional<trace::EndReason> reason = run_.rings.With(
      [&](trace::TraceBuilder& builder) { return control_.enough(builder.trace(), now); });
  if (reason) run_.End(*reason);
}

void Monitor::ReportProgress(Instant now) {
  if (!control_.on_progress) return;
  Progress progress;
  progress.elapsed = now - run_.begin;
  run_.rings.With([&](trace::TraceBuilder& builder) {
    const trace::RunTrace& trace = builder.trace();
    progress.steps = trace.steps;
    progress.samples = trace.samples;
    lately_.push_back({now, trace.samples});
    while (lately_.size() > 2 && lately_[1].at <= now - kLately) lately_.pop_front();
    const Instant from = lately_.front().at;
    if (from < now) {
      progress.samples_per_s = static_cast<double>(trace.samples - lately_.front().samples) /
                               base::ToSeconds(now - from);
    }
    Duration starved{};
    for (const State state : {State::kStarved, State::kRead, State::kPrepare, State::kCollate}) {
      starved += trace::TimeIn(trace, Role::kConsumer, state, from, now);
    }
    progress.starved = Share(starved, now - from);
    progress.device_busy = Share(DeviceBusy(trace, from, now), now - from);
    progress.busy_has_gaps = trace::Has(trace, Role::kDevice) && !run_.experiment.device.Id().IsEmulated();
  });
  progress.occupancy = run_.queued();
  progress.capacity = run_.queue_capacity * (run_.pin ? 2 : 1);
  control_.on_progress(progress);
}

}  // namespace pipesim::engine::threaded
