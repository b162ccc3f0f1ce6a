// What predictions of ordinary pipelines advise: the change, its figure and its command belong together, and each names
// what really limits.
#include <gmock/gmock.h>

#include "diagnose/what_if.h"
#include "experiments.h"
#include "measure/rates.h"
#include "measure/repeats.h"

namespace pipesim::predict {
namespace {

using diagnose::Verdict;
using testing::HasSubstr;
using testing::Not;

/// On this many cores of the shipped default profile.
Prediction On(double cores, const std::string& yaml) {
  Basis basis;
  basis.profile = spec::ReadMachineProfile("default", "--profile", kFolders);
  basis.cores_here = cores;
  return Predict(Read(yaml), basis, nullptr);
}

const diagnose::WhatIf& Row(const Prediction& prediction, std::string_view change) {
  const auto& rows = prediction.diagnosis.what_if;
  const auto at = diagnose::FindRow(rows, change);
  if (!at) throw std::runtime_error("no such row: " + std::string(change));
  return rows[*at];
}

/// Accelerators that meet after each step, over one storage. `run`: its keys but for the barrier.
std::string Unet3d(int samples, int workers, const std::string& run) {
  return "dataset: {samples: " + std::to_string(samples) + R"(, shape: [1448, 1448], dtype: uint8,
  sample_bytes: {distribution: normal, mean: 146579449B, stdev: 48973490B}}
storage: {preset: nvme, sharing: fair}
prepare: none
loader: {kind: process, batch_size: 7, prefetch_factor: 1, persistent_workers: true, drop_last: true, shuffle: true,
  workers: )" + std::to_string(workers) + R"(}
device: {emulated: {base: 323ms}, in_flight: 1}
run: {barrier: true, )" + run + "}\n";
}

TEST(Advice, FewerReadersOfAStorageThatAllShareAreNoMatterOfCores) {
  // Each epoch begins with as many reads at once as there are workers: the fewer, the sooner the first batch.
  const auto prediction = On(2, Unet3d(7000, 48, "accelerators: 2, epochs: 5"));
  EXPECT_NE(prediction.diagnosis.bottleneck, Verdict::kCpuContention);
}

TEST(Advice, AnEpochOfAcceleratorsThatMeetCountsFromItsBegin) {
  // Four of its eight steps are made before the first one trains.
  const auto prediction = On(32, Unet3d(168, 4, "accelerators: 3, epochs: 1"));
  EXPECT_EQ(prediction.diagnosis.bottleneck, Verdict::kIoBound);
  // nvme: 7 GB/s
  EXPECT_LT(prediction.measurement.result.samples_per_s.value(), 7e9 / 146579449);
}

/// The setting that is recommended, predicted by itself, over what was promised of it.
double KeptPromise(double cores, const std::string& yaml) {
  Basis basis;
  basis.profile = spec::ReadMachineProfile("default", "--profile", kFolders);
  basis.cores_here = cores;
  const auto recommended = *Predict(Read(yaml), basis, nullptr).diagnosis.recommendation;
  std::vector<spec::Override> flags;
  for (const auto& [path, value] : recommended.set) flags.push_back({path, value, "--set"});
  const Prediction made = Predict(Read(yaml, flags), basis, nullptr);
  return made.measurement.result.samples_per_s.value() / recommended.samples_per_s.value();
}

