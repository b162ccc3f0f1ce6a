#include "predict/predict.h"

#include <algorithm>

#include "cost/memory_plan.h"
#include "diagnose/question.h"
#include "engine/virtual_time/virtual_executor.h"
#include "measure/fit.h"
#include "measure/for_verdict.h"
#include "measure/repeats.h"
#include "predict/effort.h"
#include "predict/proportion.h"
#include "predict/judge.h"
#include "predict/parallel.h"
#include "predict/virtual_predictor.h"

namespace pipesim::predict {
namespace {

using spec::Experiment;

/// The experiment on the device that was chosen for it; of the noise that was asked for, no more is
/// warned of.
Experiment OnChosenDevice(Experiment experiment, const Resolved& resolved, const Basis& basis) {
  if (basis.precision) experiment.run.max_noise = *basis.precision;
  experiment.device = resolved.device;
  if (resolved.compute_threads > 0)
    experiment.limits.compute_threads = resolved.compute_threads;
  if (resolved.pipeline.hand_over.processes)
    experiment.loader.worker_memory = resolved.pipeline.hand_over.worker_memory;
  return experiment;
}

/// Why a run would not fit into memory; checks the device first.
std::optional<cost::Refusal> OutOfMemory(const Experiment& chosen, const Resolved& resolved,
                                       const Basis& basis) {
  if (auto refusal = cost::DeviceMemoryRefusal(chosen, resolved.pipeline.step)) return refusal;
  const auto bound = MemoryBoundOf(basis);
  return bound ? cost::MemoryRefusal(chosen, *bound) : std::nullopt;
}

trace::RunTrace TraceOfRefusal(cost::Refusal refusal) {
  trace::RunTrace trace =
      trace::TraceOfNothing({}, trace::EndReason::kOutOfMemory, std::move(refusal.why));
  trace.fits = std::move(refusal.fits);
  return trace;
}

/// A prediction of automatic length goes on until its throughput is this exact: well below the gain
/// that counts, and below what two predictions may differ by.
constexpr double kNoise = 0.005;

/// The steps of an automatic length: at least the start's stock and two cycles of all workers, and twelve
/// epochs where these are short and their draws affordable, since loading starts anew in each; at most
/// those, or what the time allows without skipping what repeats itself.
struct StepRange {
  std::int64_t least = 0, most = 0;
};
StepRange AutomaticSteps(const Experiment& experiment, const cost::Pipeline& pipeline, double longest_s) {
  const spec::Loader& loader = experiment.loader;
  std::int64_t least = FewestSteps(loader);
  // Ten epochs make an interval of their own; the first is warm-up, the last may be cut.
  constexpr std::int64_t kEpochs = 12;
  const std::int64_t epoch = spec::BatchesPerEpoch(experiment);
  if (epoch < FewestOfLongEpoch(loader) && SecondsOfRun(experiment, pipeline, kEpochs * epoch, 0) <= longest_s)
    least = std::max(least, kEpochs * epoch);
  const auto most = static_cast<std::int64_t>(longest_s / SecondsOfStep(experiment, pipeline));
  return {.least = least, .most = std::max(least, most)};
}

/// Workers still fill their windows. Where cores are shared, training gets more of them once they
/// are full.
bool StockGrows(const measure::Window& window) {
  constexpr double kGrows = 0.01;  // of what is delivered
  return !window.epochs && static_cast<double>(window.loaded - window.samples) >
                               kGrows * static_cast<double>(window.samples);
}

/// What ends a prediction of automatic length, besides its precision.
struct Goal {
  StepRange steps;
  double longest_s = 0;  ///< of one core
  bool shares_cores = false;
  double most_per_s = 0;  ///< samples/s that no pipeline of these mean costs exceeds
};

/// The rate so far cannot last: windows still fill, or training lives on what the start built up in
/// them. A little more than the parts allow is no more than rounding and luck with drawn costs.
bool IsStillStart(const trace::RunTrace& trace, const Experiment& experiment, const Goal& goal) {
  const auto window = measure::MeasuredWindow(trace, experiment);
  if (!window) return false;
  const double rate = measure::SamplesPerSecondOfAll(trace, *window);
  return (goal.shares_cores && StockGrows(*window)) || rate > (1 + kNoise) * goal.most_per_s;
}

/// Nobody trains for longer, and the engine ends twice as late.
constexpr base::Duration kLongestRun = std::chrono::hours(24 * 365 * 50);

/// Virtual time costs nothing, so runs' limit of 60 s does not apply. `took_s`: of one core, so far.
std::optional<trace::EndReason> LongEnough(const trace::RunTrace& trace, base::Instant now,
                                           const Experiment& exact, const Goal& goal, double took_s) {
  const bool too_long = took_s >= goal.longest_s || now.time_since_epoch() > kLongestRun;
  if (too_long || trace.steps >= goal.steps.most) return trace::EndReason::kEnough;
  if (trace.steps < goal.steps.least) return std::nullopt;
  const auto reason = measure::StopReason(trace, now, exact);
  return reason && IsStillStart(trace, exact, goal) ? std::nullopt : reason;
}

/// The experiment with the limits of a prediction of automatic length.
Experiment WithOwnLimits(Experiment experiment, const std::optional<double>& precision) {
  const auto is_default = [&](const char* path) {
    return experiment.settings[path].origin == spec::Origin::kDefault;
  };
  spec::Run& run = experiment.run;
  run.max_noise = precision.value_or(std::min(run.max_noise, kNoise));
  if (precision && is_default("run.min_duration")) run.min_duration = {};
  if (is_default("run.max_duration")) run.max_duration = base::Duration::max();
  return experiment;
}

/// Of a prediction of stated length that may end before, as one of automatic length would.
Experiment UntilPrecise(Experiment experiment, double precision) {
  spec::Run& run = experiment.run;
  run.duration.reset();
  run.steps.reset();
  run.epochs.reset();
  return WithOwnLimits(std::move(experiment), precision);
}

/// Accelerators that meet after every step are judged by whole epochs (measure::MeetingOf), all alike:
/// where no length is stated, or only a precision wanted, the first one.
Experiment InWholeEpochs(Experiment experiment, const Basis& basis) {
  spec::Run& run = experiment.run;
  const bool stated = run.duration || run.steps || run.epochs;
  if (!run.barrier || (stated && !basis.precision)) return experiment;
  run.duration.reset();
  run.steps.reset();
  run.epochs = 1;
  return experiment;
}

/// What is asked of the runs of a prediction.
struct Wanted {
  const base::StopFlag* stop = nullptr;
  bool for_verdict = false;         ///< and for no report
  bool keep_spans = false;          ///< of the first run
  trace::RunTrace* first = nullptr;  ///< where its trace goes
};

trace::RunTrace Execute(const engine::VirtualExecutor& executor, const Experiment& asked,
                        const Resolved& resolved, const Basis& basis, const Wanted& wanted) {
  const Experiment chosen = InWholeEpochs(asked, basis);
  if (auto refusal = OutOfMemory(chosen, resolved, basis))
    return TraceOfRefusal(*std::move(refusal));
  engine::RunControl control;
  control.stop = wanted.stop;
  control.for_verdict = wanted.for_verdict;
  control.keep_spans = wanted.keep_spans;
  const spec::Run& run = chosen.run;
  const bool automatic = !run.duration && !run.steps && !run.epochs;
  const std::optional<double>& precision = basis.precision;
  const Experiment exact = automatic   ? WithOwnLimits(chosen, precision)
                           : precision ? UntilPrecise(chosen, *precision)
                                       : chosen;
  diagnose::Variant variant = diagnose::VariantOf(chosen, resolved.pipeline);
  // How much a cache will serve is not known yet.
  if (variant.pipeline.storage.HasCache()) variant.pipeline.samples.miss_fraction = 0;
  constexpr double kPatience = 20;  // of who states a precision
  const double longest_s = precision ? kPatience * basis.longest_s : basis.longest_s;
  const Goal goal{.steps = AutomaticSteps(chosen, resolved.pipeline, longest_s),
                  .longest_s = longest_s,
                  .shares_cores = diagnose::Oversubscribed(variant),
                  .most_per_s = diagnose::PredictByBounds(variant)};
  const auto counting = executor.Sharing();
  // Steps and epochs end a run by themselves.
  if (!automatic && !run.duration && (!precision || run.barrier)) {
    control.lasts = LeastDuration(chosen, goal.most_per_s);
    return counting->Run(chosen, resolved.pipeline, control);
  }
  control.enough = [&](const trace::RunTrace& trace,
                       base::Instant now) -> std::optional<trace::EndReason> {
    if (automatic) {
      const double took_s = SecondsOfRun(chosen, resolved.pipeline, trace.steps, counting->Events());
      return LongEnough(trace, now, exact, goal, took_s);
    }
    const bool precise = precision && trace.steps >= goal.steps.least &&
                         measure::StopReason(trace, now, exact) == trace::EndReason::kEnough;
    return precise ? trace::EndReason::kEnough : measure::StopReason(trace, now, chosen);
  };
  return counting->Run(chosen, resolved.pipeline, control);
}

/// The engine has only the emulated asynchronous device.
void NameDevice(trace::Effective& effective, const spec::Device& device) {
  if (device.kind != spec::DeviceKind::kCuda || !effective.device.IsChosen()) return;
  effective.device = device.Id();
}

/// One run, without its diagnosis.
measure::Measurement RunOnce(const engine::VirtualExecutor& executor, const Experiment& experiment,
                             const Resolved& resolved, const Basis& basis, const Wanted& wanted) {
  const Experiment chosen = OnChosenDevice(experiment, resolved, basis);
  trace::RunTrace trace = Execute(executor, chosen, resolved, basis, wanted);
  const auto measured_by = wanted.for_verdict ? measure::MeasureForVerdict : measure::Measure;
  measure::Measurement measurement = measured_by(trace, chosen, resolved.pipeline);
  NameDevice(measurement.effective, chosen.device);
  // Virtual time never stalls: in a long run the samples just get further apart. Waits end as late
  // as the machine's profile says.
  std::erase_if(measurement.warnings, [](const measure::Warning& one) {
    return one.code == measure::warnings::Stalled::kCode ||
           one.code == measure::warnings::LateWakeups::kCode;
  });
  measurement.warnings.insert(measurement.warnings.end(), resolved.warnings.begin(),
                              resolved.warnings.end());
  if (wanted.first != nullptr) *wanted.first = std::move(trace);
  return measurement;
}

/// Runs each seed.
std::vector<measure::Measurement> RunSeeds(const engine::VirtualExecutor& executor, const Experiment& experiment,
                                           const Resolved& resolved, const Basis& basis,
                                           const Wanted& wanted) {
  std::vector<measure::Measurement> runs(static_cast<std::size_t>(experiment.run.repeats));
  ForEach(runs.size(), [&](std::size_t i) {
    Experiment seeded = experiment;
    seeded.run.seed += i;
    Wanted of_seed = wanted;
    if (i > 0) {
      of_seed.first = nullptr;
      of_seed.keep_spans = false;
    }
    runs[i] = RunOnce(executor, seeded, resolved, basis, of_seed);
  });
  return runs;
}

/// The median of several runs; the first unfinished run, if any.
void Summarize(std::vector<measure::Measurement> runs, Prediction& prediction) {
  const auto ended = std::find_if(runs.begin(), runs.end(), [](const auto& run) {
    return !measure::Finished(run.result);
  });
  if (ended != runs.end() || runs.size() == 1) {
    prediction.measurement = std::move(ended != runs.end() ? *ended : runs.front());
    return;
  }
  std::vector<measure::Result> results;
  for (const auto& run : runs) results.push_back(run.result);
  measure::Repeats repeats = measure::SumUp(results);
  prediction.measurement = std::move(runs[repeats.median]);
  prediction.measurement.result = std::move(repeats.result);
  prediction.repeats = std::move(repeats.slowest_first);
}

/// With the share of the reads that its cache did not serve.
cost::Pipeline AsPredicted(cost::Pipeline pipeline, const measure::Measurement& measurement) {
  if (pipeline.storage.HasCache()) pipeline.samples.miss_fraction = measure::MissFraction(measurement.demands);
  return pipeline;
}

/// The experiment and its costs, as they are simulated.
std::pair<Experiment, Resolved> Simulated(Experiment experiment, const Basis& basis) {
  Resolved resolved = Resolve(experiment, basis);
  ShortenEpochs(experiment, resolved, basis.longest_s);
  return {std::move(experiment), std::move(resolved)};
}

Prediction Rates(const engine::VirtualExecutor& executor, const Experiment& experiment, const Resolved& resolved,
                 const Basis& basis, const Wanted& wanted) {
  Prediction prediction;
  prediction.notes = resolved.notes;
  Summarize(RunSeeds(executor, experiment, resolved, basis, wanted), prediction);
  return prediction;
}

/// What was simulated, and all that its diagnosis asks for.
struct Simulation {
  Prediction rates;
  Experiment chosen;
  cost::Pipeline pipeline;
  trace::RunTrace first;
};

Simulation Simulate(const engine::VirtualExecutor& executor, const Experiment& asked, const Basis& basis,
                    Wanted wanted) {
  const auto [experiment, resolved] = Simulated(asked, basis);
  Simulation simulation;
  wanted.first = &simulation.first;
  simulation.rates = Rates(executor, experiment, resolved, basis, wanted);
  simulation.chosen = OnChosenDevice(experiment, resolved, basis);
  simulation.pipeline = AsPredicted(resolved.pipeline, simulation.rates.measurement);
  return simulation;
}

/// For the what-ifs of a prediction.
diagnose::Predictor PredictorOf(const engine::VirtualExecutor& executor, const Simulation& simulation,
                                const base::StopFlag* stop, VariantRuns* runs = nullptr) {
  const measure::Measurement& measurement = simulation.rates.measurement;
  if (!measure::Finished(measurement.result)) return diagnose::PredictByBounds;
  return PredictInVirtualTime(simulation.chosen, simulation.pipeline, measurement, stop,
                              {.executor = executor.Sharing(), .run = &simulation.first, .runs = runs});
}

}  // namespace

Prediction PredictRates(const Experiment& asked, const Basis& basis,
                        const base::StopFlag* stop) {
  const auto executor = engine::MakeVirtualExecutor();
  const auto [experiment, resolved] = Simulated(asked, basis);
  return Rates(*executor, experiment, resolved, basis, {.stop = stop});
}

Prediction Predict(const Experiment& asked, const Basis& basis, const base::StopFlag* stop,
                   trace::RunTrace* kept) {
  const auto executor = engine::MakeVirtualExecutor();
  Simulation simulation = Simulate(*executor, asked, basis, {.stop = stop, .keep_spans = kept != nullptr});
  Prediction& prediction = simulation.rates;
  prediction.diagnosis = diagnose::Diagnose(
      simulation.chosen, prediction.measurement, simulation.pipeline, PredictorOf(*executor, simulation, stop), {},
      diagnose::PredictByBounds, {.presets = basis.presets, .free_memory = {}, .samples = asked.dataset.samples});
  if (kept != nullptr) *kept = std::move(simulation.first);
  return std::move(prediction);
}

JudgedPrediction JudgeOn(const engine::VirtualExecutor& executor, VariantRuns& runs,
                         const Experiment& asked, const Basis& basis,
                         const base::StopFlag* stop) {
  Simulation simulation = Simulate(executor, asked, basis, {.stop = stop, .for_verdict = true});
  measure::Measurement& measurement = simulation.rates.measurement;
  const diagnose::Judgement judgement =
      diagnose::Judge(simulation.chosen, measurement, simulation.pipeline,
                      PredictorOf(executor, simulation, stop, &runs), {}, diagnose::PredictByBounds);
  return {std::move(measurement), judgement};
}

}  // namespace pipesim::predict
