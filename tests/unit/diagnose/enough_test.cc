// Enough workers: the smallest setting within a share of the best, and how many are looked at.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "diagnose/enough.h"
#include "diagnose/settings.h"
#include "unit/diagnose/run_builder.h"

namespace pipesim::diagnose::testing {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Ge;
using ::testing::HasSubstr;
using ::testing::Le;
using ::testing::Not;
using ::testing::Pair;

TEST(EnoughWorkers, AreTheFewestWithinOnePerCentOfTheBest) {
  const Diagnosis d = RunBuilder::OnGpu(10 * kMs).Workers(8).Wait(45 * kMs).Diagnose();
  EXPECT_EQ(d.enough->workers, 5);  // 45 / 5 = 9 ms; 45 / 4 = 11.25 are too slow for 10
  EXPECT_EQ(d.enough->share_of_best, 1);
  EXPECT_EQ(d.enough->bytes_per_worker, 2 * 256 * 150528);
}

TEST(EnoughWorkers, AFewPerCentBesideATrainerOnAllCoresNeedNone) {
  // Each worker is said to gain 0.3 %: less than predictions are known to, up to 16 of them.
  const auto slowly = [](const Variant& v) { return 1000 * (1 + 0.003 * v.settings.loader.workers); };
  const auto on_all = RunBuilder::OnCpu(10 * kMs, 2).Cores(2).Workers(4).Burn(1 * kMs).Build();
  EXPECT_EQ(on_all.DiagnoseBy(slowly).enough->workers, 0);
  // A trainer that leaves cores to the workers keeps to one per cent.
  const auto on_one = RunBuilder::OnCpu(10 * kMs, 1).Cores(2).Workers(4).Burn(1 * kMs).Build();
  EXPECT_GT(on_one.DiagnoseBy(slowly).enough->workers, 0);
}

TEST(EnoughWorkers, DeeperPrefetchCountsWhereItSavesBatches) {
  const MadeRun run = RunBuilder::OnGpu(10 * kMs).Workers(12).Cores(16).Wait(45 * kMs).Build();
  // At prefetch 2 twelve workers are needed, 24 batches; at 4 five suffice, 20 batches.
  const Predictor bursts = [](const Variant& v) {
    const spec::Loader& l = v.settings.loader;
    const bool smooth = l.workers >= 12 || l.prefetch_factor >= 4;
    return PredictByBounds(v) * (smooth || l.workers == 0 ? 1 : 0.9);
  };
  const Diagnosis d = run.DiagnoseBy(bursts);
  ASSERT_TRUE(d.enough);
  EXPECT_EQ(d.enough->workers, 5);
  EXPECT_EQ(d.enough->prefetch_factor, 4);
  EXPECT_EQ(d.enough->share_of_best, 1);
  EXPECT_EQ(d.enough->bytes_per_worker, 4 * 256 * 150528);
}

TEST(EnoughWorkers, OnesThatWaitMayBeManyTimesTheCores) {
  // 90 ms of waiting keep up with steps of 10 ms nine at a time, whatever the number now.
  for (const int now : {0, 1, 2}) {
    const MadeRun run = RunBuilder::OnGpu(10 * kMs).Workers(now).Cores(2).Wait(90 * kMs).Build();
    const Diagnosis d = run.DiagnoseBy(PredictByBounds);
    ASSERT_TRUE(d.enough) << now;
    EXPECT_EQ(d.enough->workers, 9) << now;
    EXPECT_FALSE(d.enough->more_may_gain) << now;
    EXPECT_EQ(d.bottleneck, Verdict::kLoaderBound) << now;
    EXPECT_THAT(d.recommendation->set, ElementsAre(Pair("loader.workers", "9"))) << now;
  }
}

TEST(EnoughWorkers, AFewMayBeFasterThanTheManyOfTheBestBound) {
  // Each costs an epoch its start, so that three are the best of the nine that would keep up.
  const MadeRun run = RunBuilder::OnGpu(10 * kMs).Workers(0).Cores(2).Wait(90 * kMs).Build();
  const Diagnosis d = run.DiagnoseBy([](const Variant& v) {
    const int workers = v.settings.loader.workers;
    return PredictByBounds(v) / (1 + (workers > 3 ? workers - 3 : 0));
  });
  EXPECT_EQ(d.bottleneck, Verdict::kLoaderBound);
  EXPECT_EQ(d.enough->workers, 3);
  EXPECT_THAT(d.recommendation->set, ElementsAre(Pair("loader.workers", "3")));
}

TEST(EnoughWorkers, AreLookedForFurtherWhereTheLastOnesGain) {
  // Bounds see no more in 16 workers than in 4, which only vary less.
  const MadeRun run = RunBuilder::OnGpu(10 * kMs).Workers(1).Cores(2).Burn(5 * kMs).Build();
  const Predictor smoothed = [](const Variant& v) {
    return PredictByBounds(v) * std::min(1.0, 0.6 + 0.025 * v.settings.loader.workers);
  };
  ASSERT_LE(MostWorkers(run.Now()), 4);
  const Diagnosis d = run.DiagnoseBy(smoothed);
  EXPECT_EQ(d.enough->workers, 16);
  EXPECT_FALSE(d.enough->more_may_gain);
}

TEST(EnoughWorkers, OnesThatWaitAreNoMoreThanFitIntoMemory) {
  const MadeRun run = RunBuilder::OnGpu(10 * kMs).Workers(0).Cores(2).Wait(2000 * kMs).Build();
  EXPECT_EQ(MostWorkers(run.Now()), 128);
  EXPECT_EQ(run.DiagnoseBy(PredictByBounds).enough->workers, 127);  // 99 % of what 128 reach
  EXPECT_TRUE(run.DiagnoseBy(PredictByBounds).enough->more_may_gain);
  Variant small = run.Now();
  const std::int64_t batch = small.pipeline.samples.prepared.count * 256;
  small.pipeline.machine.free_memory = base::Bytes{2 * batch * 24};
  EXPECT_THAT(MostWorkers(small), AllOf(Ge(12), Le(24)));
  small.pipeline.hand_over.processes = true;
  small.pipeline.hand_over.worker_memory = {2 * batch};
  EXPECT_THAT(MostWorkers(small), AllOf(Ge(6), Le(12)));
}

TEST(EnoughWorkers, OnesThatBurnAreNoMoreThanTheCores) {
  const MadeRun run = RunBuilder::OnGpu(10 * kMs).Workers(0).Cores(2).Burn(90 * kMs).Build();
  EXPECT_EQ(MostWorkers(run.Now()), 2);
  EXPECT_EQ(run.DiagnoseBy(PredictByBounds).enough->workers, 2);
}

TEST(FewerThreads, OfProcessesNoneMayBeFaster) {
  MadeRun run = RunBuilder::OnCpu(1 * kMs, 1).Workers(2).Cores(2).Burn(0.5 * kMs).Efficiency(0.5).Build();
  EXPECT_THAT(FewerWorkers(run.Now()), ElementsAre(1));
  Variant processes = run.Now();
  processes.settings.loader.kind = spec::LoaderKind::kProcess;
  EXPECT_THAT(FewerWorkers(processes), ElementsAre(1, 0));
  processes.settings.needs_workers = true;
  EXPECT_THAT(FewerWorkers(processes), ElementsAre(1));

  run.experiment.loader.kind = spec::LoaderKind::kProcess;
  run.measurement.consumer.receive_s = 0.7 * run.measurement.consumer.wall_s;
  const Diagnosis d = run.DiagnoseBy([](const Variant& v) {
    return PredictByBounds(v) * (v.settings.loader.workers > 0 ? 0.5 : 1);
  });
  EXPECT_EQ(d.bottleneck, Verdict::kCpuContention);
  EXPECT_THAT(d.headline, HasSubstr("worker processes cost training more than they load"));
  EXPECT_THAT(d.recommendation->set, ElementsAre(Pair("loader.workers", "0")));
  EXPECT_EQ(d.recommendation->text, "load in the training loop: workers 2 to 0");
}

TEST(EnoughWorkers, ARateOfNothingIsNotAskedTwice) {
  // Fewer than four workers stand still: found by asking each count once.
  const MadeRun run = RunBuilder::OnGpu(10 * kMs).Workers(4).Wait(5 * kMs).Build();
  int asked_one = 0;
  const Predictor stands = [&](const Variant& v) {
    if (v.settings.loader.workers == 1) ++asked_one;
    return v.settings.loader.workers < 4 ? 0 : PredictByBounds(v);
  };
  const auto found = FewestWorkers(run.Now(), 1, 8, stands, 0.99);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->workers, 4);
  EXPECT_EQ(asked_one, 1);
}

}  // namespace
}  // namespace pipesim::diagnose::testing
