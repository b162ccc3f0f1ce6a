#include "measure/fit.h"

#include <algorithm>
#include <cmath>

#include "base/stats.h"
#include "cost/roofline.h"

namespace pipesim::measure {
namespace {

using base::Distribution;
using base::Drawn;
using trace::Series;

Drawn<Duration> Fixed(double seconds) { return {Distribution::Fixed(seconds * 1e9)}; }

/// The cost of one sample, if batches of `samples` vary like `series` with the mean `mean_s`:
/// independent draws for each sample make batches vary like the measured ones.
Drawn<Duration> EachSample(const trace::RunTrace& trace, Series series, double mean_s,
                           double samples) {
  const trace::Reservoir& reservoir = trace.series[static_cast<std::size_t>(series)];
  constexpr std::size_t kFewest = 8;
  if (reservoir.kept.size() < kFewest || !(mean_s > 0)) return Fixed(mean_s / samples);
  std::vector<double> batches_ns;
  for (const trace::Sampled& batch : reservoir.kept) batches_ns.push_back(batch.value);
  const double mean_ns = base::Mean(batches_ns);
  if (!(mean_ns > 0)) return Fixed(mean_s / samples);
  Drawn<Duration> each;
  each.in_units.kind = base::DistributionKind::kEmpirical;
  const double scale = mean_s * 1e9 / mean_ns / samples;
  for (const double batch_ns : batches_ns) {
    const double spread_ns = mean_ns + (batch_ns - mean_ns) * std::sqrt(samples);
    each.in_units.values.push_back(std::max(0.0, spread_ns) * scale);
  }
  // Cutting off at 0 raised the mean.
  const double kept_ns = base::Mean(each.in_units.values);
  return kept_ns > 0 ? each.Scaled(mean_s * 1e9 / samples / kept_ns) : Fixed(mean_s / samples);
}

}  // namespace

double MissFraction(const Demands& demands) {
  return demands.batch_samples > 0 ? std::clamp(demands.reads / static_cast<double>(demands.batch_samples), 0.0, 1.0)
                                   : 1;
}

namespace {

/// Fills in one pipeline part by part.
class Fitting {
 public:
  Fitting(const trace::RunTrace& trace, const Measurement& measurement,
          const spec::Experiment& experiment, const cost::Pipeline& given)
      : trace_(trace), m_(measurement), d_(measurement.demands), experiment_(experiment),
        out_(given), samples_(static_cast<double>(std::max<std::int64_t>(1, d_.batch_samples))) {}

  cost::Pipeline Fit() {
    FitCores();
    if (d_.batch_samples <= 0) return out_;
    FitReading();
    FitPreparing();
    FitCopies();
    if (!m_.effective.device.IsEmulated()) FitStep();
    FitReadingBack();
    if (d_.host_s) {
      const double launch_s = base::ToSeconds(out_.step.launch);
      out_.host.step = base::FromSeconds(std::max(0.0, *d_.host_s - launch_s));
    }
    return out_;
  }

 private:
  /// Other programs hold the cores that they used. One that got a part of a core is taken to want
  /// all of it, since a run that fills the cores leaves it no more.
  void FitCores() {
    cost::Machine& machine = out_.machine;
    const double cores = m_.resources.cores > 0 ? m_.resources.cores : m_.effective.cores;
    if (cores > 0) machine.cores = cores;
    machine.processors = static_cast<int>(m_.effective.cpus.size());
    machine.idle_cpus = m_.effective.idle_cpus;
    if (m_.effective.burn_handover) machine.burn_handover = *m_.effective.burn_handover;
    const double held = std::min(m_.resources.foreign_cores.value_or(0), machine.Processors());
    // Time by the kernel's tick is not known better.
    constexpr double kLeast = 0.01;
    if (held < kLeast) return;
    const bool peers = m_.resources.peer_cores.value_or(0) > held / 2;
    cost::OtherPrograms& others = machine.others;
    others = {.wanted = std::max(1.0, held),
              .held = held,
              .beside = peers ? m_.resources.runnable_threads.value_or(0) : 0};
    constexpr double kMost = 0.9;  // what is left to the run is something
    if (!peers && ThreadsLackCores())
      others.share = std::clamp(held / machine.Processors(), others.share, kMost);
  }

  /// The run's threads waited for cores while none was idle: they would have had what the other programs held.
  bool ThreadsLackCores() const {
    constexpr double kWaits = 1.05, kBusy = 0.9;
    const Resources& r = m_.resources;
    if (!r.runnable_threads || !r.cores_used || *r.runnable_threads < kWaits * *r.cores_used) return false;
    return *r.cores_used + r.foreign_cores.value_or(0) >= kBusy * out_.machine.Processors();
  }

