#include "engine/threaded/run_state.h"

#include <fmt/format.h>

#include <algorithm>
#include <new>

#include "cost/buffers.h"
#include "engine/rules.h"

namespace pipesim::engine::threaded {
namespace {

/// Slots take no memory until they are used.
spec::Experiment WithRoom(spec::Experiment experiment, bool probes) {
  if (probes) experiment.loader.prefetch_factor *= kRoomForProbes;
  return experiment;
}

bool IsPlanned(trace::EndReason reason) {
  return reason != trace::EndReason::kInterrupted && reason != trace::EndReason::kFailed &&
         reason != trace::EndReason::kOutOfMemory;
}

}  // namespace

RunState::RunState(const spec::Experiment& of, const cost::Pipeline& costs,
                   const ThreadedParts& parts, SamplePool samples, base::Instant at,
                   const RunControl& control)
    : experiment(of),
      pipeline(costs),
      clock(*parts.clock),
      source(of.storage.kind == spec::StorageKind::kFiles ? parts.source : nullptr),
      disk(source != nullptr ? base::DiskOf(of.storage.path) : std::nullopt),
      begin(at),
      probes(control.plan_probes != nullptr),
      batches_per_epoch(spec::BatchesPerEpoch(of)),
      queue_capacity(QueueCapacity(of.loader)),
      sampler(experiment, pipeline),
      content(std::move(samples)),
      pool(experiment,
           cost::CountSlots(WithRoom(experiment, probes), parts.pinned != nullptr).workers,
           experiment.loader.buffers == spec::Buffers::kFresh, *parts.memory),
      storage(experiment, pipeline, sampler),
      dispatcher(experiment.loader),
      builder(at, experiment.run.seed, {.keep_spans = control.keep_spans}),
      rings(builder, experiment.loader.workers + 2),
      read_gpu(parts.read_gpu),
      marks(parts.marks),
      working_(static_cast<std::size_t>(experiment.loader.workers)),
      served_(static_cast<std::size_t>(experiment.loader.workers)) {
  // A queue never holds more than the window.
  const spec::Experiment roomy = WithRoom(experiment, probes);
  const std::int64_t capacity =
      std::min(QueueCapacity(roomy.loader), roomy.loader.Window());
  if (capacity > 0) queue = MakeBatchQueue(experiment.loader.queue, capacity);
  if (parts.pinned != nullptr)
    pin = std::make_unique<PinStage>(roomy, *parts.pinned, capacity);
}

bool RunState::GoesOnToProbe(trace::EndReason reason) {
  if (!probes || !IsPlanned(reason)) return false;
  const std::int64_t steps =
      rings.With([](const trace::TraceBuilder& so_far) { return so_far.trace().steps; });
  const base::Instant now = clock.Now();
  return CanProbe(steps, now - begin, ShapeOfProbes(now));
}

ProbeShape RunState::ShapeOfProbes(base::Instant until) {
  constexpr double kHardly = 0.01;  // of the time, the first batch's among it
  const base::Duration starved = rings.With([&](const trace::TraceBuilder& so_far) {
    return trace::TimeIn(so_far.trace(), trace::Role::kConsumer, trace::State::kStarved, begin, until);
  });
  return ProbeShapeOf(experiment, base::ToSeconds(starved) > kHardly * base::ToSeconds(until - begin));
}

void RunState::End(trace::EndReason reason, std::string failure) {
  const bool probing = GoesOnToProbe(reason);
  {
    const std::lock_guard lock(mutex_);
    if (ending_.IsSet()) return;
    if (!ended_) {
      ended_ = Ending{reason, std::move(failure)};
      if (probing) return measured_.Set();
    }
    ending_.Set();
  }
  ReleaseWaiters();
}

std::optional<RunState::Ending> RunState::ended() const {
  const std::lock_guard lock(mutex_);
  return ended_;
}

void RunState::Abort() {
  aborted.Set();
  gate.Open();
  dispatcher.Close();
  ReleaseWaiters();
}

void RunState::ReleaseWaiters() {
  if (queue) queue->Abort();
  if (pin && pin->queue) pin->queue->Abort();
}

trace::SpanSink& RunState::RecordsOf(int worker) {
  if (worker >= experiment.loader.workers) return unrecorded;
  return rings.ring(worker + 1);
}

std::int64_t RunState::queued() const {
  if (!queue) return 0;
  return queue->size() + (pin ? pin->queue->size() + pin->in_hand : 0);
}

void EndOnCurrentException(RunState& run, const std::string& who) {
  try {
    throw;
  } catch (const OutOfMemory& error) {
    run.End(trace::EndReason::kOutOfMemory, fmt::format("{}: {}", who, error.what()));
  } catch (const std::bad_alloc&) {
    run.End(trace::EndReason::kOutOfMemory,
            fmt::format("{}: not enough memory for a batch of {} samples ({} bytes)", who,
                        run.experiment.loader.batch_size, run.pool.batch_bytes().count));
  } catch (const std::exception& error) {
    run.End(trace::EndReason::kFailed, fmt::format("{}: {}", who, error.what()));
  } catch (...) {
    run.End(trace::EndReason::kFailed, fmt::format("{}: an exception of unknown kind", who));
  }
}

}  // namespace pipesim::engine::threaded
