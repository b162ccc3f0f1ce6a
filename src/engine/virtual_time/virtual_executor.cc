#include "engine/virtual_time/virtual_executor.h"

#include <fmt/format.h>

#include <algorithm>
#include <mutex>
#include <utility>
#include <vector>

#include "base/error.h"
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

/// All threads of one run.
class Threads {
 public:
  Threads(VirtualRun& run, const RunControl& control)
      : run_(run),
        pin_(run.pinned ? std::make_unique<PinThread>(run) : nullptr),
        pool_(run, run.experiment.loader.workers + 4),
        consumer_(run, pin_.get(), pool_),
        monitor_(run, control, run.experiment.loader.workers + 2),
        timeout_(
            run, consumer_, [this] { return Missing(); }, run.experiment.loader.workers + 3) {
    for (int worker = 0; worker < run.experiment.loader.workers; ++worker) {
      workers_.push_back(std::make_unique<Worker>(run, worker));
    }
    Schedule();
  }

  void Run() {
    run_.Loop();
    for (const auto& worker : workers_) worker->Finish();
    if (pin_) pin_->Finish();
    monitor_.SampleResources();
  }

  trace::Effective Effective() const;

 private:
  void Schedule() {
    run_.actors.push_back(&consumer_);
    for (const auto& worker : workers_) run_.actors.push_back(worker.get());
    run_.actors.push_back(pin_.get());
    run_.actors.push_back(&monitor_);
    run_.actors.push_back(&timeout_);
    run_.actors.push_back(&pool_);
    for (const Actor* actor : run_.actors) {
      if (actor == nullptr || actor == &timeout_ || actor == &pool_) continue;
      const bool worker = actor->id() >= 1 && actor->id() <= run_.experiment.loader.workers;
      const Duration after = worker ? run_.parts.machine.worker_startup : Duration::zero();
      run_.events.Push(after.count(), actor->id());
    }
    if (run_.experiment.loader.timeout == Duration::zero() || workers_.empty()) return;
    run_.watchers = 1;
    run_.events.Push(run_.experiment.loader.timeout.count(), timeout_.id());
  }

  /// The oldest batch that is dealt and has not come, in the words of the threaded engine.
  std::string Missing() const;

  VirtualRun& run_;
  std::unique_ptr<PinThread> pin_;
  PoolSpin pool_;
  Consumer consumer_;
  std::vector<std::unique_ptr<Worker>> workers_;
  Monitor monitor_;
  Timeout timeout_;
};

std::string Threads::Missing() const {
  std::optional<std::int64_t> oldest = run_.desk.OldestUnbegun();
  std::optional<int> maker;
  const auto consider = [&](const MadeBatch& batch) {
    if (oldest && *oldest <= batch.deal.index) return;
    oldest = batch.deal.index;
    maker = batch.maker;
  };
  for (const auto& worker : workers_) {
    if (const auto task = worker->task()) consider(*task);
  }
  if (pin_ && pin_->task()) consider(*pin_->task());
  for (std::size_t i = 0; i < run_.queue->batches().size(); ++i) {
    consider(run_.queue->batches()[i]);
  }
  if (!oldest) return "none was dealt";
  return fmt::format("batch {} of epoch {} is missing, ", *oldest, run_.desk.epoch()) +
         (maker ? fmt::format("worker {} has it", *maker) : "which no worker has begun");
}

trace::Effective Threads::Effective() const {
  const spec::Experiment& experiment = run_.experiment;
  const spec::Loader& loader = experiment.loader;
  trace::Effective effective;
  effective.cores = run_.cores;
  effective.device_asynchronous = consumer_.asynchronous();
  effective.device = effective.device_asynchronous ? "emulated" : "cpu";
  effective.device_name = effective.device;
  if (const auto& preset = experiment.device.preset) {
    effective.device_name = preset->name;
    effective.device_memory = preset->memory;
  }
  if (!effective.device_asynchronous) {
    effective.compute_threads = run_.parts.cpu_step(loader.batch_size).threads;
  }
  effective.pinned = run_.pins;
  effective.queue_capacity = QueueCapacity(loader);
  // In order, the reorder buffer takes in what the queue has no room for; the pin thread holds one
  // and fills a queue of its own.
  const std::int64_t room = run_.pins ? 2 * effective.queue_capacity + 1 : effective.queue_capacity;
  effective.max_occupancy = loader.in_order ? loader.Window() : std::min(loader.Window(), room);
  effective.device_step = consumer_.FullStep();
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
                   DrawsOf(experiment), asked.prepare.kind == spec::PrepareKind::kDecode);
    Threads threads(run, control);
    threads.Run();
    VirtualRun::Ending ending = run.ended.value_or(VirtualRun::Ending{});
    RunTrace trace = run.builder.Finish(run.now, ending.reason, std::move(ending.failure));
    trace.effective = threads.Effective();
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
