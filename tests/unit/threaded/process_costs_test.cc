// Threads that stand for worker processes burn what those would cost. Time in a state leaves out
// contention, so that the sums hold on a busy machine, too.
#include <gtest/gtest.h>

#include "pipeline.h"

namespace pipesim::engine {
namespace {

/// 40 batches of 4 samples over two workers, which send for 2 ms; the trainer receives for 1 ms.
spec::Experiment TwoProcesses() {
  spec::Experiment experiment = Small();
  experiment.dataset.samples = 160;
  experiment.loader.kind = spec::LoaderKind::kProcess;
  experiment.loader.workers = 2;
  experiment.loader.send = Fixed(2ms);
  experiment.loader.receive = Fixed(1ms);
  return experiment;
}

constexpr int kBatches = 40;

/// Within 10 %: clock reads, and slices that a burn measures on its way.
void ExpectEach(const trace::RunTrace& trace, Role role, State state, Duration each) {
  const double whole_s = kBatches * base::ToSeconds(each);
  EXPECT_NEAR(base::ToSeconds(TotalIn(trace, role, state)), whole_s, 0.1 * whole_s);
}

TEST(EmulatedProcesses, SendInTheWorkerAndReceiveInTheTrainer) {
  const auto trace = RunEmulated(TwoProcesses());
  EXPECT_EQ(trace.steps, kBatches);
  ExpectEach(trace, Role::kWorker, State::kSend, 2ms);
  ExpectEach(trace, Role::kConsumer, State::kReceive, 1ms);
}

TEST(EmulatedProcesses, ShareBeforeTheySend) {
  auto experiment = TwoProcesses();
  experiment.loader.share = Fixed(1ms);
  ExpectEach(RunEmulated(experiment), Role::kWorker, State::kSend, 3ms);
}

TEST(EmulatedProcesses, AnswerWhenTheyRest) {
  auto experiment = TwoProcesses();
  experiment.prepare = {.kind = spec::PrepareKind::kBurn, .cost = Fixed(2ms)};
  experiment.loader.receive_wait = Fixed(1s);
  const auto trace = RunEmulated(experiment);
  EXPECT_EQ(trace.steps, kBatches);
  // Each wait ends with the batch in work, of 8 ms.
  EXPECT_LT(base::ToSeconds(TotalIn(trace, Role::kConsumer, State::kReceive)), kBatches * 20e-3);
}

TEST(EmulatedProcesses, ServeTheTrainerThatWaitsForAnswers) {
  auto experiment = TwoProcesses();
  experiment.loader.serve = Fixed(2ms);
  ExpectEach(RunEmulated(experiment), Role::kConsumer, State::kReceive, 2ms + 1ms);
  experiment.loader.receive_latency = Fixed(3ms);
  const auto trace = RunEmulated(experiment);
  EXPECT_GT(base::ToSeconds(TotalIn(trace, Role::kConsumer, State::kReceive)), kBatches * 5.4e-3);
}

TEST(EmulatedProcesses, LackTheLockWhileTheyServe) {
  auto experiment = TwoProcesses();
  experiment.loader.workers = 1;
  experiment.prepare = {.kind = spec::PrepareKind::kBurn, .cost = Fixed(2ms)};
  experiment.loader.serve = Fixed(4ms);
  const auto trace = RunEmulated(experiment);
  // All batches but the last ones are served while the worker prepares another one for 8 ms.
  EXPECT_GT(base::ToSeconds(TotalIn(trace, Role::kWorker, State::kSend)), kBatches * 5e-3);
}

TEST(EmulatedProcesses, SendWhileTheyWait) {
  auto experiment = TwoProcesses();
  experiment.prepare = {.kind = spec::PrepareKind::kBurn, .cost = Fixed(500us), .wait = Fixed(1ms)};
  const auto trace = RunEmulated(experiment);
  ExpectEach(trace, Role::kWorker, State::kSend, 2ms);
  // Of the waits of 4 ms, 2 are left; the work on the samples is all there.
  ExpectEach(trace, Role::kWorker, State::kPrepare, 4 * 500us + 2ms);
}

TEST(EmulatedProcesses, ReceiveInThePinThreadWhereThereIsOne) {
  auto experiment = TwoProcesses();
  experiment.loader.pin_memory = true;
  const auto trace = RunEmulated(experiment);
  ExpectEach(trace, Role::kPin, State::kReceive, 1ms);
  EXPECT_EQ(TotalIn(trace, Role::kConsumer, State::kReceive), 0ns);
}

TEST(EmulatedProcesses, TakeTurnsWithTheTrainersLaunchesInThePinThread) {
  auto experiment = TwoProcesses();
  experiment.loader.pin_memory = true;
  experiment.loader.receive = Fixed(3ms);
  cost::Pipeline pipeline = cost::Stated(experiment);
  pipeline.step.launch = 3ms;
  const base::SystemClock clock;
  const auto trainer = MakeEmulatedTrainer(experiment, pipeline, clock);
  const auto trace = RunWith(experiment, *trainer);
  EXPECT_EQ(trace.steps, kBatches);
  ExpectEach(trace, Role::kPin, State::kReceive, 3ms);
  // Neither is done while the other is: no less than both together.
  EXPECT_GE(trace.progress.back().at - trace.begin, kBatches * (3ms + 3ms) * 9 / 10);
}

TEST(EmulatedProcesses, HandNothingOverWithoutWorkers) {
  auto experiment = TwoProcesses();
  experiment.loader.workers = 0;
  experiment.loader.python_sample = 500us;
  const auto trace = RunEmulated(experiment);
  EXPECT_EQ(TotalIn(trace, Role::kConsumer, State::kReceive), 0ns);
  ExpectEach(trace, Role::kConsumer, State::kPrepare, 4 * 500us);
}

TEST(EmulatedProcesses, CollateAndWaitAsStated) {
  auto experiment = TwoProcesses();
  experiment.collate = {.batch = Fixed(1ms), .sample = 250us};
  experiment.prepare = {.kind = spec::PrepareKind::kBurn, .cost = Fixed(500us), .wait = Fixed(1ms)};
  const auto trace = RunEmulated(experiment);
  ExpectEach(trace, Role::kWorker, State::kCollate, 2ms);
  const auto& prepare = trace.series[static_cast<std::size_t>(trace::Series::kPrepareTime)];
  double sum_ns = 0;
  for (const auto& value : prepare.kept) sum_ns += value.value;
  EXPECT_NEAR(sum_ns / static_cast<double>(prepare.kept.size()), 4 * 1.5e6, 0.1 * 4 * 1.5e6);
}

TEST(EmulatedProcesses, WorkWhileTheyStartUp) {
  auto experiment = TwoProcesses();
  experiment.loader.worker_startup = Fixed(20ms);
  const auto trace = RunEmulated(experiment);
  EXPECT_GE(TotalIn(trace, Role::kWorker, State::kStartup), 2 * 18ms);
}

TEST(EmulatedProcesses, WaitForWhatTheirDataSetOpens) {
  auto experiment = TwoProcesses();
  experiment.loader.worker_startup = Fixed(2ms);
  experiment.loader.worker_opening = 30ms;
  EXPECT_GE(TotalIn(RunEmulated(experiment), Role::kWorker, State::kStartup), 2 * 30ms);
}

}  // namespace
}  // namespace pipesim::engine