TEST(Advice, IsReachedByThoseWhoFollowItHoweverLongItTakesToPredict) {
  // Many workers that read one sample after another: hundreds of events a batch, and epochs of few windows.
  EXPECT_NEAR(KeptPromise(8, R"(
storage: {latency: 5ms, bandwidth: 500MB/s}
prepare: 2ms
model: cnn
loader: {kind: process, workers: 2, batch_size: 256}
device: cpu
)"), 1, 0.04);
  EXPECT_NEAR(KeptPromise(8, R"(
storage: {latency: 20ms, bandwidth: 1GB/s}
prepare: 2ms
model: cnn
loader: {workers: 8, batch_size: 32}
device: {emulated: {preset: a100}}
)"), 1, 0.04);
  // The run ends within its first epoch; with so many workers an epoch's start is a quarter of it.
  EXPECT_NEAR(KeptPromise(8, R"(
storage: {latency: 20ms, bandwidth: 1GB/s}
model: transformer
loader: {workers: 2, batch_size: 512}
device: {emulated: {preset: a100}}
)"), 1, 0.04);
}

TEST(Advice, OfEpochsThatFoundTheCacheFullIsOfAFullCache) {
  // So many samples that whole epochs of each change take too long to simulate, and the first one reads the disk.
  const std::string filled = R"(
storage: {preset: hdd, cache: {size: 1GB}}
prepare: 1ms
model: mlp
loader: {workers: 4, batch_size: 64}
device: cpu
)";
  EXPECT_NEAR(KeptPromise(8, filled), 1, 0.04);
  const auto prediction = On(8, filled);
  EXPECT_NEAR(Row(prediction, "storage x2").gain, 0, 0.01);
  EXPECT_GT(Row(prediction, "prepare x1/2").gain, 0.5);
}

TEST(Advice, TheBestOfManyThreadsIsFoundHoweverLongEachTakesToPredict) {
  EXPECT_NEAR(KeptPromise(32, R"(
storage: ram
prepare: 1ms
model: mlp
loader: {workers: 16, batch_size: 64}
device: cpu
run: {accelerators: 4}
)"), 1, 0.04);
}

TEST(Advice, ProcessesThatCostTrainingMoreThanTheyLoadAreNoMatterOfALoaderSetting) {
  // That they start anew each epoch costs a twentieth; that the trainer takes batches over from them, more than half.
  const std::string handed_over = R"(
prepare: none
model: mlp
loader: {kind: process, workers: 8, batch_size: 64}
device: {emulated: {preset: rtx-4060}}
)";
  EXPECT_EQ(On(32, handed_over).diagnosis.bottleneck, Verdict::kCpuContention);
  EXPECT_NEAR(KeptPromise(32, handed_over), 1, 0.04);
}

TEST(Advice, NoMoreWorkersAreOfferedThanTheSearchForEnoughAllows) {
  const auto prediction = On(16, R"(
prepare: 3ms
model: mlp
loader: {workers: 16, batch_size: 512}
device: cpu
)");
  for (const auto& row : prediction.diagnosis.what_if) {
    if (row.after.limits.compute_threads) continue;  // which leaves cores to them
    EXPECT_LE(row.after.loader.workers, 32) << row.change;
  }
}

TEST(Advice, WhatACacheServesIsNoMatterOfItsStorage) {
  const auto with = [](const std::string& workers) {
    return On(8, R"(
dataset: {samples: 5000, sample_bytes: 10kB, shape: [100]}
storage: {preset: hdd, cache: {size: 60MB, warm: 1}}
prepare: 500us
loader: {batch_size: 64, workers: )" + workers + "}\ndevice: {emulated: {base: 1ms}}\n").diagnosis;
  };
  const diagnose::Diagnosis few = with("2");
  EXPECT_EQ(few.bottleneck, Verdict::kLoaderBound);
  EXPECT_GE(few.enough.value().workers, 7);
  EXPECT_GE(with("12").enough.value().workers, 7);
}

TEST(Advice, AFigureStandsBesideTheFlagThatItIsOf) {
  const auto prediction = On(1, "device: {emulated: {preset: rtx-4060}}\nmodel: mlp\nloader: {workers: 8}\n");
  const auto& recommended = *prediction.diagnosis.recommendation;
  ASSERT_THAT(recommended.text, HasSubstr("CUDA graph; beyond that, "));
  EXPECT_THAT(recommended.text, Not(HasSubstr("cores 1 to 2")));
  EXPECT_DOUBLE_EQ(*recommended.gain, Row(prediction, "CUDA graph").gain);
}

TEST(Advice, AStorageOfFewReadsASecondNeedsMoreOfThemNotBytes) {
  const auto prediction = On(8, R"(
storage: {latency: 1ms, iops: 2000, queue_depth: 4}
model: mlp
loader: {workers: 4, batch_size: 64}
device: {emulated: {base: 8ms}}
)");
  EXPECT_EQ(prediction.diagnosis.bottleneck, Verdict::kIoBound);
  EXPECT_THAT(prediction.diagnosis.recommendation->text, HasSubstr("(from 2,000 reads/s to at least 8,000)"));
}

TEST(Advice, FewerThreadsOfTheTrainerAreALineOfItsProgram) {
  const auto prediction = On(4, R"(
model: mlp
loader: {workers: 4, batch_size: 64}
device: cpu
limits: {cpus: 4, compute_threads: 4}
)");
  const auto& recommended = *prediction.diagnosis.recommendation;
  ASSERT_EQ(recommended.set.front().first, "limits.compute_threads");
  EXPECT_EQ(recommended.pytorch, "torch.set_num_threads(" + recommended.set.front().second + ")");
}

TEST(Advice, CopiesInLineWithTheStepAreNoMatterOfPinning) {
  const char* yaml = R"(
dataset: {samples: 20000, sample_bytes: 3072B, shape: [3, 224, 224], dtype: uint8, classes: 10}
storage: ram
prepare: none
loader: {workers: 8, batch_size: 256, pin_memory: true}
limits: {cpus: 16}
transfer: {overlap: false, non_blocking: false}
model: linear
device: {emulated: {preset: rtx-4060}}
)";
  const auto prediction = On(16, yaml);
  EXPECT_EQ(prediction.diagnosis.bottleneck, Verdict::kH2dBound);
  EXPECT_THAT(prediction.diagnosis.headline, HasSubstr("copying batches to the device"));
}

TEST(Advice, TheNextLimitIsWhatTheChangedPipelineIsLimitedBy) {
  // Without persistent workers each epoch waits 0.3 s, which bounds do not know.
  const auto prediction = On(8, R"(
dataset: {samples: 640, sample_bytes: 3072B, shape: [3, 32, 32], dtype: uint8, classes: 10}
storage: ram
prepare: {kind: wait, cost: 100us}
loader: {workers: 2, batch_size: 32, worker_startup: 300ms}
model: mlp
device: {emulated: {base: 20ms}}
)");
  EXPECT_EQ(Row(prediction, "emulated device x2").then, Verdict::kLoaderBound);
  EXPECT_EQ(Row(prediction, "persistent workers").then, Verdict::kComputeBound);
}

TEST(Advice, WorkersThatStartInEachEpochAreLoaderBoundHoweverLongIsMeasured) {
  // Of an epoch of 1.55 s training waits 0.3 s; the rate of 3 to 6 s depends on how many starts fall into them.
  for (const char* duration : {"3s", "4s", "5s", "6s", "30s"}) {
    const auto prediction = On(2, std::string(R"(
dataset: {samples: 2000, sample_bytes: 784B, shape: [1, 28, 28], dtype: uint8}
storage: ram
prepare: {kind: wait, cost: 2ms}
loader: {workers: 4, batch_size: 8, worker_startup: 300ms}
device: {emulated: {base: 5ms}}
run: {duration: )") + duration + "}\n");
    EXPECT_EQ(prediction.diagnosis.bottleneck, Verdict::kLoaderBound) << duration;
    EXPECT_THAT(prediction.diagnosis.recommendation->text, HasSubstr("persistent workers")) << duration;
  }
}

TEST(Advice, TwoLoaderSettingsThatGainMoreTogetherAreRecommendedTogether) {
  // An epoch of 64 batches at 10 workers takes 0.26 s, and starting these one after another 0.12 s.
  const auto prediction = On(16, R"(
dataset: {samples: 4096, sample_bytes: 784B, shape: [1, 28, 28], dtype: uint8}
storage: none
prepare: {kind: burn, cost: 625us}
loader: {kind: process, workers: 2, batch_size: 64, worker_startup: 60ms, worker_launch: 12ms}
device: {emulated: {base: 4ms}}
)");
  ASSERT_EQ(prediction.diagnosis.bottleneck, Verdict::kLoaderBound);
  const auto& recommended = *prediction.diagnosis.recommendation;
  EXPECT_THAT(recommended.set, testing::Contains(testing::Key("loader.workers")));
  EXPECT_THAT(recommended.set, testing::Contains(testing::Key("loader.persistent_workers")));
  EXPECT_THAT(recommended.pytorch, HasSubstr("persistent_workers=True"));
}

TEST(Advice, MoreWorkersThatStayAreRecommendedWhereNeitherGainsAlone) {
  // Of 4 batches of 64 ms each; a worker takes 300 ms of a core to start, in each epoch unless it stays.
  const std::string pipeline = R"(
dataset: {samples: 128, sample_bytes: 2kB}
storage: none
prepare: {kind: wait, cost: 2ms}
device: {emulated: {base: 100us}}
)";
  for (const int workers : {0, 1}) {
    const std::string loader = "loader: {kind: process, batch_size: 32, worker_startup: 300ms, worker_launch: 10ms, ";
    const auto prediction = On(2, pipeline + loader + "workers: " + std::to_string(workers) + "}\n");
    ASSERT_EQ(prediction.diagnosis.bottleneck, Verdict::kLoaderBound) << workers;
    const auto& recommended = *prediction.diagnosis.recommendation;
    EXPECT_THAT(recommended.set, testing::Contains(testing::Pair("loader.persistent_workers", "true")));
    EXPECT_THAT(recommended.set, testing::Contains(testing::Key("loader.workers")));
    const auto made = On(2, pipeline + loader + "persistent_workers: true, workers: " +
                                recommended.set.front().second + "}\n");
    const double rate = *made.measurement.result.samples_per_s;
    EXPECT_NEAR(*recommended.samples_per_s, rate, 0.03 * rate) << workers;
  }
}

TEST(Advice, TheSameTwoChangesAreOneRow) {
  const auto rows = On(16, R"(
storage: sata-ssd
prepare: none
model: mlp
loader: {workers: 2, batch_size: 256, in_order: false, worker_startup: 100ms}
device: {emulated: {preset: rtx-4060}}
run: {epochs: 2}
)").diagnosis.what_if;
  for (auto row = rows.begin(); row != rows.end(); ++row) {
    const auto again = std::find_if(row + 1, rows.end(), [&](const diagnose::WhatIf& other) {
      return !row->set.empty() && std::ranges::is_permutation(other.set, row->set);
    });
    EXPECT_EQ(again, rows.end()) << row->change;
  }
}

TEST(Advice, NoPartLeadsThatGainsLessThanAnotherByAMeasurementTooShortToRank) {
  const auto prediction = On(2, R"(
dataset: {samples: 4000, sample_bytes: 10KiB}
storage: sata-ssd
prepare: {kind: wait, cost: 1ms}
loader: {workers: 30, batch_size: 56}
device: {emulated: {base: 2ms}}
run: {duration: 500ms, warmup: 0}
)");
  EXPECT_GT(Row(prediction, "free data (upper bound)").gain, 0.3);
  EXPECT_NE(prediction.diagnosis.bottleneck, Verdict::kComputeBound);
}

constexpr const char* kLargeBatches = R"(
storage: ram
prepare: {kind: wait, cost: 2744us}
loader: {workers: 32, batch_size: 256, persistent_workers: true}
device: {emulated: {base: 24ms}}
)";

