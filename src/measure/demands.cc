#include "measure/demands.h"

#include <algorithm>
#include <cmath>

#include "base/stats.h"
#include "cost/machine.h"
#include "measure/rates.h"

namespace pipesim::measure {
namespace {

using trace::Series;

/// Mean of a series in seconds, from inside the window or, in a run too short for that, from all of
/// it.
std::optional<double> MeanSeconds(const trace::RunTrace& trace, Series series,
                                  const Window& window) {
  const Window whole{.from = trace.begin - Duration(1), .to = base::Instant::max(), .epochs = {}};
  for (const Window& part : {window, whole}) {
    const std::vector<double> seconds = NumbersIn(trace, series, part, 1e-9);
    if (!seconds.empty()) return base::Mean(seconds);
  }
  return std::nullopt;
}

/// Share of samples that the emulated cache served, in the epochs of the window.
double HitFraction(const trace::RunTrace& trace, const Window& window) {
  double reads = 0, hits = 0;
  for (const trace::EpochRecord& epoch : trace.epochs) {
    if (epoch.end <= window.from || epoch.begin >= window.to) continue;
    reads += static_cast<double>(epoch.reads);
    hits += static_cast<double>(epoch.cache_hits);
  }
  return reads + hits > 0 ? hits / (reads + hits) : 0;
}

void FitReading(Demands& demands, const trace::RunTrace& trace, const Window& window,
                const spec::Experiment& experiment, const cost::Storage& storage,
                const std::optional<CounterMoves>& moves) {
  if (experiment.storage.kind == spec::StorageKind::kNone) {
    demands.read_s = demands.read_cpu_s = 0;
    return;
  }
  // Workers read ahead of the window, so reads are counted per sample, not by the window's
  // counters; bytes per read do not depend on how far ahead.
  demands.reads = static_cast<double>(demands.batch_samples) * (1 - HitFraction(trace, window));
  const bool counted = moves && moves->storage_reads > 0;
  const double bytes_per_read =
      counted ? moves->storage_bytes / moves->storage_reads
              : static_cast<double>(experiment.dataset.sample_bytes.Mean().count);
  demands.bytes = demands.reads * bytes_per_read;
  demands.read_cpu_s = MeanSeconds(trace, Series::kReadCpuTime, window);
  if (storage.present) {
    // The measured time cannot be used: it includes waiting behind other workers.
    demands.read_s =
        storage.AloneSeconds(demands.reads, demands.bytes) + demands.read_cpu_s.value_or(0);
  } else {
    demands.read_s = MeanSeconds(trace, Series::kReadTime, window);
  }
}

/// One series has both the time on a core and without one; the lesser is known as it was given.
void FitPreparing(Demands& demands, const trace::RunTrace& trace, const Window& window,
                  const spec::Experiment& experiment, const cost::Prepare& given) {
  const auto samples = static_cast<double>(demands.batch_samples);
  demands.prepare_wait_s = given.WaitSeconds(samples);
  demands.prepare_cpu_s = samples * base::ToSeconds(given.python);
  const spec::PrepareKind kind = experiment.prepare.kind;
  if (kind == spec::PrepareKind::kNone) return;
  const auto all_s = MeanSeconds(trace, Series::kPrepareTime, window);
  auto& measured =
      kind == spec::PrepareKind::kWait ? demands.prepare_wait_s : demands.prepare_cpu_s;
  const double known_s =
      kind == spec::PrepareKind::kWait ? *demands.prepare_cpu_s : *demands.prepare_wait_s;
  measured.reset();
  if (all_s) measured = std::max(0.0, *all_s - known_s);
}

/// The full steps measured after the run, scaled to the mean batch.
std::optional<double> Alone(const Demands& demands, const spec::Experiment& experiment,
                            const std::optional<Duration>& full_step) {
  if (!full_step) return std::nullopt;
  return base::ToSeconds(*full_step) * static_cast<double>(demands.batch_samples) /
         static_cast<double>(experiment.loader.batch_size);
}

bool IsOnGpu(const trace::Effective& effective) {
  return effective.device_asynchronous && !effective.device.IsEmulated();
}

/// The training thread's work for one step, without taking batches over. In the first step on a GPU
/// libraries set themselves up (cuDNN takes a second); where the window holds that step, the others
/// count.
double HostSecondsOfStep(const trace::RunTrace& trace, const Window& window,
                         const Consumer& consumer) {
  const auto steps = static_cast<double>(window.last_step - window.first_step);
  const double all_s = (consumer.host_s - consumer.receive_s.value_or(0)) / steps;
  if (!IsOnGpu(trace.effective) || window.first_step > 0 || trace.progress.empty()) return all_s;
  const trace::Checkpoint& set_up = trace.progress.front();
  if (set_up.steps >= window.last_step) return all_s;
  const Duration later =
      trace::TimeIn(trace, trace::Role::kConsumer, trace::State::kHost, set_up.at, window.to);
  return base::ToSeconds(later) / static_cast<double>(window.last_step - set_up.steps);
}

/// The training thread's own work for a step.
double HostSeconds(const Demands& demands) {
  return demands.host_s.value_or(0) + demands.receive_s;
}

/// CPU time of a training step: the process's CPU time beyond loading, over `steps`, the steps of
/// all accelerators. Threads of a compute pool record no spans; wall time × threads is an upper
/// bound, used when there are no counters.
void FitTrainingCpu(Demands& demands, const trace::RunTrace& trace,
                    const std::optional<CounterMoves>& moves, double steps, double window_s,
                    const spec::Experiment& experiment) {
  const double most_s = *demands.step_s * std::max(1, trace.effective.compute_threads);
  if (const auto alone_s = Alone(demands, experiment, trace.effective.step_cpu)) {
    demands.step_cpu_s = std::min(*alone_s, most_s);
    demands.step_cpu_method = "CPU time of steps repeated alone after the run";
    return;
  }
  demands.step_cpu_s = most_s;
  demands.step_cpu_method = "compute time x threads, an upper bound";
  if (moves && moves->trainer_on_core_s && experiment.loader.workers > 0) {
    const double used_s = *moves->trainer_on_core_s * (window_s / moves->covered_s) / steps;
    demands.step_cpu_s = std::clamp(used_s - HostSeconds(demands), 0.0, most_s);
    demands.step_cpu_method = "CPU time of the trainer's threads";
    // One thread never waits for another: beyond its CPU time it waited for a core.
    if (trace.effective.compute_threads == 1 && demands.step_cpu_s > 0)
      demands.step_s = std::min(*demands.step_s, *demands.step_cpu_s);
    return;
  }
  const std::optional<double> loading_s = LoadingCpuSeconds(demands);
  if (!moves || !moves->process_cpu_s || !loading_s) return;
  const double used_s = *moves->process_cpu_s * (window_s / moves->covered_s) / steps;
  demands.step_cpu_s = std::clamp(used_s - *loading_s - HostSeconds(demands), 0.0, most_s);
  demands.step_cpu_method = "CPU time of the process beyond loading";
}

void FitStep(Demands& demands, const trace::RunTrace& trace, const Window& window,
             const spec::Experiment& experiment, const Consumer& consumer, double steps) {
  const trace::Effective& effective = trace.effective;
  demands.step_cpu_s = 0;
  if (!effective.device_asynchronous) {
    const double measured_s = consumer.compute_s / steps;
    const auto alone_s = Alone(demands, experiment, effective.device_step);
    demands.step_s = std::min(measured_s, alone_s.value_or(measured_s));
    demands.step_one_thread_s = Alone(demands, experiment, effective.step_on_one_thread);
  } else if (!effective.device.IsEmulated() && effective.device_step) {
    demands.step_s = Alone(demands, experiment, effective.device_step);
  } else {
    demands.step_s = MeanSeconds(trace, Series::kDeviceStep, window);
    // An emulated device records nothing of a step that is free.
    if (!demands.step_s && effective.device.IsEmulated()) demands.step_s = 0;
  }
}

/// Copies: timed by the device if it has a clock, else the consumer's wait for them.
std::optional<double> CopySeconds(const trace::RunTrace& trace, const Window& window,
                                  double steps) {
  const bool own_clock = trace.effective.device_asynchronous;
  if (const auto copies = MeanSeconds(trace, Series::kTransferTime, window)) return copies;
  if (own_clock && !trace.effective.device.IsEmulated()) return std::nullopt;
  const Duration waited =
      trace::TimeIn(trace, trace::Role::kConsumer, trace::State::kTransfer, window.from, window.to);
  return base::ToSeconds(waited) / steps;
}

/// Workers and the pin thread that copy large batches hinder each other: takes that out of their
/// times, and says what all cores together write.
void TakeOutHindrance(Demands& demands, const trace::RunTrace& trace, const Window& window,
                      const spec::Experiment& experiment) {
  constexpr double kAsAlone = 0.9;  // of the cores: less is more than the noise of so short a measurement
  const double cores = trace.effective.cores;
  const std::optional<double>& speedup = trace.effective.copying_speedup;
  if (!speedup || *speedup >= kAsAlone * cores) return;
  if (!demands.collate_s || !(*demands.collate_s > 0)) return;
  const double window_s = base::ToSeconds(window.to - window.from);
  const auto threads_in = [&](trace::Role role, trace::State state) {
    return base::ToSeconds(trace::TimeIn(trace, role, state, window.from, window.to)) / window_s;
  };
  const double collating = threads_in(trace::Role::kWorker, trace::State::kCollate);
  // Without workers one thread does both, one after the other.
  const double pinning =
      experiment.loader.workers > 0 ? threads_in(trace::Role::kPin, trace::State::kPin) : 0;
  // In units of one thread that collates alone.
  const double hindrance =
      cost::SharedMemory{
          .alone = {1}, .together = {*speedup}, .threads = static_cast<int>(cores)}
          .Hindrance();
  const double workers = std::max(1, experiment.loader.workers);
  const double pin = demands.pin_s.value_or(0) > 0 ? *demands.collate_s / *demands.pin_s : 0;
  demands.collate_s =
      *demands.collate_s / (1 + hindrance * (collating * (workers - 1) / workers + pin * pinning));
  if (demands.pin_s) demands.pin_s = *demands.pin_s / (1 + hindrance * pin * collating);
  const auto sample_bytes = static_cast<double>(spec::PreparedBytes(experiment.dataset).count);
  demands.copying_limit = base::BytesPerSecond{
      *speedup * static_cast<double>(demands.batch_samples) * sample_bytes / *demands.collate_s};
}

}  // namespace

std::optional<double> LoadingCpuSeconds(const Demands& demands) {
  if (!demands.prepare_cpu_s || !demands.collate_s) return std::nullopt;
  return demands.read_cpu_s.value_or(0) + *demands.prepare_cpu_s + *demands.collate_s +
         demands.send_s;
}

Demands DemandsOf(const trace::RunTrace& trace, const Window& window,
                  const spec::Experiment& experiment, const cost::Pipeline& given,
                  const Consumer& consumer, const std::optional<CounterMoves>& moves) {
  const auto steps = static_cast<double>(window.last_step - window.first_step);
  const double window_s = base::ToSeconds(window.to - window.from);
  Demands demands;
  demands.batch_samples = std::llround(static_cast<double>(window.samples) / steps);
  FitReading(demands, trace, window, experiment, given.storage, moves);
  FitPreparing(demands, trace, window, experiment, given.prepare);
  demands.collate_s = MeanSeconds(trace, Series::kCollateTime, window);
  const trace::Role pins =
      experiment.loader.workers > 0 ? trace::Role::kPin : trace::Role::kConsumer;
  demands.pin_s =
      base::ToSeconds(trace::TimeIn(trace, pins, trace::State::kPin, window.from, window.to)) /
      steps;
  TakeOutHindrance(demands, trace, window, experiment);
  demands.h2d_s = CopySeconds(trace, window, steps);
  demands.host_s = HostSecondsOfStep(trace, window, consumer);
  // The host's calls are not timed one by one: their time holds what they waited for a core.
  if (IsOnGpu(trace.effective) && moves)
    *demands.host_s *= 1 - TrainerContendedFraction(*moves).value_or(0);
  const auto in = [&](trace::Role role, trace::State state) {
    return base::ToSeconds(trace::TimeIn(trace, role, state, window.from, window.to)) / steps;
  };
  demands.send_s = in(trace::Role::kWorker, trace::State::kSend);
  demands.receive_s = in(trace::Role::kConsumer, trace::State::kReceive) +
                      in(trace::Role::kPin, trace::State::kReceive);
  demands.sync_s = consumer.sync_s / steps;
  FitStep(demands, trace, window, experiment, consumer, steps);
  if (!trace.effective.device_asynchronous) {
    FitTrainingCpu(demands, trace, moves, steps * AllOverFirst(trace, window), window_s,
                   experiment);
  }
  return demands;
}

}  // namespace pipesim::measure
