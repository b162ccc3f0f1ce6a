#include "measure/fit.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "base/stats.h"
#include "measured.h"
#include "support/drawn.h"

namespace pipesim::measure {
namespace {

using tests::ExperimentOf;
using tests::Fixed;
using tests::Ms;
using tests::Pipeline;
using tests::TraceOf;
using trace::Series;

/// Measured as the run was given `given`, then fitted.
cost::Pipeline Fitted(const trace::RunTrace& trace, const spec::Experiment& experiment,
                      const cost::Pipeline& given) {
  return Fit(trace, Measure(trace, experiment, given), experiment, given);
}
cost::Pipeline Fitted(const trace::RunTrace& trace, const spec::Experiment& experiment) {
  return Fitted(trace, experiment, cost::Stated(experiment));
}
cost::Pipeline Fitted(const Pipeline& pipeline) {
  return Fitted(TraceOf(pipeline), ExperimentOf(pipeline));
}

/// Batches of 64 samples of 100 bytes each once prepared, on a CUDA device.
Measurement OfBatches(const Demands& demands) {
  Measurement measurement;
  measurement.demands = demands;
  measurement.demands.batch_samples = 64;
  measurement.effective.device = spec::DeviceId::Cuda(0);
  measurement.effective.device_asynchronous = true;
  return measurement;
}
const base::Bytes kBatch{64 * 100};

cost::Pipeline Fitted(const Measurement& measurement) {
  const spec::Experiment experiment = ExperimentOf({});
  return Fit({}, measurement, experiment, cost::Stated(experiment));
}

TEST(Fit, LeavesEmulatedPartsAsTheyWereGiven) {
  const Pipeline run{.workers = 2,
                     .read = Ms(30),
                     .prepare = Ms(3),
                     .transfer = Ms(1),
                     .forward = Ms(5),
                     .asynchronous = true};
  spec::Experiment experiment = ExperimentOf(run);
  experiment.storage.latency = Fixed(Ms(0.1));
  experiment.storage.queue_depth = 3;
  experiment.prepare.cost = Fixed(Ms(0.04));
  experiment.device.step_base = Fixed(Ms(4));
  experiment.device.preset.emplace();
  experiment.device.preset->h2d_bandwidth = {1e6};
  const cost::Pipeline given = cost::Stated(experiment);
  const cost::Pipeline fitted = Fitted(TraceOf(run), experiment, given);
  EXPECT_EQ(fitted.samples, given.samples);
  EXPECT_EQ(fitted.storage, given.storage);
  EXPECT_EQ(fitted.prepare, given.prepare);
  EXPECT_EQ(fitted.transfer, given.transfer);
  EXPECT_EQ(fitted.step, given.step);
}

TEST(Fit, SaysWhichShareOfReadsTheCacheMissed) {
  Pipeline run{.workers = 2, .read = Ms(30), .read_cpu = Ms(2), .forward = Ms(5)};
  run.hits = [](std::int64_t) { return 0.75; };
  spec::Experiment experiment = ExperimentOf(run);
  experiment.storage.cache.policy = spec::CachePolicy::kLru;
  EXPECT_DOUBLE_EQ(Fitted(TraceOf(run), experiment).samples.miss_fraction, 0.25);
  run.hits = {};
  EXPECT_DOUBLE_EQ(Fitted(run).samples.miss_fraction, 1);
}

/// Two workers that read and decode real files, and a CPU that trains.
struct FromFiles {
  Pipeline run{.workers = 2, .batch_size = 4, .read = Ms(20), .prepare = Ms(12), .read_cpu = Ms(4)};
  spec::Experiment experiment;
  trace::RunTrace trace;