TEST(Predict, EpochsOfLargeBatchesAreCountedWithTheirStarts) {
  // Of an epoch of 12 s the first batch takes 0.7 s.
  const std::string epochs = std::string("dataset: {samples: 131072, sample_bytes: 1KiB}\n") + kLargeBatches;
  const Prediction automatic = On(4, epochs), long_run = On(4, epochs + "run: {steps: 10240}\n");
  EXPECT_NEAR(*automatic.measurement.result.samples_per_s, *long_run.measurement.result.samples_per_s,
              0.005 * *long_run.measurement.result.samples_per_s);
}

TEST(Predict, AcceleratorsThatFinishAFewBurstsCountByTheStepsOfBoth) {
  // A disk of 86.5 reads/s for both; the batches of all workers, or of an epoch, come at once.
  for (const int epochs : {1, 2, 3, 4}) {
    const auto prediction = On(32, R"(
dataset: {samples: 640, sample_bytes: 600kB}
storage: hdd
prepare: {kind: burn, cost: 1ms}
loader: {workers: 8, batch_size: 64}
device: {emulated: {base: 1ms}}
run: {accelerators: 2, epochs: )" + std::to_string(epochs) + "}\n");
    EXPECT_NEAR(*prediction.measurement.result.samples_per_s, 86.5, 0.03 * 86.5) << epochs;
    EXPECT_EQ(prediction.diagnosis.bottleneck, Verdict::kIoBound) << epochs;
  }
}

