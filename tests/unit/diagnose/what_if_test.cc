// The rows of the what-if table, the evidence that points at them, the ladder.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "cost/memory_plan.h"
#include "cost/roofline.h"
#include "diagnose/demands.h"
#include "diagnose/recommend.h"
#include "diagnose/settings.h"
#include "unit/diagnose/run_builder.h"

namespace pipesim::diagnose::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::Pair;

TEST(WhatIf, GainIsAfterOverBeforeMinusOneOfTheMeasuredRate) {
  const MadeRun run =
      RunBuilder::OnGpu(10 * kMs).Workers(4).Wait(80 * kMs).Efficiency(0.95).Build();
  const Diagnosis d = run.DiagnoseBy(PredictByBounds);
  ASSERT_FALSE(d.what_if.empty());
  for (const auto& row : d.what_if) {
    EXPECT_DOUBLE_EQ(row.samples_per_s, *run.measurement.result.samples_per_s * (1 + row.gain));
  }
  EXPECT_NEAR(Row(d, "workers 4 to 8")->gain, 1.0, 1e-12);  // 80 / 4 = 20 ms become 10
}

TEST(WhatIf, LargestGainFirst) {
  const Diagnosis d = RunBuilder::OnGpu(5 * kMs).Storage(550e6, 100e-6).Burn(51 * kMs).Diagnose();
  for (std::size_t i = 1; i < d.what_if.size(); ++i) {
    EXPECT_GE(d.what_if[i - 1].gain, d.what_if[i].gain);
  }
}

TEST(WhatIf, RowsSayWhatTheyTakeAndWhatLimitsThen) {
  const Diagnosis d = RunBuilder::OnGpu(10 * kMs).Storage(550e6, 100e-6).Burn(51 * kMs).Diagnose();
  const WhatIf& storage = *Row(d, "storage x2");
  EXPECT_EQ(storage.takes, Takes::kDevice);
  EXPECT_THAT(storage.set,
              ElementsAre(Pair("storage.bandwidth", "1.1GB/s"), Pair("storage.latency", "50us")));
  EXPECT_EQ(storage.feasible_here, std::nullopt);
  // 1,281,167 samples of 110 KiB
  const WhatIf& memory = *Row(d, "all in page cache (144 GB)");
  EXPECT_EQ(memory.takes, Takes::kMemory);
  EXPECT_EQ(memory.then, Verdict::kLoaderBound);
  const WhatIf& prepare = *Row(d, "prepare x1/2");
  EXPECT_EQ(prepare.takes, Takes::kCode);
  EXPECT_EQ(prepare.set.front().first, "prepare.cost");
  EXPECT_EQ(Row(d, "workers 4 to 8")->feasible_here, true);
  EXPECT_EQ(Row(d, "prefetch 2 to 4")->gain, 0);
  EXPECT_EQ(Row(d, "free data (upper bound)")->then, Verdict::kComputeBound);
}

TEST(WhatIf, TheManyValuesOfARecordingAreNoCommandNorPartOfOne) {
  MadeRun run = RunBuilder::OnGpu(10 * kMs).Storage(550e6, 100e-6).Burn(51 * kMs).Build();
  base::Distribution& cost = run.experiment.prepare.cost.in_units;
  cost = {.kind = base::DistributionKind::kEmpirical};
  for (int i = 0; i < 100; ++i) cost.values.push_back(1000 + i);
  const Diagnosis d = run.DiagnoseBy(PredictByBounds);
  EXPECT_TRUE(Row(d, "prepare x1/2")->set.empty());
  const Setting half{.text = "half", .set = {}, .change = [](Variant v) { return v; }};
  EXPECT_TRUE(Both(Workers({}, 3), half).set.empty());
  EXPECT_TRUE(Both(half, Workers({}, 3)).set.empty());
}

TEST(WhatIf, SettingsThatBoundsCannotSeeAreNotJudgedByThem) {
  const Diagnosis d = RunBuilder::OnGpu(10 * kMs).Wait(80 * kMs).Diagnose();
  EXPECT_EQ(Row(d, "shared dispatch"), nullptr);
  EXPECT_EQ(Row(d, "completion order"), nullptr);
}

