// The bounds of design section 2: each alone, and the lowest of them.
#include <gtest/gtest.h>

#include <chrono>
#include <cmath>

#include "diagnose/demands.h"

namespace pipesim::diagnose {
namespace {

using namespace std::chrono_literals;

base::Drawn<base::Duration> Fixed(base::Duration time) {
  return {base::Distribution::Fixed(static_cast<double>(time.count()))};
}

/// Batches of one sample of 1 MB, so that samples/s are batches/s.
Variant Empty() {
  Variant v;
  v.settings.loader.batch_size = 1;
  v.settings.loader.workers = 4;
  v.settings.loader.pin_memory = true;
  v.pipeline.machine.cores = 8;
  v.pipeline.samples.stored = {base::Distribution::Fixed(1e6)};
  v.pipeline.samples.prepared = base::Bytes{1'000'000};
  return v;
}

void SetStep(Variant& v, base::Duration time) {
  v.pipeline.step.cost = cost::StatedStep{.base = Fixed(time), .per_sample = {}};
}
void SetPrepare(Variant& v, cost::Prepare::Kind kind, base::Duration time) {
  v.pipeline.prepare = {.kind = kind, .cost = Fixed(time)};
}
/// A rate at which the sample takes this long.
base::BytesPerSecond Taking(base::Duration time) { return {1e6 / base::ToSeconds(time)}; }

constexpr auto kCpu = cost::Prepare::Kind::kCpu;
constexpr auto kWait = cost::Prepare::Kind::kWait;

TEST(Bounds, NothingToDoHasNoLimit) { EXPECT_TRUE(std::isinf(PredictByBounds(Empty()))); }

TEST(Bounds, AcceleratorsMultiplyWhatIsTheirOwnAndDivideWhatTheyShare) {
  Variant v = Empty();
  v.settings.accelerators = 8;
  SetStep(v, 10ms);
  EXPECT_DOUBLE_EQ(PredictByBounds(v), 8 / 0.010);
  SetPrepare(v, kCpu, 20ms);
  EXPECT_DOUBLE_EQ(PredictByBounds(v), 8 / 0.020);  // 8 cores / cpu, not 8 x 4 workers / cycle
  SetPrepare(v, kWait, 80ms);
  EXPECT_DOUBLE_EQ(PredictByBounds(v), 8 * 4 / 0.080);
  v.pipeline.storage.present = true;
  v.pipeline.storage.bandwidth = base::BytesPerSecond{100e6};
  EXPECT_DOUBLE_EQ(PredictByBounds(v), 100);  // bandwidth / bytes, of all together
}

// 17 batches, the last of a quarter of the samples: the rounds of the workers decide how long an epoch takes.
TEST(Bounds, OverWholeEpochsAsManyWorkersCountAsItsBatchesKeepBusy) {
  Variant v = Empty();
  SetPrepare(v, kWait, 1ms);
  v.settings.loader.batch_size = 100;
  v.settings.epoch_samples = 1625;
  const auto rate = [&](int workers) {
    v.settings.loader.workers = workers;
    return PredictByBounds(v);
  };
  EXPECT_DOUBLE_EQ(rate(1), 1000);
  EXPECT_DOUBLE_EQ(rate(8), 1625 / 0.225) << "16 in two rounds, the last alone in a third";
  EXPECT_DOUBLE_EQ(rate(9), 1625 / 0.2);
  EXPECT_DOUBLE_EQ(rate(16), 1625 / 0.125);
  EXPECT_DOUBLE_EQ(rate(17), 1625 / 0.1);
  EXPECT_DOUBLE_EQ(rate(500), 1625 / 0.1);
  v.settings.loader.drop_last = true;
  EXPECT_DOUBLE_EQ(rate(16), 1600 / 0.1);
  v.settings.loader.dispatch = spec::Dispatch::kShared;
  EXPECT_DOUBLE_EQ(rate(9), 1600 / 0.2) << "batches of equal costs end in rounds, whoever takes them";
  v.pipeline.prepare.cost = {{.kind = base::DistributionKind::kLognormal, .mean = 1e6, .stdev = 1e6, .values = {}}};
  EXPECT_DOUBLE_EQ(rate(9), 900 / 0.1) << "whoever is free takes the next batch";
  EXPECT_DOUBLE_EQ(rate(500), 1600 / 0.1);
}

TEST(Bounds, WorkersShareTheLoading) {
  Variant v = Empty();
  v.pipeline.storage.present = true;
  v.pipeline.storage.latency = Fixed(10ms);
  SetPrepare(v, kWait, 20ms);
  v.pipeline.collate.batch = 10ms;
  EXPECT_DOUBLE_EQ(PredictByBounds(v), 4 / 0.040);  // workers / cycle
}

/// A worker process sends for 5 ms, its batch is received in 4 ms.
Variant OfProcesses() {
  Variant v = Empty();
  v.settings.loader.kind = spec::LoaderKind::kProcess;
  v.settings.loader.pin_memory = false;
  v.pipeline.hand_over.processes = true;
  v.pipeline.hand_over.send.batch = Fixed(5ms);
  v.pipeline.hand_over.receive.batch = Fixed(4ms);
  return v;
}

TEST(Bounds, ProcessesSendAndTheTrainerReceives) {
  Variant v = OfProcesses();
  v.settings.loader.workers = 1;
  SetPrepare(v, kCpu, 15ms);
  EXPECT_DOUBLE_EQ(PredictByBounds(v), 1 / 0.020);  // workers / (s + send)
  v.settings.loader.workers = 8;
  EXPECT_DOUBLE_EQ(PredictByBounds(v), 1 / 0.004);  // 1 / receive
  v.pipeline.step.threads = 1;
  SetStep(v, 1ms);
  EXPECT_DOUBLE_EQ(PredictByBounds(v), 1 / 0.005);  // 1 / (receive + step)
  v.pipeline.machine.cores = 2;
  EXPECT_DOUBLE_EQ(PredictByBounds(v), 2 / 0.025);  // cores / CPU time
  v.settings.loader.workers = 0;
  EXPECT_DOUBLE_EQ(PredictByBounds(v), 1 / 0.016);
}

TEST(Bounds, ProcessesSendWhileTheyWait) {
  Variant v = OfProcesses();
  v.settings.loader.workers = 1;
  SetPrepare(v, kCpu, 15ms);
  v.pipeline.prepare.wait = Fixed(3ms);
  EXPECT_DOUBLE_EQ(PredictByBounds(v), 1 / 0.020);  // workers / (s + max(wait, send))
  v.pipeline.prepare.wait = Fixed(7ms);
  EXPECT_DOUBLE_EQ(PredictByBounds(v), 1 / 0.022);
}

TEST(Demands, ReceivingIsTheHostsWorkOrThePinThreads) {
  Variant v = OfProcesses();
  EXPECT_TRUE(IsThere(v, Demand::kOtherHost));
  EXPECT_FALSE(IsThere(v, Demand::kTransfer));
  EXPECT_TRUE(std::isinf(PredictByBounds(Free(Free(v, Demand::kOtherHost), Demand::kLoadingCpu))));
  v.settings.loader.pin_memory = true;
  EXPECT_FALSE(IsThere(v, Demand::kOtherHost));
  EXPECT_TRUE(IsThere(v, Demand::kTransfer));
  EXPECT_TRUE(std::isinf(PredictByBounds(Free(Free(v, Demand::kTransfer), Demand::kLoadingCpu))));
  v.settings.loader.workers = 0;
  EXPECT_FALSE(IsThere(v, Demand::kTransfer)) << "nothing is handed over";
}

TEST(Bounds, WithoutWorkersAnAsynchronousDeviceTrainsWhileTheHostLoads) {
  Variant v = Empty();
  v.settings.loader.workers = 0;
  SetPrepare(v, kCpu, 30ms);
  v.pipeline.host.step = 5ms;
  SetStep(v, 20ms);
  EXPECT_DOUBLE_EQ(PredictByBounds(v), 1 / 0.035);  // max(load + host, step)
  SetStep(v, 50ms);
  EXPECT_DOUBLE_EQ(PredictByBounds(v), 1 / 0.050);
}

TEST(Bounds, WithoutWorkersACpuDoesOneAfterTheOther) {
  Variant v = Empty();
  v.settings.loader.workers = 0;
  v.pipeline.step.threads = 1;
  SetPrepare(v, kCpu, 30ms);
  v.pipeline.host.step = 5ms;
  SetStep(v, 20ms);
  EXPECT_DOUBLE_EQ(PredictByBounds(v), 1 / 0.055);
}

TEST(Bounds, OnACpuTrainingAndLoadingShareTheCores) {
  Variant v = Empty();
  v.pipeline.machine.cores = 2;
  v.pipeline.step.threads = 2;
  v.pipeline.step.cpu_per_wall = 2;
  SetPrepare(v, kCpu, 10ms);
  SetStep(v, 10ms);
  EXPECT_DOUBLE_EQ(PredictByBounds(v), 2 / 0.030);  // cores / CPU time
}

TEST(Bounds, FewerComputeThreadsTakeTheirShareOfTheWorkLonger) {
  Variant v = Empty();
  v.pipeline.step.threads = 4;
  SetStep(v, 10ms);
  v.settings.limits.compute_threads = 2;
  EXPECT_DOUBLE_EQ(PredictByBounds(v), 1 / 0.020);
  v.pipeline.step.one_thread = cost::StepTable(std::vector<spec::StepPoint>{{1, 15ms}});
  EXPECT_DOUBLE_EQ(PredictByBounds(v), 1 / 0.015);  // no slower than one thread was measured
}

TEST(Bounds, BurningWorkersCannotUseMoreThanTheCores) {
  Variant v = Empty();
  v.pipeline.machine.cores = 1;
  v.settings.loader.workers = 64;
  SetPrepare(v, kCpu, 8ms);
  EXPECT_DOUBLE_EQ(PredictByBounds(v), 1 / 0.008);
}

TEST(Bounds, StorageGivesNoMoreThanItsBandwidthIopsAndQueueDepth) {
  Variant v = Empty();
  v.settings.loader.workers = 1000;
  v.pipeline.storage.present = true;
  v.pipeline.storage.bandwidth = base::BytesPerSecond{50e6};
  EXPECT_DOUBLE_EQ(PredictByBounds(v), 50);
  v.pipeline.storage.iops_per_s = 40;
  EXPECT_DOUBLE_EQ(PredictByBounds(v), 40);
  v.pipeline.storage.latency = Fixed(100ms);
  v.pipeline.storage.queue_depth = 3;
  EXPECT_DOUBLE_EQ(PredictByBounds(v), 30);
}

TEST(Bounds, AnIopsPaceCostsAWorkerNothingWhilePreparingIsSlower) {
  Variant v = Empty();
  v.settings.loader.workers = 1;
  v.pipeline.storage.present = true;
  v.pipeline.storage.iops_per_s = 1000;
  SetPrepare(v, kWait, 8ms);
  EXPECT_DOUBLE_EQ(PredictByBounds(v), 1 / 0.008);
  v.settings.loader.workers = 16;
  EXPECT_DOUBLE_EQ(PredictByBounds(v), 1000);
}

TEST(Bounds, CopiesRunBesideTheStepOnlyWhereTheyMay) {
  Variant v = Empty();
  SetStep(v, 10ms);
  v.pipeline.transfer.bandwidth = Taking(6ms);
  EXPECT_DOUBLE_EQ(PredictByBounds(v), 1 / 0.010);
  v.settings.transfer.overlap = false;
  EXPECT_DOUBLE_EQ(PredictByBounds(v), 1 / 0.016);
  v.settings.transfer.overlap = true;
  v.settings.in_flight = 1;  // no second buffer to copy into
  EXPECT_DOUBLE_EQ(PredictByBounds(v), 1 / 0.016);
}

TEST(Bounds, ACopyThatBlocksTheHostDelaysTheNextLaunch) {
  Variant v = Empty();
  v.settings.transfer.non_blocking = false;
  v.pipeline.host.step = 8ms;
  v.pipeline.transfer.bandwidth = Taking(6ms);
  EXPECT_DOUBLE_EQ(PredictByBounds(v), 1 / 0.014);
  v.settings.transfer.non_blocking = true;
  v.settings.loader.pin_memory = false;  // pageable: half as fast, and it blocks
  EXPECT_DOUBLE_EQ(PredictByBounds(v), 1 / 0.020);
}

TEST(Bounds, ReadingResultsBackWaitsForTheStep) {
  Variant v = Empty();
  v.pipeline.host.step = 2ms;
  SetStep(v, 10ms);
  v.settings.sync_every = 1;
  EXPECT_DOUBLE_EQ(PredictByBounds(v), 1 / 0.012);
  v.settings.sync_every = 10;  // every tenth step; in between the device alone limits
  EXPECT_DOUBLE_EQ(PredictByBounds(v), 1 / 0.010);
}

TEST(Bounds, PinningIsAStageOfItsOwnBesideWorkers) {
  Variant v = Empty();
  v.pipeline.pin.bandwidth = Taking(4ms);
  SetStep(v, 3ms);
  EXPECT_DOUBLE_EQ(PredictByBounds(v), 1 / 0.004);
}

TEST(Bounds, CollatingIntoPinnedMemoryNeedsNoPinStageAndCopiesAsFast) {
  Variant v = Empty();
  v.pipeline.pin.bandwidth = Taking(4ms);
  v.pipeline.transfer.bandwidth = Taking(3ms);
  v.settings.loader.collate_into = spec::CollateInto::kPinned;
  EXPECT_DOUBLE_EQ(PredictByBounds(v), 1 / 0.003);
  v.settings.loader.pin_memory = false;
  EXPECT_DOUBLE_EQ(PredictByBounds(v), 1 / 0.003);
}

TEST(Bounds, FasterStorageDoesNotShortenTheCpuPartOfReads) {
  Variant v = Empty();
  v.pipeline.storage.present = true;
  v.pipeline.storage.latency = Fixed(6ms);
  v.pipeline.storage.read_cpu = 4ms;
  EXPECT_DOUBLE_EQ(PredictByBounds(v), 4 / 0.010);
  EXPECT_DOUBLE_EQ(PredictByBounds(Free(v, Demand::kStorage)), 4 / 0.004);
}

}  // namespace
}  // namespace pipesim::diagnose
