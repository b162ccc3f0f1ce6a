#include "predict/virtual_predictor.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>
#include <vector>

#include "diagnose/question.h"
#include "diagnose/settings.h"
#include "engine/virtual_time/virtual_executor.h"
#include "measure/rates.h"
#include "predict/effort.h"

namespace pipesim::predict {
namespace {

// A deterministic pipeline repeats itself well within so many steps.
constexpr double kFewestSteps = 200;
// Filling the window once is warm-up; a window's worth of steps is one period of the workers.
constexpr std::int64_t kFewestWindows = 8;
// Half-width of a variant's rate: a fifth of the gain that counts (diagnose::Thresholds).
constexpr double kVariantNoise = 0.01;

using diagnose::Settings;
using diagnose::Variant;
using spec::Experiment;

Experiment WithSettings(Experiment experiment, const Settings& settings) {
  experiment.loader = settings.loader;
  experiment.loader.prefetch_factor = std::max(1, settings.loader.prefetch_factor);
  if (settings.loader.workers == 0) experiment.loader.timeout = {};
  experiment.limits = settings.limits;
  experiment.transfer = settings.transfer;
  experiment.device.in_flight = settings.in_flight;
  experiment.training.sync_every = settings.sync_every;
  experiment.run.accelerators = settings.accelerators;
  return experiment;
}

/// The steps after which the rate's half-width is kVariantNoise; it shrinks with the square root of the
/// steps. No more than the run itself had, but at least kFewestSteps.
double StepsToRank(const measure::Measurement& measurement) {
  const auto had = static_cast<double>(measurement.result.warmup_steps + measurement.result.steps);
  const auto half = measure::RelativeHalfWidth(measurement.result);
  const double wanted = half ? had * std::pow(*half / kVariantNoise, 2) : 0;
  return std::max(kFewestSteps, std::min(wanted, had));
}

class VirtualPredictor {
 public:
  VirtualPredictor(const Experiment& experiment, const cost::Pipeline& pipeline,
                   const measure::Measurement& measurement, const base::StopFlag* stop)
      : experiment_(experiment), stop_(stop), least_(StepsToRank(measurement)) {
    experiment_.settings.clear();  // not read here, and each variant copies the experiment
    experiment_.run = {};
    experiment_.run.seed = experiment.run.seed;
    experiment_.run.accelerators = experiment.run.accelerators;
    const double bound = diagnose::PredictByBounds(diagnose::VariantOf(experiment, pipeline));
    const auto& measured = measurement.result.samples_per_s;
    if (std::isfinite(bound) && bound > 0 && measured) of_bound_ = *measured / bound;
  }

  double operator()(const Variant& variant) {
    const double bound = diagnose::PredictByBounds(variant);
    if (!std::isfinite(bound) || !(bound > 0)) return bound;
    const auto known = std::find_if(known_.begin(), known_.end(),
                                    [&](const auto& one) { return one.first == variant; });
    if (known != known_.end()) return known->second;
    if (stop_ != nullptr && stop_->IsSet()) return of_bound_ * bound;
    const double rate = Run(variant).value_or(of_bound_ * bound);
    known_.emplace_back(variant, rate);
    return rate;
  }

 private:
  /// Enough steps to tell a gain from noise, start included; at least kFewestWindows windows and
  /// cycles of all workers.
  std::int64_t StepsOf(const spec::Loader& loader) const {
    const auto wanted = static_cast<std::int64_t>(least_);
    return StartOf(loader) + std::max(wanted, kFewestWindows * std::max<std::int64_t>(
                                                  loader.Window(), loader.workers));
  }

  /// Steps to leave out at the start: the first window, the first cycle, and the steps that fill
  /// the device.
  std::int64_t StartOf(const spec::Loader& loader) const {
    return loader.Window() + loader.workers + experiment_.device.in_flight + 1;
  }

  /// The rate after the start, over whole cycles of all workers or whole epochs, so that bursts even
  /// out. nullopt: the time that is left does not suffice.
  std::optional<double> Run(const Variant& variant) {
    Experiment experiment = WithSettings(experiment_, variant.settings);
    const spec::Loader& loader = experiment.loader;
    const double step_s = SecondsOfStep(experiment, variant.pipeline);
    const double left_s = kLongest_s - spent_s_;
    const auto affordable = static_cast<std::int64_t>(left_s / kVariants / step_s);
    const auto most = static_cast<std::int64_t>(left_s * kMostOfOne / step_s);
    const std::int64_t start = StartOf(loader), wanted = StepsOf(loader);
    // Loading restarts each epoch: epochs are counted whole, or, where they are long against the
    // start, only inside the first.
    const std::int64_t epoch = spec::BatchesPerEpoch(experiment);
    const bool meets_epochs = epoch > 0 && epoch <= wanted;
    const bool by_epochs = meets_epochs && start + 3 * epoch <= most;
    const std::int64_t cycle = by_epochs ? epoch : std::max(1, loader.workers);
    const std::int64_t from = by_epochs ? (start + epoch - 1) / epoch * epoch : start;
    std::int64_t steps = std::max(from + 2 * cycle, std::min(wanted, affordable));
    if (meets_epochs && !by_epochs) {
      if (epoch < kLongEpoch * (from + 2 * cycle)) return std::nullopt;
      steps = std::min(steps, epoch);
    }
    if (steps > most) return std::nullopt;
    const double takes_s = step_s * static_cast<double>(steps);
    spent_s_ += takes_s;
    experiment.run.steps = steps;
    engine::RunControl control;
    control.stop = stop_;
    control.coarse = true;
    const auto trace = executor_->Run(experiment, variant.pipeline, control);
    return measure::SteadySamplesPerSecond(trace, experiment, from, cycle);
  }

  // Of one core for a whole diagnosis, by SecondsOfStep; later variants are answered by bounds.
  static constexpr double kLongest_s = 1;
  // The variants that share what is left: most diagnoses ask 30 to 100. One that needs more to get
  // past its start may take a tenth.
  static constexpr double kVariants = 40;
  static constexpr double kMostOfOne = 0.1;
  // Epochs that are longer than this many starts lose little by restarting.
  static constexpr std::int64_t kLongEpoch = 10;

  Experiment experiment_;
  const base::StopFlag* stop_;
  // One for all variants, which mostly draw the same costs.
  std::unique_ptr<engine::Executor> executor_ = engine::MakeVirtualExecutor();
  double least_;
  double spent_s_ = 0;
  double of_bound_ = 1;  ///< the measured rate over its bound
  std::vector<std::pair<Variant, double>> known_;
};

}  // namespace

diagnose::Predictor PredictInVirtualTime(const Experiment& experiment,
                                         const cost::Pipeline& pipeline,
                                         const measure::Measurement& measurement,
                                         const base::StopFlag* stop) {
  const auto predictor =
      std::make_shared<VirtualPredictor>(experiment, pipeline, measurement, stop);
  return [predictor](const Variant& variant) { return (*predictor)(variant); };
}

}  // namespace pipesim::predict
