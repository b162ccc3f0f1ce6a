// Each verdict on a run that is made to have it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "diagnose/levers.h"
#include "unit/diagnose/run_builder.h"

namespace pipesim::diagnose::testing {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Pair;

TEST(Verdict, OneWaitingWorkerIsLoaderBound) {
  const Diagnosis d = RunBuilder::OnGpu(10 * kMs).Workers(1).Wait(36 * kMs).Diagnose();
  EXPECT_EQ(d.bottleneck, Verdict::kLoaderBound);
  EXPECT_EQ(d.confidence, Confidence::kHigh);
  EXPECT_EQ(d.side, Side::kInput);
  EXPECT_EQ(d.second, Verdict::kComputeBound);
  // 4 workers need 36 / 4 = 9 ms a batch, less than a step.
  EXPECT_THAT(d.recommendation->set, Contains(Pair("loader.workers", "4")));
  EXPECT_NEAR(*d.recommendation->gain, 36.0 / 10 - 1, 1e-9);
  EXPECT_EQ(d.recommendation->pytorch,
            "DataLoader(dataset, batch_size=256, shuffle=True, num_workers=4, prefetch_factor=2, "
            "pin_memory=True)");
}

TEST(Verdict, ReadLatencyOfOneWorkerIsLoaderBound) {
  // 256 reads of 1 ms one after another; the bandwidth alone would take 1 ms a batch.
  const Diagnosis d = RunBuilder::OnGpu(10 * kMs).Workers(1).Storage(28.8e9, 1 * kMs).Diagnose();
  EXPECT_EQ(d.bottleneck, Verdict::kLoaderBound);
}

TEST(Verdict, LoadingInTheTrainingLoopIsLoaderBound) {
  const Diagnosis d = RunBuilder::OnCpu(10 * kMs, 1).Workers(0).Burn(8 * kMs).Diagnose();
  EXPECT_EQ(d.bottleneck, Verdict::kLoaderBound);
  // One worker hides all of it: 18 ms a step become 10.
  EXPECT_THAT(d.recommendation->set, Contains(Pair("loader.workers", "1")));
  EXPECT_NEAR(*d.recommendation->gain, 18.0 / 10 - 1, 1e-9);
  EXPECT_EQ(d.second, Verdict::kComputeBound);
}

TEST(Verdict, NoWorkersAreNoFaultWhereTheDeviceHidesTheLoading) {
  const Diagnosis d = RunBuilder::OnGpu(10 * kMs).Workers(0).Burn(8 * kMs).Diagnose();
  EXPECT_EQ(d.bottleneck, Verdict::kComputeBound);
  EXPECT_EQ(d.enough->workers, 0);
}

TEST(Verdict, BurningWorkersFewerThanCoresAreLoaderBoundAndThenCpuBound) {
  const Diagnosis d = RunBuilder::OnGpu(2 * kMs).Workers(2).Cores(8).Burn(80 * kMs).Diagnose();
  EXPECT_EQ(d.bottleneck, Verdict::kLoaderBound);
  EXPECT_EQ(d.second, Verdict::kCpuBound);  // 8 workers fill 8 cores at 10 ms a batch, a step is 2
  EXPECT_THAT(d.recommendation->set, Contains(Pair("loader.workers", "8")));
}

TEST(Verdict, SixtyFourBurningWorkersOnOneCoreAreCpuBound) {
  const Diagnosis d = RunBuilder::OnGpu(1 * kMs)
                          .Workers(64)
                          .Cores(1)
                          .Burn(8 * kMs)
                          .Contended(0.3)  // the training thread waits behind them
                          .Efficiency(0.99)
                          .Diagnose();
  EXPECT_EQ(d.bottleneck, Verdict::kCpuBound);
  EXPECT_EQ(d.confidence, Confidence::kHigh);
  EXPECT_EQ(d.enough->workers, 0);  // one core: the loop itself fills it as well
  EXPECT_EQ(Row(d, "workers 64 to 128")->gain, 0);
  EXPECT_TRUE(d.ladder[1].is_limit);
  EXPECT_EQ(d.ladder[1].full, Full::kYes);
}

TEST(Verdict, SaturatedBandwidthIsIoBoundThoughWorkersGainALittle) {
  // 4 workers reach 96.5 % of the bandwidth: (latency + transfer) x 256 / 4 against transfer x 256.
  const double transfer_s = RunBuilder::kSampleBytes / 550e6;
  const double latency_s = 4 * transfer_s / 0.965 - transfer_s;
  const Diagnosis d = RunBuilder::OnGpu(15.5 * kMs).Workers(4).Storage(550e6, latency_s).Diagnose();
  EXPECT_EQ(d.bottleneck, Verdict::kIoBound);
  EXPECT_NEAR(Row(d, "workers 4 to 8")->gain, 1 / 0.965 - 1, 1e-6);
  EXPECT_EQ(d.ladder[2].full, Full::kYes);
  EXPECT_TRUE(d.ladder[2].is_limit);
}

TEST(Verdict, ExampleOfTheReportIsIoBoundAndThenLoaderBound) {
  // docs: 550 MB/s and 100 us, prepare 51.2 and collate 3.3 ms a batch, step 15.5 ms.
  const Diagnosis d = RunBuilder::OnGpu(15.5 * kMs)
                          .Storage(550e6, 100e-6)
                          .Burn(40 * kMs)
                          .Collate(3.3 * kMs)
                          .Workers(2)
                          .Cores(2)
                          .Diagnose();
  EXPECT_EQ(d.bottleneck, Verdict::kLoaderBound);
  const Diagnosis more = RunBuilder::OnGpu(10 * kMs)
                             .Storage(550e6, 100e-6)
                             .Burn(51.2 * kMs)
                             .Collate(3.3 * kMs)
                             .Workers(4)
                             .Diagnose();
  EXPECT_EQ(more.bottleneck, Verdict::kIoBound);
  EXPECT_EQ(more.second, Verdict::kLoaderBound);  // 54.5 / 4 = 13.6 ms a batch, a step is 10
}

TEST(Verdict, HealthyTrainingOnAGpuIsComputeBound) {
  const Diagnosis d = RunBuilder::OnGpu(15 * kMs).Workers(4).Burn(20 * kMs).Diagnose();
  EXPECT_EQ(d.bottleneck, Verdict::kComputeBound);
  EXPECT_EQ(d.side, Side::kCompute);
  EXPECT_EQ(d.recommendation->text, "nothing to fix in the input pipeline");
  EXPECT_TRUE(d.recommendation->set.empty());
  EXPECT_EQ(Row(d, "free data (upper bound)")->gain, 0);
  EXPECT_EQ(d.headline, "healthy; training never waits for data");
  EXPECT_TRUE(d.ladder[0].is_limit);
}

TEST(Verdict, ACpuFullOfTrainingIsComputeBoundNotCpuBound) {
  const Diagnosis d = RunBuilder::OnCpu(3 * kMs, 7).Cores(8).Workers(4).Burn(1.3 * kMs).Diagnose();
  EXPECT_EQ(d.bottleneck, Verdict::kComputeBound);
  EXPECT_TRUE(d.ladder[1].is_limit);
  EXPECT_EQ(d.ladder[0].used, std::nullopt);
  EXPECT_EQ(d.headline.find("GPU"), std::string::npos);
}

TEST(Verdict, NothingKnownLimitsAfterFreeComputeWithoutLoading) {
  const Diagnosis d = RunBuilder::OnGpu(10 * kMs).Diagnose();
  EXPECT_EQ(d.bottleneck, Verdict::kComputeBound);
  EXPECT_EQ(d.second, std::nullopt);
  EXPECT_EQ(Row(d, "free compute"), nullptr);  // infinite: no number to print
}

TEST(Verdict, SlowCopiesAreH2dBound) {
  const Diagnosis d = RunBuilder::OnGpu(5 * kMs).Copy(9 * kMs).Diagnose();
  EXPECT_EQ(d.bottleneck, Verdict::kH2dBound);
  EXPECT_EQ(d.side, Side::kTransfer);
  EXPECT_EQ(d.second, Verdict::kComputeBound);
}

TEST(Verdict, PageableCopiesAskForPinnedMemoryOnlyOnAGpu) {
  const Diagnosis gpu = RunBuilder::OnGpu(5 * kMs).Pageable().Copy(9 * kMs).Diagnose();
  EXPECT_EQ(gpu.bottleneck, Verdict::kH2dBound);
  EXPECT_THAT(gpu.recommendation->pytorch, ::testing::HasSubstr("pin_memory=True"));
  // Pinned ones take half as long, and go beside the step of 5 ms.
  EXPECT_NEAR(*gpu.recommendation->gain, 9.0 / 5 - 1, 1e-6);
  const Diagnosis cpu = RunBuilder::OnCpu(5 * kMs, 1).Copy(9 * kMs).Diagnose();
  EXPECT_EQ(cpu.bottleneck, Verdict::kH2dBound);
  EXPECT_EQ(cpu.recommendation->pytorch, "");
}

TEST(Verdict, APinThreadThatLimitsIsNamedAndSpared) {
  const Diagnosis d = RunBuilder::OnGpu(2 * kMs).Copy(1 * kMs).Pin(9 * kMs).Diagnose();
  EXPECT_EQ(d.bottleneck, Verdict::kH2dBound);
  EXPECT_THAT(d.headline, ::testing::HasSubstr("into pinned memory"));
  EXPECT_THAT(d.recommendation->set,
              ::testing::ElementsAre(::testing::Pair("loader.collate_into", "pinned")));
  EXPECT_NEAR(*d.recommendation->gain, 9.0 / 2 - 1, 1e-6);
  EXPECT_EQ(Row(d, kUint8), nullptr);  // they are
}

TEST(Verdict, FloatSamplesMayTravelAsAQuarterOfTheirBytes) {
  const Diagnosis d =
      RunBuilder::OnGpu(2 * kMs).DType(spec::DType::kFloat32).Copy(9 * kMs).Pin(1 * kMs).Diagnose();
  EXPECT_EQ(d.bottleneck, Verdict::kH2dBound);
  EXPECT_THAT(d.headline, ::testing::HasSubstr("to the device"));
  ASSERT_NE(Row(d, kUint8), nullptr);
  EXPECT_NEAR(Row(d, kUint8)->gain, 4.0 - 1, 1e-6);  // 2.25 ms beside the step of 2 ms
  EXPECT_LT(Row(d, kCollatePinned)->gain, 0.01);     // the link stays the limit
}

TEST(Verdict, SecondFollowsTheLoaderUntilItNoLongerLimits) {
  // 1 s a batch and a step of 20 ms ask for 50 workers. They wait, so that 2 cores are enough.
  const Diagnosis d = RunBuilder::OnGpu(20 * kMs).Cores(2).Workers(1).Wait(1000 * kMs).Diagnose();
  EXPECT_EQ(d.bottleneck, Verdict::kLoaderBound);
  EXPECT_NEAR(*d.recommendation->gain, 49, 1e-9);
  EXPECT_EQ(d.second, Verdict::kComputeBound);
}

TEST(Verdict, AHostSlowerThanItsDeviceIsLaunchBound) {
  const Diagnosis d = RunBuilder::OnGpu(0.106 * kMs).Host(0.558 * kMs).Diagnose();
  EXPECT_EQ(d.bottleneck, Verdict::kLaunchBound);
  EXPECT_EQ(d.second, Verdict::kComputeBound);
}

TEST(Verdict, HostWorkWhereTheCpuTrainsIsHostBound) {
  const Diagnosis d = RunBuilder::OnCpu(2 * kMs, 1).Host(6 * kMs).Diagnose();
  EXPECT_EQ(d.bottleneck, Verdict::kHostBound);
}

TEST(Verdict, ReadBacksThatCostMoreThanTheStepAreSyncBound) {
  // The read-back waits for the 1 ms step and takes 4 ms more: those alone count as sync.
  const Diagnosis d = RunBuilder::OnGpu(1 * kMs).Host(0.5 * kMs).Sync(5 * kMs).Diagnose();
  EXPECT_EQ(d.bottleneck, Verdict::kSyncBound);
  EXPECT_THAT(d.recommendation->set, Contains(Pair("model.sync_every", "0")));
  EXPECT_NEAR(*d.recommendation->gain, 5.5 / 1 - 1, 1e-9);
}

TEST(Verdict, WaitingForALongStepThroughAReadBackIsComputeBound) {
  const Diagnosis d = RunBuilder::OnGpu(10 * kMs).Host(1 * kMs).Sync(10 * kMs).Diagnose();
  EXPECT_EQ(d.bottleneck, Verdict::kComputeBound);
}

TEST(Verdict, AFlagThatGainsComesBeforeWhatOnlyMoneyBuys) {
  // 10 ms of step, 2 ms of launching before it, and the result is read back: without reading, the host launches meanwhile.
  const Diagnosis d = RunBuilder::OnGpu(10 * kMs).Host(2 * kMs).Sync(10 * kMs).Diagnose();
  EXPECT_EQ(d.bottleneck, Verdict::kComputeBound);
  EXPECT_THAT(d.recommendation->set, ::testing::ElementsAre(Pair("model.sync_every", "0")));
  EXPECT_NEAR(*d.recommendation->gain, 12.0 / 10 - 1, 1e-9);
  EXPECT_EQ(d.recommendation->text, std::string(kNoSync) + "; beyond that, nothing to fix in the input pipeline");
}

TEST(Verdict, MatchedLoadingAndTrainingAreBalanced) {
  // 8 workers on 8 cores: 80 / 8 = 10 ms a batch, and a step of 10 ms; more workers find no core.
  const Diagnosis d = RunBuilder::OnGpu(10 * kMs).Workers(8).Cores(8).Burn(80 * kMs).Diagnose();
  EXPECT_EQ(d.bottleneck, Verdict::kBalanced);
  EXPECT_EQ(d.confidence, Confidence::kHigh);
  EXPECT_EQ(d.side, std::nullopt);
}

// Seen on a GPU's host: 16 workers on 16 cores, 25 predicted +5 % for the fuller last round of an epoch, measured -3 %.
TEST(Verdict, AGainBeyondTheCoresThatOneWorkerMoreUndoesIsNone) {
  const auto run = RunBuilder::OnGpu(1 * kMs).Workers(8).Cores(8).Burn(80 * kMs).Build();
  const auto gains = [&run](int fewest, int most) {
    return run.DiagnoseBy([=](const Variant& v) {
      const int workers = v.settings.loader.workers;
      return PredictByBounds(v) * (workers >= fewest && workers <= most ? 1 : 0.93);
    });
  };
  EXPECT_EQ(gains(13, 13).bottleneck, Verdict::kCpuBound);
  EXPECT_EQ(gains(9, 32).bottleneck, Verdict::kLoaderBound);
}

TEST(Verdict, ThreeMatchedPartsAreBalancedWithLowConfidence) {
  const Diagnosis d =
      RunBuilder::OnGpu(10 * kMs).Workers(8).Cores(8).Burn(80 * kMs).Copy(10 * kMs).Diagnose();
  EXPECT_EQ(d.bottleneck, Verdict::kBalanced);
  EXPECT_EQ(d.confidence, Confidence::kLow);
}

TEST(Verdict, TiesKeepTheLargerWithLowConfidence) {
  // On 0 workers of one core everything adds up: free copies save 4 of 14 ms, a free step 4.1.
  const Diagnosis d = RunBuilder::OnCpu(5.1 * kMs, 1).Cores(1).Workers(1).Host(5 * kMs).Diagnose();
  EXPECT_EQ(d.bottleneck, Verdict::kComputeBound);
  EXPECT_EQ(d.confidence, Confidence::kLow);
}

/// Workers that burn 6.4 ms a batch beside two compute threads, all on two cores. A step takes
/// `beside_s` there, 2 ms alone, 2.5 ms on one thread.
RunBuilder BesideAPoolOnTwoCores(int workers, double beside_s) {
  return RunBuilder::OnCpu(2 * kMs, 2)
      .Cores(2)
      .Workers(workers)
      .Burn(6.4 * kMs)
      .StepBesideWorkers(beside_s, 2.5 * kMs);
}

/// Beside other programs, a pool of two that spins trains at a tenth of the rate.
double SpinningCosts(const Variant& v) {
  const bool spins = v.ComputeThreads() > 1 &&
                     v.settings.limits.omp_wait == spec::OmpWait::kDefault &&
                     v.pipeline.machine.others.held > 0;
  return PredictByBounds(v) * (spins ? 0.1 : 1);
}

/// Steps of 20 ms, 2 ms alone, 4 ms on one thread.
MadeRun APoolBesideAnotherProgram() {
  MadeRun run = RunBuilder::OnCpu(2 * kMs, 2)
                    .Cores(2)
                    .Workers(1)
                    .StepBesideWorkers(20 * kMs, 4 * kMs)
                    .Efficiency(0.1)
                    .Build();
  run.measurement.resources.foreign_cores = 0.97;
  return run;
}

TEST(Verdict, APoolThatOtherProgramsSlowIsContentionAndTheyAreNamedFirst) {
  const MadeRun run = APoolBesideAnotherProgram();
  cost::Pipeline pipeline = run.Pipeline();
  EXPECT_DOUBLE_EQ(pipeline.machine.others.held, 0.97);
  pipeline.machine.barrier_slice = std::chrono::milliseconds(4);
  const Diagnosis d = Diagnose(run.experiment, run.measurement, pipeline, SpinningCosts);
  EXPECT_EQ(d.bottleneck, Verdict::kCpuContention);
  EXPECT_EQ(d.headline,
            "other programs take 1.0 of 2 cores; without them training would be 10 times as fast");
  EXPECT_THAT(d.recommendation->set, Contains(Pair("limits.omp_wait", "passive")));
  EXPECT_NEAR(Row(d, "omp_wait default to passive")->gain, 9, 1e-6);
  EXPECT_NEAR(Row(d, "without the other programs")->gain, 9, 1e-6);
  EXPECT_THAT(d.evidence, Contains(::testing::Field(
                              &Evidence::text,
                              ::testing::HasSubstr("20 ms beside the workers, 2 ms alone"))));
}

TEST(Verdict, IdleProcessorsAreAWayOutOfContention) {
  const auto beside_others = [](std::vector<int> idle) {
    MadeRun run = APoolBesideAnotherProgram();
    run.measurement.effective.cpus = {0, 1};
    run.measurement.effective.idle_cpus = std::move(idle);
    return Diagnose(run.experiment, run.measurement, run.Pipeline(), [](const Variant& v) {
      return PredictByBounds(v) * (v.pipeline.machine.others.held > 0 ? 0.1 : 1);
    });
  };
  const Diagnosis d = beside_others({3, 5, 6});
  EXPECT_EQ(d.bottleneck, Verdict::kCpuContention);
  EXPECT_THAT(d.recommendation->set, ElementsAre(Pair("limits.cpus", "3,5")));
  EXPECT_NEAR(Row(d, "to the idle cpus 3,5")->gain, 9, 1e-6);
  const Diagnosis no_way_out = beside_others({3});
  EXPECT_THAT(no_way_out.what_if,
              Not(Contains(::testing::Field(&WhatIf::change, ::testing::HasSubstr("idle cpus")))));
  // Nothing is healthy that would be ten times as fast alone.
  EXPECT_EQ(no_way_out.headline,
            "other programs take 1.0 of 2 cores; without them training would be 10 times as fast; "
            "training never waits for data");
  EXPECT_THAT(no_way_out.recommendation->text, ::testing::StartsWith("end the other programs"));
}

TEST(Verdict, FewerThreadsComeFirstWhereTheyGainMoreThanTheLoader) {
  // A worker of 6.4 ms limits by bounds; but one thread of the pool alone trains at twice the rate.
  const Predictor predict = [](const Variant& v) {
    return PredictByBounds(v) * (v.ComputeThreads() > 1 ? 0.25 : 1);
  };
  const auto run = BesideAPoolOnTwoCores(1, 2 * kMs).Efficiency(0.25).Build();
  const Diagnosis d = run.DiagnoseBy(predict);
  EXPECT_EQ(d.bottleneck, Verdict::kCpuContention);
  EXPECT_THAT(d.recommendation->set, Contains(Pair("limits.compute_threads", "1")));
}

TEST(Verdict, OtherProgramsThatCostNothingAreNotNamed) {
  MadeRun run = RunBuilder::OnCpu(10 * kMs, 2).Cores(8).Workers(1).Build();
  run.measurement.resources.foreign_cores = 2;
  const Diagnosis d = run.DiagnoseBy(PredictByBounds);
  EXPECT_EQ(d.headline.find("other programs"), std::string::npos) << d.headline;
  EXPECT_EQ(Row(d, "without the other programs")->gain, 0);
}

TEST(Verdict, AModelThatContentionPutsOffIsDoubtedButNotRefuted) {
  // One worker of 6.4 ms beside a pool that would need 2 ms alone: that the run is a third slower
  // than bounds say lies in the steps' waiting for a core, which fewer threads would end.
  const auto one_worker = [](double beside_s) {
    return BesideAPoolOnTwoCores(1, beside_s).Efficiency(0.7).Diagnose();
  };
  const Diagnosis d = one_worker(5.6 * kMs);
  EXPECT_EQ(d.bottleneck, Verdict::kCpuContention);
  EXPECT_EQ(d.confidence, Confidence::kLow);
  EXPECT_THAT(d.missing, Contains(::testing::Field(&Missing::reason,
                                                   ::testing::HasSubstr("makes it 30 %"))));
  EXPECT_EQ(one_worker(2.1 * kMs).bottleneck, Verdict::kInconclusive);  // nobody waited
}

TEST(Verdict, ContentionWithoutTooManyThreadsIsNotOurs) {
  const Diagnosis d = RunBuilder::OnCpu(10 * kMs, 2)
                          .Cores(8)
                          .Workers(4)
                          .Contended(1 / 3.0)
                          .Efficiency(2 / 3.0)
                          .Diagnose();
  EXPECT_EQ(d.bottleneck, Verdict::kInconclusive);
  EXPECT_EQ(d.missing.front().signal, "diagnosis.model_error");
}

}  // namespace
}  // namespace pipesim::diagnose::testing
