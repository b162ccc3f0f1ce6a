// Processor sharing and the storage clocks against closed forms.
#include "engine/virtual_time/processors.h"

#include "base/random.h"
#include "cost/storage.h"
#include "pipeline.h"

namespace pipesim::engine::virtual_time {
namespace {

Instant At(Duration time) { return Instant(time); }

TEST(Processors, RunAtFullSpeedWhileThereAreCores) {
  Processors cpu(CoreSharing(2), 0, 2);
  cpu.Begin(0, {.each = 5ms}, At(0ms));
  cpu.Begin(1, {.each = 3ms}, At(1ms));
  EXPECT_EQ(cpu.next(), At(4ms));
  EXPECT_EQ(cpu.Finish().contended, 0ms);
  EXPECT_EQ(cpu.next(), At(5ms));
  EXPECT_EQ(cpu.Finish().contended, 0ms);
  EXPECT_TRUE(cpu.idle());
  EXPECT_EQ(cpu.Used(At(9ms)), 8ms);
}

TEST(Processors, ShareOneCoreEqually) {
  // 6, 4 and 2 ms on one core: done at 3 x 2, then + 2 x 2, then + 1 x 2 ms.
  Processors cpu(CoreSharing(1), 0, 3);
  cpu.Begin(0, {.each = 6ms}, At(0ms));
  cpu.Begin(1, {.each = 4ms}, At(0ms));
  cpu.Begin(2, {.each = 2ms}, At(0ms));
  const Instant ends[] = {At(6ms), At(10ms), At(12ms)};
  const Duration contended[] = {4ms, 6ms, 6ms};
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(cpu.next(), ends[i]);
    const auto finished = cpu.Finish();
    EXPECT_EQ(finished.actor, 2 - i);
    EXPECT_EQ(finished.contended, contended[i]);
  }
  EXPECT_EQ(cpu.Used(At(12ms)), 12ms);
}

TEST(Processors, GiveAPoolOneSharePerThread) {
  // 3 threads beside 1 on 2 cores: each gets half of one.
  Processors cpu(CoreSharing(2), 0, 2);
  cpu.Begin(0, {.each = 4ms, .threads = 3}, At(0ms));
  cpu.Begin(1, {.each = 5ms}, At(0ms));
  EXPECT_EQ(cpu.next(), At(8ms));
  EXPECT_EQ(cpu.Finish().actor, 0);
  EXPECT_EQ(cpu.next(), At(9ms));
}

TEST(Processors, ShareTheMemoryBandwidthOnlyAmongCopies) {
  // Two copies of 1 GB/s take a third longer beside each other; one that computes does not.
  Processors cpu(CoreSharing(4), 1e-18 / 3, 3);
  cpu.Begin(0, {.each = 3ms, .bytes_per_s = 1e9}, At(0ms));
  cpu.Begin(1, {.each = 3ms, .bytes_per_s = 1e9}, At(0ms));
  cpu.Begin(2, {.each = 3500us}, At(0ms));
  EXPECT_EQ(cpu.next(), At(3500us));
  EXPECT_EQ(cpu.Finish().actor, 2);
  EXPECT_EQ(cpu.next(), At(4ms));
  const auto finished = cpu.Finish();
  EXPECT_EQ(finished.contended, 0ms);  // stalled on memory, but on a core
}

TEST(Processors, HinderCopiesByHowFastTheyAndTheOthersAre) {
  // Alone 1, 2 and 4 GB/s. With 1/16 of a GB/s squared: 1 + 6/16, 1 + 2 * 5/16, 1 + 4 * 3/16.
  Processors cpu(CoreSharing(4), 1e-18 / 16, 3);
  cpu.Begin(0, {.each = 16ms, .bytes_per_s = 1e9}, At(0ms));
  cpu.Begin(1, {.each = 8ms, .bytes_per_s = 2e9}, At(0ms));
  cpu.Begin(2, {.each = 4ms, .bytes_per_s = 4e9}, At(0ms));
  EXPECT_EQ(cpu.Finish().actor, 2);
  EXPECT_EQ(cpu.next(), At(11153847ns));  // 8 - 56/13 ms of it are left, in 1 + 2 * 1/16
  EXPECT_EQ(cpu.Finish().actor, 1);
}

TEST(Processors, HinderCopiesOnlyByWhatRunsBesideThem) {
  // Four threads on two cores: each copies half the time, beside three that do so. 2 * (1 + 1.5 / 3).
  Processors cpu(CoreSharing(2), 1e-18 / 3, 4);
  for (int actor = 0; actor < 4; ++actor) cpu.Begin(actor, {.each = 1ms, .bytes_per_s = 1e9}, At(0ms));
  EXPECT_EQ(cpu.next(), At(3ms));
}

TEST(Processors, MatchTheNaiveSimulationToTheNanosecond) {
  // Naive simulation: at each change, every task's remaining work shrinks by its current share.
  for (const double cores : {1.0, 2.5, 4.0}) {
    base::KeyedStream stream(7, base::Stage::kPrepare);
    Processors cpu(CoreSharing(cores), 0, 16);
    std::vector<double> rest(16, 0);
    double now_ns = 0;
    const auto share = [&] {
      const auto running = static_cast<double>(
          std::count_if(rest.begin(), rest.end(), [](double each) { return each > 0; }));
      return std::min(1.0, cores / running);
    };
    for (int actor = 0; actor < 16; ++actor) {
      const auto work = static_cast<std::int64_t>(1e6 + 9e6 * stream.NextUnit());
      const auto gap = static_cast<double>(static_cast<std::int64_t>(3e5 * stream.NextUnit()));
      for (double& each : rest) each -= each > 0 ? gap * share() : 0;
      now_ns += gap;
      rest[static_cast<std::size_t>(actor)] = static_cast<double>(work);
      cpu.Begin(actor, {.each = Duration(work)}, At(Duration(static_cast<std::int64_t>(now_ns))));
    }
    for (int left = 16; left > 0; --left) {
      std::size_t first = 16;
      for (std::size_t i = 0; i < 16; ++i) {
        if (rest[i] > 0 && (first == 16 || rest[i] < rest[first])) first = i;
      }
      const double took = rest[first] / share(), gone = rest[first];
      now_ns += took;
      for (double& each : rest) each = each > 0 ? each - gone : 0;
      EXPECT_NEAR(static_cast<double>(cpu.next().time_since_epoch().count()), now_ns, 32);
      EXPECT_EQ(cpu.Finish().actor, static_cast<int>(first));
      rest[first] = 0;
    }
  }
}

TEST(Processors, MakeBurningWorkersShareTheirCores) {
  // 4 workers of 2 ms on 1.5 cores: 750 batches/s, and the rest of the time is contended.
  auto experiment = Stages(4, 2ms, 0ms, 4001);
  experiment.prepare.kind = spec::PrepareKind::kBurn;
  cost::Pipeline pipeline = cost::Stated(experiment);
  pipeline.machine.cores = 1.5;
  const trace::RunTrace trace = Predict(experiment, pipeline);
  const auto &first = trace.progress.front(), &last = trace.progress.back();
  EXPECT_NEAR(static_cast<double>(last.steps - first.steps) / base::ToSeconds(last.at - first.at),
              750, 0.1);
  const double wall_s = 4 * base::ToSeconds(trace.end - trace.begin);
  EXPECT_NEAR(base::ToSeconds(TotalIn(trace, Role::kWorker, State::kContended)) / wall_s,
              1 - 1.5 / 4, 1e-3);
  EXPECT_NEAR(base::ToSeconds(trace.resources.back().process_cpu) / (wall_s / 4), 1.5, 1e-3);
}

/// Mean wait in a queue with Poisson arrivals at rate `load` per unit and the given service.
double MeanWait(double load, bool exponential) {
  constexpr double kUnitNs = 1e6;
  constexpr int kAsks = 400'000;
  cost::ServiceClock clock(1e9 / 1.0);  // one amount a nanosecond
  const base::Distribution gap{
      .kind = base::DistributionKind::kExponential, .mean = kUnitNs / load, .values = {}};
  const base::Distribution service{
      .kind = base::DistributionKind::kExponential, .mean = kUnitNs, .values = {}};
  double waited = 0, at = 0;
  for (int i = 0; i < kAsks; ++i) {
    base::KeyedStream stream(3, base::Stage::kStorageLatency, static_cast<std::uint64_t>(i));
    at += base::Draw(gap, stream);
    const auto amount =
        static_cast<std::int64_t>(exponential ? base::Draw(service, stream) : kUnitNs);
    const Instant asked(Duration(static_cast<std::int64_t>(at)));
    const Instant done = clock.Serve(asked, amount);
    waited += static_cast<double>((done - asked).count() - amount) / kUnitNs;
  }
  return waited / kAsks;
}

TEST(StorageClock, WaitsLikeMM1) {
  // rho / (1 - rho) service times.
  EXPECT_NEAR(MeanWait(0.5, true), 1.0, 0.03);
  EXPECT_NEAR(MeanWait(0.8, true), 4.0, 0.25);
}

TEST(StorageClock, WaitsLikeMD1) {
  // Half of that (Pollaczek and Khinchine).
  EXPECT_NEAR(MeanWait(0.5, false), 0.5, 0.015);
  EXPECT_NEAR(MeanWait(0.8, false), 2.0, 0.12);
}

/// L = lambda W for each stage: its mean occupancy, from time totals, equals the rate times the
/// mean residence time, from the series.
class LittlesLaw : public testing::TestWithParam<std::tuple<spec::Dispatch, bool, int, bool>> {};

TEST_P(LittlesLaw, HoldsInEveryStage) {
  const auto [dispatch, in_order, prefetch, pin] = GetParam();
  auto experiment = Stages(4, 0s, 0s, 4001);
  experiment.storage.kind = spec::StorageKind::kEmulated;
  experiment.storage.latency = Exponential(1ms);
  experiment.prepare.cost = Exponential(3ms);
  experiment.device.step_base = Exponential(1200us);
  experiment.loader.dispatch = dispatch;
  experiment.loader.in_order = in_order;
  experiment.loader.prefetch_factor = prefetch;
  experiment.loader.pin_memory = pin;
  const trace::RunTrace trace = Predict(experiment);
  const double wall_s = base::ToSeconds(trace.end - trace.begin);
  const double rate = static_cast<double>(trace.steps) / wall_s;
  const auto holds = [&](Role role, State state, trace::Series series) {
    double stay_s = 0;
    const auto& kept = trace.series[static_cast<std::size_t>(series)].kept;
    for (const auto& one : kept) stay_s += one.value * 1e-9 / static_cast<double>(kept.size());
    const double inside = base::ToSeconds(TotalIn(trace, role, state)) / wall_s;
    // Batches made and never trained are at most the window.
    EXPECT_NEAR(inside, rate * stay_s, 0.005 * inside) << static_cast<int>(series);
  };
  holds(Role::kWorker, State::kRead, trace::Series::kReadTime);
  holds(Role::kWorker, State::kPrepare, trace::Series::kPrepareTime);
  holds(Role::kDevice, State::kBusy, trace::Series::kDeviceStep);
  holds(Role::kConsumer, State::kStarved, trace::Series::kStarved);
}

INSTANTIATE_TEST_SUITE_P(
    OfEveryKind, LittlesLaw,
    testing::Combine(testing::Values(spec::Dispatch::kRoundRobin, spec::Dispatch::kShared),
                     testing::Bool(), testing::Values(1, 2, 4), testing::Bool()));

TEST(ClosedQueue, PartitionsItsWorkersTimeIntoWorkAndWaiting) {
  // At prefetch 1 every batch waits from its end until it is taken, and its worker with it: what
  // stands in the queue is what the workers are blocked, less what is not yet dealt again.
  auto experiment = Stages(4, 0s, 0s, 20'001);
  experiment.prepare.cost = Exponential(4ms);
  experiment.device.step_base = Exponential(1500us);
  experiment.loader.prefetch_factor = 1;
  experiment.training.sync_every = 1;
  const trace::RunTrace trace = Predict(experiment);
  const double wall_s = base::ToSeconds(trace.end - trace.begin);
  const auto in = [&](Role role, State state) {
    return base::ToSeconds(TotalIn(trace, role, state)) / wall_s;
  };
  // Workers that work = rate x mean time of a batch.
  const double rate = static_cast<double>(trace.steps) / wall_s;
  EXPECT_NEAR(in(Role::kWorker, State::kPrepare), rate * 4e-3, 0.03 * rate * 4e-3);
  // Those in the device = rate x mean time of a step.
  EXPECT_NEAR(in(Role::kDevice, State::kBusy), rate * 1.5e-3, 0.03 * rate * 1.5e-3);
  // Work and waiting fill all workers.
  EXPECT_NEAR(in(Role::kWorker, State::kPrepare) + in(Role::kWorker, State::kBlockedOnConsumer) +
                  in(Role::kWorker, State::kBlockedOnOrder),
              4, 1e-3);
}

}  // namespace
}  // namespace pipesim::engine::virtual_time