TEST(WhatIf, ABetterPredictorRanksTheSettingsThatItSees) {
  const MadeRun run = RunBuilder::OnGpu(10 * kMs).Wait(20 * kMs).Efficiency(0.8).Build();
  const Predictor order_matters = [](const Variant& v) {
    const bool waits = v.settings.loader.in_order && v.settings.loader.workers > 0;
    return PredictByBounds(v) * (waits ? 0.8 : 1);
  };
  const Diagnosis d = run.DiagnoseBy(order_matters);
  EXPECT_EQ(d.bottleneck, Verdict::kLoaderBound);
  EXPECT_THAT(d.recommendation->set, ElementsAre(Pair("loader.in_order", "false")));
  EXPECT_NEAR(Row(d, "completion order")->gain, 0.25, 1e-12);
}

spec::Storage Preset(const std::string& name, double bytes_per_s, double latency_s) {
  spec::Storage storage;
  storage.kind = spec::StorageKind::kEmulated;
  storage.preset = name;
  storage.bandwidth = base::BytesPerSecond{bytes_per_s};
  storage.latency.in_units = base::Distribution::Fixed(latency_s * 1e9);
  return storage;
}

// 256 samples of 110 KiB: 28.8 MB a batch.
constexpr double kBatchBytes = RunBuilder::kBatch * RunBuilder::kSampleBytes;

TEST(WhatIf, OffersTheNextBetterStorageAndTheSlowestThatIsEnough) {
  // A step of 10 ms needs 2.88 GB/s.
  const MadeRun run = RunBuilder::OnGpu(10 * kMs).Workers(16).Storage(550e6, 1e-9).Build();
  Offers offers;
  offers.presets.storages = {Preset("slower", 100e6, 1e-9), Preset("twice", 1.1e9, 1e-9),
                             Preset("four-times", 2.2e9, 1e-9), Preset("enough", 3e9, 1e-9),
                             Preset("more", 7e9, 1e-9), Preset("network alone", 100e9, 0)};
  const Diagnosis d = run.DiagnoseBy(PredictByBounds, offers);
  ASSERT_NE(Row(d, "storage to twice"), nullptr);
  EXPECT_NEAR(Row(d, "storage to twice")->gain, 1, 1e-6);
  const WhatIf* enough = Row(d, "storage to enough");
  ASSERT_NE(enough, nullptr);
  EXPECT_NEAR(enough->gain, kBatchBytes / 550e6 / (10 * kMs) - 1, 1e-6);
  EXPECT_THAT(enough->set, ElementsAre(Pair("storage", "enough")));
  for (const char* left_out : {"slower", "four-times", "more", "network alone"})
    EXPECT_EQ(Row(d, std::string("storage to ") + left_out), nullptr) << left_out;
  EXPECT_THAT(d.recommendation->set, ElementsAre(Pair("storage", "enough")));
  EXPECT_EQ(d.recommendation->gain, enough->gain);
}

TEST(WhatIf, APresetKeepsTheCacheInFrontOfIt) {
  MadeRun run = RunBuilder::OnGpu(10 * kMs).Workers(16).Storage(550e6, 1e-9).Build();
  run.experiment.storage.cache = {.policy = spec::CachePolicy::kLru, .size = {1'000'000}, .hit_bandwidth = {}};
  run.experiment.settings["storage.cache.size"] = {"1MB", spec::Origin::kFile};
  run.experiment.settings["storage.cache.policy"] = {"lru", spec::Origin::kFile};
  Offers offers;
  offers.presets.storages = {Preset("fast", 7e9, 1e-9)};
  const Diagnosis d = run.DiagnoseBy(PredictByBounds, offers);
  ASSERT_NE(Row(d, "storage to fast"), nullptr);
  EXPECT_THAT(Row(d, "storage to fast")->set,
              ElementsAre(Pair("storage", "{preset: fast, cache: {policy: lru, size: 1MB}}")));
}

