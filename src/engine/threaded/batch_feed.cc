#include "engine/threaded/batch_feed.h"

#include "engine/order_buffer.h"
#include "engine/threaded/batch_maker.h"
#include "engine/threaded/process_costs.h"

namespace pipesim::engine::threaded {
namespace {

using base::Instant;
using trace::State;

/// 0 workers: the consumer reads, prepares and collates.
class OwnFeed final : public BatchFeed {
 public:
  OwnFeed(RunState& run, ThreadTimer& timer, trace::SpanSink& sink)
      : run_(run), timer_(timer), maker_(run, timer, sink, 0, run.ending_flag(), nullptr, nullptr) {}

  void BeginEpoch(std::int64_t epoch) override {
    epoch_ = epoch;
    next_ = 0;
  }
  std::optional<Taken> Next() override {
    if (next_ == run_.batches_per_epoch || run_.ending()) return std::nullopt;
    const Instant begin = timer_.Now();
    const Task task{epoch_ * run_.batches_per_epoch + next_, epoch_, {next_, kAnyWorker}};
    try {
      const std::optional<int> slot = maker_.Make(task);
      if (!slot) return std::nullopt;
      ++next_;
      const base::Duration starved = timer_.Now() - begin;
      return Taken{.slot = run_.pin ? PinBatch(run_, *slot, timer_) : *slot, .starved = starved};
    } catch (...) {
      EndOnCurrentException(run_, "loading");
      return std::nullopt;
    }
  }

 private:
  RunState& run_;
  ThreadTimer& timer_;
  BatchMaker maker_;
  std::int64_t epoch_ = 0, next_ = 0;
};

class QueueFeed final : public BatchFeed {
 public:
  QueueFeed(RunState& run, ThreadTimer& timer)
      : run_(run),
        timer_(timer),
        ready_(run.experiment.loader.in_order),
        costs_(run, timer, run.ending_flag()) {}

  void BeginEpoch(std::int64_t epoch) override {
    taken_ = 0;
    costs_.Launch(epoch);
    ready_.BeginEpoch();
    run_.dispatcher.BeginEpoch(epoch, run_.batches_per_epoch);
  }

  std::optional<Taken> Next() override {
    if (taken_ == run_.batches_per_epoch || run_.ending()) return std::nullopt;
    Taken taken{.occupancy = run_.queued() + ready_.size()};
    std::optional<int> slot;
    while (!(slot = ready_.Take())) {
      if (!Receive(taken)) break;
    }
    EndStarving(taken);
    if (!slot) return std::nullopt;
    ++taken_;
    taken.slot = *slot;
    run_.dispatcher.Taken(run_.ready_pool()[*slot].deal);
    return taken;
  }

 private:
  /// Takes one batch from the queue, in or out of order. False: the run is ending.
  bool Receive(Taken& taken) {
    int slot = 0;
    if (!run_.ready_queue().TryPop(slot)) {
      if (!waits_since_) {
        timer_.Enter(State::kStarved);
        timer_.WaitedForOther();
        waits_since_ = timer_.begun();
        run_.dispatcher.ConsumerWaits(*waits_since_);
      }
      // The monitor watches this one: oneTBB's queue has no wait with a time limit.
      run_.consumer_waits_since.store(timer_.Now().time_since_epoch().count());
      const bool popped = run_.ready_queue().Pop(slot);
      run_.consumer_waits_since.store(0);
      if (!popped) return false;
    }
    const Slot& arrived = run_.ready_pool()[slot];
    run_.dispatcher.Arrived(arrived.worker);
    if (costs_.present() && !run_.pin) {
      EndStarving(taken);
      costs_.Receive(arrived);
    }
    ready_.Put(arrived.deal.index, slot);
    return true;
  }

  void EndStarving(Taken& taken) {
    if (!waits_since_) return;
    const Instant now = timer_.Now();
    run_.dispatcher.ConsumerGoesOn(now);
    taken.starved += now - *waits_since_;
    waits_since_.reset();
  }

  RunState& run_;
  ThreadTimer& timer_;
  OrderBuffer<int> ready_;
  ProcessCosts costs_;
  std::optional<Instant> waits_since_;
  std::int64_t taken_ = 0;
};

}  // namespace

std::unique_ptr<BatchFeed> MakeBatchFeed(RunState& run, ThreadTimer& timer, trace::SpanSink& sink) {
  if (run.queue == nullptr) return std::make_unique<OwnFeed>(run, timer, sink);
  return std::make_unique<QueueFeed>(run, timer);
}

}  // namespace pipesim::engine::threaded
