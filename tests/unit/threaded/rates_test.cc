// Rates and time partitions as shares, independent of the machine's speed.
#include <gtest/gtest.h>

#include <algorithm>

#include "pipeline.h"

namespace pipesim::engine {
namespace {

/// Steps per second between the first and the last step, corrected for the contention of the
/// threads of `limiting` as recorded in the trace.
double UndisturbedRate(const trace::RunTrace& trace, Role limiting) {
  const trace::Checkpoint &first = trace.progress.front(), &last = trace.progress.back();
  const auto threads = std::count_if(trace.threads.begin(), trace.threads.end(),
                                     [&](const auto& each) { return each.role == limiting; });
  const Duration disturbed =
      trace::TimeIn(trace, limiting, State::kContended, first.at, last.at) / threads;
  return static_cast<double>(last.steps - first.steps) /
         base::ToSeconds(last.at - first.at - disturbed);
}

double PlainRate(const trace::RunTrace& trace) {
  const trace::Checkpoint &first = trace.progress.front(), &last = trace.progress.back();
  return static_cast<double>(last.steps - first.steps) / base::ToSeconds(last.at - first.at);
}

/// The engine reaches the bound to 1 %, and never beats it. The best of a few tries counts: what
/// disturbs a wait for another thread does not show in the trace.
void ExpectRate(const spec::Experiment& experiment, double bound_per_s, Role limiting) {
  constexpr double reached = 0.99;
  double best = 0;
  for (int tries = 0; tries < 5 && best < reached * bound_per_s; ++tries) {
    const auto trace = RunEmulated(experiment);
    // The first and the last step may lie differently deep in the device's queue.
    const double steps = static_cast<double>(trace.steps);
    EXPECT_LE(PlainRate(trace), 1.01 * bound_per_s * (1 + experiment.device.in_flight / steps));
    best = std::max(best, UndisturbedRate(trace, limiting));
  }
  EXPECT_GE(best, reached * bound_per_s);
}

/// With a window of `prefetch` batches a worker, a consumer that wakes late stops nobody.
spec::Experiment Waiting(int workers, Duration batch, Duration step, int steps, int prefetch = 2) {
  auto experiment = Small();
  experiment.dataset.samples = 1000;
  experiment.loader.batch_size = 1;
  experiment.loader.workers = workers;
  experiment.loader.prefetch_factor = prefetch;
  experiment.prepare = {.kind = spec::PrepareKind::kWait, .cost = Fixed(batch)};
  experiment.device.step_base = Fixed(step);
  experiment.run.steps = steps;
  return experiment;
}

TEST(Rates, WorkersLimitByWOverTheirTime) {
  ExpectRate(Waiting(3, 6ms, 100us, 301, 16), 3 / 0.006, Role::kWorker);
}

TEST(Rates, TheDeviceLimitsByItsStep) {
  auto experiment = Waiting(4, 10ms, 5ms, 121, 16);
  experiment.device.in_flight = 8;  // nor does one that wakes late to launch
  ExpectRate(experiment, 1 / 0.005, Role::kDevice);
}

TEST(Rates, WithoutWorkersLoadingOverlapsOnlyTheDevice) {
  // The consumer makes a batch in 3 ms while the device works 1 ms: 1/3 ms, not 1/4.
  ExpectRate(Waiting(0, 3ms, 1ms, 101), 1 / 0.003, Role::kConsumer);
}

TEST(Rates, ReadingEveryResultBackRemovesTheOverlap) {
  auto experiment = Waiting(0, 3ms, 1ms, 101);
  experiment.training.sync_every = 1;
  ExpectRate(experiment, 1 / 0.004, Role::kConsumer);
}

TEST(Rates, EmulatedStorageMatchesItsModel) {
  // min(bandwidth, W × size / (latency + size / bandwidth)) = 2 × 1 MB / (7 ms + 1 ms)
  auto experiment = Waiting(2, 0ms, 0ms, 101, 16);
  experiment.prepare = {};
  experiment.storage.kind = spec::StorageKind::kEmulated;
  experiment.storage.latency = Fixed(7ms);
  experiment.storage.bandwidth = base::BytesPerSecond{1e9};
  experiment.dataset.sample_bytes = FixedBytes(1'000'000);
  ExpectRate(experiment, 2 / 0.008, Role::kWorker);
}

TEST(Rates, StorageBandwidthIsSharedByAllWorkers) {
  // 8 workers could read 8 × 1 MB / 1.5 ms; the disk gives 1 GB/s.
  auto experiment = Waiting(8, 0ms, 0ms, 301, 16);
  experiment.prepare = {};
  experiment.storage.kind = spec::StorageKind::kEmulated;
  experiment.storage.latency = Fixed(500us);
  experiment.storage.bandwidth = base::BytesPerSecond{1e9};
  experiment.dataset.sample_bytes = FixedBytes(1'000'000);
  ExpectRate(experiment, 1 / 0.001, Role::kWorker);
}

class Partitions : public testing::Test {
 protected:
  static trace::RunTrace Busy(int workers) {
    auto experiment = Small();
    experiment.dataset.samples = 240;
    experiment.loader.workers = workers;
    experiment.loader.prefetch_factor = 1;
    experiment.storage.kind = spec::StorageKind::kEmulated;
    experiment.storage.latency = Fixed(300us);
    experiment.prepare = {.kind = spec::PrepareKind::kBurn, .cost = Fixed(200us)};
    experiment.device.step_base = Fixed(1ms);
    experiment.training.sync_every = 4;
    experiment.run.epochs = 4;
    return RunEmulated(experiment);
  }
  static void ExpectClosed(const trace::RunTrace& trace, Role role) {
    const double unowned =
        UnownedShare(trace, role, trace.progress.front().at, trace.progress.back().at);
    EXPECT_GE(unowned, -1e-6);  // edge buckets are interpolated
    EXPECT_LE(unowned, 0.005);
  }
};

TEST_F(Partitions, CloseForConsumerWorkersAndDevice) {
  const auto trace = Busy(2);
  ExpectClosed(trace, Role::kConsumer);
  ExpectClosed(trace, Role::kWorker);
  ExpectClosed(trace, Role::kDevice);
}

TEST_F(Partitions, CloseWhenTheConsumerLoads) {
  const auto trace = Busy(0);
  ExpectClosed(trace, Role::kConsumer);
  ExpectClosed(trace, Role::kDevice);
}

TEST_F(Partitions, DoNotCloseWithoutOneOfTheirStates) {
  const auto trace = Busy(2);
  const Instant from = trace.progress.front().at, to = trace.progress.back().at;
  const std::vector<std::pair<Role, State>> large = {
      {Role::kConsumer, State::kCompute},    {Role::kConsumer, State::kStarved},
      {Role::kConsumer, State::kSync},       {Role::kWorker, State::kRead},
      {Role::kWorker, State::kPrepare},      {Role::kDevice, State::kBusy},
      {Role::kDevice, State::kDeviceStarved}};
  for (const auto& [role, state] : large) {
    if (trace::TimeIn(trace, role, state, from, to) < (to - from) / 100) continue;
    EXPECT_GT(UnownedShare(trace, role, from, to, state), 0.005)
        << "role " << static_cast<int>(role) << " state " << static_cast<int>(state);
  }
  EXPECT_GT(UnownedShare(trace, Role::kWorker, from, to, State::kRead), 0.005);
  EXPECT_GT(UnownedShare(trace, Role::kDevice, from, to, State::kBusy), 0.005);
}

/// The share of a role's time in `state`.
double ShareOf(const trace::RunTrace& trace, Role role, State state) {
  Duration all{};
  for (int each = 0; each < trace::kStateCount; ++each) {
    all += TotalIn(trace, role, static_cast<State>(each));
  }
  return base::ToSeconds(TotalIn(trace, role, state)) / base::ToSeconds(all);
}

TEST(Blocking, AFastLoaderBlocksOnTheConsumer) {
  const auto trace = RunEmulated(Waiting(2, 1ms, 5ms, 60));
  // Each worker works 1 ms of the 10 ms that two steps take.
  EXPECT_GT(ShareOf(trace, Role::kWorker, State::kBlockedOnConsumer), 0.6);
  EXPECT_LT(ShareOf(trace, Role::kWorker, State::kBlockedOnOrder), 0.1);
}

TEST(Blocking, WorkersBehindASlowBatchBlockOnOrder) {
  // Every fourth batch takes 20 ms, and all of them are worker 0's.
  auto experiment = FromSource(Waiting(4, 0ms, 0ms, 80));
  experiment.loader.shuffle = false;
  const NumberedSource source(1000, [](std::int64_t sample) {
    std::this_thread::sleep_for(sample % 4 == 0 ? 20ms : 100us);
  });
  RecordingTrainer trainer;
  const auto trace = RunWith(experiment, trainer, &source);
  // Three of four workers wait nearly all the time.
  EXPECT_GT(ShareOf(trace, Role::kWorker, State::kBlockedOnOrder), 0.6);
  EXPECT_LT(ShareOf(trace, Role::kWorker, State::kBlockedOnConsumer), 0.1);
}

TEST(Blocking, WorkersWithNothingLeftInTheEpochAreIdle) {
  auto experiment = Waiting(3, 30ms, 0ms, 1000);
  experiment.dataset.samples = 1;  // one batch an epoch: worker 0 makes them all
  experiment.run.epochs = 6;
  experiment.run.steps.reset();
  const auto trace = RunEmulated(experiment);
  for (const trace::ThreadTotals& thread : trace.threads) {
    if (thread.role != Role::kWorker) continue;
    const Duration idle = trace::TimeIn(trace, thread, State::kIdle, trace.begin, trace.end);
    if (thread.index == 0) {
      EXPECT_LT(idle, (trace.end - trace.begin) / 2);
    } else {
      EXPECT_GT(idle, (trace.end - trace.begin) * 0.7);
    }
  }
}

TEST(Blocking, WorkersStartUpEachEpochUnlessTheyPersist) {
  auto experiment = Waiting(2, 1ms, 0ms, 1000);
  experiment.dataset.samples = 4;
  experiment.run.epochs = 5;
  experiment.run.steps.reset();
  experiment.loader.worker_startup = Fixed(40ms);
  const Duration each_epoch = TotalIn(RunEmulated(experiment), Role::kWorker, State::kStartup);
  experiment.loader.persistent_workers = true;
  const Duration once = TotalIn(RunEmulated(experiment), Role::kWorker, State::kStartup);
  EXPECT_GE(each_epoch, 2 * 5 * 36ms);  // lateness is contended
  EXPECT_GE(once, 2 * 36ms);
  EXPECT_LT(once, each_epoch / 2);
}

TEST(Records, DemandsAreTheDrawnOnesOnAnyMachine) {
  auto experiment = Waiting(1, 2ms, 0ms, 50);
  experiment.storage.kind = spec::StorageKind::kEmulated;
  experiment.storage.latency = Fixed(1ms);
  const auto trace = RunEmulated(experiment);
  const auto& read = trace.series[static_cast<std::size_t>(trace::Series::kReadTime)];
  const auto& prepare = trace.series[static_cast<std::size_t>(trace::Series::kPrepareTime)];
  ASSERT_GE(read.seen, 50);
  for (const auto& value : read.kept) EXPECT_EQ(value.value, 1e6);
  for (const auto& value : prepare.kept) EXPECT_EQ(value.value, 2e6);
}

TEST(Records, ResourcesAreSampledWhileItRuns) {
  const auto trace = RunEmulated(Waiting(2, 2ms, 1ms, 200));
  ASSERT_GE(trace.resources.size(), 2u);
  EXPECT_GT(trace.resources.back().process_cpu, 0ns);
  EXPECT_GT(trace.resources.back().resident.count, 0);
  for (std::size_t i = 1; i < trace.resources.size(); ++i) {
    EXPECT_GE(trace.resources[i].process_cpu, trace.resources[i - 1].process_cpu);
  }
}

TEST(Records, TheTrainersOwnThreadsCountAsTraining) {
  // An unregistered pool, like LibTorch's, and 4 waiting workers.
  std::atomic<bool> done{false};
  std::atomic<std::int64_t> pool_cpu_ns{0};
  std::thread pool([&] {
    while (!done) pool_cpu_ns = base::ThreadCpuTime().count();
  });
  auto experiment = Waiting(4, 5ms, 0ms, 400);
  RecordingTrainer trainer;
  const auto trace = RunWith(experiment, trainer);
  const std::int64_t used_ns = pool_cpu_ns;
  done = true;
  pool.join();
  const auto of = [&](Role role) {
    return trace.resources.back().on_core[static_cast<std::size_t>(role)];
  };
  ASSERT_TRUE(of(Role::kConsumer));
  // It is watched from the first reading on, up to 100 ms after the run's begin.
  EXPECT_GT(of(Role::kConsumer)->count(), used_ns / 2);
  ASSERT_TRUE(of(Role::kWorker));
  EXPECT_LT(*of(Role::kWorker), *of(Role::kConsumer) / 2);
}

TEST(Records, OccupancyCountsReadyBatchesWhenTheConsumerTakesOne) {
  const auto& slow_device = RunEmulated(Waiting(2, 1ms, 5ms, 60));
  const auto& values = slow_device.series[static_cast<std::size_t>(trace::Series::kOccupancy)].kept;
  const auto full = std::count_if(values.begin(), values.end(), [](const auto& each) {
    return each.value == 4;  // prefetch_factor 2 × 2 workers
  });
  EXPECT_GT(full, static_cast<std::ptrdiff_t>(values.size()) / 2);
  for (const auto& each : values) EXPECT_LE(each.value, 4);
}

}  // namespace
}  // namespace pipesim::engine
