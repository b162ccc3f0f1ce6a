#include "engine/threaded/pin_stage.h"

#include <algorithm>
#include <cstring>

#include "cost/buffers.h"
#include "engine/threaded/process_costs.h"
#include "engine/threaded/run_state.h"

namespace pipesim::engine::threaded {

using trace::State;

PinStage::PinStage(const spec::Experiment& experiment, BatchMemory& pinned,
                   std::int64_t queue_capacity)
    : pool(experiment, cost::CountSlots(experiment, true).pinned, false, pinned) {
  if (queue_capacity > 0) queue = MakeBatchQueue(experiment.loader.queue, queue_capacity);
}

int PinBatch(RunState& run, int slot, ThreadTimer& timer) {
  const Slot& made = run.pool[slot];
  timer.SetBatch(made.batch.number, made.batch.samples);
  timer.EnterCpu(State::kPin);
  const int pinned_slot = run.pin->pool.Acquire();
  Slot& pinned = run.pin->pool[pinned_slot];
  const auto samples = static_cast<std::size_t>(made.batch.samples);
  const std::size_t bytes =
      samples * static_cast<std::size_t>(spec::PreparedBytes(run.experiment.dataset).count);
  std::memcpy(pinned.batch.data.data(), made.batch.data.data(), bytes);
  std::copy_n(made.batch.labels.begin(), samples, pinned.batch.labels.begin());
  pinned.deal = made.deal;
  pinned.worker = made.worker;
  pinned.batch.number = made.batch.number;
  pinned.batch.epoch = made.batch.epoch;
  pinned.batch.index = made.batch.index;
  pinned.batch.samples = made.batch.samples;
  run.pool.Release(slot);
  return pinned_slot;
}

namespace {

void PinUntilOver(RunState& run, ThreadTimer& timer) {
  PinStage& stage = *run.pin;
  ProcessCosts costs(run, timer, run.aborted);
  int slot = 0;
  for (;;) {
    if (!run.queue->TryPop(slot)) {
      timer.Enter(State::kStarved);
      timer.WaitedForOther();
      if (!run.queue->Pop(slot)) return;
    }
    stage.in_hand = 1;
    costs.Receive(run.pool[slot]);
    const int pinned = PinBatch(run, slot, timer);
    if (!stage.queue->TryPush(pinned)) {
      timer.Enter(State::kBlockedOnConsumer);
      timer.WaitedForOther();
      if (!stage.queue->Push(pinned)) return;
    }
    stage.in_hand = 0;
    timer.SetBatch(-1, 0);
  }
}

}  // namespace

void RunPinThread(RunState& run) {
  try {
    base::UseFinestTimerSlack();
    run.thread_ids.AddSelf(trace::Role::kPin);
    ThreadTimer timer(run.clock, run.rings.ring(run.pin_ring()), trace::Role::kPin, 0, State::kIdle,
                      run.begin, run.marks);
    EndingOnFailure(run, "pin thread", [&] { PinUntilOver(run, timer); });
    // The queues are closed before the workers leave; stay until then, so that the time is
    // accounted.
    timer.SetBatch(-1, 0);
    timer.Enter(State::kIdle);
    run.dispatcher.AwaitClose();
    timer.Finish();
  } catch (...) {
    EndOnCurrentException(run, "pin thread");
  }
}

}  // namespace pipesim::engine::threaded
