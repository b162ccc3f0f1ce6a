#include "engine/threaded/run_state.h"

#include <fmt/format.h>

#include <algorithm>
#include <new>

#include "cost/buffers.h"
#include "engine/rules.h"

namespace pipesim::engine::threaded {
RunState::RunState(const spec::Experiment& of, const cost::Pipeline& costs,
                   const ThreadedParts& parts, SamplePool samples, base::Instant at,
                   bool keep_spans)
    : experiment(of),
      pipeline(costs),
      clock(*parts.clock),
      source(of.storage.kind == spec::StorageKind::kFiles ? parts.source : nullptr),
      disk(source != nullptr ? base::DiskOf(of.storage.path) : std::nullopt),
      begin(at),
      batches_per_epoch(spec::BatchesPerEpoch(of)),
      queue_capacity(QueueCapacity(of.loader)),
      sampler(experiment, pipeline),
      content(std::move(samples)),
      pool(experiment, cost::CountSlots(experiment, parts.pinned != nullptr).workers,
           experiment.loader.buffers == spec::Buffers::kFresh, *parts.memory),
      storage(experiment, pipeline),
      dispatcher(experiment.loader),
      builder(at, experiment.run.seed, {.keep_spans = keep_spans}),
      rings(builder, experiment.loader.workers + 2),
      device_utilization(parts.device_utilization) {
  // A queue never holds more than the window.
  const std::int64_t capacity = std::min(queue_capacity, experiment.loader.Window());
  if (capacity > 0) queue = MakeBatchQueue(experiment.loader.queue, capacity);
  if (parts.pinned != nullptr)
    pin = std::make_unique<PinStage>(experiment, *parts.pinned, capacity);
}

void RunState::End(trace::EndReason reason, std::string failure) {
  {
    const std::lock_guard lock(mutex_);
    if (ended_) return;
    ended_ = Ending{reason, std::move(failure)};
  }
  ending_.Set();
  ReleaseWaiters();
}

std::optional<RunState::Ending> RunState::ended() const {
  const std::lock_guard lock(mutex_);
  return ended_;
}

void RunState::Abort() {
  aborted.Set();
  dispatcher.Close();
  ReleaseWaiters();
}

void RunState::ReleaseWaiters() {
  if (queue) queue->Abort();
  if (pin && pin->queue) pin->queue->Abort();
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
