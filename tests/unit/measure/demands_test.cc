#include <gtest/gtest.h>

#include "measured.h"

namespace pipesim::measure {
namespace {

using tests::AddUse;
using tests::ExperimentOf;
using tests::Ms;
using tests::Pipeline;
using tests::TraceOf;

TEST(Demands, AreTheCostsOfABatchWithoutContentionOrWaiting) {
  const Pipeline pipeline{.workers = 2,
                          .read = Ms(1),
                          .prepare = Ms(3),
                          .contended = Ms(5),
                          .collate = Ms(2),
                          .transfer = Ms(0.5),
                          .host = Ms(0.25),
                          .forward = Ms(1),
                          .backward = Ms(3),
                          .sync = Ms(0.125),
                          .asynchronous = true};
  const Demands d = Measured(pipeline).demands;
  EXPECT_EQ(d.batch_samples, 64);
  EXPECT_NEAR(*d.prepare_cpu_s, 0.003, 1e-9);
  EXPECT_EQ(*d.prepare_wait_s, 0);
  EXPECT_NEAR(*d.collate_s, 0.002, 1e-9);
  EXPECT_NEAR(*d.h2d_s, 0.0005, 0.00001);
  EXPECT_NEAR(*d.host_s, 0.00025, 0.00001);
  EXPECT_NEAR(*d.sync_s, 0.000125, 0.00001);
  EXPECT_NEAR(*d.step_s, 0.004, 1e-6);
  EXPECT_EQ(*d.step_cpu_s, 0);
  EXPECT_EQ(*d.pin_s, 0);
}

// resnet50 from a hard disk on an H200: 5 steps in 7 s, the first with a second of cuDNN's set-up.
TEST(Demands, OfAGpusHostDoNotHoldTheSetUpOfItsLibraries) {
  const Pipeline pipeline{.workers = 8,
                          .steps = 5,
                          .read = Ms(1000),
                          .host = Ms(5),
                          .forward = Ms(30),
                          .set_up = Ms(1000),
                          .asynchronous = true};
  trace::RunTrace trace = TraceOf(pipeline);
  spec::Experiment experiment = ExperimentOf(pipeline);
  experiment.run.warmup = Duration::zero();
  const auto host_s = [&] { return *Measured(trace, experiment).demands.host_s; };
  EXPECT_NEAR(host_s(), 0.205, 1e-6);  // an emulated device has no libraries
  trace.effective.device = spec::DeviceId::Cuda(0);
  EXPECT_NEAR(host_s(), 0.005, 1e-6);
  experiment.run.warmup = Ms(2100);  // the first step has gone
  EXPECT_NEAR(host_s(), 0.005, 1e-6);
}

// 32 workers burning on 16 cores beside a launch-bound mlp: the trainer's threads waited for a core
// half of the time, all of it inside calls to CUDA.
TEST(Demands, OfAGpusHostDoNotHoldItsWaitForACore) {
  const Pipeline pipeline{.workers = 2, .host = Ms(4), .forward = Ms(1), .asynchronous = true};
  trace::RunTrace trace = TraceOf(pipeline);
  tests::AddUse(trace, {.trainer_cores = 0.45, .trainer_wait_cores = 0.15}, 21);
  const auto host_s = [&] { return *Measured(trace, ExperimentOf(pipeline)).demands.host_s; };
  EXPECT_NEAR(host_s(), 0.004, 1e-6);  // beside an emulated device each wait is known
  trace.effective.device = spec::DeviceId::Cuda(0);
  EXPECT_NEAR(host_s(), 0.003, 1e-6);
}

TEST(Demands, PutWaitingPreparationApartFromCpuWork) {
  const Pipeline pipeline{.workers = 2, .prepare = Ms(3), .forward = Ms(4)};
  spec::Experiment experiment = ExperimentOf(pipeline);
  experiment.prepare.kind = spec::PrepareKind::kWait;
  const Demands d = Measured(TraceOf(pipeline), experiment).demands;
  EXPECT_NEAR(*d.prepare_wait_s, 0.003, 1e-9);
  EXPECT_EQ(*d.prepare_cpu_s, 0);
}

TEST(Demands, OfEmulatedReadingAreThoseOfOneWorkerAlone) {
  spec::Experiment experiment = ExperimentOf(Reading());
  experiment.storage.latency = {base::Distribution::Fixed(100e3)};
  experiment.storage.bandwidth = base::BytesPerSecond{8e6};
  const Demands d = Measured(TraceOf(Reading()), experiment).demands;
  EXPECT_EQ(d.reads, 64);
  EXPECT_EQ(d.bytes, 64'000);
  // 64 latencies of 100 us, then 64,000 B at 8 MB/s.
  EXPECT_NEAR(*d.read_s, 64 * 100e-6 + 0.008, 1e-9);
  experiment.storage.iops_per_s = 1000;
  // The pace of 64 reads at 1,000 a second outlasts latencies and bytes together.
  EXPECT_NEAR(*Measured(TraceOf(Reading()), experiment).demands.read_s, 0.064, 1e-9);
}

TEST(Demands, OfReadingBehindACacheAreItsMissesAndTheCopiesOfItsHits) {
  Pipeline pipeline = Reading();
  pipeline.read_cpu = Ms(2);
  pipeline.hits = [](std::int64_t) { return 0.75; };
  spec::Experiment experiment = ExperimentOf(pipeline);
  experiment.storage.latency = {base::Distribution::Fixed(100e3)};
  experiment.storage.cache.policy = spec::CachePolicy::kLru;
  const Demands d = Measured(TraceOf(pipeline), experiment).demands;
  EXPECT_EQ(d.reads, 16);
  EXPECT_EQ(d.bytes, 16'000);
  EXPECT_NEAR(*d.read_cpu_s, 0.002, 1e-9);
  EXPECT_NEAR(*d.read_s, 16 * 100e-6 + 0.002, 1e-9);
}

TEST(Demands, OfRealReadingAreAsMeasured) {
  Pipeline pipeline = Reading();
  pipeline.read_cpu = Ms(2);
  spec::Experiment experiment = ExperimentOf(pipeline);
  experiment.storage.kind = spec::StorageKind::kFiles;
  const Demands d = Measured(TraceOf(pipeline), experiment).demands;
  EXPECT_NEAR(*d.read_s, 0.030, 1e-9);
  EXPECT_NEAR(*d.read_cpu_s, 0.002, 1e-9);
}

TEST(Demands, TakeBytesPerReadFromTheStorageCounters) {
  trace::RunTrace trace = TraceOf(Reading());
  AddUse(trace, {.reads_per_s = 1000, .bytes_per_s = 3e6});
  EXPECT_NEAR(Measured(trace, ExperimentOf(Reading())).demands.bytes, 64 * 3000, 64 * 3);
}

TEST(Demands, OfAMeanBatchWhereTheLastIsPartial) {
  const Pipeline pipeline{.workers = 0, .epoch_batches = 2, .last_batch = 32, .forward = Ms(1)};
  EXPECT_EQ(Measured(pipeline).demands.batch_samples, 48);
}

// Batches of 64 samples each, collated in 4 ms by each of 8 workers, one every 10 ms.
TEST(Demands, KnowWhatAllCoresCopyAtOnce) {
  const Pipeline pipeline{.workers = 8, .collate = Ms(4), .forward = Ms(10)};
  trace::RunTrace trace = TraceOf(pipeline);
  trace.effective.cores = 8;
  const spec::Experiment experiment = ExperimentOf(pipeline);
  const auto batch_bytes = 64 * static_cast<double>(spec::PreparedBytes(experiment.dataset).count);
  const auto limit = [&](double speedup) {
    trace.effective.copying_speedup = speedup;
    return Measured(trace, experiment).demands.copying_limit;
  };
  EXPECT_EQ(Measured(trace, experiment).demands.copying_limit, std::nullopt);
  EXPECT_EQ(limit(7.5), std::nullopt);  // nearly as fast as eight alone
  // A copy took 4 ms beside 7/8 of 8 workers that copied 0.4 of the time, together: 0.35 others. If 8
  // copies at once take 4 times as long as one, each other adds 3/7 of the time of one alone.
  const double alone_s = 0.004 / (1 + 3.0 / 7 * 0.35);
  EXPECT_NEAR(limit(2)->per_s / (2 * batch_bytes / alone_s), 1, 0.01);
  EXPECT_NEAR(*Measured(trace, experiment).demands.collate_s, alone_s, 3e-5);
}

TEST(Demands, OfTrainingOnTheCpuAreWhatTheProcessUsedBeyondLoading) {
  const Pipeline pipeline{.workers = 4, .prepare = Ms(8), .forward = Ms(10)};
  trace::RunTrace trace = TraceOf(pipeline);
  trace.effective.compute_threads = 4;
  const auto fit = [&] { return Measured(trace, ExperimentOf(pipeline)).demands; };
  EXPECT_NEAR(*fit().step_cpu_s, 4 * 0.010, 1e-4);  // the bound, without counters
  EXPECT_NE(fit().step_cpu_method.find("upper bound"), std::string::npos);
  AddUse(trace, {.cores = 3});
  // 3 cores for 10 ms a step, of which preparing takes 8 ms.
  EXPECT_NEAR(*fit().step_cpu_s, 3 * 0.010 - 0.008, 1e-4);
  EXPECT_EQ(fit().step_cpu_method.find("upper bound"), std::string::npos);
}

TEST(Demands, OfTrainingOnTheCpuComeFromTheTrainersThreadsWhereTheKernelTellsThemApart) {
  const Pipeline pipeline{.workers = 4, .prepare = Ms(8), .forward = Ms(10)};
  trace::RunTrace trace = TraceOf(pipeline);
  trace.effective.compute_threads = 4;
  AddUse(trace, {.cores = 3, .trainer_cores = 1.5, .trainer_wait_cores = 0.1});
  EXPECT_NEAR(*Measured(trace, ExperimentOf(pipeline)).demands.step_cpu_s, 1.5 * 0.010, 1e-4);
}

TEST(Demands, OfAStepThatWasRepeatedAloneHoldNoWaiting) {
  const Pipeline pipeline{.workers = 4, .prepare = Ms(8), .forward = Ms(10)};
  trace::RunTrace trace = TraceOf(pipeline);
  trace.effective.compute_threads = 4;
  trace.effective.device_step = Ms(6);
  trace.effective.step_cpu = Ms(20);
  trace.effective.step_on_one_thread = Ms(19);
  AddUse(trace, {.cores = 3, .trainer_cores = 2.5, .trainer_wait_cores = 0.1});
  const Demands d = Measured(trace, ExperimentOf(pipeline)).demands;
  EXPECT_NEAR(*d.step_s, 0.006, 1e-9);
  EXPECT_NEAR(*d.step_cpu_s, 0.020, 1e-9);
  EXPECT_NEAR(*d.step_one_thread_s, 0.019, 1e-9);
  trace.effective.device_step = Ms(11);  // a noisy moment: it cannot be longer than beside workers
  EXPECT_NEAR(*Measured(trace, ExperimentOf(pipeline)).demands.step_s, 0.010, 1e-6);
}

TEST(Demands, AreNotThereWithoutMeasurement) {
  const Pipeline pipeline{.steps = 0};
  const Demands d = Measured(pipeline).demands;
  EXPECT_FALSE(d.step_s);
  EXPECT_FALSE(d.prepare_cpu_s);
  EXPECT_FALSE(d.read_s);
}

}  // namespace
}  // namespace pipesim::measure
