#include "predict/virtual_predictor.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "diagnose/question.h"
#include "diagnose/settings.h"
#include "engine/virtual_time/virtual_executor.h"
#include "measure/rates.h"
#include "measure/window.h"
#include "predict/effort.h"
#include "trace/first_steps.h"

namespace pipesim::predict {
namespace {

// A deterministic pipeline repeats itself well within so many steps.
constexpr double kFewestSteps = 200;
// Filling the window once is warm-up; a window's worth of steps is one period of the workers.
constexpr std::int64_t kFewestWindows = 8;
// Of a rate: what twice the steps may still change.
constexpr double kSettled = 0.005;
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

/// The steps after which the rate's half-width is kVariantNoise; it shrinks with the square root of
/// the steps. Also more than the run had, whose promises would else be as uncertain as it is.
double StepsToRank(const measure::Measurement& measurement) {
  const auto had = static_cast<double>(measurement.result.warmup_steps + measurement.result.steps);
  const auto half = measure::RelativeHalfWidth(measurement.result);
  return std::max(kFewestSteps, half ? had * std::pow(*half / kVariantNoise, 2) : 0);
}

class VirtualPredictor {
 public:
  VirtualPredictor(const Experiment& experiment, const cost::Pipeline& pipeline,
                   const measure::Measurement& measurement, const base::StopFlag* stop,
                   std::unique_ptr<engine::VirtualExecutor> executor, const trace::RunTrace* run)
      : experiment_(experiment),
        stop_(stop),
        executor_(std::move(executor)),
        run_(run),
        least_(StepsToRank(measurement)) {
    // Not read here, and each variant copies the experiment.
    experiment_.settings.clear();
    experiment_.model.layers.clear();
    experiment_.run = {};
    experiment_.run.seed = experiment.run.seed;
    experiment_.run.accelerators = experiment.run.accelerators;
    experiment_.run.barrier = experiment.run.barrier;
    saw_borders_ = measurement.result.epochs.size() > 1;
    now_ = diagnose::VariantOf(experiment, pipeline);
    const double bound = diagnose::PredictByBounds(now_);
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
    if (!std::exchange(settled_, true)) Settle();
    const double rate = Run(variant).value_or(of_bound_ * bound);
    // What is answered by bounds later has a gain over the run as it is, not over its model's
    // error.
    if (variant == now_) of_bound_ = rate / bound;
    known_.emplace_back(variant, rate);
    return rate;
  }

 private:
  /// Doubles the steps of variants until those of the run as it is change its rate no more. Where
  /// threads share cores, the order in which they began together fades slowly.
  void Settle() {
    constexpr int kMostDoublings = 4;
    stretch_ = 2;
    Run(now_);  // first, since it begins with the steps that are compared to it
    stretch_ = 1;
    std::optional<double> rate = Run(now_);
    for (int doublings = 0; rate && doublings < kMostDoublings; ++doublings) {
      stretch_ *= 2;
      const std::optional<double> longer = Run(now_);
      const bool settled = !longer || std::abs(*longer - *rate) <= kSettled * *rate;
      if (settled) stretch_ /= 2;
      rate = settled ? std::nullopt : longer;
    }
  }

  /// Enough steps to tell a gain from noise, start included; at least kFewestWindows windows and
  /// cycles of all workers.
  std::int64_t StepsOf(const spec::Loader& loader) const {
    const auto wanted = static_cast<std::int64_t>(least_);
    const std::int64_t windows =
        kFewestWindows * std::max<std::int64_t>(loader.Window(), loader.workers);
    return StartOf(loader) + stretch_ * std::max(wanted, windows);
  }

  /// Steps to leave out at the start: the first window, the first cycle, and the steps that fill
  /// the device.
  std::int64_t StartOf(const spec::Loader& loader) const {
    return loader.Window() + loader.workers + experiment_.device.in_flight + 1;
  }

  /// Where epochs are short and affordable, the rate of whole epochs; else that after the start,
  /// over whole cycles of all workers within an epoch, less what epochs lose where the run saw them
  /// end. nullopt: the time that is left does not suffice.
  std::optional<double> Run(const Variant& variant) {
    const Experiment experiment = WithSettings(experiment_, variant.settings);
    const std::int64_t epoch = spec::BatchesPerEpoch(experiment);
    const std::int64_t wanted = StepsOf(experiment.loader);
    // Whole epochs are exact where the run saw their borders, so they may take somewhat longer.
    const bool short_epochs = epoch > 0 && epoch <= (saw_borders_ ? kEpochsWorth : 1) * wanted;
    if (short_epochs && FewestOfEpochs(experiment, epoch) <= Most(experiment, variant.pipeline))
      return RateOfEpochs(variant, experiment, epoch);
    const std::int64_t cycle = std::max(1, experiment.loader.workers);
    // Whole cycles: within one, workers that began together have made nothing, or all.
    const std::int64_t start = (StartOf(experiment.loader) + cycle - 1) / cycle * cycle;
    const std::int64_t least = start + 2 * cycle;
    const std::int64_t most = epoch > 0 ? epoch : std::numeric_limits<std::int64_t>::max();
    auto trace = RunSteps(variant, experiment, least, std::min(most, wanted));
    if (!trace) return std::nullopt;
    if (const auto exact = StepsToBeExact(variant.pipeline, experiment, *trace, start)) {
      const std::int64_t more = std::min({most, *exact, Affordable(experiment, variant.pipeline)});
      if (static_cast<double>(more) > kWorthRunningAgain * static_cast<double>(trace->steps))
        if (const auto longer = RunSteps(variant, experiment, least, more)) trace = longer;
    }
    const double rate = SamplesPerSecond(*trace, experiment, start, cycle);
    return saw_borders_ ? rate * ShareBesideStarts(*trace, experiment, start, rate) : rate;
  }