TEST(WhatIf, ALatencyIsSharedByTheSamplesOfOneRead) {
  // One arm of 11.56 ms: 86.5 samples/s, 9.7 of 210 MB/s. The step needs 25,600, bandwidth allows
  // 1,864: reached to 99 % where latency / k <= 1 / 1846 s, from k = 21 on.
  const MadeRun run = [] {
    MadeRun made = RunBuilder::OnGpu(10 * kMs).Workers(16).Storage(210e6, 11.56 * kMs).Build();
    made.experiment.storage.queue_depth = 1;
    return made;
  }();
  const Diagnosis d = run.DiagnoseBy(PredictByBounds);
  const WhatIf* packed = Row(d, "32 samples in a read");
  ASSERT_NE(packed, nullptr);
  EXPECT_EQ(packed->takes, Takes::kCode);
  EXPECT_THAT(packed->set, ElementsAre(Pair("storage.latency", "361250ns")));
  EXPECT_NEAR(packed->gain, 210e6 / RunBuilder::kSampleBytes * 11.56 * kMs - 1, 1e-6);
}

TEST(WhatIf, TwoChangesTogetherWhereTheSecondOneLimitsNext) {
  // 52 ms of storage, 60 ms of preparing by 4 workers, a step of 10 ms: enough storage alone ends at
  // 15 ms, with 6 workers at the step.
  const MadeRun run = RunBuilder::OnGpu(10 * kMs).Storage(550e6, 1e-9).Wait(60 * kMs).Build();
  Offers offers;
  offers.presets.storages = {Preset("fast", 70e9, 1e-9)};
  const Diagnosis d = run.DiagnoseBy(PredictByBounds, offers);
  ASSERT_EQ(d.bottleneck, Verdict::kIoBound);
  const WhatIf* pair = Row(d, "storage to fast and workers 4 to 6");
  ASSERT_NE(pair, nullptr);
  EXPECT_EQ(pair->takes, Takes::kDevice);
  const double six_s = (60 * kMs + kBatchBytes / 70e9) / 6;
  EXPECT_NEAR(pair->gain, kBatchBytes / 550e6 / six_s - 1, 1e-3);
  EXPECT_EQ(d.recommendation->set, pair->set);
  EXPECT_EQ(d.recommendation->gain, pair->gain);
  EXPECT_THAT(d.recommendation->pytorch, ::testing::HasSubstr("num_workers=6"));
}

TEST(WhatIf, AGraphIsLaunchedOnce) {
  MadeRun run = RunBuilder::OnGpu(1 * kMs).Host(10 * kMs).Build();
  run.experiment.dataset.shape = {784};
  run.experiment.model.layers = {{.kind = spec::LayerKind::kLinear, .out = 10}};
  const int launches = cost::LaunchesOfStep(run.experiment.model, {784}, {});
  ASSERT_GT(launches, 10);
  const Diagnosis d = run.DiagnoseBy(PredictByBounds);
  EXPECT_EQ(d.bottleneck, Verdict::kLaunchBound);
  const WhatIf* graph = Row(d, "CUDA graph");
  ASSERT_NE(graph, nullptr);
  // 10 ms of launches become one of them: under the step.
  EXPECT_NEAR(graph->gain, 9, 0.01);
  EXPECT_THAT(d.recommendation->set, ElementsAre(Pair("model.cuda_graph", "true")));
  EXPECT_EQ(d.recommendation->gain, graph->gain);
}

TEST(WhatIf, APredictorsNoiseLiftsNoRowAboveItsCeiling) {
  const MadeRun run = RunBuilder::OnGpu(10 * kMs).Storage(550e6, 100e-6).Burn(51 * kMs).Build();
  // 3 % more for whatever is not now and not a ceiling.
  const Variant now = run.Now(), data = FreeData(now), compute = FreeCompute(now);
  const Predictor noisy = [&](const Variant& v) {
    return PredictByBounds(v) * (v == now || v == data || v == compute ? 1 : 1.03);
  };
  const Diagnosis d = run.DiagnoseBy(noisy);
  const double free_data = Row(d, "free data (upper bound)")->gain;
  const double free_compute = Row(d, "free compute (upper bound)")->gain;
  for (const char* row : {"workers 4 to 8", "storage x2", "prepare x1/2", "prefetch 2 to 4"})
    EXPECT_LE(Row(d, row)->gain, free_data) << row;
  EXPECT_LE(Row(d, "GPU x2")->gain, free_compute);
  for (const auto& row : d.what_if) {
    if (row.gain_interval) {
      EXPECT_LE(row.gain, row.gain_interval->high) << row.change;
    }
  }
}