TEST(Advice, FewerThreadsOfAStatedStepAreFewerThanItIsStatedFor) {
  const std::string pipeline = R"(
dataset: {samples: 100000}
storage: ram
prepare: {kind: burn, cost: 20us}
loader: {workers: 4, batch_size: 64}
)";
  const auto prediction = On(4, pipeline + "device: {name: cpu, step: {base: 1ms}}\n");
  const auto& row = Row(prediction, "compute threads 4 to 3");
  EXPECT_THAT(row.set, testing::Contains(testing::Pair("device.step.threads", "4")));
  const auto made =
      On(4, pipeline + "device: {name: cpu, step: {base: 1ms, threads: 4}}\nlimits: {compute_threads: 3}\n");
  EXPECT_NEAR(row.samples_per_s, *made.measurement.result.samples_per_s, 0.02 * row.samples_per_s);
}

TEST(Advice, FewerThreadsThanAnEstimateIsForTakeWhatTheProfileMeasured) {
  const std::string pipeline = R"(
dataset: {samples: 100000}
storage: none
prepare: none
loader: {workers: 2, batch_size: 32}
model: mlp
device: cpu
)";
  const auto prediction = On(32, pipeline + "limits: {compute_threads: 32}\n");
  const auto made = On(32, pipeline + "limits: {compute_threads: 1}\n");
  const auto& row = Row(prediction, "compute threads 32 to 1");
  EXPECT_NEAR(row.samples_per_s, *made.measurement.result.samples_per_s, 0.02 * row.samples_per_s);
}