  /// Of all accelerators.
  static double SamplesPerSecond(const trace::RunTrace& trace, const Experiment& experiment,
                                 std::int64_t start, std::int64_t cycle) {
    const auto window = measure::SteadyWindow(trace, experiment, start, cycle);
    return window ? measure::SamplesPerSecondOfAll(trace, *window, experiment) : 0;
  }

  /// Where drawn costs leave the rate less exact than kVariantNoise: how many steps would not.
  static std::optional<std::int64_t> StepsToBeExact(const cost::Pipeline& pipeline,
                                                    const Experiment& experiment,
                                                    const trace::RunTrace& trace,
                                                    std::int64_t start) {
    if (!DrawsCosts(pipeline)) return std::nullopt;
    const std::int64_t cycle = std::max(1, experiment.loader.workers);
    const auto window = measure::SteadyWindow(trace, experiment, start, cycle);
    if (!window) return std::nullopt;
    const auto interval = measure::RateInterval(trace, *window, experiment);
    if (!interval) return std::nullopt;
    const double half = (interval->high - interval->low) / 2 / measure::SamplesPerSecond(*window);
    if (!std::isfinite(half) || half <= kVariantNoise) return std::nullopt;
    return std::llround(static_cast<double>(trace.steps) * std::pow(half / kVariantNoise, 2));
  }

  static bool IsCached(const Experiment& experiment) {
    return experiment.storage.cache.policy != spec::CachePolicy::kNone;
  }

  /// A cache changes along the epochs, so that the first does not count.
  static std::int64_t FewestOfEpochs(const Experiment& experiment, std::int64_t epoch) {
    return IsCached(experiment) ? 3 * epoch : epoch;
  }

  /// Each epoch begins like the first, with nothing loaded.
  std::optional<double> RateOfEpochs(const Variant& variant, const Experiment& experiment,
                                     std::int64_t epoch) {
    const std::int64_t least = FewestOfEpochs(experiment, epoch);
    const std::int64_t wanted = StepsOf(experiment.loader) / epoch * epoch;
    const auto trace = RunSteps(variant, experiment, least, std::max(least, wanted), epoch);
    if (!trace || trace->progress.empty()) return std::nullopt;
    if (IsCached(experiment)) return SamplesPerSecond(*trace, experiment, epoch, epoch);
    const trace::Checkpoint& last = trace->progress.back();
    const double took_s = base::ToSeconds(last.at - trace->begin) - StartupOnce(experiment);
    return took_s > 0 ? experiment.run.accelerators * static_cast<double>(last.samples) / took_s
                      : 0;
  }

  /// The most steps that one variant may run.
  std::int64_t Most(const Experiment& experiment, const cost::Pipeline& pipeline) const {
    const double seconds = (kLongest_s - spent_s_) * kMostOfOne;
    return static_cast<std::int64_t>(seconds / SecondsOfStep(experiment, pipeline));
  }

  /// Of one variant, where many share the time that is left.
  std::int64_t Affordable(const Experiment& experiment, const cost::Pipeline& pipeline) const {
    const double left_s = kLongest_s - spent_s_;
    return static_cast<std::int64_t>(left_s / kVariants / SecondsOfStep(experiment, pipeline));
  }

