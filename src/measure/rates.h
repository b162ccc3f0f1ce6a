// Rates of the measured window and how sure they are.
#pragma once

#include <vector>

#include "measure/measurement.h"

namespace pipesim::measure {

/// Samples per second of the window, in steady state (Window::counted). 0 when no sample was trained
/// in it.
double SamplesPerSecond(const Window& window);
/// What training took, from stock too.
double DeliveredPerSecond(const Window& window);

/// The total rate of all accelerators over the first one's, by the times that they took for the same steps.
/// An accelerator that finished fewer than two of the window's counts like the first. 1 with one accelerator.
double AllOverFirst(const trace::RunTrace& trace, const Window& window);

/// The 95 % interval around SamplesPerSecond by batch means: rates of at most 30 consecutive
/// batches of whole periods, fewer and longer ones while neighbours are correlated. nullopt when
/// not two batches fit. Sources: Schmeiser, "Batch size effects in the analysis of simulation
/// output", Operations Research 30(3), 1982 (10 to 30 batches suffice); Fishman, "Grouping
/// observations in digital simulation", Management Science 24(5), 1978 (lengthen until neighbours
/// look independent).
std::optional<Interval> RateInterval(const trace::RunTrace& trace, const Window& window,
                                     const spec::Experiment& experiment);

/// Half-width of the throughput's interval over the throughput; nullopt when it has none.
std::optional<double> RelativeHalfWidth(const Result& result);

/// The steps of a run, warm-up included, after which the interval would be ± `share` of the
/// throughput: its width shrinks with the square root of the measured steps. Rounded up to two
/// digits. nullopt without an interval.
std::optional<std::int64_t> StepsForInterval(const Result& result, double share);

/// Mean of the window, quantiles of its kept step times.
StepTime StepTimes(const trace::RunTrace& trace, const Window& window);

/// The kept values of a series inside the window, in order.
std::vector<trace::Sampled> ValuesIn(const trace::RunTrace& trace, trace::Series series,
                                     const Window& window);
std::vector<double> NumbersIn(const trace::RunTrace& trace, trace::Series series,
                              const Window& window, double factor = 1);

}  // namespace pipesim::measure
