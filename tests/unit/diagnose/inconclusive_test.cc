// What is missing, what is certain all the same, and what would settle it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "diagnose/doubt.h"
#include "diagnose/timeline.h"
#include "unit/diagnose/run_builder.h"

namespace pipesim::diagnose::testing {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::Pair;

std::vector<std::string> Signals(const Diagnosis& d) {
  std::vector<std::string> signals;
  for (const auto& missing : d.missing) signals.push_back(missing.signal);
  return signals;
}

/// Example 3 of the report: reads and prepare take alike, and 4 workers use 63 % of the bandwidth.
RunBuilder Scans() {
  return RunBuilder::OnGpu(15 * kMs).Workers(4).Storage(220e6, 1.2 * kMs).Burn(410 * kMs);
}

TEST(Inconclusive, AWideIntervalLeavesTheVerdictOpenAndTheSideCertain) {
  const Diagnosis d = Scans().Steps(9).HalfWidth(0.31).Diagnose();
  EXPECT_EQ(d.bottleneck, Verdict::kInconclusive);
  EXPECT_EQ(d.confidence, Confidence::kNone);
  EXPECT_EQ(d.side, Side::kInput);
  EXPECT_EQ(d.candidates.front(), Verdict::kLoaderBound);
  EXPECT_THAT(d.candidates, Contains(Verdict::kIoBound));
  EXPECT_THAT(d.candidates, Contains(Verdict::kCpuBound));
  EXPECT_THAT(d.candidates, Not(Contains(Verdict::kComputeBound)));
  EXPECT_THAT(d.ruled_out, ElementsAre("no faster GPU alone can gain 5 %"));
  EXPECT_EQ(d.headline, "the input side limits training; the evidence does not show which part");
  EXPECT_THAT(Signals(d), ElementsAre("result.samples_per_s_interval"));
  EXPECT_EQ(d.missing[0].reason, "interval ±31 % (5 % is needed to rank)");
}

TEST(Inconclusive, SaysHowManyStepsWouldDecide) {
  const Diagnosis d = Scans().Steps(9).HalfWidth(0.31).Diagnose();
  // 9 x (31 / 5)^2 = 346, in two digits 350.
  EXPECT_THAT(d.recommendation->set, ElementsAre(Pair("run.steps", "350")));
  EXPECT_THAT(d.recommendation->text, ::testing::StartsWith("about 350 steps ("));
  EXPECT_THAT(d.recommendation->text, ::testing::EndsWith("would bring ±31 % to ±5 %"));
  EXPECT_THAT(Scans().Steps(900).HalfWidth(0.104).Diagnose().recommendation->text,
              ::testing::EndsWith("would bring ±10 % to ±5 %"));
}

TEST(Inconclusive, ASettingThatGainsLeadsWhereTheIntervalIsNotMuchTooWide) {
  // Its gain overlaps those of free reads and of free prepare, behind which it does not stand.
  const Diagnosis d = Scans().Steps(900).HalfWidth(0.08).Diagnose();
  EXPECT_EQ(d.bottleneck, Verdict::kLoaderBound);
  EXPECT_EQ(d.confidence, Confidence::kLow);
}

TEST(Inconclusive, StepsToSettleCountTheWarmUpAndLiftOtherLimits) {
  MadeRun run = Scans().Steps(9).HalfWidth(0.31).Build();
  run.measurement.result.warmup_steps = 20;
  run.experiment.run.duration = std::chrono::seconds(2);
  run.experiment.run.epochs = 1;
  run.experiment.dataset.samples = 256 * 100;
  const Diagnosis d = run.DiagnoseBy(PredictByBounds);
  // 346 + 20 = 366, in two digits 370: 4 epochs of 100 batches.
  EXPECT_THAT(
      d.recommendation->set,
      ElementsAre(Pair("run.steps", "370"), Pair("run.duration", "auto"), Pair("run.epochs", "4")));
}

// Loading and training take turns of about the same time, so that the interval leaves open which of them
// gains more. The device computes throughout.
TEST(Inconclusive, ASideThatLeavesOneCandidateDecides) {
  constexpr double kBeyondBounds = 1.05;  // else those decide: they know of no turns
  const auto in_turns = [](const Variant& v) {
    const double data_s = v.pipeline.prepare.AloneSeconds(256, 1);
    const double step_s = base::ToSeconds(v.pipeline.step.Mean(256));
    return kBeyondBounds * 256 / ((step_s + std::max(data_s, 1e-6)) / 2);
  };
  const auto decided = [&](double half_width) {
    return RunBuilder::OnGpu(15 * kMs)
        .Burn(15.2 * kMs)
        .Efficiency(kBeyondBounds)
        .Steps(50)
        .HalfWidth(half_width)
        .Build()
        .DiagnoseBy(in_turns);
  };
  const Diagnosis d = decided(0.07);
  EXPECT_EQ(d.bottleneck, Verdict::kComputeBound);
  EXPECT_EQ(d.confidence, Confidence::kLow);
  EXPECT_THAT(d.candidates, IsEmpty());
  EXPECT_THAT(Signals(d), ElementsAre("result.samples_per_s_interval"));
  EXPECT_EQ(decided(0.01).bottleneck, Verdict::kCpuBound);
}

// A slow batch in order holds the others up: the device computes for two thirds of the time and waits in between.
TEST(Inconclusive, ASettingThatGainsMoreAtLeastThanTheSideThatIsBusyLeads) {
  const auto in_turns = [](const Variant& v) {
    const double steps = PredictByBounds(FreeData(v)), loads = PredictByBounds(Free(v, Demand::kStep));
    const double order = 1.25 * 8000;  // a free step meets the same slow batches
    return std::min(1 / (1 / steps + 0.6 / loads), std::isinf(steps) ? order : steps);
  };
  RunBuilder run = RunBuilder::OnGpu(20 * kMs).Wait(80 * kMs).HalfWidth(0.17);
  const Diagnosis d = run.Efficiency(1 / 1.6).Build().DiagnoseBy(in_turns);
  EXPECT_EQ(d.bottleneck, Verdict::kLoaderBound);
  EXPECT_EQ(d.confidence, Confidence::kLow);
  ASSERT_TRUE(d.recommendation);
  EXPECT_GT(d.recommendation->gain.value_or(0), 0.3);
}

// The device computes for more than half of the time, but a faster one would meet the same slow batches. Workers and a
// faster prepare gain alike.
TEST(Inconclusive, ASideOnWhichNothingGainsIsNotOpen) {
  constexpr double kNow = 7000, kWithFreeStep = 1.02 * kNow;
  const auto by_order = [=](const Variant& v) {
    const double steps = PredictByBounds(FreeData(v)), loads = PredictByBounds(Free(v, Demand::kStep));
    if (std::isinf(steps)) return std::min(loads, kWithFreeStep);
    return loads > 1.05 * 12800 ? 0.9 * steps : kNow;
  };
  RunBuilder run = RunBuilder::OnGpu(20 * kMs).Wait(80 * kMs).Efficiency(kNow / 12800).HalfWidth(0.17);
  const Diagnosis d = run.Build().DiagnoseBy(by_order);
  EXPECT_THAT(d.candidates, Not(Contains(Verdict::kComputeBound)));
  EXPECT_EQ(d.side, Side::kInput) << d.headline;
}

/// Loading as it is, of which the experiment only says how often batches come.
MadeRun Opaque(const RunBuilder& builder) {
  MadeRun run = builder.Build();
  run.experiment.loader.opaque = true;
  return run;
}

bool ChangesLoading(const WhatIf& row) {
  return std::ranges::any_of(row.set, [](const auto& change) {
    return change.first.starts_with("loader.") || change.first.starts_with("storage") ||
           change.first.starts_with("prepare") || change.first == "limits.cpus";
  });
}

TEST(Inconclusive, LoadingOfWhichOnlyTheRateIsKnownHasASideAndNoRemedy) {
  const auto starved = RunBuilder::OnGpu(15 * kMs).Workers(1).Burn(60 * kMs);
  ASSERT_EQ(starved.Diagnose().bottleneck, Verdict::kLoaderBound);
  const Diagnosis d = Opaque(starved).DiagnoseBy(PredictByBounds);
  EXPECT_EQ(d.bottleneck, Verdict::kInconclusive);
  EXPECT_EQ(d.side, Side::kInput);
  EXPECT_THAT(Signals(d), ElementsAre("loader.opaque"));
  EXPECT_THAT(d.recommendation->set, IsEmpty());
  EXPECT_THAT(d.recommendation->text, ::testing::HasSubstr("pipesim record"));
  EXPECT_FALSE(d.enough);
  for (const WhatIf& row : d.what_if) EXPECT_FALSE(ChangesLoading(row)) << row.change;
  const WhatIf* free = Row(d, "free data (upper bound)");
  ASSERT_NE(free, nullptr);
  EXPECT_NEAR(free->gain, 3, 0.01);  // 60 ms / 15 ms - 1
}

TEST(Inconclusive, LoadingOfWhichOnlyTheRateIsKnownLeavesTheOtherVerdicts) {
  const Diagnosis d = Opaque(RunBuilder::OnGpu(15 * kMs).Workers(1).Burn(2 * kMs)).DiagnoseBy(PredictByBounds);
  EXPECT_EQ(d.bottleneck, Verdict::kComputeBound);
  EXPECT_EQ(d.confidence, Confidence::kHigh);
  EXPECT_FALSE(d.enough);
  for (const WhatIf& row : d.what_if) EXPECT_FALSE(ChangesLoading(row)) << row.change;
}

TEST(Inconclusive, WorkerProcessesThatCostNothingMakeTheirGainUncertain) {
  MadeRun run = RunBuilder::OnGpu(15 * kMs).Workers(0).Burn(30 * kMs).Build();
  EXPECT_EQ(run.DiagnoseBy(PredictByBounds).confidence, Confidence::kHigh);
  run.experiment.loader.kind = spec::LoaderKind::kProcess;
  const Diagnosis free = run.DiagnoseBy(PredictByBounds);
  EXPECT_EQ(free.bottleneck, Verdict::kLoaderBound);
  EXPECT_EQ(free.confidence, Confidence::kLow);
  EXPECT_THAT(Signals(free), ElementsAre("loader.send"));
  run.experiment.loader.send = {base::Distribution::Fixed(1e6)};  // 1 ms
  EXPECT_EQ(run.DiagnoseBy(PredictByBounds).confidence, Confidence::kHigh);
}

TEST(Inconclusive, FewStepsAreNoReasonWhereTheyAgree) {
  EXPECT_EQ(RunBuilder::OnGpu(15 * kMs).Steps(3).HalfWidth(0.01).Diagnose().bottleneck,
            Verdict::kComputeBound);
}

TEST(Inconclusive, OneStepDecidesWhatIsPlainWithLowConfidence) {
  const auto one_step = [](RunBuilder builder) {
    MadeRun run = builder.Steps(1).Build();
    run.measurement.result.samples_per_s_interval = std::nullopt;
    return run.DiagnoseBy(PredictByBounds);
  };
  // The device computes throughout, and nothing loads.
  const Diagnosis plain = one_step(RunBuilder::OnGpu(15 * kMs));
  EXPECT_EQ(plain.bottleneck, Verdict::kComputeBound);
  EXPECT_EQ(plain.confidence, Confidence::kLow);
  EXPECT_EQ(plain.missing.front().reason, "1 measured step shows no interval");
  // Loading takes 12 ms of the 15: free compute gains 25 %.
  const Diagnosis open = one_step(RunBuilder::OnGpu(15 * kMs).Wait(48 * kMs));
  EXPECT_EQ(open.bottleneck, Verdict::kInconclusive);
  EXPECT_THAT(open.recommendation->set, ElementsAre(Pair("run.steps", "10")));
}

TEST(Inconclusive, AWideIntervalMattersOnlyWhereCandidatesOverlap) {
  EXPECT_EQ(Scans().HalfWidth(0.31).Diagnose().bottleneck, Verdict::kInconclusive);
  const Diagnosis lone = RunBuilder::OnGpu(15 * kMs).HalfWidth(0.31).Diagnose();
  EXPECT_EQ(lone.bottleneck, Verdict::kComputeBound);
  EXPECT_EQ(lone.confidence, Confidence::kLow);
}

TEST(Inconclusive, AModelThatMissesTheRunDecidesOnlyWhatOutweighsTheMiss) {
  EXPECT_EQ(RunBuilder::OnGpu(15 * kMs).Efficiency(1 / 1.09).Diagnose().confidence,
            Confidence::kHigh);
  // Loading takes 12 ms of the 15: free compute gains +25 %.
  const auto loading = [](double efficiency) {
    return RunBuilder::OnGpu(15 * kMs).Wait(48 * kMs).Efficiency(efficiency).Diagnose();
  };
  EXPECT_EQ(loading(1 / 1.15).bottleneck, Verdict::kComputeBound);
  EXPECT_EQ(loading(1 / 1.15).confidence, Confidence::kLow);
  EXPECT_EQ(loading(1 / 1.22).bottleneck, Verdict::kInconclusive);  // 1.25 / 1.22 counts no more
}

TEST(Inconclusive, AskForNoStepsWhereTheModelIsOffByFarMoreThanTheIntervalIsWide) {
  const auto next = [](double half_width) {
    return RunBuilder::OnGpu(15 * kMs).Wait(48 * kMs).Efficiency(1 / 1.22).HalfWidth(half_width).Diagnose();
  };
  EXPECT_THAT(next(0.06).recommendation->text, ::testing::StartsWith("a longer run does not settle this"));
  EXPECT_THAT(next(0.2).recommendation->text, ::testing::StartsWith("about "));
}

TEST(Inconclusive, ASettingThatDoublesTheRateAllTheSameIsSaidWithLowConfidence) {
  // One worker of eight is there, so workers gain several times.
  const auto starving = [](double efficiency) {
    return RunBuilder::OnGpu(1 * kMs).Workers(1).Wait(8 * kMs).Efficiency(efficiency).Diagnose();
  };
  EXPECT_EQ(starving(0.6).bottleneck, Verdict::kLoaderBound);
  EXPECT_EQ(starving(0.6).confidence, Confidence::kLow);
  EXPECT_EQ(starving(0.1).bottleneck, Verdict::kInconclusive);
}

TEST(Inconclusive, ASettingThatDoublesTheRateForCertainNeedsNoNarrowInterval) {
  // More workers and free prepare both reach the rate of the device, so their gains overlap.
  const auto waiting = [](double batch_s) {
    return RunBuilder::OnGpu(10 * kMs).Workers(1).Wait(batch_s).HalfWidth(0.3).Diagnose();
  };
  EXPECT_EQ(waiting(48 * kMs).bottleneck, Verdict::kLoaderBound);
  EXPECT_EQ(waiting(48 * kMs).confidence, Confidence::kLow);
  EXPECT_EQ(waiting(16 * kMs).bottleneck, Verdict::kInconclusive);
}

TEST(Inconclusive, WaitingForCoresByTheKernelsCountExplainsAMiss) {
  // The model is twice as fast as the run, whose training threads had a core half of the time.
  const auto waiting = [](double share) {
    MadeRun run = RunBuilder::OnCpu(10 * kMs, 2).Cores(2).Workers(2).PoolContended(share).Build();
    return run.DiagnoseBy([](const Variant& v) { return 2 * PredictByBounds(v); });
  };
  EXPECT_NE(waiting(0.6).bottleneck, Verdict::kInconclusive);
  EXPECT_EQ(waiting(0.6).confidence, Confidence::kLow);
  EXPECT_THAT(waiting(0.6).missing.front().reason, ::testing::HasSubstr("waits for cores longer"));
  EXPECT_EQ(waiting(0.1).bottleneck, Verdict::kInconclusive);
}

TEST(Inconclusive, ATrainerThatMostlyWaitsForCoresNeedsNoExactModel) {
  // The model is `off` times the run, and one thread `faster` times the model.
  const auto waiting = [](double share, double off, double faster) {
    MadeRun run = RunBuilder::OnCpu(10 * kMs, 2)
                      .Cores(2)
                      .Workers(2)
                      .PoolContended(share)
                      .Efficiency(0.01)
                      .Build();
    auto& consumer = run.measurement.consumer;
    consumer.compute_s += std::exchange(consumer.starved_s, 0);
    const double model = off * *run.measurement.result.samples_per_s;
    return run.DiagnoseBy(
        [=](const Variant& v) { return v.ComputeThreads() < 2 ? faster * model : model; });
  };
  EXPECT_EQ(waiting(0.6, 10, 1.5).bottleneck, Verdict::kCpuContention);
  EXPECT_EQ(waiting(0.6, 10, 1.5).confidence, Confidence::kLow);
  EXPECT_EQ(waiting(0.3, 10, 1.5).bottleneck, Verdict::kInconclusive);
  EXPECT_EQ(waiting(0.6, 0.2, 7.5).bottleneck, Verdict::kCpuContention);
  EXPECT_EQ(waiting(0.3, 0.2, 7.5).bottleneck, Verdict::kInconclusive);
}

TEST(Inconclusive, AModelThatMissesTheRunByAQuarterDecidesNothing) {
  const Diagnosis d = RunBuilder::OnGpu(15 * kMs).Efficiency(1 / 1.3).Diagnose();
  EXPECT_EQ(d.bottleneck, Verdict::kInconclusive);
  EXPECT_NEAR(*d.model_error, 0.3, 1e-9);
  EXPECT_EQ(d.missing.front().reason,
            "the model of this run is +30 % off what was measured (10 % is allowed)");
  EXPECT_TRUE(d.recommendation->set.empty());  // more steps would not settle it
  EXPECT_THAT(d.ruled_out, IsEmpty());
}

TEST(Inconclusive, ASettingWithinTheMissGivesWayToWhatOutweighsIt) {
  // The model of the run is 12 % off; one thread is `faster` times as fast as that model of two.
  const auto missed = [](double faster) {
    const MadeRun run = RunBuilder::OnCpu(10 * kMs, 2)
                            .Cores(2)
                            .Workers(2)
                            .Burn(1 * kMs)
                            .StepBesideWorkers(10 * kMs, 5 * kMs)
                            .Efficiency(1 / 0.88)
                            .Build();
    const double now = PredictByBounds(VariantOf(run.experiment, run.Pipeline()));
    return run.DiagnoseBy([=](const Variant& v) {
      return v.ComputeThreads() < 2 ? faster * now : PredictByBounds(v);
    });
  };
  const Diagnosis d = missed(1.25);
  EXPECT_EQ(d.bottleneck, Verdict::kComputeBound);
  EXPECT_EQ(d.confidence, Confidence::kLow);
  EXPECT_THAT(Signals(d), ElementsAre("diagnosis.model_error"));
  EXPECT_EQ(missed(1.6).bottleneck, Verdict::kCpuContention);
}

TEST(Inconclusive, OtherProgramsExplainAMissByTheirShareOfTheCores) {
  const auto beside = [](double cores) {
    MadeRun run = RunBuilder::OnCpu(10 * kMs, 2).Cores(2).Workers(1).Efficiency(0.6).Build();
    run.measurement.resources.foreign_cores = cores;
    return run.DiagnoseBy([](const Variant& v) { return PredictByBounds(v) / 2; });
  };
  const Diagnosis d = beside(1.0);
  EXPECT_NE(d.bottleneck, Verdict::kInconclusive);
  EXPECT_EQ(d.confidence, Confidence::kLow);
  EXPECT_THAT(d.missing.front().reason,
              ::testing::EndsWith("; other programs used 1.0 of 2 cores"));
}

TEST(Inconclusive, AStepThatWasNotMeasured) {
  MadeRun run = Scans().Build();
  run.measurement.demands.step_s = std::nullopt;
  const Diagnosis d = run.DiagnoseBy(PredictByBounds);
  EXPECT_EQ(d.bottleneck, Verdict::kInconclusive);
  EXPECT_THAT(Signals(d), Contains("demands.step_s"));
}

TEST(Inconclusive, ReadsThatWereNotMeasuredMatterOnlyWhereThereAreReads) {
  MadeRun run = RunBuilder::OnGpu(15 * kMs).Build();
  run.measurement.demands.read_s = std::nullopt;
  EXPECT_EQ(run.DiagnoseBy(PredictByBounds).bottleneck, Verdict::kComputeBound);
  run.experiment.storage.kind = spec::StorageKind::kFiles;
  EXPECT_EQ(run.DiagnoseBy(PredictByBounds).bottleneck, Verdict::kInconclusive);
}

TEST(Inconclusive, UnknownLaunchMattersOnlyWhereItCouldBeTheLimit) {
  // The bracket of 549 us may hold up to 558 us of launch gaps.
  const Diagnosis open =
      RunBuilder::OnGpu(0.549 * kMs).Host(0.558 * kMs).LaunchUnknown().Diagnose();
  EXPECT_EQ(open.bottleneck, Verdict::kInconclusive);
  EXPECT_THAT(open.candidates,
              ::testing::UnorderedElementsAre(Verdict::kComputeBound, Verdict::kLaunchBound));
  EXPECT_THAT(Signals(open), Contains("device.launch_s"));
  // Of 100 ms at most 0.5 are gaps.
  const Diagnosis sure = RunBuilder::OnGpu(100 * kMs).Host(0.5 * kMs).LaunchUnknown().Diagnose();
  EXPECT_EQ(sure.bottleneck, Verdict::kComputeBound);
}

TEST(Inconclusive, AnEmptyRunSaysSoAndPromisesNothing) {
  const Diagnosis d = MadeRun{}.DiagnoseBy(PredictByBounds);
  EXPECT_EQ(d.bottleneck, Verdict::kInconclusive);
  EXPECT_EQ(d.side, std::nullopt);
  EXPECT_THAT(d.what_if, IsEmpty());
  EXPECT_EQ(d.enough, std::nullopt);
  EXPECT_EQ(d.model_error, std::nullopt);
  EXPECT_EQ(d.headline, "the evidence does not show what limits training");
}

TEST(Inconclusive, WhatIsMeasuredRulesOutWhatThePredictorLeads) {
  // The model says the step limits; the device was starved 95 % of the time.
  MadeRun run = RunBuilder::OnGpu(15 * kMs).Efficiency(1 / 1.2).Build();
  auto& device = *run.measurement.device;
  device.busy_s = 0.05 * device.wall_s;
  device.starved_s = 0.95 * device.wall_s;
  const Diagnosis d = run.DiagnoseBy(PredictByBounds);
  EXPECT_EQ(d.side, Side::kInput);
  EXPECT_EQ(d.candidates, VerdictsOf(Side::kInput));
}

TEST(Inconclusive, ContentionThatCouldNotBeReadIsNamedAndWeakens) {
  MadeRun run = RunBuilder::OnCpu(10 * kMs, 8).Cores(8).Workers(4).Build();
  run.measurement.workers.unmeasured = {"contended"};
  const Diagnosis d = run.DiagnoseBy(PredictByBounds);
  EXPECT_EQ(d.bottleneck, Verdict::kComputeBound);
  EXPECT_EQ(d.confidence, Confidence::kLow);
  EXPECT_EQ(d.missing.front().reason, "run-queue wait unknown");
}

TEST(Inconclusive, AStepThatMayHoldContentionIsComputeBoundWithLowConfidence) {
  MadeRun run = RunBuilder::OnCpu(10 * kMs, 8).Cores(8).Workers(4).Build();
  run.measurement.workers.contended_s = 0.3 * run.measurement.workers.wall_s;
  const Diagnosis d = run.DiagnoseBy(PredictByBounds);
  EXPECT_EQ(d.bottleneck, Verdict::kComputeBound);
  EXPECT_EQ(d.confidence, Confidence::kLow);
  EXPECT_THAT(d.missing.front().reason, ::testing::HasSubstr("12 threads share 8 cores"));
}

}  // namespace
}  // namespace pipesim::diagnose::testing