  std::optional<base::BytesPerSecond> Rate(const std::optional<double>& seconds) const {
    if (!seconds || !(*seconds > 0)) return std::nullopt;
    return base::BytesPerSecond{samples_ * static_cast<double>(out_.samples.prepared.count) /
                                *seconds};
  }

  void FitReading() {
    if (experiment_.storage.kind == spec::StorageKind::kNone) return;
    out_.samples.miss_fraction = MissFraction(d_);
    if (experiment_.storage.kind != spec::StorageKind::kFiles || !d_.read_s) return;
    const double cpu_s = std::min(d_.read_cpu_s.value_or(0), *d_.read_s);
    out_.storage.present = true;
    out_.storage.latency = EachSample(trace_, Series::kReadTime, *d_.read_s - cpu_s, samples_);
    out_.storage.read_cpu = base::FromSeconds(cpu_s / samples_);
  }

  void FitPreparing() {
    if (experiment_.prepare.kind != spec::PrepareKind::kDecode || !d_.prepare_cpu_s) return;
    out_.prepare = cost::Prepare::Decoding(
        EachSample(trace_, Series::kPrepareTime, *d_.prepare_cpu_s, samples_),
        out_.samples.prepared);
  }

  void FitCopies() {
    // Stated or Python's, it was burned exactly as given.
    if (out_.collate == cost::Collate{})
      out_.collate = {.bandwidth = Rate(d_.collate_s), .fault_bandwidth = {}};
    out_.pin.bandwidth = Rate(d_.pin_s);
    if (out_.collate.bandwidth && d_.copying_limit)
      out_.machine.memory = {.alone = *out_.collate.bandwidth,
                             .together = *d_.copying_limit,
                             .threads = static_cast<int>(m_.effective.cores)};
    if (m_.effective.device.IsEmulated()) return;
    FitTransfer();
  }

  void FitTransfer() {
    cost::Transfer& transfer = out_.transfer;
    transfer = {.latency = {}, .bandwidth = Rate(d_.h2d_s)};
    if (!transfer.bandwidth || m_.effective.pinned) return;
    if (const auto& copy = m_.effective.pinned_copy; copy && *copy > base::Duration::zero()) {
      const double pinned_per_s = static_cast<double>(experiment_.loader.batch_size *
                                                      out_.samples.prepared.count) /
                                  base::ToSeconds(*copy);
      transfer.pageable_factor = std::max(1.0, pinned_per_s / transfer.bandwidth->per_s);
    }
    transfer.bandwidth->per_s *= transfer.pageable_factor;
  }

  void FitStep() {
    cost::Step& step = out_.step;
    step = {};
    step.device_name = m_.effective.device_name;
    step.device_memory = m_.effective.device_memory;
    if (!m_.effective.device_asynchronous) step.threads = std::max(1, m_.effective.compute_threads);
    // A pool of more threads than processors hardly spins, which says nothing of fewer.
    if (m_.effective.pool_spin && PoolSpins() && step.threads <= out_.machine.Processors())
      out_.machine.pool_spin = m_.effective.pool_spin;
    // The host's work for a GPU is launching, and kernels run while later ones are launched.
    if (m_.effective.device_asynchronous && d_.host_s) step.launch = base::FromSeconds(*d_.host_s);
    if (!d_.step_s) return;
    step.source = cost::Source::kRun;
    const double step_s = StepWithoutOthers();
    step.gap = LaunchGap(m_, experiment_);
    // The optimizer's part does not grow with the batch.
    const Consumer& consumer = m_.consumer;
    double fixed = 0;
    if (consumer.optimizer_s && consumer.compute_s > 0)
      fixed = std::clamp(*consumer.optimizer_s / consumer.compute_s, 0.0, 1.0);
    step.cost = cost::StepTable(std::vector<spec::StepPoint>{
        {d_.batch_samples, base::FromSeconds(step_s)},
        {2 * d_.batch_samples, base::FromSeconds((2 - fixed) * step_s)}});
    if (d_.step_cpu_s && step_s > 0) step.cpu_per_wall = *d_.step_cpu_s / step_s;
    if (step.threads > 1)
      step.barriers = cost::LaunchesOfStep(experiment_.model, experiment_.dataset.shape,
                                           experiment_.training);
    FitCrowding(step_s);
    if (d_.step_one_thread_s)
      step.one_thread = cost::StepTable(std::vector<spec::StepPoint>{
          {d_.batch_samples, base::FromSeconds(*d_.step_one_thread_s)}});
  }

