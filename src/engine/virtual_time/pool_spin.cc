#include "engine/virtual_time/pool_spin.h"

#include "engine/virtual_time/virtual_run.h"

namespace pipesim::engine::virtual_time {

PoolSpin::PoolSpin(VirtualRun& run, int id)
    : Actor(id), run_(run), time_(run.pool_spin.value_or(base::Duration::zero())) {}

void PoolSpin::StepEnded(int threads) {
  if (time_ == base::Duration::zero() || threads < 2) return;
  spinning_ = threads - 1;
  run_.processors.Spin(spinning_, run_.now);
  until_ = run_.now + time_;
  if (!pending_) pending_ = run_.Sleep(*this, until_);
}

void PoolSpin::StepBegins() {
  if (spinning_ > 0) run_.processors.Spin(-spinning_, run_.now);
  spinning_ = 0;
}

// The event may be an earlier step's.
void PoolSpin::Resume(base::Duration) {
  pending_ = spinning_ > 0 && run_.Sleep(*this, until_);
  if (!pending_) StepBegins();
}

void PoolSpin::Visit(StateVisitor& visitor) {
  visitor.Same(spinning_);
  if (spinning_ > 0) visitor.Time(until_);  // else it is of the past
  visitor.Same(pending_);
}

}  // namespace pipesim::engine::virtual_time