TEST(WhatIf, ARunThatWasLuckyLiftsNoRowAboveItsDevice) {
  // 102 batches/s of which four workers make 100 on average; the device trains on 200.
  const MadeRun run =
      RunBuilder::OnGpu(5 * kMs).Workers(4).Wait(40 * kMs).Efficiency(1.02).HalfWidth(0.05).Build();
  int rows = 0;
  for (const WhatIf& row : run.DiagnoseBy(PredictByBounds).what_if) {
    if (!row.change.starts_with("workers 4 to")) continue;
    ++rows;
    EXPECT_LE(row.samples_per_s, 200 * 256 * (1 + 1e-9)) << row.change;
  }
  EXPECT_GT(rows, 0);
}

TEST(WhatIf, UpperBoundsTakeNothingAndAreNeverRecommended) {
  const Diagnosis d = RunBuilder::OnGpu(1 * kMs).Copy(10 * kMs).Build().DiagnoseBy(PredictByBounds);
  EXPECT_EQ(d.bottleneck, Verdict::kH2dBound);
  EXPECT_EQ(Row(d, "free copies (upper bound)")->takes, Takes::kNothing);
  // Pinned already: no flag helps, and the text says what the bound is.
  EXPECT_TRUE(d.recommendation->set.empty());
  EXPECT_THAT(d.recommendation->text, ::testing::HasSubstr("free copies (upper bound)"));
}

TEST(WhatIf, APredictorThatSeesContentionNamesFewerThreads) {
  const MadeRun run = RunBuilder::OnGpu(10 * kMs).Workers(8).Wait(20 * kMs).Build();
  const Predictor crowded = [](const Variant& v) {
    return PredictByBounds(v) * (v.settings.loader.workers > 6 ? 0.8 : 1);
  };
  const double rate = crowded(run.Now());
  MadeRun slow = run;
  slow.measurement.result.samples_per_s = rate;
  const Diagnosis d = slow.DiagnoseBy(crowded);
  EXPECT_EQ(d.bottleneck, Verdict::kCpuContention);
  EXPECT_THAT(d.recommendation->set, ElementsAre(Pair("loader.workers", "6")));
  EXPECT_NEAR(*d.recommendation->gain, 0.25, 1e-9);
}

/// A stated cost of 9 ms and 4 us a sample: 10.024 ms, and with twice the batch 11.048 ms.
MadeRun RunOfStatedStep() {
  MadeRun run = RunBuilder::OnGpu(10.024 * kMs).Build();
  run.measurement.effective.device = spec::DeviceId::Emulated();
  run.experiment.device.kind = spec::DeviceKind::kEmulated;
  run.experiment.device.step_base = base::Drawn<base::Duration>{base::Distribution::Fixed(9e6)};
  run.experiment.device.step_per_sample = {base::Distribution::Fixed(4e3)};
  return run;
}

TEST(WhatIf, BatchSizeIsListedMarkedAndNeverTheVerdict) {
  const Diagnosis d = RunOfStatedStep().DiagnoseBy(PredictByBounds);
  const WhatIf& batch = *Row(d, "batch 256 to 512");
  EXPECT_TRUE(batch.changes_training);
  EXPECT_NEAR(batch.gain, 2 * 10.024 / 11.048 - 1, 1e-9);
  EXPECT_EQ(d.bottleneck, Verdict::kComputeBound);
}

TEST(WhatIf, ALargerBatchIsNotOfferedWhereItsCommandWouldBeRefused) {
  const MadeRun run = RunOfStatedStep();
  spec::Experiment doubled = run.experiment;
  doubled.loader.batch_size *= 2;
  const std::int64_t needs = std::llround(cost::PlanMemory(doubled).Total());
  ASSERT_GT(needs, 0);
  const auto offers_it = [&](std::int64_t free) {
    cost::Pipeline pipeline = run.Pipeline();
    pipeline.machine.free_memory = base::Bytes{free};
    const Diagnosis d = Diagnose(run.experiment, run.measurement, pipeline, PredictByBounds);
    return Row(d, "batch 256 to 512") != nullptr;
  };
  EXPECT_TRUE(offers_it(needs));
  EXPECT_FALSE(offers_it(needs - 1));
}

