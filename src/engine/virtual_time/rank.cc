#include "engine/virtual_time/rank.h"

#include <algorithm>

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
      stretches(static_cast<std::size_t>(workers)),
      dispatcher(run.experiment.loader),
      holds_lock(static_cast<std::size_t>(workers)),
      served(static_cast<std::size_t>(workers)),
      run_(run) {
  if (workers == 0) return;
  queue.emplace(QueueCapacity(run.experiment.loader));
  if (run.pins) pinned.emplace(QueueCapacity(run.experiment.loader));
}

base::Instant Rank::PassedIn(const Stretch& stretch, std::size_t worker) const {
  const bool before = first_actor + 1 + static_cast<int>(worker) < run_.resumed;
  return std::max(stretch.begin, before ? run_.now : run_.now - base::Duration(1));
}

std::int64_t Rank::Loaded() const {
  std::int64_t sum = loaded;
  for (std::size_t worker = 0; worker < stretches.size(); ++worker) {
    const Stretch& stretch = stretches[worker];
    if (stretch.chunks > 0) sum += stretch.LoadedBy(PassedIn(stretch, worker));
  }
  return sum;
}

void Rank::Visit(StateVisitor& visitor) {
  visitor.Total(loaded);
  if (!visitor.hashes())  // a stretch ends when its worker goes on
    for (Stretch& stretch : stretches) stretch.Visit(visitor);
  dispatcher.Visit(visitor);
  if (run_.pipeline.hand_over.processes) {
    for (const bool holds : holds_lock) visitor.Same(holds);
    for (const base::Duration time : served) visitor.Same(time);
    visitor.Same(opens_of);
    visitor.Same(answer_latency);
  }
  if (queue) queue->Visit(visitor);
  if (pinned) pinned->Visit(visitor);
}

void Rank::Record(const trace::StepRecord& step) {
  if (recorder != nullptr) return recorder->Record(step);
  ++steps_;
  samples_ += step.samples;
  if ((steps_ & (progress.stride - 1)) != 0) return;
  trace::KeepCheckpoint(
      {.steps = steps_, .samples = samples_, .epoch = step.epoch, .at = step.done, .loaded = Loaded()},
      progress.stride, progress.kept);
}

}  // namespace pipesim::engine::virtual_time
