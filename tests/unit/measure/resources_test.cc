#include <gtest/gtest.h>

#include <cmath>

#include "measured.h"

namespace pipesim::measure {
namespace {

using tests::AddUse;
using tests::EvenUse;
using tests::ExperimentOf;
using tests::Ms;
using tests::Pipeline;
using tests::TraceOf;

Resources With(const EvenUse& use, const spec::Experiment& experiment, int readings = 21) {
  trace::RunTrace trace = TraceOf(Reading());
  AddUse(trace, use, readings);
  return Measured(trace, experiment).resources;
}

TEST(Resources, AreInterpolatedToTheWindowsBorders) {
  // Few readings, none at the window's borders: an even use still shows as it is.
  const Resources r =
      With({.cores = 2, .reads_per_s = 5000, .bytes_per_s = 4e6}, ExperimentOf(Reading()), 3);
  EXPECT_NEAR(*r.cores_used, 2, 1e-6);
  EXPECT_NEAR(*r.cpu_utilization, 0.25, 1e-6);
  EXPECT_NEAR(r.reads_per_s, 5000, 1);
  EXPECT_NEAR(r.storage_bytes_per_s, 4e6, 1e3);
}

TEST(Resources, TellOtherProgramsFromThisOne) {
  EXPECT_NEAR(*With({.cores = 2, .machine_cores = 2.5}, ExperimentOf(Reading())).foreign_cores, 0.5,
              1e-6);
  EXPECT_FALSE(With({.cores = 2}, ExperimentOf(Reading())).foreign_cores);
}

TEST(Resources, TellHowLongTheTrainersThreadsWantedACoreInVain) {
  const EvenUse use{.trainer_cores = 1.2, .trainer_wait_cores = 0.3};
  EXPECT_NEAR(*With(use, ExperimentOf(Reading())).trainer_contended_fraction, 0.2, 1e-6);
  EXPECT_FALSE(With({.cores = 2}, ExperimentOf(Reading())).trainer_contended_fraction);
}

TEST(Resources, OfTheStorageAreItsBusiestLimit) {
  spec::Experiment experiment = ExperimentOf(Reading());
  const EvenUse use{.reads_per_s = 1000, .bandwidth_busy = 0.6, .iops_busy = 0.7};
  EXPECT_FALSE(With(use, experiment).storage_utilization);  // no limit, nothing to be full
  experiment.storage.bandwidth = base::BytesPerSecond{1e8};
  EXPECT_NEAR(*With(use, experiment).storage_utilization, 0.6, 1e-6);
  experiment.storage.iops_per_s = 1000;
  EXPECT_NEAR(*With(use, experiment).storage_utilization, 0.7, 1e-6);
  experiment.storage.queue_depth = 4;
  experiment.storage.latency = {base::Distribution::Fixed(3.6e6)};
  // Little: 1,000 reads/s of 3.6 ms each hold 3.6 of 4 slots.
  EXPECT_NEAR(*With(use, experiment).storage_utilization, 0.9, 1e-3);
}

TEST(Resources, OfADiskAreWhatIostatShows) {
  // 200 reads/s of 4 kB, 5 ms each: one request in the disk on average, any in it half the time.
  trace::RunTrace trace = TraceOf(Reading());
  trace.effective.disk = "sda";
  for (base::Instant at = trace.begin; at <= trace.end; at += Ms(100)) {
    const double passed_s = base::ToSeconds(at - trace.begin);
    trace::ResourceSample sample;
    sample.at = at;
    sample.disk = base::DiskCounters{.reads = std::llround(200 * passed_s),
                                     .read_bytes = {std::llround(200 * 4096 * passed_s)},
                                     .reading = base::FromSeconds(passed_s),
                                     .busy = base::FromSeconds(0.5 * passed_s),
                                     .queued = base::FromSeconds(passed_s)};
    trace.resources.push_back(sample);
  }
  spec::Experiment experiment = ExperimentOf(Reading());
  experiment.storage.kind = spec::StorageKind::kFiles;
  const auto disk = Measured(trace, experiment).resources.disk;
  ASSERT_TRUE(disk);
  EXPECT_EQ(disk->name, "sda");
  EXPECT_NEAR(disk->reads_per_s, 200, 1);
  EXPECT_NEAR(disk->read_bytes_per_s, 200 * 4096, 4096);
  EXPECT_NEAR(*disk->await_s, 0.005, 1e-4);
  EXPECT_NEAR(disk->utilization, 0.5, 0.01);
  EXPECT_NEAR(disk->queue_length, 1, 0.01);
  EXPECT_FALSE(Measured(TraceOf(Reading()), experiment).resources.disk);
}

/// The GPU draws 100 W in the first half of the run and 300 W in the second.
trace::RunTrace WithGpu() {
  trace::RunTrace trace = TraceOf(Reading());
  AddUse(trace, {.cores = 1}, 101);
  for (trace::ResourceSample& sample : trace.resources) {
    const bool second = sample.at - trace.begin > (trace.end - trace.begin) / 2;
    sample.gpu = {.utilization = second ? 0.9 : 0.1,
                  .memory_used = {},
                  .power_w = second ? 300 : 100,
                  .sm_clock_mhz = 1980,
                  .memory_clock_mhz = {}};
  }
  trace.effective.gpu_limits.power_w = 700;
  return trace;
}

TEST(Resources, OfAGpuAreMeansOverTheMeasuredWindow) {
  trace::RunTrace trace = WithGpu();
  spec::Experiment experiment = ExperimentOf(Reading());
  experiment.run.warmup = (trace.end - trace.begin) * 6 / 10;
  const Resources r = Measured(trace, experiment).resources;
  ASSERT_TRUE(r.gpu);
  EXPECT_NEAR(*r.gpu->power_w, 300, 1e-9);
  EXPECT_NEAR(*r.gpu_utilization_nvml, 0.9, 1e-9);
  EXPECT_EQ(r.gpu->power_limit_w, 700);
  EXPECT_NEAR(*r.gpu->sm_clock_mhz, 1980, 1e-9);
  EXPECT_FALSE(r.gpu->memory_clock_mhz);
}

TEST(Resources, OfAGpuAreMeansOverTheRunWhereTheWindowHoldsNoReading) {
  trace::RunTrace trace = WithGpu();
  trace.resources.resize(1);
  EXPECT_EQ(Measured(trace, ExperimentOf(Reading())).resources.gpu->power_w, 100);
}

TEST(Resources, SplitCoresIntoLoadingAndTraining) {
  const Pipeline pipeline{.workers = 4, .prepare = Ms(8), .collate = Ms(2), .forward = Ms(10)};
  trace::RunTrace trace = TraceOf(pipeline);
  AddUse(trace, {.cores = 3});
  const Resources r = Measured(trace, ExperimentOf(pipeline)).resources;
  EXPECT_NEAR(*r.cores_used_loading, 1.0, 1e-6);  // 10 ms of each 10 ms step
  EXPECT_NEAR(*r.cores_used_training, 2.0, 1e-6);
}

TEST(Resources, AreUnknownWithoutReadings) {
  const Resources r = Measured(TraceOf(Reading()), ExperimentOf(Reading())).resources;
  EXPECT_EQ(r.cores, 8);
  EXPECT_FALSE(r.cores_used);
  EXPECT_FALSE(r.storage_utilization);
  EXPECT_FALSE(r.throttled_fraction);
  EXPECT_FALSE(r.gpu_utilization_nvml);
  EXPECT_FALSE(r.gpu);
  // One read a sample: 4 x 64 samples each 30 ms.
  EXPECT_NEAR(r.reads_per_s, 4 * 64 / 0.030, 1e-6);
}

TEST(Resources, AreUnknownWhenReadingsCoverLessThanHalfOfTheWindow) {
  trace::RunTrace trace = TraceOf(Reading());
  AddUse(trace, {.cores = 2});
  trace.resources.resize(8);
  EXPECT_FALSE(Measured(trace, ExperimentOf(Reading())).resources.cores_used);
}

TEST(Memory, TellsThePeakAndWhatTheQueueHolds) {
  trace::RunTrace trace = TraceOf(Reading());
  AddUse(trace, {}, 21);
  const Memory memory = Measured(trace, ExperimentOf(Reading())).memory;
  EXPECT_EQ(memory.rss_peak_bytes, 1'000'020);
  // 2 x 4 batches of 64 samples of 10 x 10 bytes.
  EXPECT_EQ(memory.queued_bytes, 8 * 64 * 100);
  EXPECT_FALSE(memory.device_peak_bytes);
}

TEST(TransferUse, CountsWhatGoesToADeviceOfItsOwn) {
  Pipeline pipeline{.workers = 1, .prepare = Ms(1), .transfer = Ms(1), .forward = Ms(5)};
  EXPECT_EQ(Measured(pipeline).transfer.bytes, 0);
  pipeline.asynchronous = true;
  const Measurement m = Measured(pipeline);
  EXPECT_EQ(m.transfer.bytes, m.result.samples * 100);
}

}  // namespace
}  // namespace pipesim::measure
