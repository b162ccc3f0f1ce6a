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
#include "predict/effort.h"
#include "predict/variant_runs.h"
#include "trace/first_steps.h"

namespace pipesim::predict {
namespace {

// A deterministic pipeline repeats itself well within so many steps.
constexpr double kFewestSteps = 200;
// Filling the window once is warm-up; a window's worth of steps is one period of the workers.
constexpr std::int64_t kFewestWindows = 8;
// Of a rate: what twice the steps may still change.
constexpr double kSettled = 0.005;
// Cycles of all workers in an epoch: the last one, in which some have nothing to do, then costs 2 % at most.
constexpr std::int64_t kCyclesBesideEnd = 50;

using diagnose::Settings;
using diagnose::Variant;
using spec::Experiment;

/// Numbers of steps that are found from noise and time are powers of the square root of two, so that many
/// points of a sweep ask for the same runs.
double RoundedUp(double steps) { return std::exp2(std::ceil(2 * std::log2(std::max(1.0, steps))) / 2); }
double RoundedDown(double steps) { return std::exp2(std::floor(2 * std::log2(std::max(1.0, steps))) / 2); }

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

/// The steps after which the rate's half-width is diagnose::kDrawnNoise; it shrinks with the square root of
/// the steps. Also more than the run had, whose promises would else be as uncertain as it is.
double StepsToRank(const measure::Measurement& measurement) {
  const auto had = static_cast<double>(measurement.result.warmup_steps + measurement.result.steps);
  const auto half = measure::RelativeHalfWidth(measurement.result);
  return std::max(kFewestSteps, half ? RoundedUp(had * std::pow(*half / diagnose::kDrawnNoise, 2)) : 0);
}

class VirtualPredictor {
 public:
  VirtualPredictor(const Experiment& experiment, const cost::Pipeline& pipeline,
                   const measure::Measurement& measurement, const base::StopFlag* stop,
                   Shared shared)
      : experiment_(experiment),
        stop_(stop),
        executor_(std::move(shared.executor)),
        run_(shared.run),
        runs_(shared.runs),
        least_(StepsToRank(measurement)) {
    // Not read here, and each variant copies the experiment.
    experiment_.settings.clear();
    experiment_.model.layers.clear();
    experiment_.run = {};
    experiment_.run.seed = experiment.run.seed;
    experiment_.run.accelerators = experiment.run.accelerators;
    experiment_.run.barrier = experiment.run.barrier;
    automatic_ = run_ != nullptr && !experiment.run.duration && !experiment.run.steps && !experiment.run.epochs;
    now_ = diagnose::VariantOf(experiment, pipeline, measurement);
    const double bound = diagnose::PredictByBounds(now_);
    const auto& measured = measurement.result.samples_per_s;
    if (std::isfinite(bound) && bound > 0 && measured) of_bound_ = *measured / bound;
  }

  double operator()(const Variant& variant) {
    const double bound = diagnose::PredictByBounds(variant);
    if (!std::isfinite(bound) || !(bound > 0)) return bound;
    const auto known = std::ranges::find(known_, variant, &Known::variant);
    if (known != known_.end()) return known->rate;
    if (stop_ != nullptr && stop_->IsSet()) return of_bound_ * bound;
    if (!std::exchange(settled_, true)) Settle();
    const auto ran = Run(variant);
    double rate = ran.value_or(OfBound(variant) * bound);
    // The rest of what its start built up.
    if (!(variant == now_) && IsExact(variant)) rate = std::min(rate, bound);
    // What is answered by bounds later has a gain over the run as it is, not over its model's
    // error.
    if (variant == now_) of_bound_ = rate / bound;
    known_.push_back({.variant = variant, .rate = rate, .bound = bound, .ran = ran.has_value()});
    return rate;
  }

 private:
  /// Whether no run of it exceeds its bound: with drawn costs a few batches may, and beside training on several
  /// threads rates are anchored to what was measured, which bounds are not.
  static bool IsExact(const Variant& variant) { return !variant.on_cpu() && cost::DrawnCosts(variant.pipeline) == 0; }

  /// The rate of a variant that is not run, over its bound: as of the run that is most like it. Bounds know nothing of
  /// cores that workers and training take from each other.
  double OfBound(const Variant& variant) const {
    constexpr double kOtherCosts = 0.3;  // as much as a third more workers
    const auto apart = [&](const Known& one) {
      if (!one.ran) return std::numeric_limits<double>::infinity();
      const auto as_many = [](int its, int wanted) { return std::abs(std::log((its + 1.0) / (wanted + 1.0))); };
      return as_many(one.variant.settings.loader.workers, variant.settings.loader.workers) +
             as_many(one.variant.ComputeThreads(), variant.ComputeThreads()) +
             (one.variant.pipeline == variant.pipeline ? 0 : kOtherCosts);
    };
    const auto nearest = std::ranges::min_element(known_, {}, apart);
    return nearest == known_.end() || !nearest->ran ? of_bound_ : nearest->rate / nearest->bound;
  }

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

