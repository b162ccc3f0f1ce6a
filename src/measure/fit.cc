#include "measure/fit.h"

#include <algorithm>
#include <cmath>

#include "base/stats.h"

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

/// Fills in one pipeline part by part.
class Fitting {
 public:
  Fitting(const trace::RunTrace& trace, const Measurement& measurement,
          const spec::Experiment& experiment, const cost::Pipeline& given)
      : trace_(trace), m_(measurement), d_(measurement.demands), experiment_(experiment),
        out_(given), samples_(static_cast<double>(std::max<std::int64_t>(1, d_.batch_samples))) {}

  cost::Pipeline Fit() {
    const double cores = m_.resources.cores > 0 ? m_.resources.cores : m_.effective.cores;
    if (cores > 0) out_.machine.cores = cores;
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
  std::optional<base::BytesPerSecond> Rate(const std::optional<double>& seconds) const {
    if (!seconds || !(*seconds > 0)) return std::nullopt;
    return base::BytesPerSecond{samples_ * static_cast<double>(out_.samples.prepared.count) /
                                *seconds};
  }

  void FitReading() {
    if (experiment_.storage.kind == spec::StorageKind::kNone) return;
    out_.samples.miss_fraction = std::clamp(d_.reads / samples_, 0.0, 1.0);
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
    out_.collate = {.bandwidth = Rate(d_.collate_s), .fault_bandwidth = {}};
    out_.pin.bandwidth = Rate(d_.pin_s);
    if (m_.effective.device.IsEmulated()) return;
    out_.transfer = {.bandwidth = Rate(d_.h2d_s)};
    // cost::Transfer takes half of the pinned rate from pageable memory.
    if (out_.transfer.bandwidth && !m_.effective.pinned) out_.transfer.bandwidth->per_s *= 2;
  }

  void FitStep() {
    cost::Step& step = out_.step;
    step = {};
    step.device_name = m_.effective.device_name;
    step.device_memory = m_.effective.device_memory;
    if (!m_.effective.device_asynchronous) step.threads = std::max(1, m_.effective.compute_threads);
    if (!d_.step_s) return;
    step.source = cost::Source::kRun;
    // The optimizer's part does not grow with the batch.
    const Consumer& consumer = m_.consumer;
    double fixed = 0;
    if (consumer.optimizer_s && consumer.compute_s > 0)
      fixed = std::clamp(*consumer.optimizer_s / consumer.compute_s, 0.0, 1.0);
    step.cost = cost::StepTable(std::vector<spec::StepPoint>{
        {d_.batch_samples, base::FromSeconds(*d_.step_s)},
        {2 * d_.batch_samples, base::FromSeconds((2 - fixed) * *d_.step_s)}});
    if (d_.step_cpu_s && *d_.step_s > 0) step.cpu_per_wall = *d_.step_cpu_s / *d_.step_s;
    if (d_.step_one_thread_s)
      step.one_thread = cost::StepTable(std::vector<spec::StepPoint>{
          {d_.batch_samples, base::FromSeconds(*d_.step_one_thread_s)}});
  }

  /// The time of a read-back beyond waiting for the steps in flight.
  void FitReadingBack() {
    const std::int64_t every = experiment_.training.sync_every;
    if (every <= 0 || !d_.sync_s || !d_.step_s || !m_.effective.device_asynchronous) return;
    const auto waits_for = static_cast<double>(std::min<std::int64_t>(
        every, std::max(experiment_.device.in_flight, 1)));
    const double each_s = *d_.sync_s * static_cast<double>(every);
    out_.host.read_back = base::FromSeconds(std::max(0.0, each_s - waits_for * *d_.step_s));
  }

  const trace::RunTrace& trace_;
  const Measurement& m_;
  const Demands& d_;
  const spec::Experiment& experiment_;
  cost::Pipeline out_;
  double samples_;
};

}  // namespace

cost::Pipeline Fit(const trace::RunTrace& trace, const Measurement& measurement,
                   const spec::Experiment& experiment, const cost::Pipeline& given) {
  return Fitting(trace, measurement, experiment, given).Fit();
}

}  // namespace pipesim::measure
