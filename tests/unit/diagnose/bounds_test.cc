// The bounds of design section 2: each alone, and the lowest of them.
#include <gtest/gtest.h>

#include <cmath>

#include "diagnose/diagnosis.h"

namespace pipesim::diagnose {
namespace {

/// Batches of one sample, so that samples/s are batches/s.
Scenario Empty() {
  Scenario s;
  s.demands.batch_samples = 1;
  s.cores = 8;
  s.workers = 4;
  s.device_asynchronous = true;
  return s;
}

TEST(Bounds, NothingToDoHasNoLimit) { EXPECT_TRUE(std::isinf(PredictByBounds(Empty()))); }

TEST(Bounds, NoSamplesMakeNoThroughput) {
  Scenario s = Empty();
  s.demands.batch_samples = 0;
  EXPECT_EQ(PredictByBounds(s), 0);
}

TEST(Bounds, AcceleratorsMultiplyWhatIsTheirOwnAndDivideWhatTheyShare) {
  Scenario s = Empty();
  s.accelerators = 8;
  s.demands.step_s = 0.010;
  EXPECT_DOUBLE_EQ(PredictByBounds(s), 8 / 0.010);
  s.demands.prepare_cpu_s = 0.020;
  EXPECT_DOUBLE_EQ(PredictByBounds(s), 8 / 0.020);  // 8 cores / cpu, not 8 x 4 workers / cycle
  s.demands.prepare_cpu_s = 0;
  s.demands.prepare_wait_s = 0.080;
  EXPECT_DOUBLE_EQ(PredictByBounds(s), 8 * 4 / 0.080);
  s.demands.bytes = 1e6;
  s.storage_bytes_per_s = 100e6;
  EXPECT_DOUBLE_EQ(PredictByBounds(s), 100);  // bandwidth / bytes, of all together
}

TEST(Bounds, WorkersShareTheLoading) {
  Scenario s = Empty();
  s.demands.read_s = 0.010;
  s.demands.prepare_wait_s = 0.020;
  s.demands.collate_s = 0.010;
  EXPECT_DOUBLE_EQ(PredictByBounds(s), 4 / 0.040);  // workers / cycle
}

TEST(Bounds, WithoutWorkersAnAsynchronousDeviceTrainsWhileTheHostLoads) {
  Scenario s = Empty();
  s.workers = 0;
  s.demands.prepare_cpu_s = 0.030;
  s.demands.host_s = 0.005;
  s.demands.step_s = 0.020;
  EXPECT_DOUBLE_EQ(PredictByBounds(s), 1 / 0.035);  // max(load + host, step)
  s.demands.step_s = 0.050;
  EXPECT_DOUBLE_EQ(PredictByBounds(s), 1 / 0.050);
}

TEST(Bounds, WithoutWorkersACpuDoesOneAfterTheOther) {
  Scenario s = Empty();
  s.workers = 0;
  s.device_asynchronous = false;
  s.demands.prepare_cpu_s = 0.030;
  s.demands.host_s = 0.005;
  s.demands.step_s = 0.020;
  EXPECT_DOUBLE_EQ(PredictByBounds(s), 1 / 0.055);
}

TEST(Bounds, OnACpuTrainingAndLoadingShareTheCores) {
  Scenario s = Empty();
  s.device_asynchronous = false;
  s.cores = 2;
  s.demands.prepare_cpu_s = 0.010;
  s.demands.step_s = 0.010;
  s.demands.step_cpu_s = 0.020;
  EXPECT_DOUBLE_EQ(PredictByBounds(s), 2 / 0.030);  // cores / CPU time
}

TEST(Bounds, BurningWorkersCannotUseMoreThanTheCores) {
  Scenario s = Empty();
  s.cores = 1;
  s.workers = 64;
  s.demands.prepare_cpu_s = 0.008;
  EXPECT_DOUBLE_EQ(PredictByBounds(s), 1 / 0.008);
}

TEST(Bounds, StorageGivesNoMoreThanItsBandwidthIopsAndQueueDepth) {
  Scenario s = Empty();
  s.demands.bytes = 1e6;
  s.demands.reads = 100;
  s.storage_bytes_per_s = 50e6;
  EXPECT_DOUBLE_EQ(PredictByBounds(s), 50);
  s.storage_reads_per_s = 4000;
  EXPECT_DOUBLE_EQ(PredictByBounds(s), 40);
  s.storage_parallel_reads = 3000;
  EXPECT_DOUBLE_EQ(PredictByBounds(s), 30);
}

TEST(Bounds, CopiesRunBesideTheStepOnlyWhereTheyMay) {
  Scenario s = Empty();
  s.demands.step_s = 0.010;
  s.demands.h2d_s = 0.006;
  EXPECT_DOUBLE_EQ(PredictByBounds(s), 1 / 0.010);
  s.copy_overlaps_step = false;
  EXPECT_DOUBLE_EQ(PredictByBounds(s), 1 / 0.016);
  s.copy_overlaps_step = true;
  s.in_flight = 1;  // no second buffer to copy into
  EXPECT_DOUBLE_EQ(PredictByBounds(s), 1 / 0.016);
}

TEST(Bounds, ACopyThatBlocksTheHostDelaysTheNextLaunch) {
  Scenario s = Empty();
  s.copy_blocks_host = true;
  s.demands.host_s = 0.008;
  s.demands.h2d_s = 0.006;
  EXPECT_DOUBLE_EQ(PredictByBounds(s), 1 / 0.014);
}

TEST(Bounds, PinningIsAStageOfItsOwnBesideWorkers) {
  Scenario s = Empty();
  s.demands.pin_s = 0.004;
  s.demands.step_s = 0.003;
  EXPECT_DOUBLE_EQ(PredictByBounds(s), 1 / 0.004);
}

TEST(Bounds, FasterStorageDoesNotShortenTheCpuPartOfReads) {
  Scenario s = Empty();
  s.demands.read_s = 0.010;
  s.demands.read_cpu_s = 0.004;
  s.storage_latency_factor = 0;
  EXPECT_DOUBLE_EQ(PredictByBounds(s), 4 / 0.004);
}

}  // namespace
}  // namespace pipesim::diagnose
