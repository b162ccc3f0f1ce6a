#include "app/virtual_predictor.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <vector>

#include "cost/step.h"
#include "diagnose/question.h"
#include "diagnose/settings.h"

namespace pipesim::app {
namespace {

// A deterministic pipeline repeats itself well within so many steps.
constexpr double kFewestSteps = 200;
// Filling the window once is warm-up; a window's worth of steps is one period of the workers.
constexpr std::int64_t kFewestWindows = 8;
// Half-width of a scenario's rate: a fifth of the gain that counts (diagnose::Thresholds).
constexpr double kNoise = 0.01;

using base::Duration;
using diagnose::Scenario;
using spec::Experiment;

/// now / then of one demand for each sample; 1 where there was none.
double Ratio(const std::optional<double>& now, const std::optional<double>& then, double batches) {
  if (!now || !then || !(*then > 0)) return 1;
  return std::max(0.0, *now / batches / *then);
}

void Scale(base::Drawn<Duration>& cost, double factor) {
  base::Distribution& of = cost.in_units;
  for (double* part : {&of.mean, &of.stdev, &of.low, &of.high}) *part *= factor;
  for (double& value : of.values) value *= factor;
}

/// A stage whose time is scaled by `factor`; free at 0.
void Scale(std::optional<base::BytesPerSecond>& rate, double factor) {
  if (!rate) return;
  if (factor > 0)
    rate->per_s /= factor;
  else
    rate.reset();
}

void Scale(Duration& time, double factor) {
  time = base::FromSeconds(base::ToSeconds(time) * factor);
}

/// One scenario as an experiment with costs.
class Changed {
 public:
  Changed(const PredictionCosts& costs, const Scenario& base, const Scenario& now,
          std::int64_t steps)
      : costs_(costs), base_(base), now_(now), out_(costs.executed), parts_(costs.parts) {
    batches_ = static_cast<double>(now.demands.batch_samples) /
               static_cast<double>(base.demands.batch_samples);
    out_.run = {};
    out_.run.seed = costs.executed.run.seed;
    out_.run.warmup = costs.executed.run.warmup;
    out_.run.steps = steps;
    out_.run.accelerators = now.accelerators;
    ChangeSettings();
    ChangeLoading();
    ChangeTransfer();
    ChangeStep();
  }

  double SamplesPerSecond(const base::StopFlag* stop) {
    engine::RunControl control;
    control.stop = stop;
    control.enough = [this](const trace::RunTrace& trace, base::Instant now) {
      return measure::Enough(trace, now, out_);
    };
    const auto trace = engine::MakeVirtualExecutor(parts_)->Run(out_, control);
    const auto window = measure::MeasuredWindow(trace, out_);
    if (!window || window->to <= window->from) return 0;
    return measure::SamplesPerSecondOfAll(trace, *window, out_);
  }

 private:
  double RatioOf(std::optional<double> measure::Demands::* demand) const {
    return Ratio(now_.demands.*demand, base_.demands.*demand, batches_);
  }

  void ChangeSettings() {
    spec::Loader& loader = out_.loader;
    loader.workers = now_.workers;
    loader.prefetch_factor = std::max(1, now_.prefetch_factor);
    loader.dispatch = now_.dispatch;
    loader.in_order = now_.in_order;
    loader.persistent_workers = now_.persistent_workers;
    if (now_.workers == 0) loader.timeout = {};
    loader.batch_size = std::max<std::int64_t>(
        1, std::llround(static_cast<double>(loader.batch_size) * batches_));
    out_.limits.worker_threads = now_.worker_threads;
    parts_.machine.cores = now_.cores;
    out_.limits.cpu_count.reset();
    out_.limits.cpu_list.clear();
  }

  void ChangeLoading() {
    spec::Storage& storage = out_.storage;
    Scale(storage.latency, now_.storage_latency_factor);
    Scale(storage.open_cost, now_.storage_latency_factor);
    const auto limit = [](const auto& now, const auto& then) {
      return now && then && *now > 0 ? *then / *now : 0;
    };
    Scale(storage.bandwidth, limit(now_.storage_bytes_per_s, base_.storage_bytes_per_s));
    if (storage.iops_per_s) storage.iops_per_s = now_.storage_reads_per_s;
    Scale(storage.cache.hit_bandwidth, RatioOf(&measure::Demands::read_cpu_s));
    const bool waits = out_.prepare.kind == spec::PrepareKind::kWait;
    Scale(out_.prepare.cost,
          RatioOf(waits ? &measure::Demands::prepare_wait_s : &measure::Demands::prepare_cpu_s));
    const double collate = RatioOf(&measure::Demands::collate_s);
    cost::Machine& machine = parts_.machine;
    Scale(machine.collate_batch, collate);
    Scale(machine.collate_bandwidth, collate);
    Scale(machine.fault_bandwidth, collate);
  }