  /// The run, between epochs.
  bool SawBorders() const { return now_.settings.epoch_samples > 0; }

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

  /// Where epochs are short and affordable, the rate of whole epochs; else that within an epoch, in proportion to
  /// the run as it is. nullopt: the time that is left does not suffice.
  std::optional<double> Run(const Variant& variant) {
    const Experiment experiment = WithSettings(experiment_, variant.settings);
    const std::int64_t epoch = spec::BatchesPerEpoch(experiment);
    const std::int64_t wanted = StepsOf(experiment.loader);
    // Whole epochs are exact where the run saw their borders, so they may take longer.
    const std::int64_t most_of_epoch =
        SawBorders() ? std::max(kEpochsWorth * wanted, Affordable(experiment, variant.pipeline)) : wanted;
    const bool short_epochs = epoch > 0 && epoch <= most_of_epoch;
    if (short_epochs && FewestOfEpochs(experiment, epoch) <= Most(experiment, variant.pipeline)) {
      const auto rate = RateOfEpochs(variant, experiment, epoch, wanted);
      if (variant == now_) now_of_epochs_ = rate;
      return rate;
    }
    // Bounds know better how an epoch of few batches ends.
    if (SawBorders() && epoch < LeastToNeglectItsEnd(experiment.loader)) return std::nullopt;
    const auto rate = RateWithinEpoch(variant, experiment, epoch, wanted);
    if (!rate || !now_of_epochs_ || variant == now_) return rate;
    if (!now_within_epoch_) {
      const Experiment now = WithSettings(experiment_, now_.settings);
      now_within_epoch_ =
          RateWithinEpoch(now_, now, spec::BatchesPerEpoch(now), StepsOf(now.loader)).value_or(*now_of_epochs_);
    }
    return *rate * *now_of_epochs_ / *now_within_epoch_;
  }

  /// After the start, over whole cycles of all workers within an epoch, less what epochs lose where the run saw them
  /// end. nullopt: the time that is left does not suffice.
  std::optional<double> RateWithinEpoch(const Variant& variant, const Experiment& experiment, std::int64_t epoch,
                                        std::int64_t wanted) {
    const std::int64_t cycle = std::max(1, experiment.loader.workers);
    const std::int64_t start = WholeCycles(experiment.loader), least = FewestWithin(experiment.loader);
    const std::int64_t most = epoch > 0 ? epoch : std::numeric_limits<std::int64_t>::max();
    VariantRun run{.experiment = experiment, .pipeline = variant.pipeline, .start = start, .period = cycle};
    if (SawBorders()) BeginWarm(run);
    auto result = RunSteps(variant, run, least, std::min(most, wanted));
    if (!result) return std::nullopt;
    const std::int64_t more = MoreToBeExact(run, *result);
    if (epoch > 0 && more >= FewestOfEpochs(experiment, epoch))
      if (const auto rate = RateOfEpochs(variant, experiment, epoch, more)) return rate;
    if (const std::int64_t within = std::min(most, more); within > result->steps)
      if (const auto longer = RunSteps(variant, run, within, within)) result = longer;
    return result->samples_per_s * (WouldSeeBorders(experiment) ? ShareBesideStarts(*result, experiment) : 1);
  }

  /// The run saw them, or ended within its first epoch, as a prediction of automatic length does where epochs are long.
  bool WouldSeeBorders(const Experiment& experiment) const {
    if (SawBorders()) return true;
    return automatic_ && spec::BatchesPerEpoch(experiment) < FewestOfLongEpoch(experiment.loader);
  }

  /// The start in whole cycles: within one, workers that began together have made nothing, or all.
  std::int64_t WholeCycles(const spec::Loader& loader) const {
    const std::int64_t cycle = std::max(1, loader.workers);
    return (StartOf(loader) + cycle - 1) / cycle * cycle;
  }
  /// Of which a rate within an epoch can be told.
  std::int64_t FewestWithin(const spec::Loader& loader) const {
    return WholeCycles(loader) + 2 * std::max(1, loader.workers);
  }

  /// The fewest batches of an epoch whose last cycle hardly counts.
  std::int64_t LeastToNeglectItsEnd(const spec::Loader& loader) const {
    return std::max(FewestWithin(loader), kCyclesBesideEnd * loader.workers);
  }

