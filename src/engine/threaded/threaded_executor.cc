#include "engine/threaded/threaded_executor.h"

#include <fmt/format.h>

#include <memory>
#include <new>
#include <string>
#include <system_error>
#include <utility>

#include "base/cpus.h"
#include "base/neighbours.h"
#include "cost/buffers.h"
#include "engine/rules.h"
#include "engine/threaded/burn_team.h"
#include "engine/threaded/consumer.h"
#include "engine/threaded/copying.h"
#include "engine/threaded/monitor.h"
#include "engine/threaded/run_state.h"
#include "engine/threaded/worker_threads.h"

namespace pipesim::engine {
namespace threaded {
namespace {

using base::Instant;
using trace::EndReason;
using trace::RunTrace;

std::string Hanging(const std::vector<int>& workers) {
  std::string text;
  for (const int worker : workers) {
    text += fmt::format("{}worker {} hangs in a read and was left behind", text.empty() ? "" : "; ",
                        worker);
  }
  return text;
}

class ThreadedExecutor final : public Executor {
 public:
  explicit ThreadedExecutor(const ThreadedParts& parts) : parts_(parts) {}

  RunTrace Run(const spec::Experiment& experiment, const cost::Pipeline& pipeline,
               const RunControl& control) override {
    const Instant begin = parts_.clock->Now();
    try {
      return RunThreads(experiment, pipeline, control);
    } catch (const std::bad_alloc&) {
      return NeverBegan(begin, EndReason::kOutOfMemory, "not enough memory to set the run up");
    } catch (const std::system_error& error) {
      return NeverBegan(begin, EndReason::kFailed,
                        fmt::format("starting the run's threads: {}", error.what()));
    }
  }

 private:
  /// Watched from the run's begin on.
  struct Neighbours {
    base::NeighbourWatch programs;
    base::IdleWatch spare;
  };

  RunTrace NeverBegan(Instant begin, EndReason reason, std::string failure) const {
    RunTrace trace;
    trace.begin = begin;
    trace.end = parts_.clock->Now();
    trace.end_reason = reason;
    trace.failure = std::move(failure);
    return trace;
  }

  RunTrace RunThreads(const spec::Experiment& experiment, const cost::Pipeline& pipeline,
                      const RunControl& control) {
    const base::CpuAllowance cpus = base::ReadCpuAllowance();
    const Neighbours neighbours{base::NeighbourWatch(cpus.cpus), base::IdleWatch(control.spare_cpus)};
    SamplePool content(experiment);  // slow, so before the run's clock starts
    const auto run = std::make_shared<RunState>(experiment, pipeline, parts_, std::move(content),
                                                parts_.clock->Now(), control);
    Consumer consumer(*run, *parts_.trainer);
    Instant end;
    std::string hanging;
    std::optional<StepAlone> alone;
    std::optional<Isolated> isolated;
    {
      Monitor monitor(*run, control, cpus);
      WorkerThreads workers(run);
      end = consumer.Run({.plan =
                              [&](RunTrace trace) {
                                trace.effective = Effective(*run, cpus, neighbours);
                                // The plan asks what a setting would gain, as the report will.
                                if (!trace.effective.device_asynchronous)
                                  alone = MeasureStepAlone(*run, trace);
                                Add(alone, trace);
                                isolated = MeasureIsolated(*run, trace);
                                Add(*isolated, trace);
                                return control.plan_probes(trace);
                              },
                          .start_workers = [&](int count) { workers.StartUpTo(count); }});
      run->Abort();
      hanging = Hanging(workers.Join(Monitor::kGrace));
    }
    RunTrace trace = Finish(*run, end, hanging);
    trace.effective = Effective(*run, cpus, neighbours);
    trace.probes = consumer.probes();
    if (consumer.gave_up()) {
      run->ready_pool().Leave();
    } else {
      trace.effective.device_memory_peak = parts_.trainer->DeviceMemoryPeak();
      if (!alone) alone = MeasureStepAlone(*run, trace);
      Add(alone, trace);
      if (!isolated) isolated = MeasureIsolated(*run, trace);
      Add(*isolated, trace);
      run->ready_pool().FreeAll();
    }
    return trace;
  }

  static RunTrace Finish(RunState& run, Instant end, const std::string& hanging) {
    RunState::Ending ending = run.ended().value_or(RunState::Ending{});
    if (!hanging.empty()) {
      if (!ending.Failed() && ending.reason != EndReason::kInterrupted) {
        ending.reason = EndReason::kFailed;
      }
      ending.failure += (ending.failure.empty() ? "" : "; ") + hanging;
    }
    return run.rings.With([&](trace::TraceBuilder& builder) {
      return builder.Finish(end, ending.reason, std::move(ending.failure));
    });
  }