  FromFiles() {
    run.forward = Ms(1);
    experiment = ExperimentOf(run);
    experiment.storage.kind = spec::StorageKind::kFiles;
    experiment.prepare.kind = spec::PrepareKind::kDecode;
    trace = TraceOf(run);
  }
  /// Every second batch took `factor` times as long, the others as much less; the mean stays.
  void Spread(Series series, double share) {
    int which = 0;
    for (trace::Sampled& batch : trace.series[static_cast<std::size_t>(series)].kept)
      batch.value *= 1 + (which++ % 2 == 0 ? share : -share);
  }
};

TEST(Fit, GivesRealReadsTheirMeasuredLatencyAndCpuTime) {
  const FromFiles files;
  const cost::Storage storage = Fitted(files.trace, files.experiment).storage;
  EXPECT_TRUE(storage.present);
  EXPECT_EQ(storage.latency.Mean(), Ms(16) / 4);
  EXPECT_EQ(storage.read_cpu, Ms(4) / 4);
  EXPECT_FALSE(storage.bandwidth);
  EXPECT_FALSE(storage.queue_depth);
  EXPECT_DOUBLE_EQ(storage.AloneSeconds(4, 4000) + storage.CpuSeconds(4, 0), 0.020);
}

TEST(Fit, GivesDecodingItsMeasuredCostOfOneThread) {
  const FromFiles files;
  const cost::Prepare prepare = Fitted(files.trace, files.experiment).prepare;
  EXPECT_TRUE(prepare.UsesCores());
  EXPECT_FALSE(prepare.divisible);
  EXPECT_EQ(prepare.cost.Mean(), Ms(12) / 4);
  const double prepared = static_cast<double>(spec::PreparedBytes(files.experiment.dataset).count);
  EXPECT_NEAR(prepare.memory_bytes_per_s, prepared / 0.003, 1e-6);
}

TEST(Fit, SpreadsSamplesSoThatBatchesOfThemVaryAsMeasured) {
  // Batches of 4 take 12 ms +- 40 %: samples of 3 ms +- 80 %, as the sum of 4 varies half as much.
  FromFiles files;
  files.Spread(Series::kPrepareTime, 0.4);
  const auto cost = Fitted(files.trace, files.experiment).prepare.cost.in_units;
  EXPECT_NEAR(cost.Mean(), 3e6, 3e4);
  EXPECT_NEAR(base::Stdev(cost.values), 0.8 * 3e6, 0.01 * 3e6);
}

TEST(Fit, KeepsTheMeanWhereTheSpreadWouldTakeSamplesBelowZero) {
  FromFiles files;
  files.Spread(Series::kReadTime, 0.9);
  const auto latency = Fitted(files.trace, files.experiment).storage.latency.in_units;
  EXPECT_GE(*std::min_element(latency.values.begin(), latency.values.end()), 0);
  EXPECT_NEAR(latency.Mean(), 4e6, 0.01 * 4e6);
}

TEST(Fit, TakesTheMeanAloneOfTooFewBatches) {
  FromFiles files;
  files.Spread(Series::kPrepareTime, 0.4);
  files.trace.series[static_cast<std::size_t>(Series::kPrepareTime)].kept.resize(6);
  EXPECT_TRUE(Fitted(files.trace, files.experiment).prepare.cost.IsFixed());
}

TEST(Fit, TurnsCopiesIntoRates) {
  Demands demands;
  demands.collate_s = 0.002;
  demands.pin_s = 0.001;
  demands.h2d_s = 0.004;
  Measurement measurement = OfBatches(demands);
  measurement.effective.pinned = true;
  const cost::Pipeline pinned = Fitted(measurement);
  EXPECT_EQ(pinned.collate.Mean(kBatch, 1), Ms(2));
  EXPECT_EQ(pinned.pin.Time(kBatch), Ms(1));
  EXPECT_EQ(pinned.transfer.Time(kBatch, true), Ms(4));
  measurement.effective.pinned = false;
  EXPECT_EQ(Fitted(measurement).transfer.Time(kBatch, false), Ms(4));
  EXPECT_EQ(Fitted(measurement).transfer.Time(kBatch, true), Ms(2));  // not measured
  measurement.effective.pinned_copy = Ms(0.5);
  EXPECT_EQ(Fitted(measurement).transfer.Time(kBatch, false), Ms(4));
  EXPECT_EQ(Fitted(measurement).transfer.Time(kBatch, true), Ms(0.5));
}

TEST(Fit, KnowsWhatLimitsThreadsThatCopyAtOnce) {
  Demands demands;
  demands.collate_s = 0.002;
  EXPECT_EQ(Fitted(OfBatches(demands)).machine.memory, std::nullopt);
  demands.copying_limit = base::BytesPerSecond{9e6};
  Measurement measurement = OfBatches(demands);
  measurement.effective.cores = 4;
  const cost::Pipeline fitted = Fitted(measurement);
  EXPECT_EQ(fitted.machine.memory,
            (cost::SharedMemory{*fitted.collate.bandwidth, *demands.copying_limit, 4}));
}

TEST(Fit, TakesOverWhatBurningOnTwoThreadsCostsHere) {
  Measurement measurement = OfBatches({});
  measurement.effective.burn_handover = Ms(0.1);
  EXPECT_EQ(Fitted(measurement).machine.burn_handover, Ms(0.1));
}

TEST(Fit, TakesOverHowLongThePoolSpinsHereUnlessItHasTooManyThreadsToSpin) {
  Demands demands;
  demands.step_s = 0.002;
  Measurement measurement = OfBatches(demands);
  measurement.effective.cores = 2;
  measurement.effective.cpus = {0, 1};
  measurement.effective.device_asynchronous = false;
  measurement.effective.compute_threads = 2;
  measurement.effective.pool_spin = Ms(17);
  EXPECT_EQ(Fitted(measurement).machine.pool_spin, Ms(17));
  measurement.effective.compute_threads = 3;
  EXPECT_EQ(Fitted(measurement).machine.pool_spin, std::nullopt);
}

// A transformer on an H200: 6.03 ms of kernels, launched in 5.84 ms, took 6.34 ms; as a graph 6.03 ms.
TEST(Fit, KnowsWhatKernelsWaitForTheirLaunches) {
  Demands demands;
  demands.host_s = 0.00584;
  demands.step_s = 0.00603;
  Measurement measurement = OfBatches(demands);
  measurement.result.steps = 100;
  measurement.device = {.clock = "cuda events", .wall_s = 0.634, .launch_s = 0.031, .busy_s = 0.603};
  const auto gap = [&] { return base::ToSeconds(Fitted(measurement).step.gap); };
  EXPECT_NEAR(gap(), 0.00031, 1e-6);
  EXPECT_NEAR(base::ToSeconds(Fitted(measurement).step.Mean(64)), 0.00634, 1e-6);
  EXPECT_NEAR(base::ToSeconds(Fitted(measurement).step.Scaled(0.5).Mean(64)), 0.00603 / 2 + 0.00031,
              1e-6);
  measurement.device->wall_s += measurement.device->starved_s = 0.3;
  EXPECT_EQ(gap(), 0);  // a step that was waited for begins with its first launch
  measurement.device->starved_s = 0;
  measurement.demands.host_s = 0.0065;
  EXPECT_EQ(gap(), 0);  // the host launches too slowly: that is its own demand
  measurement.demands.host_s = 0.00584;
  // A window that begins with the set-up of libraries: 0.4 s once, on host and device.
  measurement.consumer.host_s = 0.984;
  measurement.device->launch_s = 0.431;
  EXPECT_NEAR(gap(), 0.00031, 1e-6);
}

TEST(Fit, LeavesFreeWhatWasNotMeasured) {
  const cost::Pipeline fitted = Fitted(OfBatches({}));
  EXPECT_EQ(fitted.collate, cost::Collate{});
  EXPECT_EQ(fitted.pin, cost::Pin{});
  EXPECT_EQ(fitted.transfer, cost::Transfer{});
  EXPECT_EQ(fitted.host, cost::Host{});
  EXPECT_EQ(fitted.step.Mean(64), Ms(0));
  EXPECT_EQ(fitted.step.source, cost::Source::kFree);
}

TEST(Fit, OfAGpuIsItsMeasuredStep) {
  Demands demands;
  demands.step_s = 0.010;
  demands.host_s = 0.003;
  Measurement measurement = OfBatches(demands);
  measurement.effective.device_name = "Big One";
  measurement.effective.device_memory = base::Bytes{1 << 30};
  const cost::Pipeline fitted = Fitted(measurement);
  EXPECT_FALSE(fitted.step.on_cpu());
  EXPECT_EQ(fitted.step.Mean(64), Ms(10));
  EXPECT_EQ(fitted.step.source, cost::Source::kRun);
  EXPECT_EQ(fitted.step.device_name, "Big One");
  EXPECT_EQ(fitted.step.device_memory, base::Bytes{1 << 30});
  EXPECT_EQ(fitted.step.launch, Ms(3));  // kernels run while others are launched
  EXPECT_EQ(fitted.host.step, Ms(0));
}

TEST(Fit, OfACpuSplitsItsStepIntoTheOptimizersPartAndTheBatchs) {
  const Pipeline run{
      .workers = 2, .prepare = Ms(2), .forward = Ms(3), .backward = Ms(3), .optimizer = Ms(2)};
  const cost::Step step = Fitted(run).step;
  EXPECT_EQ(step.threads, 1);
  const auto near = [](Duration time, double ms) {
    EXPECT_NEAR(base::ToSeconds(time), ms * 1e-3, 1e-5);
  };
  near(step.Mean(64), 8);
  near(step.Mean(32), 2 + 3);
  near(step.Mean(128), 2 + 12);
}

TEST(Fit, OfACpuKnowsItsThreadsTheirCpuTimeAndTheStepOnOne) {
  const Pipeline run{.workers = 4, .prepare = Ms(8), .forward = Ms(10)};
  trace::RunTrace trace = TraceOf(run);
  trace.effective.compute_threads = 4;
  trace.effective.device_step = Ms(6);
  trace.effective.step_cpu = Ms(20);
  trace.effective.step_on_one_thread = Ms(19);
  const cost::Step step = Fitted(trace, ExperimentOf(run)).step;
  EXPECT_EQ(step.threads, 4);
  EXPECT_NEAR(*step.cpu_per_wall, 20.0 / 6, 1e-6);
  EXPECT_EQ(step.MeanOn(64, 4), Ms(6));
  EXPECT_EQ(step.MeanOn(64, 2), Ms(12));
  EXPECT_EQ(step.MeanOn(64, 1), Ms(19));  // not 4 x 6
}

TEST(Fit, TakesLaunchesOutOfTheHostsWorkWhereTheyAreGiven) {
  const Pipeline run{.workers = 1, .host = Ms(3), .forward = Ms(1), .asynchronous = true};
  cost::Pipeline given = cost::Stated(ExperimentOf(run));
  given.step.launch = Ms(1);
  EXPECT_NEAR(base::ToSeconds(Fitted(TraceOf(run), ExperimentOf(run), given).host.step), 0.002,
              1e-5);
  given.step.launch = Ms(5);
  EXPECT_EQ(Fitted(TraceOf(run), ExperimentOf(run), given).host.step, Ms(0));
}

TEST(Fit, ReadingAResultBackCostsWhatWaitingForTheStepsInFlightDoesNotExplain) {
  spec::Experiment experiment = ExperimentOf({});
  experiment.training.sync_every = 4;
  experiment.device.in_flight = 2;
  Demands demands;
  demands.step_s = 0.010;
  demands.sync_s = 0.006;  // 24 ms each time, of which two steps take 20
  Measurement measurement = OfBatches(demands);
  EXPECT_EQ(Fit({}, measurement, experiment, cost::Stated(experiment)).host.read_back, Ms(4));
  measurement.demands.sync_s = 0.004;
  EXPECT_EQ(Fit({}, measurement, experiment, cost::Stated(experiment)).host.read_back, Ms(0));
  // Each step: it began with the 4 ms of its launches, so 6 are left when they end.
  experiment.training.sync_every = 1;
  measurement.demands.host_s = 0.004;
  measurement.demands.sync_s = 0.007;
  EXPECT_EQ(Fit({}, measurement, experiment, cost::Stated(experiment)).host.read_back, Ms(1));
  // The device waits 5 ms for each copy, which began with the launches.
  measurement.demands.sync_s = 0.012;
  measurement.device = Device{.wall_s = 0.2, .busy_s = 0.1, .transfer_s = 0.05};
  measurement.result.steps = 10;
  EXPECT_EQ(Fit({}, measurement, experiment, cost::Stated(experiment)).host.read_back, Ms(1));
  measurement.device.reset();
  measurement.demands.host_s = 0.011;
  measurement.demands.sync_s = 0.0005;
  EXPECT_EQ(Fit({}, measurement, experiment, cost::Stated(experiment)).host.read_back, Ms(0.5));
}

TEST(Fit, RunsOnTheCoresThatTheRunHad) {
  EXPECT_EQ(Fitted(Pipeline{.forward = Ms(1)}).machine.cores, 8);
  Measurement measurement = OfBatches({});
  measurement.resources.cores = 2.5;
  EXPECT_EQ(Fitted(measurement).machine.cores, 2.5);
}

/// A step of 5 ms on one thread beside another program that held `others` of two cores.
cost::Pipeline BesideOthers(double others, double step_s, spec::OmpWait wait,
                            std::optional<Duration> slice = std::nullopt,
                            std::optional<double> one_thread_s = 0.005, const measure::Workers& workers = {}) {
  spec::Experiment experiment = ExperimentOf({});
  experiment.limits.omp_wait = wait;
  Measurement measurement = OfBatches({});
  measurement.effective.device = spec::DeviceId::Cpu();
  measurement.effective.device_asynchronous = false;
  measurement.effective.compute_threads = 2;
  measurement.effective.cpus = {0, 1};
  measurement.resources.cores = 2;
  measurement.resources.foreign_cores = others;
  measurement.demands.step_s = step_s;
  measurement.demands.step_one_thread_s = one_thread_s;
  measurement.workers = workers;
  cost::Pipeline given = cost::Stated(experiment);
  given.machine.barrier_slice = slice;
  return Fit({}, measurement, experiment, given);
}

TEST(Fit, KnowsTheCoresThatOtherProgramsHeldAndTheQuota) {
  const auto machine = BesideOthers(0.5, 0.006, spec::OmpWait::kDefault).machine;
  EXPECT_EQ(machine.others, (cost::OtherPrograms{.wanted = 1, .held = 0.5}));
  EXPECT_EQ(machine.processors, 2);
  EXPECT_EQ(BesideOthers(0.003, 0.006, spec::OmpWait::kDefault).machine.others,
            cost::OtherPrograms{});
}

TEST(Fit, OtherProgramsKeepWhatTheyHeldAgainstThreadsThatWaitedForCores) {
  const auto share = [](double used, double runnable, double peers, double foreign = 1.5) {
    Measurement measurement = OfBatches({});
    measurement.effective.cpus = {0, 1};
    measurement.resources.cores = 2;
    measurement.resources.foreign_cores = foreign;
    measurement.resources.cores_used = used;
    measurement.resources.runnable_threads = runnable;
    measurement.resources.peer_cores = peers;
    return Fitted(measurement).machine.others.share;
  };
  EXPECT_DOUBLE_EQ(share(0.5, 2, 0), 0.75);
  EXPECT_DOUBLE_EQ(share(0.01, 2, 0, 2), 0.9);  // by a coarse clock: something was left
  EXPECT_DOUBLE_EQ(share(0.5, 0.5, 0), 0.5);  // they wanted no more
  EXPECT_DOUBLE_EQ(share(0.2, 2, 0), 0.5);    // a core was idle
  EXPECT_DOUBLE_EQ(share(0.5, 2, 1.5), 0.5);  // of the run's own group, thread by thread
}

TEST(Fit, SeesInTheStepThatAnotherProgramHoldsACoreForGood) {
  // Workers took 0.1 of its core; but a step of 5 ms takes 160 ms, 20 barriers of two slices.
  const auto fitted = BesideOthers(0.9, 0.160, spec::OmpWait::kDefault, Ms(4));
  EXPECT_EQ(fitted.step.barriers, 20);
  EXPECT_DOUBLE_EQ(fitted.machine.others.held, 1);
  // Half of the time: as the counters say.
  EXPECT_NEAR(BesideOthers(0.5, 0.006, spec::OmpWait::kDefault, Ms(4)).machine.others.held, 0.5,
              0.05);
}

TEST(Fit, TakesTheOtherProgramsOutOfTheStep) {
  const auto step = [](double others, double step_s, spec::OmpWait wait) {
    return base::ToSeconds(BesideOthers(others, step_s, wait).step.Mean(64));
  };
  const auto spins = spec::OmpWait::kDefault, sleeps = spec::OmpWait::kPassive;
  EXPECT_NEAR(step(0, 0.003, spins), 0.003, 1e-9);
  EXPECT_NEAR(step(0.5, 0.006, spins), 0.003, 1e-9);      // it got on for half of the time
  EXPECT_NEAR(step(1, 0.128, spins), 0.0025, 1e-9);       // no faster than half of one thread
  EXPECT_NEAR(step(0.9, 0.128, spins), 0.005, 1e-9);      // no slower than one thread
  EXPECT_NEAR(step(1, 0.006, sleeps), 0.003, 1e-9);       // one core for two threads
}

TEST(Fit, OfAStepBesideOthersThatIsUnknownOnOneThreadKeepsTheRunsRate) {
  // 400 ms where two threads share a core: at least half of it is theirs.
  const auto fitted = BesideOthers(1, 0.400, spec::OmpWait::kDefault, Ms(4), std::nullopt);
  EXPECT_EQ(fitted.step.Mean(64), Ms(200));
  EXPECT_EQ(fitted.step.barriers, 50);
}

TEST(Fit, CountsTheSlicesThatWorkersTookAtEachBarrier) {
  // Of four workers two wanted a core at any time: four slices at each barrier instead of two.
  measure::Workers workers{.count = 4, .wall_s = 40, .prepare_s = 5, .collate_s = 5, .contended_s = 10};
  EXPECT_EQ(BesideOthers(1, 0.160, spec::OmpWait::kDefault, Ms(4), 0.005, workers).step.barriers, 10);
  EXPECT_EQ(BesideOthers(1, 0.160, spec::OmpWait::kDefault, Ms(4), 0.005).step.barriers, 20);
}

TEST(Fit, OfARunWithoutMeasurementIsWhatItWasGiven) {
  const Pipeline run{.steps = 0, .prepare = Ms(3)};
  cost::Pipeline given = cost::Stated(ExperimentOf(run));
  given.collate.bandwidth = base::BytesPerSecond{1e9};
  given.machine.cores = 8;
  EXPECT_EQ(Fitted(TraceOf(run), ExperimentOf(run), given), given);
}

}  // namespace
}  // namespace pipesim::measure
