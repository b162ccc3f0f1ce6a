#include "engine/threaded/worker.h"

#include "engine/threaded/process_costs.h"

#include <fmt/format.h>

namespace pipesim::engine::threaded {
namespace {

using trace::State;

class Worker {
 public:
  Worker(RunState& run, int worker, CallGuard& guard)
      : run_(run),
        worker_(worker),
        timer_(run.clock, run.RecordsOf(worker), trace::Role::kWorker, worker, State::kStartup,
               run.begin, run.marks),
        costs_(run, timer_, run.aborted),
        maker_(run, timer_, run.RecordsOf(worker), worker, run.aborted, &guard, &costs_) {}

  void Run() {
    try {
      Loop();
    } catch (const LeftBehind&) {
      throw;
    } catch (...) {
      timer_.Finish();
      throw;
    }
    timer_.Finish();
  }

 private:
  void Loop() {
    std::int64_t epoch = -1;
    Task task;
    for (;;) {
      switch (run_.dispatcher.Next(worker_, epoch, task, timer_)) {
        case LockedDispatcher::Call::kOver:
          return;
        case LockedDispatcher::Call::kNewEpoch:
          StartUp(epoch);
          break;
        case LockedDispatcher::Call::kWork:
          if (!MakeAndPush(task)) return run_.dispatcher.AwaitClose();
          break;
      }
    }
  }

  void StartUp(std::int64_t epoch) {
    if (epoch > 0 && run_.experiment.loader.persistent_workers) return;
    base::Duration waits = run_.experiment.loader.worker_opening;
    const base::Duration time = run_.sampler.WorkerStartup(epoch, worker_);
    if (costs_.present() && time > base::Duration::zero())
      costs_.StartUp(time);
    else
      waits += time;
    if (waits == base::Duration::zero()) return;
    timer_.Enter(State::kStartup);
    timer_.SleepUntil(timer_.scheduled() + waits, run_.aborted);
  }

  /// False: the run is ending.
  bool MakeAndPush(const Task& task) {
    const std::int64_t samples = spec::BatchSamples(run_.experiment, task.deal.index);
    costs_.HasToSend(task.epoch, task.deal.index, samples);
    const std::optional<int> slot = maker_.Make(task);
    if (!slot) return false;
    costs_.Share(worker_, task.epoch, task.deal.index, samples);
    costs_.Send();
    if (run_.queue->TryPush(*slot)) return true;
    timer_.Enter(State::kBlockedOnConsumer);
    timer_.WaitedForOther();
    return run_.queue->Push(*slot);
  }

  RunState& run_;
  int worker_;
  ThreadTimer timer_;
  ProcessCosts costs_;
  BatchMaker maker_;
};

}  // namespace

void RunWorker(RunState& run, int worker, CallGuard& guard) {
  const std::string who = fmt::format("worker {}", worker);
  try {
    base::UseFinestTimerSlack();
    run.thread_ids.AddSelf(trace::Role::kWorker);
    Worker(run, worker, guard).Run();
  } catch (const LeftBehind&) {
    throw;
  } catch (...) {
    EndOnCurrentException(run, who);
  }
}

}  // namespace pipesim::engine::threaded
