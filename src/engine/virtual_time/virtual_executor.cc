#include "engine/virtual_time/virtual_executor.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <mutex>
#include <utility>
#include <vector>

#include "base/error.h"
#include "engine/rules.h"
#include "engine/virtual_time/consumer.h"
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
    for (const auto& worker : workers_) Add(*worker, run_.parts.machine.worker_startup);
    if (pin_) Add(*pin_, Duration::zero());
    At(pool_) = &pool_;
    At(timeout_) = &timeout_;
    const Duration timeout = run_.experiment.loader.timeout;
    if (timeout == Duration::zero() || workers_.empty()) return;
    ++run_.watchers;
    run_.events.Push(timeout.count(), timeout_.id());
  }
  /// The run is over: what is recorded covers it to the end.
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
  /// Names the batch that its consumer has waited for longest.
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
  effective.cores = run_.cores;
  effective.device_asynchronous = consumer.asynchronous();
  effective.device =
      effective.device_asynchronous ? spec::DeviceId::Emulated() : spec::DeviceId::Cpu();
  effective.device_name = spec::ToText(effective.device);
  if (const auto& preset = experiment.device.preset) {
    effective.device_name = preset->name;
    effective.device_memory = preset->memory;
  }
  effective.device_step = consumer.FullStep();
  if (!effective.device_asynchronous) {
    const CpuStep step = run_.parts.cpu_step(loader.batch_size);
    effective.compute_threads = step.threads;
    effective.device_step = step.wall;
    effective.step_on_one_thread = run_.parts.step_on_one_thread;
  }
  effective.pinned = run_.pins;
  effective.queue_capacity = QueueCapacity(loader);
  effective.max_occupancy = MaxOccupancy(loader, run_.pins);
  return effective;
}

[[noreturn]] void Refuse(const std::string& what, const std::string& suggestion) {
  throw base::ConfigError(
      {{.source = "predict", .source_line = {}, .what = what, .suggestion = suggestion}});
}

/// Real files as what they cost: reads of their mean size, at the machine's speed of reading files,
/// and decoding as CPU work.
spec::Experiment WithoutFiles(spec::Experiment experiment, const cost::Machine& machine) {
  if (experiment.prepare.kind == spec::PrepareKind::kDecode) {
    if (!machine.decode_bandwidth) {
      Refuse("decoding has no cost in virtual time",
             "calibrate this machine, or state a cost with prepare.kind: burn");
    }
    const Duration cost = experiment.dataset.sample_bytes.Mean() / *machine.decode_bandwidth;
    experiment.prepare.kind = spec::PrepareKind::kBurn;
    experiment.prepare.cost = {base::Distribution::Fixed(static_cast<double>(cost.count()))};
  }
  if (experiment.storage.kind == spec::StorageKind::kFiles) {
    experiment.storage = {};
    experiment.storage.kind = spec::StorageKind::kEmulated;
    experiment.storage.bandwidth = machine.file_bandwidth;
  }
  return experiment;
}

/// Stated in the experiment, but never more than the machine has.
double CoresFor(const spec::Limits& limits, double machine_cores) {
  double cores = machine_cores;
  const auto limit = [&cores](double to) { cores = cores == 0 ? to : std::min(cores, to); };
  if (limits.cpu_count) limit(*limits.cpu_count);
  if (!limits.cpu_list.empty()) limit(static_cast<double>(limits.cpu_list.size()));
  return cores;
}

class VirtualExecutor final : public Executor {
 public:
  explicit VirtualExecutor(VirtualParts parts) : parts_(std::move(parts)) {}

  RunTrace Run(const spec::Experiment& asked, const RunControl& control) override {
    if (asked.device.kind == spec::DeviceKind::kCpu && !parts_.cpu_step) {
      Refuse("a training step on the CPU has no cost in virtual time",
             "calibrate this machine, or describe a device under device:");
    }
    const spec::Experiment experiment = WithoutFiles(asked, parts_.machine);
    VirtualRun run(experiment, parts_, CoresFor(experiment.limits, parts_.machine.cores),
                   DrawsOf(experiment), asked.prepare.kind == spec::PrepareKind::kDecode,
                   control.keep_spans);
    Threads threads(run, control);
    threads.Run();
    VirtualRun::Ending ending = run.ended.value_or(VirtualRun::Ending{});
    RunTrace trace = run.builder.Finish(run.now, ending.reason, std::move(ending.failure));
    trace.effective = threads.Effective();
    for (std::size_t rank = 1; rank < run.ranks.size(); ++rank) {
      trace.others.push_back(std::move(run.ranks[rank].progress));
    }
    return trace;
  }

 private:
  /// A sweep's points and a question's variants mostly have the same samples: the last run's draws
  /// serve the next.
  KeptDraws DrawsOf(const spec::Experiment& experiment) {
    const auto serve = [&](const base::Distribution& distribution, base::Stage stage,
                           std::shared_ptr<const SampleDraws>& kept) {
      const std::uint64_t seed = experiment.run.seed;
      const std::int64_t samples = experiment.dataset.samples;
      if (distribution.kind == base::DistributionKind::kFixed)
        return std::shared_ptr<const SampleDraws>();
      if (!kept || !kept->Are(distribution, seed, samples)) {
        kept = std::make_shared<SampleDraws>(distribution, seed, stage, samples, /*keep=*/true);
      }
      return kept;
    };
    const std::lock_guard lock(mutex_);
    return {serve(experiment.dataset.sample_bytes.in_units, base::Stage::kSampleSize,
                  draws_.sample_bytes),
            serve(experiment.prepare.cost.in_units, base::Stage::kPrepare, draws_.prepare)};
  }

  const VirtualParts parts_;
  std::mutex mutex_;
  KeptDraws draws_;  ///< of the latest runs; under mutex_
};

}  // namespace
}  // namespace virtual_time

std::unique_ptr<Executor> MakeVirtualExecutor(VirtualParts parts) {
  return std::make_unique<virtual_time::VirtualExecutor>(std::move(parts));
}

}  // namespace pipesim::engine
