#include "engine/virtual_time/virtual_executor.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <deque>
#include <utility>
#include <vector>

#include "engine/rules.h"
#include "engine/virtual_time/consumer.h"
#include "engine/virtual_time/kept_draws.h"
#include "engine/virtual_time/pin_thread.h"
#include "engine/virtual_time/virtual_run.h"
#include "engine/virtual_time/watchers.h"
#include "engine/virtual_time/worker.h"

namespace pipesim::engine {

namespace virtual_time {
namespace {

using base::Duration;
using base::Instant;
using trace::RunTrace;

/// The threads of one accelerator.
class RankThreads {
 public:
  /// `timeout`, `pool`: the ids of its watcher and of its pool.
  RankThreads(VirtualRun& run, Rank& rank, int timeout, int pool)
      : run_(run),
        rank_(rank),
        pin_(rank.pinned ? std::make_unique<PinThread>(run, rank) : nullptr),
        pool_(run, pool),
        consumer_(run, rank, pin_.get(), pool_),
        timeout_(
            run, consumer_, [this] { return Missing(); }, timeout) {
    for (int worker = 0; worker < rank.workers; ++worker) {
      workers_.push_back(std::make_unique<Worker>(run, rank, worker));
    }
  }

  void Schedule() {
    Add(consumer_, Duration::zero());
    for (const auto& worker : workers_) Add(*worker, run_.pipeline.machine.worker_startup);
    if (pin_) Add(*pin_, Duration::zero());
    At(pool_) = &pool_;
    At(timeout_) = &timeout_;
    const Duration timeout = run_.experiment.loader.timeout;
    if (timeout == Duration::zero() || workers_.empty()) return;
    ++run_.watchers;
    run_.events.Push(timeout.count(), timeout_.id());
  }
  /// Call when the run is over: extends the records to its end.
  void Finish() {
    for (const auto& worker : workers_) worker->Finish();
    if (pin_) pin_->Finish();
  }
  const Consumer& consumer() const { return consumer_; }

 private:
  Actor*& At(const Actor& actor) { return run_.actors[static_cast<std::size_t>(actor.id())]; }
  void Add(Actor& actor, Duration after) {
    At(actor) = &actor;
    run_.events.Push(after.count(), actor.id());
  }
  /// Names the batch that the consumer has waited for longest.
  std::string Missing() const;

  VirtualRun& run_;
  Rank& rank_;
  std::unique_ptr<PinThread> pin_;
  PoolSpin pool_;
  Consumer consumer_;
  std::vector<std::unique_ptr<Worker>> workers_;
  Timeout timeout_;
};

std::string RankThreads::Missing() const {
  return rank_.dispatcher.Missing() +
         (run_.ranks.size() > 1 ? fmt::format(", accelerator {}", rank_.number) : "");
}

/// All threads of one run.
class Threads {
 public:
  Threads(VirtualRun& run, const RunControl& control)
      : run_(run), monitor_(run, control, run.threads_of_rank * Ranks(run)) {
    const int timeouts = monitor_.id() + 1, pools = timeouts + Ranks(run);
    for (Rank& rank : run.ranks) {
      ranks_.emplace_back(run, rank, timeouts + rank.number, pools + rank.number);
    }
    run.actors.resize(static_cast<std::size_t>(pools + Ranks(run)));
    for (RankThreads& rank : ranks_) rank.Schedule();
    run.actors[static_cast<std::size_t>(monitor_.id())] = &monitor_;
    run.events.Push(0, monitor_.id());
  }

  void Run() {
    run_.Loop();
    for (RankThreads& rank : ranks_) rank.Finish();
    monitor_.SampleResources();
  }

  trace::Effective Effective() const;

 private:
  static int Ranks(const VirtualRun& run) { return static_cast<int>(run.ranks.size()); }

  VirtualRun& run_;
  std::deque<RankThreads> ranks_;
  Monitor monitor_;
};

trace::Effective Threads::Effective() const {
  const Consumer& consumer = ranks_.front().consumer();
  const spec::Experiment& experiment = run_.experiment;
  const spec::Loader& loader = experiment.loader;
  trace::Effective effective;
  effective.cores = run_.pipeline.machine.cores;
  effective.device_asynchronous = consumer.asynchronous();
  effective.device =
      effective.device_asynchronous ? spec::DeviceId::Emulated() : spec::DeviceId::Cpu();
  effective.device_name = spec::ToText(effective.device);
  const cost::Step& step = run_.pipeline.step;
  if (!step.device_name.empty()) effective.device_name = step.device_name;
  effective.device_memory = step.device_memory;
  effective.device_step = consumer.FullStep();
  if (step.on_cpu()) {
    effective.compute_threads = ThreadsOfStep(experiment, step);
    if (step.one_thread && step.threads > 1)
      effective.step_on_one_thread = step.one_thread->At(loader.batch_size);
  }
  effective.pinned = !run_.pipeline.step.on_cpu() && cost::CopiesFromPinned(loader);
  effective.queue_capacity = QueueCapacity(loader);
  effective.max_occupancy = MaxOccupancy(loader, run_.pins);
  return effective;
}

class EventExecutor final : public VirtualExecutor {
 public:
  explicit EventExecutor(std::shared_ptr<DrawsBetweenRuns> draws) : draws_(std::move(draws)) {}

  RunTrace Run(const spec::Experiment& experiment, const cost::Pipeline& pipeline,
               const RunControl& control) override {
    VirtualRun run(experiment, pipeline, draws_->Of(experiment, pipeline), control);
    std::int64_t counted = 0;
    const auto count = [&] {
      events_.fetch_add(run.simulated - std::exchange(counted, run.simulated), std::memory_order_relaxed);
    };
    RunControl counting = control;
    if (control.enough)
      counting.enough = [&](const RunTrace& trace, Instant now) {
        count();
        return control.enough(trace, now);
      };
    Threads threads(run, counting);
    threads.Run();
    count();
    VirtualRun::Ending ending = run.ended.value_or(VirtualRun::Ending{});
    RunTrace trace = run.builder.Finish(run.now, ending.reason, std::move(ending.failure));
    trace.effective = threads.Effective();
    for (std::size_t rank = 1; rank < run.ranks.size(); ++rank) {
      trace.others.push_back(std::move(run.ranks[rank].progress));
    }
    return trace;
  }

  std::int64_t Events() const override { return events_.load(std::memory_order_relaxed); }
  std::unique_ptr<VirtualExecutor> Sharing() const override {
    return std::make_unique<EventExecutor>(draws_);
  }

 private:
  std::shared_ptr<DrawsBetweenRuns> draws_;
  std::atomic<std::int64_t> events_ = 0;
};

}  // namespace
}  // namespace virtual_time

std::unique_ptr<VirtualExecutor> MakeVirtualExecutor() {
  return std::make_unique<virtual_time::EventExecutor>(
      std::make_shared<virtual_time::DrawsBetweenRuns>());
}

}  // namespace pipesim::engine
