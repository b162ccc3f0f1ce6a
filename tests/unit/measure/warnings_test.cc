#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "base/random.h"
#include "facts_of.h"
#include "measured.h"

namespace pipesim::measure {
namespace {

using testing::IsEmpty;
using tests::AddUse;
using tests::EvenUse;
using tests::ExperimentOf;
using tests::Ms;
using tests::Pipeline;
using tests::TraceOf;
using trace::EndReason;

template <typename Facts>
std::optional<Facts> Warned(const Pipeline& pipeline, const EvenUse& use = {}) {
  trace::RunTrace trace = TraceOf(pipeline);
  AddUse(trace, use);
  return FactsOf<Facts>(Measured(trace, ExperimentOf(pipeline)));
}

Pipeline Healthy() { return {.workers = 2, .prepare = Ms(5), .forward = Ms(10)}; }

TEST(Warnings, AreNotThereForAHealthyRun) {
  trace::RunTrace trace = TraceOf(Healthy());
  AddUse(trace, {.cores = 2,
                 .machine_cores = 2.1,
                 .throttled = 0,
                 .worker_wait_cores = 0,
                 .swapped_in_per_s = 0});
  EXPECT_THAT(Measured(trace, ExperimentOf(Healthy())).warnings, IsEmpty());
}

TEST(Warnings, NameProbesBesideWhichTheRunHadChanged) {
  // The healthy run trains a batch each 10 ms. Blocks beside one probe did, too; beside the others they took half or
  // twice as long.
  trace::RunTrace trace = TraceOf(Healthy());
  const std::int64_t samples = 100 * ExperimentOf(Healthy()).loader.batch_size;
  const auto probe = [samples](trace::ProbeKind kind, std::string change, int base_ms) {
    const trace::ProbePair pair{{Ms(base_ms), samples}, {Ms(500), samples}};
    return trace::Probe{kind, std::move(change), {pair, pair, pair}};
  };
  trace.probes.each = {probe(trace::ProbeKind::kFreeCompute, "", 1000), probe(trace::ProbeKind::kFreeData, "", 500),
                       probe(trace::ProbeKind::kSetting, "workers 2 to 4", 2000),
                       probe(trace::ProbeKind::kSetting, "workers 2 to 1", 500)};
  const auto left_out = FactsOf<warnings::ProbesLeftOut>(Measured(trace, ExperimentOf(Healthy())));
  ASSERT_TRUE(left_out);
  EXPECT_THAT(left_out->changes, testing::ElementsAre("free data", "workers 2 to 4"));
  EXPECT_NEAR(left_out->drift, 1, 0.02);
  trace.probes.each.resize(1);
  EXPECT_FALSE(FactsOf<warnings::ProbesLeftOut>(Measured(trace, ExperimentOf(Healthy()))));
}

TEST(Warnings, SayThatStockWasUsedUp) {
  // Four workers of 40 ms, held up until the window is full; then steps of 1 ms use it up.
  Pipeline pipeline{.workers = 4, .prefetch_factor = 8, .steps = 20, .prepare = Ms(40),
                    .forward = Ms(1)};
  pipeline.extra = [](std::int64_t step) { return Ms(step == 0 ? 400 : 0); };
  const auto stock = Warned<warnings::Stock>(pipeline);
  ASSERT_TRUE(stock);
  EXPECT_GT(stock->delivered_per_s, 10 * stock->loaded_per_s);
}

TEST(Warnings, HoldWhatLibTorchWarnedOfAlsoWhereNothingWasMeasured) {
  trace::RunTrace trace = TraceOf(Healthy());
  trace.effective.library_warnings = {"first", "second"};
  trace::RunTrace nothing;
  nothing.effective.library_warnings = {"first", "second"};
  for (const trace::RunTrace* run : {&trace, &nothing}) {
    const auto warnings = Measured(*run, ExperimentOf(Healthy())).warnings;
    const auto of_library = [](const Warning& warning) { return warning.code == "libtorch"; };
    EXPECT_EQ(std::count_if(warnings.begin(), warnings.end(), of_library), 2);
  }
}

TEST(Warnings, NameAPartialLastBatch) {
  Pipeline pipeline = Healthy();
  pipeline.epoch_batches = 20;
  pipeline.last_batch = 24;
  const auto partial = Warned<warnings::PartialBatch>(pipeline);
  ASSERT_TRUE(partial);
  EXPECT_EQ(partial->samples, 24);
  EXPECT_EQ(partial->batch_size, 64);
}

TEST(Warnings, NameOtherProgramsBeyondATenthOfTheCores) {
  // 8 cores are allowed.
  const auto foreign = Warned<warnings::ForeignCpu>(Healthy(), {.cores = 2, .machine_cores = 4.3});
  ASSERT_TRUE(foreign);
  EXPECT_NEAR(foreign->foreign_cores, 2.3, 0.05);
  EXPECT_EQ(foreign->processors, 8);
  EXPECT_FALSE(Warned<warnings::ForeignCpu>(Healthy(), {.cores = 2, .machine_cores = 2.7}));
}

TEST(Warnings, NameThrottlingAndSwap) {
  const auto throttled = Warned<warnings::Throttled>(Healthy(), {.throttled = 0.2});
  ASSERT_TRUE(throttled);
  EXPECT_NEAR(throttled->time_share, 0.2, 0.005);
  EXPECT_FALSE(Warned<warnings::Throttled>(Healthy(), {.throttled = 0.002}));
  EXPECT_TRUE(Warned<warnings::Swap>(Healthy(), {.swapped_in_per_s = 100}));
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
  EXPECT_FALSE(FactsOf<warnings::Stalled>(Measured(without(21, 30), experiment)));
  trace::RunTrace stopped = without(21, 30);
  for (std::size_t i = 21; i < stopped.resources.size(); ++i)
    stopped.resources[i].process_cpu = stopped.resources[20].process_cpu;
  const auto stalled = FactsOf<warnings::Stalled>(Measured(stopped, experiment));
  ASSERT_TRUE(stalled);
  EXPECT_GT(stalled->stalled_s, 0);
}

TEST(Warnings, NameADriftBetweenTheHalves) {
  Pipeline pipeline{.workers = 1, .forward = Ms(10)};
  pipeline.extra = [](std::int64_t step) { return Ms(static_cast<double>(step) * 0.02); };
  const auto drift = Warned<warnings::Drift>(pipeline);
  ASSERT_TRUE(drift);
  EXPECT_LT(drift->change, -0.05);
  pipeline.extra = [](std::int64_t step) { return Ms(static_cast<double>(step) * 0.001); };
  EXPECT_FALSE(Warned<warnings::Drift>(pipeline));  // 2 % between the halves
}

TEST(Warnings, NameBurstsOfWorkersThatFinishTogether) {
  for (const int workers : {2, 4, 8}) {
    const Pipeline pipeline{.workers = workers, .prepare = Ms(20 * workers), .forward = Ms(2)};
    const auto bursts = Warned<warnings::Bursts>(pipeline);
    ASSERT_TRUE(bursts);
    EXPECT_EQ(bursts->period, workers);
  }
}

TEST(Warnings, SeeNoBurstsInEvenOrRandomSteps) {
  EXPECT_FALSE(Warned<warnings::Bursts>(Healthy()));
  // One step in four is slow, in no order.
  Pipeline random{.workers = 4, .prepare = Ms(1), .forward = Ms(2)};
  random.extra = [](std::int64_t step) {
    base::KeyedStream stream(1, base::Stage::kStep, static_cast<std::uint64_t>(step));
    return stream.NextUnit() < 0.25 ? Ms(50) : Duration::zero();
  };
  EXPECT_FALSE(Warned<warnings::Bursts>(random));
  // One step in four is slow, in order, but it is the step that takes long and no batch is waited
  // for.
  random.extra = [](std::int64_t step) { return step % 4 == 0 ? Ms(50) : Duration::zero(); };
  EXPECT_FALSE(Warned<warnings::Bursts>(random));
}

/// The warning about bursts when the step times of a starving run of four workers are rewritten.
std::optional<warnings::Bursts> BurstsWith(
    const std::function<double(const trace::Sampled& step)>& rewritten_ms) {
  const Pipeline pipeline{.workers = 4, .prepare = Ms(80), .forward = Ms(2)};
  trace::RunTrace trace = TraceOf(pipeline);
  for (trace::Sampled& step :
       trace.series[static_cast<std::size_t>(trace::Series::kStepTime)].kept) {
    step.value = rewritten_ms(step) * 1e6;
  }
  return FactsOf<warnings::Bursts>(Measured(trace, ExperimentOf(pipeline)));
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
  const auto bad = FactsOf<warnings::BadSamples>(Measured(trace, ExperimentOf(Healthy())));
  ASSERT_TRUE(bad && bad->first);
  EXPECT_EQ(bad->count, 3);
  EXPECT_EQ(bad->first->item, "cat/7.jpg");
  EXPECT_EQ(bad->first->reason, "truncated");
}

TEST(Warnings, NameLateWakeUpsOnlyWhereWorkersDoNothingButWait) {
  Pipeline pipeline{.workers = 2, .prepare = Ms(19), .contended = Ms(1), .forward = Ms(10)};
  EXPECT_FALSE(Warned<warnings::LateWakeups>(pipeline));  // burning: that is contention
  spec::Experiment experiment = ExperimentOf(pipeline);
  experiment.prepare.kind = spec::PrepareKind::kWait;
  const auto late = FactsOf<warnings::LateWakeups>(Measured(TraceOf(pipeline), experiment));
  ASSERT_TRUE(late);
  EXPECT_NEAR(late->share, 0.05, 0.0005);
  experiment.prepare.kind = spec::PrepareKind::kNone;
  experiment.storage.kind = spec::StorageKind::kNone;
  EXPECT_FALSE(FactsOf<warnings::LateWakeups>(Measured(TraceOf(pipeline), experiment)));
}

TEST(Warnings, CompareContentionWithTheKernelsOwnCount) {
  EXPECT_TRUE(Warned<warnings::UnseenContention>(Healthy(), {.worker_wait_cores = 0.5}));
  EXPECT_FALSE(Warned<warnings::UnseenContention>(Healthy(), {.worker_wait_cores = 0.05}));
}

TEST(Warnings, SayThatTimeRanOutBeforeTheIntervalWasNarrow) {
  Pipeline pipeline = Healthy();
  pipeline.extra = [](std::int64_t step) { return Ms((step * 7919) % 13 < 5 ? 15 : 0); };
  trace::RunTrace trace = TraceOf(pipeline);
  trace.end_reason = EndReason::kMaxDuration;
  spec::Experiment experiment = ExperimentOf(pipeline);
  experiment.run.max_noise = 0.001;
  const auto ran_out = FactsOf<warnings::MaxDuration>(Measured(trace, experiment));
  ASSERT_TRUE(ran_out);
  EXPECT_DOUBLE_EQ(ran_out->max_duration_s, 60);
  EXPECT_GT(ran_out->noise, 0.001);
  EXPECT_FALSE(ran_out->enough_steps);  // a hundred times as long
  experiment.run.max_noise = *ran_out->noise / 2;
  const auto nearer = FactsOf<warnings::MaxDuration>(Measured(trace, experiment));
  ASSERT_TRUE(nearer && nearer->enough_steps);
  const Result& result = Measured(trace, experiment).result;
  EXPECT_NEAR(nearer->enough_s, 4 * result.measured_s, 0.2 * result.measured_s);
  experiment.run.max_noise = 0.5;
  EXPECT_FALSE(FactsOf<warnings::MaxDuration>(Measured(trace, experiment)));
}

TEST(Warnings, SayWhyNothingWasMeasured) {
  const Pipeline nothing{.steps = 0};
  const auto no_step = Warned<warnings::NothingMeasured>(nothing);
  ASSERT_TRUE(no_step);
  EXPECT_FALSE(no_step->warmup_s);
  spec::Experiment experiment = ExperimentOf(Healthy());
  experiment.run.warmup = std::chrono::hours(1);
  const auto all_warmup =
      FactsOf<warnings::NothingMeasured>(Measured(TraceOf(Healthy()), experiment));
  ASSERT_TRUE(all_warmup);
  EXPECT_EQ(all_warmup->warmup_s, 3600);
}

TEST(FailedRun, KeepsWhatWasMeasuredAndWhyItFailed) {
  trace::RunTrace trace = TraceOf(Healthy());
  trace.end_reason = EndReason::kFailed;
  trace.failure = "worker 1: disk on fire";
  const Measurement m = Measured(trace, ExperimentOf(Healthy()));
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
        const Measurement m = Measured(pipeline);
        EXPECT_EQ(m.result.samples_per_s.has_value(), steps > 0);
        EXPECT_EQ(m.warnings.empty(), steps > 0);
      }
    }
  }
  const Measurement empty = Measured(trace::RunTrace{}, spec::Experiment{});
  EXPECT_FALSE(empty.result.samples_per_s);
}

}  // namespace
}  // namespace pipesim::measure
