// A finished run made up from what one batch costs, for tests of the diagnosis: its rate is what
// the bounds predict times an efficiency, its partitions follow from the costs.
#pragma once

#include <algorithm>

#include "diagnose/diagnosis.h"
#include "measure/fit.h"

namespace pipesim::diagnose::testing {

inline constexpr double kMs = 1e-3;

struct MadeRun {
  spec::Experiment experiment;
  measure::Measurement measurement;

  cost::Pipeline Pipeline() const {
    return measure::Fit({}, measurement, experiment, cost::Stated(experiment));
  }
  Variant Now() const { return VariantOf(experiment, Pipeline()); }
  Diagnosis DiagnoseBy(const Predictor& predict, const Offers& offers = {}) const {
    return Diagnose(experiment, measurement, Pipeline(), predict, {}, {}, offers);
  }
};

class RunBuilder {
 public:
  /// An asynchronous device with a step of `step_s`, 8 cores, 4 workers, batches of 256 samples
  /// that cost nothing to load.
  static RunBuilder OnGpu(double step_s) { return RunBuilder(true, step_s, 0); }
  /// The CPU trains, `threads` threads busy throughout.
  static RunBuilder OnCpu(double step_s, int threads) { return RunBuilder(false, step_s, threads); }

  RunBuilder& Workers(int n) { return experiment_.loader.workers = n, *this; }
  RunBuilder& Cores(double n) { return cores_ = n, *this; }
  RunBuilder& Burn(double batch_s) {
    experiment_.prepare.kind = spec::PrepareKind::kBurn;
    experiment_.prepare.cost = PerSample(batch_s);
    return demands_.prepare_cpu_s = batch_s, *this;
  }
  RunBuilder& Wait(double batch_s) {
    experiment_.prepare.kind = spec::PrepareKind::kWait;
    experiment_.prepare.cost = PerSample(batch_s);
    return demands_.prepare_wait_s = batch_s, *this;
  }
  /// Emulated storage: one worker alone takes latency and transfer of each of the 256 samples.
  RunBuilder& Storage(double bytes_per_s, double latency_s) {
    auto& storage = experiment_.storage;
    storage.kind = spec::StorageKind::kEmulated;
    storage.bandwidth = base::BytesPerSecond{bytes_per_s};
    storage.latency.in_units = base::Distribution::Fixed(latency_s * 1e9);
    demands_.reads = kBatch;
    demands_.bytes = kBatch * kSampleBytes;
    demands_.read_s = kBatch * latency_s + demands_.bytes / bytes_per_s;
    return *this;
  }
  RunBuilder& Collate(double s) { return demands_.collate_s = s, *this; }
  /// Batches are copied out of pageable memory.
  RunBuilder& Pageable() { return experiment_.loader.pin_memory = false, *this; }
  /// Copying a batch into page-locked memory.
  RunBuilder& Pin(double s) { return demands_.pin_s = s, *this; }
  RunBuilder& DType(spec::DType dtype) { return experiment_.dataset.dtype = dtype, *this; }
  RunBuilder& Copy(double s) { return demands_.h2d_s = s, *this; }
  RunBuilder& Host(double s) { return demands_.host_s = s, *this; }
  RunBuilder& Sync(double s) {
    experiment_.training.sync_every = 1;
    return demands_.sync_s = s, *this;
  }
  /// Launch gaps could not be told from computing: `host_s` unless it is unknown too.
  RunBuilder& LaunchUnknown() { return launch_known_ = false, *this; }
  RunBuilder& Steps(std::int64_t n) { return steps_ = n, *this; }
  RunBuilder& HalfWidth(double share) { return half_width_ = share, *this; }
  /// Measured rate over what the bounds say.
  RunBuilder& Efficiency(double share) { return efficiency_ = share, *this; }
  /// Share of the training thread's time without a core.
  RunBuilder& Contended(double share) { return contended_ = share, *this; }

  /// Share of the time the trainer's threads want a core in which they have none.
  RunBuilder& PoolContended(double share) {
    *demands_.step_cpu_s *= 1 - share;  // waiting is no CPU time
    return pool_contended_ = share, *this;
  }

  /// Beside its workers a step took this long; alone it is what OnCpu was given, and on one thread
  /// `one_thread_s`.
  RunBuilder& StepBesideWorkers(double beside_s, double one_thread_s) {
    demands_.step_one_thread_s = one_thread_s;
    return beside_s_ = beside_s, *this;
  }