TEST(WhatIf, ALargerBatchAlsoWaitsLongerForTheResultOfItsStep) {
  // host 0.5 + read-back 1 + 4 ms, of which 1 is the step: twice the batch takes 6.5 of 5.5 ms.
  const Diagnosis d = RunBuilder::OnGpu(1 * kMs).Host(0.5 * kMs).Sync(5 * kMs).Diagnose();
  EXPECT_NEAR(Row(d, "batch 256 to 512")->gain, 2 * 5.5 / 6.5 - 1, 1e-9);
}

TEST(WhatIf, ListsAWorkerCountOnlyWhereItGains) {
  const Diagnosis d = RunBuilder::OnGpu(15 * kMs).Workers(4).Burn(20 * kMs).Diagnose();
  EXPECT_NE(Row(d, "workers 4 to 8"), nullptr);
  EXPECT_EQ(Row(d, "workers 4 to 5"), nullptr);
}

TEST(WhatIf, OnACpuTheOptimizerDoesNotGrowWithTheBatch) {
  MadeRun run = RunBuilder::OnCpu(2.93 * kMs, 1).Host(0.07 * kMs).Build();
  auto& consumer = run.measurement.consumer;
  consumer.optimizer_s = consumer.compute_s * 0.43 / 2.93;
  const Diagnosis d = run.DiagnoseBy(PredictByBounds);
  // docs, example 2: 0.43 + 2 x 2.50 + 0.07 = 5.50 ms for 512 samples.
  EXPECT_NEAR(Row(d, "batch 256 to 512")->gain, 2 * 3.0 / 5.5 - 1, 1e-6);
  EXPECT_NEAR(Row(d, "device x2")->gain, 3.0 / 1.535 - 1, 1e-9);
}

TEST(WhatIf, GainsCarryTheNoiseOfTheMeasurement) {
  const Diagnosis d = RunBuilder::OnGpu(10 * kMs).Wait(80 * kMs).HalfWidth(0.04).Diagnose();
  // A step of 10 ms caps the gain of 20 ms a batch: with a step of 9.6 or 10.4 ms the cap moves.
  const auto& free_data = *Row(d, "free data (upper bound)")->gain_interval;
  EXPECT_NEAR(free_data.low, 20 * 0.96 / 10 - 1, 1e-9);
  EXPECT_NEAR(free_data.high, 20 / 9.6 - 1, 1e-9);
  EXPECT_EQ(free_data.level, 0.95);
  // The GPU waits for data whatever its own time was.
  EXPECT_EQ(Row(d, "GPU x2")->gain_interval->high, 0);
}

TEST(Evidence, PointsAtTheFieldsThatHoldItsNumbers) {
  const Diagnosis d =
      RunBuilder::OnGpu(10 * kMs).Storage(550e6, 100e-6).Burn(51.2 * kMs).Workers(4).Diagnose();
  ASSERT_EQ(d.bottleneck, Verdict::kIoBound);
  ASSERT_GE(d.evidence.size(), 3u);
  EXPECT_EQ(d.evidence[0].field, "workers.read_s");
  EXPECT_EQ(d.evidence[1].field, "resources.storage_bytes_per_s");
  EXPECT_EQ(d.evidence[1].text, "storage delivers 550 of its 550 MB/s");
  EXPECT_EQ(d.evidence[1].limit, 550e6);
  for (const auto& item : d.evidence) {
    if (!item.field.starts_with("diagnosis.what_if[")) continue;
    const auto index = static_cast<std::size_t>(std::stoul(item.field.substr(18)));
    EXPECT_EQ(item.value, d.what_if.at(index).gain);
  }
}

TEST(Evidence, HealthyTrainingShowsItsShareTheQueueAndTheCeiling) {
  MadeRun run = RunBuilder::OnCpu(2.93 * kMs, 1).Host(0.07 * kMs).Burn(1 * kMs).Build();
  run.measurement.queue.full_fraction = 0.93;
  const Diagnosis d = run.DiagnoseBy(PredictByBounds);
  ASSERT_EQ(d.evidence.size(), 3u);
  EXPECT_EQ(d.evidence[0].text, "98 % of each step is training");
  EXPECT_EQ(d.evidence[1].text, "the queue is full 93 % of the time");
  EXPECT_EQ(d.evidence[2].text, "free data would give nothing");
}