TEST(Predict, ARateAboveItsBoundsEndsTooThoughNothingMoreIsSimulated) {
  // Every read of the warm cache hits, which the bounds leave out.
  const auto prediction = On(2, R"(
dataset: {samples: 60000, sample_bytes: 3kB}
storage: {preset: hdd, cache: {size: 153MB, warm: 1}}
prepare: {kind: wait, cost: 56us}
loader: {workers: 1, batch_size: 64}
device: {emulated: {base: 200us}}
)");
  EXPECT_LT(prediction.measurement.result.steps, 1'000'000);
}

TEST(Predict, APrecisionThatWasAskedForIsReached) {
  Basis basis;
  basis.profile = spec::ReadMachineProfile("default", "--profile", kFolders);
  basis.precision = 0.005;
  for (int seed = 1; seed <= 3; ++seed) {
    const Prediction prediction = Predict(Read(R"(
dataset: {samples: 100000}
storage: none
prepare: {kind: wait, cost: {distribution: gamma, mean: 2ms, stdev: 6ms}}
loader: {workers: 4, batch_size: 8}
device: {emulated: {base: 3ms}}
run: {seed: )" + std::to_string(seed) + "}\n"),
                                          basis, nullptr);
    EXPECT_LE(*measure::RelativeHalfWidth(prediction.measurement.result), 1.1 * *basis.precision) << seed;
  }
}

TEST(Advice, AStepThatTheLoopWaitsInCannotBeLeftUnread) {
  const auto rows = [](const std::string& device) {
    return On(8, "prepare: {kind: wait, cost: 100us}\nloader: {workers: 0}\nmodel: {name: mlp, sync_every: 1}\n" + device)
        .diagnosis.what_if;
  };
  EXPECT_FALSE(diagnose::FindRow(rows("device: {emulated: {base: 8ms}}\n"), "no sync"));
  EXPECT_TRUE(diagnose::FindRow(rows("device: {emulated: {preset: rtx-4060}}\n"), "no sync"));
}

TEST(Advice, APipelineThatTakesYearsIsPredictedAndOneThatTakesCenturiesFails) {
  const auto rate = [](const std::string& more) {
    return On(2, "prepare: {kind: wait, cost: 10h}\nloader: {workers: 2}\ndevice: {emulated: {base: 1ms}}\n" + more)
        .measurement;
  };
  EXPECT_NEAR(*rate("").result.samples_per_s, 2 / 36000.0, 1e-8);
  const measure::Measurement failed = rate("run: {steps: 1000000}\n");
  EXPECT_FALSE(measure::Finished(failed.result));
  EXPECT_THAT(failed.failure, HasSubstr("more than a century"));
}

}  // namespace
}  // namespace pipesim::predict