  MadeRun Build() const {
    MadeRun run{experiment_, {}};
    auto& m = run.measurement;
    m.demands = demands_;
    m.resources.cores = m.effective.cores = cores_;
    m.effective.device_asynchronous = gpu_;
    m.effective.device = gpu_ ? spec::DeviceId::Cuda(0) : spec::DeviceId::Cpu();
    m.effective.pinned = experiment_.loader.pin_memory;
    m.effective.compute_threads = threads_;
    m.resources.trainer_contended_fraction = pool_contended_;
    if (beside_s_) m.effective.device_step = base::FromSeconds(*demands_.step_s);
    const double rate = efficiency_ * PredictByBounds(run.Now());
    SetResult(m, rate);
    SetPartitions(m, kBatch / rate);
    return run;
  }
  Diagnosis Diagnose() const {
    return Build().DiagnoseBy(PredictByBounds);
  }

  static constexpr double kBatch = 256, kSampleBytes = 112640;

 private:
  RunBuilder(bool gpu, double step_s, int threads) : gpu_(gpu), threads_(threads) {
    experiment_.dataset.samples = 1281167;
    experiment_.dataset.sample_bytes.in_units = base::Distribution::Fixed(kSampleBytes);
    experiment_.dataset.shape = {3, 224, 224};
    experiment_.loader.workers = 4;
    experiment_.loader.batch_size = 256;
    experiment_.loader.pin_memory = gpu;
    experiment_.device.kind = gpu ? spec::DeviceKind::kCuda : spec::DeviceKind::kCpu;
    demands_.batch_samples = 256;
    demands_.read_s = demands_.prepare_cpu_s = demands_.prepare_wait_s = demands_.collate_s = 0;
    demands_.pin_s = demands_.h2d_s = demands_.host_s = demands_.sync_s = 0;
    demands_.step_s = step_s;
    demands_.step_cpu_s = step_s * threads;
  }

  static base::Drawn<base::Duration> PerSample(double batch_s) {
    return {base::Distribution::Fixed(batch_s * 1e9 / kBatch)};
  }

  void SetResult(measure::Measurement& m, double rate) const {
    m.result.samples_per_s = rate;
    m.result.samples_per_s_interval =
        measure::Interval{rate * (1 - half_width_), rate * (1 + half_width_), 0.95, "batch means"};
    m.result.steps = steps_;
    m.result.step_time =
        measure::StepTime{.mean_s = kBatch / rate, .p50_s = {}, .p95_s = {}, .p99_s = {}};
    m.result.measured_s = static_cast<double>(steps_) * kBatch / rate;
  }

  /// All of one step's wall time: what is neither host nor step waits for data.
  void SetPartitions(measure::Measurement& m, double wall_s) const {
    const double n = static_cast<double>(steps_);
    auto& c = m.consumer;
    c.wall_s = n * wall_s;
    c.contended_s = contended_ * c.wall_s;
    c.host_s = n * *demands_.host_s;
    c.sync_s = n * *demands_.sync_s;
    c.compute_s = gpu_ ? 0 : n * beside_s_.value_or(*demands_.step_s);
    c.starved_s = std::max(0.0, c.wall_s - c.contended_s - c.host_s - c.sync_s - c.compute_s);
    if (gpu_) {
      auto& d = m.device.emplace();
      d.wall_s = c.wall_s;
      d.busy_s = std::min(d.wall_s, n * demands_.step_s.value_or(0));
      const double rest = d.wall_s - d.busy_s;
      if (launch_known_) d.launch_s = std::min(rest, c.host_s);
      d.starved_s = rest - d.launch_s.value_or(0);
      m.result.accelerator_utilization = d.busy_s / d.wall_s;
    }
    auto& w = m.workers;
    w.count = experiment_.loader.workers;
    w.wall_s = w.count * c.wall_s;
    w.read_s = n * *demands_.read_s;
    w.prepare_s = n * (*demands_.prepare_cpu_s + *demands_.prepare_wait_s);
    w.collate_s = n * *demands_.collate_s;
    m.resources.reads_per_s = demands_.reads / wall_s;
    m.resources.storage_bytes_per_s = demands_.bytes / wall_s;
    if (const auto& limit = experiment_.storage.bandwidth) {
      m.resources.storage_utilization = m.resources.storage_bytes_per_s / limit->per_s;
    }
    m.resources.cores_used =
        (*demands_.prepare_cpu_s + *demands_.collate_s + demands_.step_cpu_s.value_or(0)) / wall_s;
  }

  bool gpu_;
  int threads_;
  spec::Experiment experiment_;
  measure::Demands demands_;
  double cores_ = 8, half_width_ = 0.01, efficiency_ = 1, contended_ = 0;
  std::optional<double> pool_contended_, beside_s_;
  bool launch_known_ = true;
  std::int64_t steps_ = 183;
};

inline const WhatIf* Row(const Diagnosis& d, std::string_view change) {
  const auto found = std::find_if(d.what_if.begin(), d.what_if.end(),
                                  [&](const WhatIf& row) { return row.change == change; });
  return found == d.what_if.end() ? nullptr : &*found;
}

}  // namespace pipesim::diagnose::testing
