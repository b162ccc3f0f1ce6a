#include "engine/virtual_time/rank.h"

#include "engine/rules.h"
#include "engine/virtual_time/virtual_run.h"
#include "trace/keepers.h"

namespace pipesim::engine::virtual_time {

Rank::Rank(VirtualRun& run, int of_number)
    : number(of_number),
      workers(run.experiment.loader.workers),
      accelerators(run.experiment.run.accelerators),
      first_actor(of_number * run.threads_of_rank),
      recorder(of_number == 0 ? &run.builder : nullptr),
      dispatcher(run.experiment.loader),
      works(static_cast<std::size_t>(workers)) {
  if (workers == 0) return;
  queue.emplace(QueueCapacity(run.experiment.loader));
  if (run.pins) pinned.emplace(QueueCapacity(run.experiment.loader));
}

void Rank::Visit(StateVisitor& visitor) {
  visitor.Total(loaded);
  dispatcher.Visit(visitor);
  if (queue) queue->Visit(visitor);
  if (pinned) pinned->Visit(visitor);
}

void Rank::Record(const trace::StepRecord& step) {
  if (recorder != nullptr) return recorder->Record(step);
  ++steps_;
  samples_ += step.samples;
  if ((steps_ & (progress.stride - 1)) != 0) return;
  trace::KeepCheckpoint(
      {.steps = steps_, .samples = samples_, .epoch = step.epoch, .at = step.done, .loaded = loaded},
      progress.stride, progress.kept);
}

}  // namespace pipesim::engine::virtual_time
