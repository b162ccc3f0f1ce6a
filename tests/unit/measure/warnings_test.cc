#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "base/random.h"
#include "measure/measurement.h"
#include "support/trace_builder.h"

namespace pipesim::measure {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::Optional;
using tests::AddUse;
using tests::EvenUse;
using tests::ExperimentOf;
using tests::Ms;
using tests::Pipeline;
using tests::TraceOf;
using trace::EndReason;

std::optional<std::string> TextOf(const std::string& code, const Measurement& measurement) {
  for (const Warning& warning : measurement.warnings) {
    if (warning.code == code) return warning.text;
  }
  return std::nullopt;
}

std::optional<std::string> Warned(const std::string& code, const Pipeline& pipeline,
                                  const EvenUse& use = {}) {
  trace::RunTrace trace = TraceOf(pipeline);
  AddUse(trace, use);
  return TextOf(code, Measure(trace, ExperimentOf(pipeline)));
}

Pipeline Healthy() { return {.workers = 2, .prepare = Ms(5), .forward = Ms(10)}; }

TEST(Warnings, AreNotThereForAHealthyRun) {
  trace::RunTrace trace = TraceOf(Healthy());
  AddUse(trace, {.cores = 2,
                 .machine_cores = 2.1,
                 .throttled = 0,
                 .worker_wait_cores = 0,
                 .swapped_in_per_s = 0});
  EXPECT_THAT(Measure(trace, ExperimentOf(Healthy())).warnings, IsEmpty());
}

TEST(Warnings, SayThatTooFewStepsWereMeasured) {
  Pipeline pipeline = Healthy();
  pipeline.steps = 10;
  EXPECT_THAT(Warned("few-steps", pipeline), Optional(HasSubstr("Only 8 steps were measured")));
  EXPECT_THAT(Warned("few-steps", pipeline), Optional(HasSubstr("--steps 61")));
}

TEST(Warnings, NameAPartialLastBatch) {
  Pipeline pipeline = Healthy();
  pipeline.epoch_batches = 20;
  pipeline.last_batch = 24;
  EXPECT_THAT(Warned("partial-batch", pipeline), Optional(HasSubstr("24 of 64 samples")));
}

TEST(Warnings, NameOtherProgramsBeyondATenthOfTheCores) {
  // 8 cores are allowed.
  EXPECT_THAT(Warned("foreign-cpu", Healthy(), {.cores = 2, .machine_cores = 4.3}),
              Optional(HasSubstr("2.3 of the 8 allowed cores")));
  EXPECT_EQ(Warned("foreign-cpu", Healthy(), {.cores = 2, .machine_cores = 2.7}), std::nullopt);
}

TEST(Warnings, NameThrottlingAndSwap) {
  EXPECT_THAT(Warned("throttled", Healthy(), {.throttled = 0.2}), Optional(HasSubstr("20 %")));
  EXPECT_EQ(Warned("throttled", Healthy(), {.throttled = 0.002}), std::nullopt);
  EXPECT_TRUE(Warned("swap", Healthy(), {.swapped_in_per_s = 100}));
}

TEST(Warnings, NameATimeInWhichTheWholeProgramStoodStill) {
  Pipeline pipeline = Healthy();
  pipeline.steps = 600;  // 6 s
  trace::RunTrace trace = TraceOf(pipeline);
  AddUse(trace, {.cores = 2}, 61);
  const auto without = [&](int from, int to) {
    trace::RunTrace cut = trace;
    cut.resources.erase(cut.resources.begin() + from, cut.resources.begin() + to);
    return cut;
  };
  const auto experiment = ExperimentOf(pipeline);
  // A second without a reading: two cores were busy meanwhile, so only the monitor was late.
  EXPECT_EQ(TextOf("stalled", Measure(without(21, 30), experiment)), std::nullopt);
  trace::RunTrace stopped = without(21, 30);
  for (std::size_t i = 21; i < stopped.resources.size(); ++i)
    stopped.resources[i].process_cpu = stopped.resources[20].process_cpu;
  EXPECT_THAT(TextOf("stalled", Measure(stopped, experiment)),
              Optional(HasSubstr("stood still for")));
}

TEST(Warnings, NameADriftBetweenTheHalves) {
  Pipeline pipeline{.workers = 1, .forward = Ms(10)};
  pipeline.extra = [](std::int64_t step) { return Ms(static_cast<double>(step) * 0.02); };
  EXPECT_THAT(Warned("drift", pipeline), Optional(HasSubstr("The rate fell by")));
  pipeline.extra = [](std::int64_t step) { return Ms(static_cast<double>(step) * 0.001); };
  EXPECT_EQ(Warned("drift", pipeline), std::nullopt);  // 2 % between the halves
}

TEST(Warnings, NameBurstsOfWorkersThatFinishTogether) {
  for (const int workers : {2, 4, 8}) {
    const Pipeline pipeline{.workers = workers, .prepare = Ms(20 * workers), .forward = Ms(2)};
    EXPECT_THAT(Warned("bursts", pipeline),
                Optional(HasSubstr("bursts of " + std::to_string(workers) + " (one slow")));
  }
  const Pipeline four{.workers = 4, .prepare = Ms(80), .forward = Ms(2)};
  EXPECT_THAT(Warned("bursts", four), Optional(HasSubstr("(one slow, three fast)")));
}

TEST(Warnings, SeeNoBurstsInEvenOrRandomSteps) {
  EXPECT_EQ(Warned("bursts", Healthy()), std::nullopt);
  // One step in four is slow, in no order.
  Pipeline random{.workers = 4, .prepare = Ms(1), .forward = Ms(2)};
  random.extra = [](std::int64_t step) {
    base::KeyedStream stream(1, base::Stage::kStep, static_cast<std::uint64_t>(step));
    return stream.NextUnit() < 0.25 ? Ms(50) : Duration::zero();
  };
  EXPECT_EQ(Warned("bursts", random), std::nullopt);
  // One step in four is slow, in order, but it is the step that takes long and no batch is waited
  // for.
  random.extra = [](std::int64_t step) { return step % 4 == 0 ? Ms(50) : Duration::zero(); };
  EXPECT_EQ(Warned("bursts", random), std::nullopt);
}

/// The warning about bursts when the step times of a starving run of four workers are rewritten.
std::optional<std::string> BurstsWith(
    const std::function<double(const trace::Sampled& step)>& rewritten_ms) {
  const Pipeline pipeline{.workers = 4, .prepare = Ms(80), .forward = Ms(2)};
  trace::RunTrace trace = TraceOf(pipeline);
  for (trace::Sampled& step :
       trace.series[static_cast<std::size_t>(trace::Series::kStepTime)].kept) {
    step.value = rewritten_ms(step) * 1e6;
  }
  return TextOf("bursts", Measure(trace, ExperimentOf(pipeline)));
}

TEST(Warnings, CallItBurstsOnlyWhenOneOfEachCycleIsSlowAndReturns) {
  const auto one_in_four = [](const trace::Sampled& step) { return step.key % 4 == 0 ? 74 : 2; };
  EXPECT_TRUE(BurstsWith(one_in_four));
  const auto two_in_four = [](const trace::Sampled& step) { return step.key % 4 < 2 ? 38 : 2; };
  EXPECT_FALSE(BurstsWith(two_in_four));
  const auto in_no_order = [](const trace::Sampled& step) {
    return base::Mix64(static_cast<std::uint64_t>(step.key)) % 4 == 0 ? 74 : 2;
  };
  EXPECT_FALSE(BurstsWith(in_no_order));
  const auto hardly_slower = [](const trace::Sampled& step) { return step.key % 4 == 0 ? 25 : 10; };
  EXPECT_FALSE(BurstsWith(hardly_slower));
}

TEST(Warnings, CountBadSamplesAndNameTheFirst) {
  trace::RunTrace trace = TraceOf(Healthy());
  trace.bad_sample_count = 3;
  trace.bad_samples = {{.item = "cat/7.jpg", .reason = "truncated"}};
  EXPECT_THAT(TextOf("bad-samples", Measure(trace, ExperimentOf(Healthy()))),
              Optional(HasSubstr("3 samples could not be used and were left out. The first: "
                                 "cat/7.jpg (truncated)")));
}

TEST(Warnings, NameLateWakeUpsOnlyWhereWorkersDoNothingButWait) {
  Pipeline pipeline{.workers = 2, .prepare = Ms(19), .contended = Ms(1), .forward = Ms(10)};
  EXPECT_EQ(Warned("late-wakeups", pipeline), std::nullopt);  // burning: that is contention
  spec::Experiment experiment = ExperimentOf(pipeline);
  experiment.prepare.kind = spec::PrepareKind::kWait;
  EXPECT_THAT(TextOf("late-wakeups", Measure(TraceOf(pipeline), experiment)),
              Optional(HasSubstr("5.0 %")));
}

TEST(Warnings, CompareContentionWithTheKernelsOwnCount) {
  EXPECT_TRUE(Warned("unseen-contention", Healthy(), {.worker_wait_cores = 0.5}));
  EXPECT_EQ(Warned("unseen-contention", Healthy(), {.worker_wait_cores = 0.05}), std::nullopt);
}

TEST(Warnings, SayThatTimeRanOutBeforeTheIntervalWasNarrow) {
  Pipeline pipeline = Healthy();
  pipeline.extra = [](std::int64_t step) { return Ms((step * 7919) % 13 < 5 ? 15 : 0); };
  trace::RunTrace trace = TraceOf(pipeline);
  trace.end_reason = EndReason::kMaxDuration;
  spec::Experiment experiment = ExperimentOf(pipeline);
  experiment.run.max_noise = 0.001;
  EXPECT_THAT(TextOf("max-duration", Measure(trace, experiment)),
              Optional(HasSubstr("--max-duration 120s")));
  experiment.run.max_noise = 0.5;
  EXPECT_EQ(TextOf("max-duration", Measure(trace, experiment)), std::nullopt);
}

TEST(Warnings, SayWhyNothingWasMeasured) {
  const Pipeline nothing{.steps = 0};
  EXPECT_THAT(Warned("nothing-measured", nothing), Optional(HasSubstr("no step was finished")));
  spec::Experiment experiment = ExperimentOf(Healthy());
  experiment.run.warmup = std::chrono::hours(1);
  EXPECT_THAT(TextOf("nothing-measured", Measure(TraceOf(Healthy()), experiment)),
              Optional(HasSubstr("after the warm-up")));
}

TEST(FailedRun, KeepsWhatWasMeasuredAndWhyItFailed) {
  trace::RunTrace trace = TraceOf(Healthy());
  trace.end_reason = EndReason::kFailed;
  trace.failure = "worker 1: disk on fire";
  const Measurement m = Measure(trace, ExperimentOf(Healthy()));
  EXPECT_EQ(m.result.stopped_by, EndReason::kFailed);
  EXPECT_EQ(m.failure, "worker 1: disk on fire");
  EXPECT_NEAR(*m.result.samples_per_s, 6400, 1e-6);
}

TEST(FailedRun, IsMeasuredWithoutThrowingHoweverShort) {
  for (const std::int64_t steps : {0, 1, 2, 3}) {
    for (const int workers : {0, 1, 64}) {
      for (const bool asynchronous : {false, true}) {
        const Pipeline pipeline{.workers = workers,
                                .steps = steps,
                                .batch_size = 1,
                                .forward = Ms(1),
                                .asynchronous = asynchronous};
        const Measurement m = Measure(TraceOf(pipeline), ExperimentOf(pipeline));
        EXPECT_EQ(m.result.samples_per_s.has_value(), steps > 0);
        EXPECT_FALSE(m.warnings.empty());
      }
    }
  }
  const Measurement empty = Measure(trace::RunTrace{}, spec::Experiment{});
  EXPECT_FALSE(empty.result.samples_per_s);
}

}  // namespace
}  // namespace pipesim::measure