  /// Runs `wanted` steps, or as many whole `unit`s as are affordable; nullopt if those are fewer
  /// than `least`. `experiment`: that of the variant.
  std::shared_ptr<const trace::RunTrace> RunSteps(const Variant& variant, Experiment experiment,
                                                  std::int64_t least, std::int64_t wanted,
                                                  std::int64_t unit = 1) {
    const cost::Pipeline& pipeline = variant.pipeline;
    const std::int64_t affordable = Affordable(experiment, pipeline) / unit * unit;
    const std::int64_t steps = std::max(least, std::min(wanted, affordable));
    if (steps > Most(experiment, pipeline)) return nullptr;
    experiment.run.steps = steps;
    const bool is_now = variant == now_;
    if (is_now)
      if (auto known = KnownOfNow(steps, wanted, unit)) return known;
    engine::RunControl control;
    control.stop = stop_;
    control.only_rate = true;
    control.lasts = LeastDuration(experiment, diagnose::PredictByBounds(variant));
    const std::int64_t before = executor_->Events();
    const auto trace =
        std::make_shared<const trace::RunTrace>(executor_->Run(experiment, pipeline, control));
    // What it took, not what its steps could have taken: most variants soon repeat themselves.
    spent_s_ += SecondsOfRun(experiment, pipeline, trace->steps, executor_->Events() - before);
    if (is_now) of_now_.emplace(steps, trace);
    return trace;
  }

  /// Of the run as it is, whose steps are found by trying several lengths: a longer run begins with
  /// the same steps, and is as good where more were wanted.
  std::shared_ptr<const trace::RunTrace> KnownOfNow(std::int64_t steps, std::int64_t wanted, std::int64_t unit) {
    const auto known = of_now_.lower_bound(steps);
    if (known != of_now_.end() && known->first <= std::max(steps, wanted) && known->first % unit == 0)
      return known->second;
    std::optional<trace::RunTrace> first;
    if (run_ != nullptr) first = trace::FirstSteps(*run_, steps);
    for (auto longer = known; !first && longer != of_now_.end(); ++longer)
      first = trace::FirstSteps(*longer->second, steps);
    if (!first) return nullptr;
    return of_now_.emplace(steps, std::make_shared<const trace::RunTrace>(*std::move(first)))
        .first->second;
  }

  /// Of the run's begin and of no later epoch.
  double StartupOnce(const Experiment& experiment) const {
    const spec::Loader& loader = experiment.loader;
    const cost::HandOver& hand_over = now_.pipeline.hand_over;
    const bool once = loader.workers > 0 && loader.persistent_workers;
    if (!once) return 0;
    return base::ToSeconds(loader.worker_startup.value_or(hand_over.startup).Mean() +
                           hand_over.launch * loader.workers);
  }

  /// The share of the time that is left when every epoch loses what the first lost until `start`.
  double ShareBesideStarts(const trace::RunTrace& trace, const Experiment& experiment,
                           std::int64_t start, double samples_per_s) const {
    const auto begun = measure::FirstMarkFrom(trace.progress, start);
    const std::int64_t epoch = spec::BatchesPerEpoch(experiment);
    if (begun == trace.progress.end() || epoch == 0 || !(samples_per_s > 0)) return 1;
    const double step_s =
        static_cast<double>(experiment.run.accelerators * experiment.loader.batch_size) /
        samples_per_s;
    const double lost_s = base::ToSeconds(begun->at - trace.begin) - StartupOnce(experiment) -
                          static_cast<double>(begun->steps) * step_s;
    const double whole_s = static_cast<double>(epoch) * step_s;
    return whole_s / (whole_s + std::max(0.0, lost_s));
  }

  // Times the steps that are wanted.
  static constexpr std::int64_t kEpochsWorth = 4;
  // Of one core for a whole diagnosis, by SecondsOfRun; later variants are answered by bounds.
  static constexpr double kLongest_s = 1.5;
  // The variants that share what is left: most diagnoses ask 30 to 100. One that needs more to get
  // past its start may take a tenth.
  static constexpr double kVariants = 40;
  static constexpr double kMostOfOne = 0.1;
  // Times the steps of a run: fewer make its rate hardly more exact.
  static constexpr double kWorthRunningAgain = 1.5;

  Experiment experiment_;
  const base::StopFlag* stop_;
  std::unique_ptr<engine::VirtualExecutor> executor_;  ///< one for all variants and their draws
  Variant now_;
  const trace::RunTrace* run_;  ///< as it is, in virtual time; or nullptr
  std::map<std::int64_t, std::shared_ptr<const trace::RunTrace>> of_now_;  ///< by its steps
  double least_;
  std::int64_t stretch_ = 1;  ///< of all steps
  bool settled_ = false;
  bool saw_borders_ = false;  ///< the run, between epochs
  double spent_s_ = 0;
  double of_bound_ = 1;  ///< the rate over its bound: the measured one, then the predicted one
  std::vector<std::pair<Variant, double>> known_;
};

}  // namespace

diagnose::Predictor PredictInVirtualTime(const Experiment& experiment,
                                         const cost::Pipeline& pipeline,
                                         const measure::Measurement& measurement,
                                         const base::StopFlag* stop,
                                         std::unique_ptr<engine::VirtualExecutor> executor,
                                         const trace::RunTrace* run) {
  const auto predictor = std::make_shared<VirtualPredictor>(experiment, pipeline, measurement, stop,
                                                            std::move(executor), run);
  return [predictor](const Variant& variant) { return (*predictor)(variant); };
}

}  // namespace pipesim::predict