  void ChangeTransfer() {
    Scale(parts_.machine.pin_bandwidth, RatioOf(&measure::Demands::pin_s));
    auto& preset = out_.device.preset;
    if (!preset) return;
    const double copy = RatioOf(&measure::Demands::h2d_s);
    Scale(preset->h2d_latency, copy);
    preset->h2d_bandwidth.per_s = copy > 0 ? preset->h2d_bandwidth.per_s / copy : 0;
  }

  void ChangeStep() {
    // Work of the host for a step, of which there is one for any batch size.
    const double host = Ratio(now_.demands.host_s, base_.demands.host_s, 1);
    Scale(parts_.machine.host_step, host);
    if (out_.device.preset) Scale(out_.device.preset->launch, host);
    if (base_.demands.sync_s.value_or(0) > 0 && now_.demands.sync_s.value_or(0) <= 0)
      out_.training.sync_every = 0;
    // The demand says what the changed batch takes; the cost model what the batch size alone does.
    const double step = Ratio(now_.demands.step_s, base_.demands.step_s, 1) * SizeEffect();
    if (parts_.cpu_step) {
      // Fewer threads at the same work: they take longer (diagnose/contention).
      const bool fewer = now_.compute_threads < base_.compute_threads && step > 1;
      const int threads = fewer ? now_.compute_threads : 0;
      parts_.cpu_step = [cost = parts_.cpu_step, step, threads](std::int64_t samples) {
        engine::CpuStep changed = cost(samples);
        Scale(changed.wall, step);
        if (threads > 0) changed.threads = threads;
        return changed;
      };
    } else if (out_.device.step_base && out_.device.step_table.empty()) {
      Scale(*out_.device.step_base, step);
      Scale(out_.device.step_per_sample, step);
    } else {
      FixStepTable(step);
    }
  }

  /// Cost of a step at the original batch size over that at the changed one.
  double SizeEffect() const {
    const std::int64_t before = costs_.executed.loader.batch_size, after = out_.loader.batch_size;
    if (before == after) return 1;
    const double then = MeanStepSeconds(before), now = MeanStepSeconds(after);
    return now > 0 ? then / now : 1;
  }

  double MeanStepSeconds(std::int64_t samples) const {
    if (costs_.parts.cpu_step) return base::ToSeconds(costs_.parts.cpu_step(samples).wall);
    const spec::Device& device = costs_.executed.device;
    if (device.step_base && device.step_table.empty())
      return base::ToSeconds(device.step_base->Mean() + device.step_per_sample.Mean() * samples);
    return base::ToSeconds(cost::StepModel(costs_.executed).Device(0, samples));
  }

  /// A roofline's or a table's steps at the sizes that occur, scaled.
  void FixStepTable(double factor) {
    std::vector<std::int64_t> sizes{out_.loader.batch_size};
    const std::int64_t batches = spec::BatchesPerEpoch(out_);
    if (batches > 0) sizes.push_back(spec::BatchSamples(out_, batches - 1));
    const cost::StepModel model(costs_.executed);
    std::vector<spec::StepPoint> points;
    for (const std::int64_t size : sizes) {
      points.push_back({size, model.Device(0, size)});
      Scale(points.back().time, factor);
    }
    out_.device.step_table = std::move(points);
  }