  trace::Effective Effective(const RunState& run, const base::CpuAllowance& cpus,
                             const Neighbours& neighbours) const {
    const TrainerInfo info = parts_.trainer->info();
    trace::Effective effective;
    effective.cores = cpus.Cores();
    effective.cpus = cpus.cpus;
    effective.compute_threads = info.compute_threads;
    effective.device = info.device;
    effective.device_name = info.device_name;
    effective.device_asynchronous = info.asynchronous;
    if (run.disk) effective.disk = run.disk->name;
    effective.pinned = run.pin != nullptr || (info.asynchronous &&
                                              cost::CopiesFromPinned(run.experiment.loader));
    effective.queue_capacity = run.queue_capacity;
    effective.max_occupancy = MaxOccupancy(run.experiment.loader, run.pin != nullptr);
    effective.device_memory = info.device_memory;
    effective.model_parameters = info.parameters;
    effective.peer_cores = neighbours.programs.PeerCores();
    effective.idle_cpus = neighbours.spare.Idle();
    return effective;
  }

  /// More threads than cores want to run, other programs' included, so the time of a step on several
  /// CPU threads may include their waiting for one another. (For a single thread the kernel counts
  /// the waiting.)
  static bool StepMayHoldWaiting(const RunState& run, const RunTrace& trace) {
    const spec::Experiment& experiment = run.experiment;
    const trace::Effective& effective = trace.effective;
    const int workers = experiment.loader.workers * experiment.limits.worker_threads;
    return effective.compute_threads > 1 &&
           workers + (run.pin ? 1 : 0) + effective.compute_threads + OtherPrograms(trace) >
               effective.cores;
  }

  /// Cores that they used; 0 where that is unknown or within the kernel's rounding.
  static double OtherPrograms(const RunTrace& trace) {
    constexpr double kLeast = 0.05;
    if (trace.resources.empty() || !trace.resources.back().machine_cpu) return 0;
    const trace::ResourceSample& last = trace.resources.back();
    const double cores = base::ToSeconds(*last.machine_cpu - last.process_cpu) /
                         base::ToSeconds(last.at - trace.begin);
    return cores > kLeast ? cores : 0;
  }

  static bool BrokeOff(const RunTrace& trace) {
    return trace.end_reason == EndReason::kFailed || trace.end_reason == EndReason::kOutOfMemory;
  }

  /// What workers' threads do side by side, measured while none of them runs.
  struct Isolated {
    std::optional<double> copying_speedup;
    std::optional<base::Duration> burn_handover;
  };

  static Isolated MeasureIsolated(const RunState& run, const RunTrace& trace) {
    if (BrokeOff(trace)) return {};
    return {.copying_speedup = CopyingSpeedup(run, static_cast<int>(trace.effective.cores)),
            .burn_handover = MeasureBurning(run, trace.effective.cores)};
  }

  static void Add(const Isolated& isolated, RunTrace& trace) {
    trace.effective.copying_speedup = isolated.copying_speedup;
    trace.effective.burn_handover = isolated.burn_handover;
  }

  /// A few hundredths of a second, where workers may burn on several threads.
  static std::optional<base::Duration> MeasureBurning(const RunState& run, double cores) {
    const spec::Prepare& prepare = run.experiment.prepare;
    if (prepare.kind != spec::PrepareKind::kBurn || prepare.cost.IsZero() || cores < 2)
      return std::nullopt;
    try {
      return MeasureHandover(100, std::chrono::microseconds(200));
    } catch (const std::system_error&) {
      return std::nullopt;
    }
  }

  /// Where training loads by itself, workers would leave its threads no core of their own; on one thread they may.
  static bool WorkersWouldShareCores(const RunState& run, const RunTrace& trace) {
    const int threads = trace.effective.compute_threads;
    return run.experiment.loader.workers == 0 && threads > 1 && threads + 1 > trace.effective.cores;
  }

  /// What the run's own timing does not say; nullopt where it says all, or where the step cannot be repeated.
  std::optional<StepAlone> MeasureStepAlone(const RunState& run, const RunTrace& trace) const {
    if (BrokeOff(trace)) return std::nullopt;
    const bool waits = trace.effective.device_asynchronous || StepMayHoldWaiting(run, trace);
    if (!waits && !WorkersWouldShareCores(run, trace)) return std::nullopt;
    try {
      auto alone = parts_.trainer->MeasureStepAlone();
      if (alone && !waits) alone->time = alone->cpu = std::nullopt;
      return alone;
    } catch (const std::exception&) {
      return std::nullopt;  // an extra measurement: without it the value stays unknown
    }
  }

  static void Add(const std::optional<StepAlone>& alone, RunTrace& trace) {
    if (!alone) return;
    trace.effective.device_step = alone->time;
    trace.effective.step_cpu = alone->cpu;
    trace.effective.step_on_one_thread = alone->on_one_thread;
    trace.effective.pool_spin = alone->pool_spin;
    trace.effective.pinned_copy = alone->pinned_copy;
  }

  ThreadedParts parts_;
};

}  // namespace
}  // namespace threaded

std::unique_ptr<Executor> MakeThreadedExecutor(const ThreadedParts& parts) {
  return std::make_unique<threaded::ThreadedExecutor>(parts);
}

}  // namespace pipesim::engine
