#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "measured.h"

namespace pipesim::measure {
namespace {

using tests::ExperimentOf;
using tests::Ms;
using tests::Pipeline;
using tests::TraceOf;
using trace::State;

constexpr double kMostOther = 0.005;  // of the wall time, as the design promises

/// A pipeline in which every state takes at least 2 % of its clock's time: loading limits (50 ms
/// for four batches), and the first epoch ends inside the window.
Pipeline EveryState() {
  return {.workers = 4,
          .steps = 200,
          .epoch_batches = 110,
          .read = Ms(12),
          .prepare = Ms(20),
          .contended = Ms(8),
          .collate = Ms(10),
          .transfer = Ms(1),
          .host = Ms(1),
          .forward = Ms(1),
          .backward = Ms(1),
          .optimizer = Ms(1),
          .sync = Ms(1)};
}

void ExpectClosed(double wall_s, double other_s) {
  EXPECT_GE(other_s, -1e-6);
  EXPECT_LE(other_s, kMostOther * wall_s);
}

RC_GTEST_PROP(Partitions, CloseOnEveryClock, ()) {
  Pipeline p;
  p.workers = *rc::gen::inRange(0, 9);
  p.steps = *rc::gen::inRange<std::int64_t>(2, 800);
  p.epoch_batches = *rc::gen::inRange<std::int64_t>(1, 300);
  p.asynchronous = *rc::gen::arbitrary<bool>();
  const auto some = [] { return base::FromSeconds(*rc::gen::inRange(0, 20'000) * 1e-6); };
  p.startup = some();
  p.read = some();
  p.prepare = some();
  p.contended = p.prepare > Duration::zero() ? some() : Duration::zero();
  p.collate = some();
  p.transfer = some();
  p.host = some();
  p.forward = some() + Ms(0.1);
  p.backward = some();
  p.sync = some();
  const Measurement m = Measured(p);
  RC_ASSERT(m.consumer.other_s >= -1e-6);
  RC_ASSERT(m.consumer.other_s <= kMostOther * m.consumer.wall_s);
  if (p.workers > 0) {
    RC_ASSERT(m.workers.other_s >= -1e-6 * p.workers);
    RC_ASSERT(m.workers.other_s <= kMostOther * m.workers.wall_s);
  }
  RC_ASSERT(m.device.has_value() == p.asynchronous);
  if (m.device) {
    RC_ASSERT(m.device->other_s >= -1e-6);
    RC_ASSERT(m.device->other_s <= kMostOther * m.device->wall_s);
  }
}

TEST(Partitions, OfACompletePipelineHaveNoRest) {
  for (const bool asynchronous : {false, true}) {
    Pipeline pipeline = EveryState();
    pipeline.asynchronous = asynchronous;
    const Measurement m = Measured(pipeline);
    ExpectClosed(m.consumer.wall_s, m.consumer.other_s);
    ExpectClosed(m.workers.wall_s, m.workers.other_s);
    for (const Workers& worker : m.workers.each) ExpectClosed(worker.wall_s, worker.other_s);
    if (asynchronous) ExpectClosed(m.device->wall_s, m.device->other_s);
  }
}

/// A state that the recorder forgets must show as a rest: what proves that no state is computed as
/// one.
class ForgottenState : public testing::TestWithParam<State> {
 protected:
  static Measurement Without(State state, bool asynchronous) {
    Pipeline pipeline = EveryState();
    pipeline.asynchronous = asynchronous;
    pipeline.forgotten = state;
    return Measured(pipeline);
  }
};

class ForgottenConsumerState : public ForgottenState {};
TEST_P(ForgottenConsumerState, ShowsAsARestOfTheConsumer) {
  const Measurement m = Without(GetParam(), false);
  EXPECT_GT(m.consumer.other_s, kMostOther * m.consumer.wall_s);
}
INSTANTIATE_TEST_SUITE_P(Each, ForgottenConsumerState,
                         testing::Values(State::kStarved, State::kTransfer, State::kHost,
                                         State::kForward, State::kBackward, State::kOptimizer,
                                         State::kSync));

class ForgottenWorkerState : public ForgottenState {};
TEST_P(ForgottenWorkerState, ShowsAsARestOfTheWorkers) {
  const Measurement m = Without(GetParam(), false);
  EXPECT_GT(m.workers.other_s, kMostOther * m.workers.wall_s);
}
INSTANTIATE_TEST_SUITE_P(Each, ForgottenWorkerState,
                         testing::Values(State::kRead, State::kPrepare, State::kCollate,
                                         State::kContended, State::kIdle));

class ForgottenDeviceState : public ForgottenState {};
TEST_P(ForgottenDeviceState, ShowsAsARestOfTheDevice) {
  const Measurement m = Without(GetParam(), true);
  EXPECT_GT(m.device->other_s, kMostOther * m.device->wall_s);
}
INSTANTIATE_TEST_SUITE_P(Each, ForgottenDeviceState,
                         testing::Values(State::kBusy, State::kDeviceStarved,
                                         State::kDeviceTransfer, State::kDeviceLaunch,
                                         State::kDeviceSync));

TEST(Partitions, ShowARestWhenTheConsumersComputeIsForgotten) {
  Pipeline pipeline = EveryState();
  pipeline.asynchronous = true;
  pipeline.forgotten = State::kCompute;
  const Measurement m = Measured(pipeline);
  EXPECT_GT(m.consumer.other_s, kMostOther * m.consumer.wall_s);
}

TEST(Partitions, ShowARestWhenBlockingIsForgotten) {
  Pipeline pipeline{.workers = 2, .prepare = Ms(1), .forward = Ms(10)};
  pipeline.forgotten = State::kBlockedOnConsumer;
  const Measurement m = Measured(pipeline);
  EXPECT_GT(m.workers.other_s, kMostOther * m.workers.wall_s);
}

TEST(Partitions, ShowARestWhenStartupIsForgotten) {
  Pipeline pipeline = EveryState();
  pipeline.startup = Ms(100);
  pipeline.forgotten = State::kStartup;
  spec::Experiment experiment = ExperimentOf(pipeline);
  experiment.run.warmup = Duration::zero();  // startup is measured
  const Workers workers = Measured(TraceOf(pipeline), experiment).workers;
  EXPECT_NEAR(workers.other_s, 4 * 0.100, 0.001);
}

TEST(Partitions, ShowSecondsThatWereCountedTwice) {
  Pipeline pipeline{.workers = 1, .prepare = Ms(10), .forward = Ms(5)};
  trace::RunTrace trace = TraceOf(pipeline);
  auto& times = trace.threads[0].times;
  for (Duration& time : times[static_cast<std::size_t>(State::kStarved)]) time *= 2;
  for (Duration& time : times[static_cast<std::size_t>(State::kPrepare)]) time *= 2;
  const Measurement m = Measured(trace, ExperimentOf(pipeline));
  EXPECT_LT(std::min(m.consumer.other_s, m.workers.other_s), -0.1);
}

TEST(Consumer, StarvesWhileTheLoaderLimits) {
  // Four batches each 40 ms, of which the consumer trains 4 x 5: half of its time is starved.
  const Measurement m =
      Measured({.workers = 4, .prepare = Ms(40), .forward = Ms(2), .backward = Ms(3)});
  EXPECT_NEAR(m.consumer.starved_s / m.consumer.wall_s, 0.5, 0.002);
  EXPECT_NEAR(m.consumer.compute_s / m.consumer.wall_s, 0.5, 0.002);
  EXPECT_NEAR(*m.consumer.forward_s / m.consumer.compute_s, 0.4, 0.002);
  EXPECT_NEAR(*m.consumer.backward_s / m.consumer.compute_s, 0.6, 0.002);
  EXPECT_NEAR(*m.result.accelerator_utilization, 0.5, 0.002);
}

TEST(Consumer, WithoutWorkersIsStarvedWhileItLoads) {
  const Measurement m = Measured({.workers = 0,
                                  .read = Ms(2),
                                  .prepare = Ms(3),
                                  .contended = Ms(2),
                                  .collate = Ms(1),
                                  .forward = Ms(2)});
  const double wall_s = m.consumer.wall_s;
  EXPECT_NEAR(m.consumer.starved_s / wall_s, 0.6, 0.002);  // read, prepare, collate
  EXPECT_NEAR(m.consumer.contended_s / wall_s, 0.2, 0.002);
  EXPECT_NEAR(m.consumer.compute_s / wall_s, 0.2, 0.002);
  EXPECT_EQ(m.workers.count, 0);
  EXPECT_NEAR(m.workers.wall_s / wall_s, 0.8, 0.004);
  EXPECT_NEAR(m.workers.contended_s / wall_s, 0.2, 0.004);
}

TEST(Consumer, CountsItsOwnPinningAsWaitingForTheCopy) {
  const Pipeline pipeline{.workers = 0, .transfer = Ms(2), .host = Ms(3), .forward = Ms(5)};
  trace::RunTrace trace = TraceOf(pipeline);
  auto& times = trace.threads[0].times;
  std::swap(times[static_cast<std::size_t>(State::kHost)],
            times[static_cast<std::size_t>(State::kPin)]);
  const Consumer consumer = Measured(trace, ExperimentOf(pipeline)).consumer;
  EXPECT_NEAR(consumer.h2d_s / consumer.wall_s, 0.5, 0.002);
  ExpectClosed(consumer.wall_s, consumer.other_s);
}

TEST(WorkersTime, IsCountTimesTheWindow) {
  const Measurement m = Measured({.workers = 3, .prepare = Ms(6), .forward = Ms(10)});
  EXPECT_NEAR(m.workers.wall_s, 3 * m.result.measured_s, 1e-9);
  ASSERT_EQ(m.workers.each.size(), 3u);
  // Each worker prepares 6 of the 30 ms in which three batches are trained; it is blocked for the
  // rest, and idle once the last batches of the run are made.
  EXPECT_NEAR(m.workers.prepare_s / m.workers.wall_s, 0.2, 0.005);
  EXPECT_NEAR((m.workers.blocked_on_consumer_s + m.workers.idle_s) / m.workers.wall_s, 0.8, 0.005);
  EXPECT_GT(m.workers.blocked_on_consumer_s, 10 * m.workers.idle_s);
}

TEST(WorkersTime, TellsWaitingForAnEarlierBatchFromWaitingForTheConsumer) {
  const Pipeline pipeline{.workers = 2, .prepare = Ms(1), .forward = Ms(10)};
  trace::RunTrace trace = TraceOf(pipeline);
  for (trace::ThreadTotals& thread : trace.threads) {
    auto& on_consumer = thread.times[static_cast<std::size_t>(State::kBlockedOnConsumer)];
    auto& on_order = thread.times[static_cast<std::size_t>(State::kBlockedOnOrder)];
    on_order = on_consumer;
    for (Duration& time : on_order) time /= 4;
    for (std::size_t i = 0; i < on_order.size(); ++i) on_consumer[i] -= on_order[i];
  }
  const Workers workers = Measured(trace, ExperimentOf(pipeline)).workers;
  EXPECT_NEAR(workers.blocked_on_order_s / workers.blocked_on_consumer_s, 1.0 / 3, 1e-4);
  ExpectClosed(workers.wall_s, workers.other_s);
}

TEST(PinTime, IsThatOfThePinThreadWhereThereIsOne) {
  trace::TraceBuilder builder(base::Instant{}, 1);
  base::Instant at{};
  for (std::int64_t k = 0; k < 100; ++k, at += Ms(10)) {
    const auto pin = [&](State state, Duration from, Duration to) {
      builder.Record(trace::Span{.begin = at + from,
                                 .end = at + to,
                                 .batch = k,
                                 .role = trace::Role::kPin,
                                 .state = state});
    };
    pin(State::kStarved, Ms(0), Ms(5));
    pin(State::kPin, Ms(5), Ms(7));
    pin(State::kBlockedOnConsumer, Ms(7), Ms(10));
    trace::StepRecord step;
    step.step = step.batch = k;
    step.samples = 64;
    step.done = at + Ms(10);
    builder.Record(step);
  }
  const trace::RunTrace trace = builder.Finish(at, trace::EndReason::kSteps, "");
  const Measurement m = Measured(trace, ExperimentOf({.workers = 1}));
  ASSERT_TRUE(m.pin);
  EXPECT_NEAR(m.pin->pin_s / m.pin->wall_s, 0.2, 1e-3);
  EXPECT_NEAR(m.pin->idle_s / m.pin->wall_s, 0.5, 1e-3);
  EXPECT_NEAR(m.pin->blocked_s / m.pin->wall_s, 0.3, 1e-3);
  EXPECT_NEAR(*m.demands.pin_s, 0.002, 1e-5);
  EXPECT_FALSE(Measured({.workers = 1, .forward = Ms(1)}).pin);
}

TEST(DeviceTime, OfAnEmulatedDeviceIsAsRecorded) {
  const Measurement m = Measured({.workers = 1,
                                  .prepare = Ms(10),
                                  .transfer = Ms(1),
                                  .host = Ms(1),
                                  .forward = Ms(6),
                                  .asynchronous = true});
  EXPECT_EQ(m.device->clock, "emulated");
  EXPECT_NEAR(m.device->busy_s / m.device->wall_s, 0.6, 0.002);
  EXPECT_NEAR(*m.device->launch_s / m.device->wall_s, 0.1, 0.002);
  EXPECT_NEAR(m.device->starved_s / m.device->wall_s, 0.2, 0.002);
  EXPECT_NEAR(*m.result.accelerator_utilization, 0.6, 0.002);
  EXPECT_FALSE(m.consumer.forward_s);
}

/// Events see a bracket of 9 ms around each step, 1 ms of gap before it.
trace::RunTrace OnCuda(const Pipeline& pipeline, std::optional<Duration> replay) {
  trace::RunTrace trace = TraceOf(pipeline);
  trace.effective.device = spec::DeviceId::Cuda(0);
  trace.effective.device_step = replay;
  return trace;
}
Pipeline Bracketed() {
  return {.workers = 0, .host = Ms(1), .forward = Ms(9), .asynchronous = true};
}

TEST(DeviceTime, TakesLaunchGapsOutOfTheBracketOfEvents) {
  const Pipeline pipeline = Bracketed();
  const Measurement m = Measured(OnCuda(pipeline, Ms(2)), ExperimentOf(pipeline));
  EXPECT_EQ(m.device->clock, "cuda events");
  EXPECT_NEAR(m.device->busy_s / m.device->wall_s, 0.2, 0.002);
  EXPECT_NEAR(*m.device->launch_s / m.device->wall_s, 0.8, 0.002);  // 7 of the bracket and 1 before
  EXPECT_NEAR(*m.result.accelerator_utilization, 0.2, 0.002);
  EXPECT_NEAR(*m.demands.step_s, 0.002, 1e-9);
  ExpectClosed(m.device->wall_s, m.device->other_s);
}

TEST(DeviceTime, IsNeverBusierThanItsBracket) {
  const Pipeline pipeline = Bracketed();
  const Measurement m = Measured(OnCuda(pipeline, Ms(50)), ExperimentOf(pipeline));
  EXPECT_NEAR(m.device->busy_s / m.device->wall_s, 0.9, 0.002);
}

TEST(DeviceTime, LeavesUtilizationOpenWithoutAReplay) {
  const Pipeline pipeline = Bracketed();
  const Measurement m = Measured(OnCuda(pipeline, std::nullopt), ExperimentOf(pipeline));
  EXPECT_FALSE(m.device->launch_s);
  EXPECT_NEAR(m.device->busy_s / m.device->wall_s, 1.0, 0.002);
  EXPECT_FALSE(m.result.accelerator_utilization);
  ExpectClosed(m.device->wall_s, m.device->other_s);
}

}  // namespace
}  // namespace pipesim::measure