  /// Where drawn costs leave the rate less exact than diagnose::kDrawnNoise: how many steps would not, or as many as
  /// are affordable by what those of `result` took; 0: hardly more than these.
  std::int64_t MoreToBeExact(const VariantRun& run, const VariantResult& result) const {
    const double half = result.half_width.value_or(0);
    if (!std::isfinite(half) || half <= diagnose::kDrawnNoise || result.steps == 0) return 0;
    const auto steps = static_cast<double>(result.steps);
    const double exact = RoundedUp(steps * std::pow(half / diagnose::kDrawnNoise, 2));
    const double of_step_s =
        result.events > 0 ? SecondsOfRun(run.experiment, run.pipeline, result.steps, result.events) / steps
                          : SecondsOfStep(run.experiment, run.pipeline);
    const double more = std::min(exact, RoundedDown(ShareOfTime_s() / of_step_s));
    return more > kWorthRunningAgain * steps ? std::llround(more) : 0;
  }

  /// Begins as a later epoch does: a run that saw epochs end is judged by those that found its cache full.
  static void BeginWarm(VariantRun& run) {
    if (run.experiment.storage.cache.policy == spec::CachePolicy::kNone) return;
    for (spec::Cache* cache : {&run.experiment.storage.cache, &run.pipeline.storage.cache}) cache->warm = 1;
  }

  /// A cache changes along the epochs until it is full.
  static std::int64_t FewestOfEpochs(const Experiment& experiment, std::int64_t epoch) {
    const spec::Cache& cache = experiment.storage.cache;
    return cache.policy != spec::CachePolicy::kNone && cache.warm < 1 ? 3 * epoch : 2 * epoch;
  }

  /// After the first, in which all threads start and nothing of an epoch before is still computed.
  std::optional<double> RateOfEpochs(const Variant& variant, const Experiment& experiment,
                                     std::int64_t epoch, std::int64_t steps) {
    const std::int64_t least = FewestOfEpochs(experiment, epoch);
    const std::int64_t wanted = steps / epoch * epoch;
    VariantRun run{.experiment = experiment,
                   .pipeline = variant.pipeline,
                   .start = epoch,
                   .period = epoch};
    auto result = RunSteps(variant, run, least, std::max(least, wanted), epoch);
    if (!result || !(result->samples_per_s > 0)) return std::nullopt;
    if (const std::int64_t more = MoreToBeExact(run, *result) / epoch * epoch; more > result->steps)
      if (const auto longer = RunSteps(variant, run, more, more, epoch)) result = longer;
    return result->samples_per_s;
  }

  /// The most steps that one variant may run.
  std::int64_t Most(const Experiment& experiment, const cost::Pipeline& pipeline) const {
    const double seconds = (kLongest_s - spent_s_) * kMostOfOne;
    return static_cast<std::int64_t>(seconds / ExpectedOfStep_s(experiment, pipeline));
  }

  /// Of one variant, where many share the time that is left.
  double ShareOfTime_s() const { return (kLongest_s - spent_s_) / kVariants; }
  std::int64_t Affordable(const Experiment& experiment, const cost::Pipeline& pipeline) const {
    return static_cast<std::int64_t>(RoundedDown(ShareOfTime_s() / ExpectedOfStep_s(experiment, pipeline)));
  }

  /// Runs `wanted` steps, or as many whole `unit`s as are affordable; nullopt if those are fewer
  /// than `least`. `run`: the variant's, without its steps.
  std::optional<VariantResult> RunSteps(const Variant& variant, VariantRun& run, std::int64_t least,
                                        std::int64_t wanted, std::int64_t unit = 1) {
    const std::int64_t affordable = Affordable(run.experiment, run.pipeline) / unit * unit;
    const std::int64_t steps = std::max(least, std::min(wanted, affordable));
    if (steps > Most(run.experiment, run.pipeline)) return std::nullopt;
    run.experiment.run.steps = steps;
    run.bound_per_s = diagnose::PredictByBounds(variant);
    if (variant == now_ && run.pipeline == now_.pipeline) return RunNow(run, wanted, unit);
    if (const auto found = runs_ != nullptr ? runs_->Find(run) : std::nullopt) {
      Spend(run, found->steps, found->events);
      return found;
    }
    const Executed executed = Execute(run);
    VariantResult result = ResultOf(run, executed.trace);
    result.events = executed.events;
    const bool stopped = stop_ != nullptr && stop_->IsSet();
    if (runs_ != nullptr && !stopped) runs_->Keep(run, result);
    return result;
  }

  VariantResult RunNow(const VariantRun& run, std::int64_t wanted, std::int64_t unit) {
    const std::int64_t steps = *run.experiment.run.steps;
    if (const auto known = KnownOfNow(steps, wanted, unit)) return ResultOf(run, *known);
    const auto trace = std::make_shared<const trace::RunTrace>(Execute(run).trace);
    of_now_.emplace(steps, trace);
    return ResultOf(run, *trace);
  }

