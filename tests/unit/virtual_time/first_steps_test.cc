// A longer run begins with the steps of a shorter one, so that a rate after fewer steps is found from
// its trace.
#include "trace/first_steps.h"

#include <fmt/core.h>

#include "any_case.h"
#include "measure/measurement.h"
#include "print_trace.h"

namespace pipesim::engine {
namespace {

trace::RunTrace RunOfSteps(Case any, std::int64_t steps, bool only_rate) {
  any.experiment.run.epochs.reset();
  any.experiment.run.steps = steps;
  RunControl control;
  control.only_rate = only_rate;
  return Predict(any.experiment, any.pipeline, control);
}

std::string MarksText(const std::vector<trace::Checkpoint>& marks) {
  std::string text;
  for (const trace::Checkpoint& mark : marks)
    text += fmt::format("{} {} {} {} {}\n", mark.steps, mark.samples, mark.epoch, Ns(mark.at), mark.loaded);
  return text;
}

/// Those that the device had finished.
std::string DeviceStepsUntil(const trace::RunTrace& trace, Instant until) {
  std::string text;
  for (const auto& step : trace.series[static_cast<std::size_t>(trace::Series::kDeviceStep)].kept)
    if (step.at <= until) text += fmt::format("{} {} {}\n", step.key, Ns(step.at), step.value);
  return text;
}

RC_GTEST_PROP(FirstSteps, AreThoseOfAShorterRun, ()) {
  const Case any = AnyCase();
  RC_PRE(spec::BatchesPerEpoch(any.experiment) > 0);
  const std::int64_t steps = In(1, 8000);
  const trace::RunTrace longer = RunOfSteps(any, steps * In(1, 4), Yes());
  const trace::RunTrace shorter = RunOfSteps(any, steps, true);
  RC_PRE(shorter.steps == steps);
  const auto first = trace::FirstSteps(longer, steps);
  RC_PRE(first.has_value());
  RC_ASSERT(MarksText(first->progress) == MarksText(shorter.progress));
  const Instant end = first->progress.back().at;
  if (steps <= 4096) RC_ASSERT(DeviceStepsUntil(*first, end) == DeviceStepsUntil(shorter, end));
  const auto window = [&](const trace::RunTrace& trace) {
    return measure::SteadyWindow(trace, any.experiment, steps / 4, 1);
  };
  const auto of_first = window(*first), of_shorter = window(shorter);
  RC_ASSERT(of_first.has_value() == of_shorter.has_value());
  if (!of_first) return;
  RC_ASSERT(of_first->from == of_shorter->from);
  RC_ASSERT(of_first->to == of_shorter->to);
  RC_ASSERT(of_first->loaded == of_shorter->loaded);
}

TEST(FirstSteps, AreKeptWhereLaterOnesAreThinnedOut) {
  spec::Experiment experiment = Stages(4, 8ms, 1ms, 0);
  experiment.run.steps = 20'000;
  const trace::RunTrace trace = Predict(experiment, cost::Stated(experiment), {});
  ASSERT_GT(trace.checkpoint_stride, 1);
  EXPECT_EQ(trace.first_progress.size(), 4096u);
  const auto first = trace::FirstSteps(trace, 4096);
  ASSERT_TRUE(first);
  EXPECT_EQ(first->steps, 4096);
  EXPECT_EQ(first->checkpoint_stride, 2) << "as a run of so many steps keeps them";
  EXPECT_FALSE(trace::FirstSteps(trace, 4097)) << "not every step of them was kept";
  EXPECT_FALSE(trace::FirstSteps(trace, 20)) << "20,000 steps in 512 buckets: too few of them";
}

TEST(FirstSteps, OfDrawnCostsGoOnWhereTheRunsOwnAreThinnedOut) {
  spec::Experiment experiment = Stages(4, 8ms, 1ms, 0);
  cost::Pipeline pipeline = cost::Stated(experiment);
  pipeline.prepare.wait = {{.kind = base::DistributionKind::kLognormal, .mean = 8e6, .stdev = 4e6, .values = {}}};
  experiment.run.steps = 20'000;
  const trace::RunTrace trace = Predict(experiment, pipeline, {});
  EXPECT_EQ(trace.first_progress.size(), 8192u);
  experiment.run.steps = 8000;
  const trace::RunTrace shorter = Predict(experiment, pipeline, {});
  const auto first = trace::FirstSteps(trace, 8000);
  ASSERT_TRUE(first);
  EXPECT_EQ(first->checkpoint_stride, shorter.checkpoint_stride);
  EXPECT_EQ(MarksText(first->progress), MarksText(shorter.progress));
  EXPECT_FALSE(trace::FirstSteps(trace, 8193));
}

TEST(FirstSteps, ARunWithFewerHasNone) {
  spec::Experiment experiment = Stages(1, 1ms, 1ms, 0);
  experiment.run.steps = 100;
  const trace::RunTrace trace = Predict(experiment, cost::Stated(experiment), {});
  EXPECT_FALSE(trace::FirstSteps(trace, 101));
  EXPECT_FALSE(trace::FirstSteps(trace, 0));
  EXPECT_TRUE(trace::FirstSteps(trace, 100));
}

}  // namespace
}  // namespace pipesim::engine