  /// The measured step, alone or in the run, had other programs beside it. A pool that spins gets on
  /// while they leave it a core for each thread, one that sleeps has its share of what they leave.
  /// Threads that share their work evenly take 1 / threads of the time of one, more threads no
  /// longer than one; where that is unknown, a step had at least the cores that were left.
  double StepWithoutOthers() const {
    const double step_s = *d_.step_s;
    const int threads = std::max(1, m_.effective.compute_threads);
    const cost::Machine& machine = out_.machine;
    const double lacking = threads - (machine.Processors() - machine.others.held);
    if (m_.effective.device_asynchronous || threads < 2 || machine.others.held == 0 ||
        !(lacking > 0))
      return step_s;
    const double free = PoolSpins() ? std::max(0.0, 1 - lacking) : 1 - lacking / threads;
    if (!d_.step_one_thread_s)
      return step_s * std::max(free, 1 - std::ceil(lacking) / threads);
    const double least_s = *d_.step_one_thread_s / threads;
    return std::clamp(step_s * free, least_s,
                      std::max(least_s, std::min(step_s, *d_.step_one_thread_s)));
  }

  bool PoolSpins() const { return experiment_.limits.omp_wait == spec::OmpWait::kDefault; }

  /// Workers that wanted a core, on average.
  double Burning() const {
    const Workers& workers = m_.workers;
    if (!(workers.wall_s > 0)) return 0;
    const bool waits = experiment_.prepare.kind == spec::PrepareKind::kWait;
    const double wanted_s = (waits ? 0 : workers.prepare_s) + workers.collate_s + workers.contended_s;
    return workers.count * wanted_s / workers.wall_s;
  }

  /// The workers, too, took cores from another program; what it holds beside the pool alone shows in
  /// the step. While it holds one, two of the pool's threads share a core: then a step takes a slice
  /// of each, and of the workers there, at each barrier, so one that takes longer has more barriers than
  /// its operations say.
  void FitCrowding(double step_s) {
    cost::Machine& machine = out_.machine;
    cost::Step& step = out_.step;
    const double left = machine.Processors() - 1, measured_s = *d_.step_s;
    if (!PoolSpins() || !machine.barrier_slice || machine.others.held == 0 || left < 1 ||
        step.threads <= left || !(step_s < measured_s))
      return;
    const double round_s =
        (std::ceil(step.threads / left) + Burning() / left) * base::ToSeconds(*machine.barrier_slice);
    step.barriers = std::max(step.barriers, static_cast<int>(std::lround(measured_s / round_s)));
    const double crowded = step_s / (step.barriers * round_s);
    if (crowded >= 1) return;
    const double held = (1 - step_s / measured_s) / (1 - crowded);
    machine.others.held = std::min(machine.others.wanted, std::max(machine.others.held, held));
  }

  /// The time of a read-back beyond waiting for the steps in flight, and for their copies where the device waits for
  /// these, too.
  void FitReadingBack() {
    const std::int64_t every = experiment_.training.sync_every;
    if (every <= 0 || !d_.sync_s || !d_.step_s || !m_.effective.device_asynchronous) return;
    const auto waits_for = static_cast<double>(std::min<std::int64_t>(
        every, std::max(experiment_.device.in_flight, 1)));
    const double each_s = *d_.sync_s * static_cast<double>(every);
    const double launch_s = base::ToSeconds(out_.step.launch);
    const double copy_s = m_.device && m_.result.steps > 0
                              ? m_.device->transfer_s / static_cast<double>(m_.result.steps)
                              : 0;
    const double on_device_s = copy_s + *d_.step_s;
    const double waits_s = on_device_s > launch_s ? waits_for * on_device_s - launch_s : 0;
    out_.host.read_back = base::FromSeconds(std::max(0.0, each_s - waits_s));
  }

  const trace::RunTrace& trace_;
  const Measurement& m_;
  const Demands& d_;
  const spec::Experiment& experiment_;
  cost::Pipeline out_;
  double samples_;
};

}  // namespace

base::Duration LaunchGap(const Measurement& m, const spec::Experiment& experiment) {
  constexpr double kHardly = 0.1;
  const std::optional<Device>& device = m.device;
  const Demands& demands = m.demands;
  if (!m.effective.device_asynchronous || !device || !device->launch_s) return {};
  if (!demands.host_s || !demands.step_s) return {};
  if (experiment.training.sync_every > 0 || m.result.steps == 0) return {};
  if (device->starved_s > kHardly * device->wall_s) return {};
  const auto steps = static_cast<double>(m.result.steps);
  const double on_device_s = (device->busy_s + *device->launch_s) / steps;
  // The device waited for what the host did only once, too.
  const double host_s = (m.consumer.host_s - m.consumer.receive_s.value_or(0)) / steps;
  const double once_s = std::max(0.0, host_s - *demands.host_s);
  const double needed_s = once_s + std::max(*demands.host_s, *demands.step_s);
  return base::FromSeconds(std::max(0.0, on_device_s - needed_s));
}

cost::Pipeline Fit(const trace::RunTrace& trace, const Measurement& measurement,
                   const spec::Experiment& experiment, const cost::Pipeline& given) {
  return Fitting(trace, measurement, experiment, given).Fit();
}

}  // namespace pipesim::measure
