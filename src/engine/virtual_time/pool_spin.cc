#include "engine/virtual_time/pool_spin.h"

#include "engine/virtual_time/virtual_run.h"

namespace pipesim::engine::virtual_time {

PoolSpin::PoolSpin(VirtualRun& run, int id)
    : Actor(id), run_(run), time_(run.pool_spin.value_or(base::Duration::zero())) {}

void PoolSpin::StepEnded(int threads) {
  if (time_ == base::Duration::zero() || threads < 2) return;
  run_.processors.Begin(id(), {.each = time_, .threads = threads - 1, .spins = true}, run_.now);
}

void PoolSpin::StepBegins() {
  if (time_ > base::Duration::zero()) run_.processors.Cancel(id(), run_.now);
}

}  // namespace pipesim::engine::virtual_time