  struct Executed {
    trace::RunTrace trace;
    std::int64_t events = 0;  ///< that were simulated for it
  };
  Executed Execute(const VariantRun& run) {
    engine::RunControl control;
    control.stop = stop_;
    control.only_rate = true;
    control.lasts = LeastDuration(run.experiment, run.bound_per_s);
    const std::int64_t before = executor_->Events();
    Executed executed{.trace = executor_->Run(run.experiment, run.pipeline, control)};
    executed.events = executor_->Events() - before;
    Spend(run, executed.trace.steps, executed.events);
    return executed;
  }

  /// What it took, not what its steps could have taken: most variants soon repeat themselves. A result that
  /// another prediction made counts the same.
  void Spend(const VariantRun& run, std::int64_t steps, std::int64_t events) {
    spent_s_ += SecondsOfRun(run.experiment, run.pipeline, steps, events);
    expected_s_ += static_cast<double>(steps) * SecondsOfStep(run.experiment, run.pipeline);
  }

  /// Of a step, before it ran: as those before took less than they could have, others may.
  double ExpectedOfStep_s(const Experiment& experiment, const cost::Pipeline& pipeline) const {
    constexpr double kLeast = 0.25;
    const double share = expected_s_ > 0 ? std::clamp(spent_s_ / expected_s_, kLeast, 1.0) : 1;
    return share * SecondsOfStep(experiment, pipeline);
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
    const double own_s = base::ToSeconds(loader.worker_startup.value_or(hand_over.startup).Mean());
    // Processes that start together share the cores.
    const double all_s = experiment.run.accelerators * loader.workers * own_s;
    const bool shares = hand_over.processes && now_.cores() > 0;
    return std::max(own_s, shares ? all_s / now_.cores() : 0) +
           base::ToSeconds(loader.worker_opening + hand_over.launch * loader.workers);
  }

  /// The share of the time that is left when every epoch loses what the first lost until its start
  /// was over.
  double ShareBesideStarts(const VariantResult& result, const Experiment& experiment) const {
    const std::int64_t epoch = spec::BatchesPerEpoch(experiment);
    if (result.start_steps == 0 || epoch == 0 || !(result.samples_per_s > 0)) return 1;
    const double step_s =
        static_cast<double>(experiment.run.accelerators * experiment.loader.batch_size) /
        result.samples_per_s;
    const double lost_s = base::ToSeconds(result.start_took) - StartupOnce(experiment) -
                          static_cast<double>(result.start_steps) * step_s;
    const double whole_s = static_cast<double>(epoch) * step_s;
    return whole_s / (whole_s + std::max(0.0, lost_s));
  }

  // Times the steps that are wanted.
  static constexpr std::int64_t kEpochsWorth = 4;
  // Of one core for a whole diagnosis, by SecondsOfRun; later variants are answered by bounds.
  static constexpr double kLongest_s = 1.5;
  // The variants that share what is left: most diagnoses ask 30 to 100. One that needs more to get
  // past its start may take a fifth.
  static constexpr double kVariants = 40;
  static constexpr double kMostOfOne = 0.2;
  // Times the steps of a run: fewer make its rate hardly more exact.
  static constexpr double kWorthRunningAgain = 1.5;

  Experiment experiment_;
  const base::StopFlag* stop_;
  std::unique_ptr<engine::VirtualExecutor> executor_;  ///< one for all variants and their draws
  Variant now_;
  const trace::RunTrace* run_;  ///< as it is, in virtual time; or nullptr
  bool automatic_ = false;      ///< that run, which went on until it was exact
  VariantRuns* runs_;           ///< shared with other predictors; or nullptr
  std::map<std::int64_t, std::shared_ptr<const trace::RunTrace>> of_now_;  ///< by its steps
  double least_;
  std::int64_t stretch_ = 1;  ///< of all steps
  bool settled_ = false;
  double spent_s_ = 0;
  double expected_s_ = 0;  ///< what it could have taken
  std::optional<double> now_of_epochs_, now_within_epoch_;  ///< the run as it is, by either way
  double of_bound_ = 1;  ///< the rate over its bound: the measured one, then the predicted one
  struct Known {
    Variant variant;
    double rate = 0, bound = 0;
    bool ran = false;  ///< else its rate is the bound's
  };
  std::vector<Known> known_;
};

}  // namespace

diagnose::Predictor PredictInVirtualTime(const Experiment& experiment,
                                         const cost::Pipeline& pipeline,
                                         const measure::Measurement& measurement,
                                         const base::StopFlag* stop, Shared shared) {
  const auto predictor = std::make_shared<VirtualPredictor>(experiment, pipeline, measurement, stop,
                                                            std::move(shared));
  return [predictor](const Variant& variant) { return (*predictor)(variant); };
}

}  // namespace pipesim::predict