  const PredictionCosts& costs_;
  const Scenario &base_, &now_;
  double batches_ = 1;  ///< the changed batch size over the original
  Experiment out_;
  engine::VirtualParts parts_;
};

/// All of a scenario that a run of it depends on.
std::vector<double> KeyOf(const Scenario& s) {
  const measure::Demands& d = s.demands;
  std::vector<double> key{static_cast<double>(d.batch_samples),
                          static_cast<double>(s.accelerators),
                          static_cast<double>(s.workers),
                          static_cast<double>(s.prefetch_factor),
                          static_cast<double>(s.worker_threads),
                          static_cast<double>(s.compute_threads),
                          static_cast<double>(s.dispatch),
                          static_cast<double>(s.in_order),
                          static_cast<double>(s.persistent_workers),
                          s.cores,
                          s.storage_latency_factor};
  for (const auto& value :
       {d.read_cpu_s, d.prepare_cpu_s, d.prepare_wait_s, d.collate_s, d.pin_s, d.h2d_s, d.host_s,
        d.step_s, d.sync_s, s.storage_bytes_per_s, s.storage_reads_per_s})
    key.push_back(value.value_or(-1));
  return key;
}

/// The steps after which the run's rate would be known to kNoise: half-widths shrink with the square
/// root of the steps.
std::int64_t StepsToRank(const measure::Measurement& measurement) {
  double steps = kFewestSteps;
  if (const auto half = diagnose::RelativeHalfWidth(measurement)) {
    steps = std::max(steps, static_cast<double>(measurement.result.steps) *
                                std::pow(*half / kNoise, 2));
  }
  return std::llround(std::min(steps, 1e12));
}

std::int64_t StepsOf(std::int64_t least, std::int64_t most, std::int64_t window) {
  return std::min(most, std::max(least, kFewestWindows * window));
}

std::int64_t StepsMeasured(const measure::Result& result) {
  return result.warmup_steps + result.steps;
}

/// Of a step and its batch on every accelerator, what the engine spends on it.
double SecondsOfStep(const Experiment& experiment) {
  // Only the order of magnitude counts. tests/bench/virtual_bench on a busy core of an AMD EPYC has
  // 0.1 us an event and 0.1 us a first draw; measuring each run, and steps of more events than these,
  // take the rest.
  constexpr double kEvent_s = 0.3e-6, kDraw_s = 0.1e-6;
  const auto batch = static_cast<double>(experiment.loader.batch_size);
  const double chunks = std::ceil(batch / static_cast<double>(spec::ChunkSamples(experiment)));
  const spec::Storage& storage = experiment.storage;
  int draws = 0;
  for (const bool fixed : {experiment.prepare.cost.IsFixed(), storage.latency.IsFixed(),
                           storage.open_cost.IsFixed(), experiment.dataset.sample_bytes.IsFixed()})
    draws += fixed ? 0 : 1;
  return experiment.run.accelerators * ((5 + 2 * chunks) * kEvent_s + draws * batch * kDraw_s);
}

}  // namespace

bool VirtualTimeIsQuick(const PredictionCosts& costs, const measure::Measurement& measurement) {
  constexpr double kLongest_s = 1;
  const Scenario scenario = diagnose::ScenarioOf(costs.executed, measurement);
  const std::int64_t most = StepsMeasured(measurement.result), least = StepsToRank(measurement);
  // Each number of workers up to the most that are tried, and some sixty other changes.
  const double tried = diagnose::MostWorkers(scenario);
  constexpr double kOthers = 60;
  const auto steps = [&](double workers) {
    const double window = workers * scenario.prefetch_factor;
    return static_cast<double>(StepsOf(least, most, std::llround(window)));
  };
  const double runs = tried * steps(tried) + kOthers * steps(scenario.workers);
  return runs * SecondsOfStep(costs.executed) <= kLongest_s;
}

diagnose::Predictor PredictInVirtualTime(const PredictionCosts& costs,
                                         const measure::Measurement& measurement,
                                         const base::StopFlag* stop) {
  struct Shared {
    PredictionCosts costs;
    Scenario base;
    std::map<std::vector<double>, double> known;
  };
  const auto shared = std::make_shared<Shared>(
      Shared{costs, diagnose::ScenarioOf(costs.executed, measurement), {}});
  shared->costs.executed.settings.clear();  // nobody reads them, and each scenario copies the rest
  return [shared, stop, most = StepsMeasured(measurement.result),
          least = StepsToRank(measurement)](const Scenario& scenario) {
    const double bound = diagnose::PredictByBounds(scenario);
    if (!std::isfinite(bound) || !(bound > 0) || (stop != nullptr && stop->IsSet())) return bound;
    const auto [at, is_new] = shared->known.try_emplace(KeyOf(scenario), 0);
    if (is_new) {
      const std::int64_t window =
          static_cast<std::int64_t>(scenario.workers) * scenario.prefetch_factor;
      at->second = Changed(shared->costs, shared->base, scenario, StepsOf(least, most, window))
                       .SamplesPerSecond(stop);
    }
    return at->second;
  };
}

}  // namespace pipesim::app