TEST(Evidence, AFullQueueAndAGainFromFreeDataMeanThatLoadingTakesCores) {
  // One core for steps of 3 ms and 1 ms of loading.
  MadeRun run = RunBuilder::OnCpu(2.93 * kMs, 1).Host(0.07 * kMs).Burn(1 * kMs).Cores(1).Build();
  run.measurement.queue.full_fraction = 0.99;
  const Diagnosis d = run.DiagnoseBy(PredictByBounds);
  ASSERT_EQ(d.bottleneck, Verdict::kComputeBound);
  ASSERT_EQ(d.evidence.size(), 3u);
  EXPECT_EQ(d.evidence[1].text, "the queue is full 99 % of the time");
  EXPECT_EQ(d.evidence[2].text, "loading takes cores from training: without it +33 %");
}

TEST(Recommendation, IsNoCommandThatGainsNothing) {
  // A training loop that loads, on one core: neither workers nor more cores help it.
  const Diagnosis d = RunBuilder::OnCpu(1 * kMs, 1).Workers(0).Cores(1).Burn(20 * kMs).Diagnose();
  EXPECT_EQ(d.bottleneck, Verdict::kCpuBound);
  ASSERT_TRUE(Row(d, "cores 1 to 2"));
  EXPECT_LT(Row(d, "cores 1 to 2")->gain, 0.01);
  EXPECT_THAT(d.recommendation->text, HasSubstr("prepare x1/2"));
  EXPECT_THAT(d.recommendation->text, Not(HasSubstr("cores")));
}

TEST(Ladder, IsUnsureBetweenFullAndNotFull) {
  const auto io = [](double share, double half_width) {
    MadeRun run = RunBuilder::OnGpu(15 * kMs).Storage(550e6, 0).HalfWidth(half_width).Build();
    run.measurement.resources.storage_utilization = share;
    return run.DiagnoseBy(PredictByBounds).ladder[2].full;
  };
  EXPECT_EQ(io(0.96, 0.007), Full::kYes);
  EXPECT_EQ(io(0.63, 0.007), Full::kNo);
  EXPECT_EQ(io(0.63, 0.31), Full::kUnsure);  // 0.63 x 1.31 = 0.83
  EXPECT_EQ(io(0.85, 0.007), Full::kUnsure);
}

TEST(Ladder, TheLimitOfRealFilesIsNotKnown) {
  MadeRun run = RunBuilder::OnGpu(15 * kMs).Build();
  run.experiment.storage.kind = spec::StorageKind::kFiles;
  const Diagnosis d = run.DiagnoseBy(PredictByBounds);
  EXPECT_EQ(d.ladder[2].full, Full::kUnknown);
  EXPECT_EQ(d.ladder[2].limit, std::nullopt);
}

TEST(DataLoaderText, NamesWhatDiffersFromPytorchsDefaults) {
  spec::Loader loader;
  loader.batch_size = 64;
  loader.shuffle = false;
  EXPECT_EQ(DataLoaderText(loader), "DataLoader(dataset, batch_size=64)");
  loader.workers = 6;
  loader.in_order = false;
  loader.pin_memory = loader.drop_last = loader.persistent_workers = true;
  loader.timeout = std::chrono::milliseconds(2500);
  EXPECT_EQ(DataLoaderText(loader),
            "DataLoader(dataset, batch_size=64, num_workers=6, prefetch_factor=2, pin_memory=True, "
            "drop_last=True, persistent_workers=True, in_order=False, timeout=2.5)");
}

TEST(DataLoaderText, SaysWhatPytorchLacks) {
  spec::Loader loader;
  loader.batch_size = 64;
  loader.shuffle = false;
  loader.dispatch = spec::Dispatch::kShared;
  EXPECT_EQ(DataLoaderText(loader), "DataLoader(dataset, batch_size=64)") << "nothing to dispatch";
  loader.workers = 2;
  const std::string call = "DataLoader(dataset, batch_size=64, num_workers=2, prefetch_factor=2)";
  EXPECT_EQ(DataLoaderText(loader), call + "  # PyTorch has no shared dispatch");
  loader.collate_into = spec::CollateInto::kPinned;
  EXPECT_EQ(DataLoaderText(loader), call + "  # PyTorch has no shared dispatch and no collating into pinned memory");
  loader.dispatch = spec::Dispatch::kRoundRobin;
  EXPECT_EQ(DataLoaderText(loader), call + "  # PyTorch has no collating into pinned memory");
}

}  // namespace
}  // namespace pipesim::diagnose::testing
