#include "engine/threaded/run_state.h"

#include <fmt/format.h>

#include <algorithm>
#include <new>

namespace pipesim::engine {
namespace {

std::int64_t QueueCapacity(const spec::Loader& loader) {
  if (loader.workers == 0) return 0;
  return std::max<std::int64_t>(loader.queue_capacity.value_or(loader.Window()), 1);
}

}  // namespace

RunState::RunState(const spec::Experiment& of, const ThreadedParts& parts, SamplePool samples,
                   base::Instant at)
    : experiment(of),
      clock(*parts.clock),
      source(of.storage.kind == spec::StorageKind::kFiles ? parts.source : nullptr),
      begin(at),
      batches_per_epoch(spec::BatchesPerEpoch(of)),
      queue_capacity(QueueCapacity(of.loader)),
      sampler(experiment),
      content(std::move(samples)),
      pool(experiment, *parts.memory),
      storage(experiment),
      board(experiment.loader),
      builder(at, experiment.run.seed),
      rings(builder, experiment.loader.workers + 1) {
  if (queue_capacity > 0) {
    // More than the window can never be in it.
    queue = MakeBatchQueue(experiment.loader.queue,
                           std::min(queue_capacity, experiment.loader.Window()));
  }
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
  board.Close();
  ReleaseWaiters();
}

void RunState::ReleaseWaiters() {
  if (queue) queue->Abort();
}

std::int64_t RunState::max_occupancy() const {
  const std::int64_t window = experiment.loader.Window();
  // In order, the reorder buffer takes in what the queue has no room for.
  return experiment.loader.in_order ? window : std::min(window, queue_capacity);
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

}  // namespace pipesim::engine
