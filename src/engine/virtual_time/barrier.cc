#include "engine/virtual_time/barrier.h"

namespace pipesim::engine::virtual_time {

bool Barrier::Arrive(Actor& consumer, const Arrival& arrival, trace::TraceBuilder& builder) {
  if (arrival.epoch != epoch_.epoch)
    epoch_ = {.epoch = arrival.epoch, .begin = epoch_.end, .end = epoch_.end};
  Count(arrival);
  if (++arrived_ < waiting_.size()) {
    waiting_[static_cast<std::size_t>(arrival.accelerator)] = &consumer;
    return false;
  }
  epoch_.end = arrival.now;
  ++epoch_.steps;
  builder.Record(epoch_);
  return true;
}

void Barrier::Count(const Arrival& arrival) {
  epoch_.samples += arrival.samples;
  if (epoch_.steps == 0)
    epoch_.first_steps += arrival.now - epoch_.begin;
  else
    epoch_.compute += arrival.compute;
}

}  // namespace pipesim::engine::virtual_time
