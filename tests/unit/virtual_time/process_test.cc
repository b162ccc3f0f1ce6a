// Worker processes: closed forms of what a hand-over costs, to the nanosecond.
#include <rapidcheck/gtest.h>

#include "pipeline.h"
#include "print_trace.h"

namespace pipesim::engine {
namespace {

/// Workers that work `batch` for each batch and `send` to hand it over, a trainer that works
/// `receive` to take it, and a device that takes `step`.
spec::Experiment Processes(int workers, Duration batch, Duration send, Duration receive,
                           Duration step, std::int64_t steps) {
  spec::Experiment experiment = Stages(workers, 0s, step, steps);
  experiment.prepare = {.kind = spec::PrepareKind::kBurn, .cost = Fixed(batch)};
  experiment.loader.kind = spec::LoaderKind::kProcess;
  experiment.loader.send = Fixed(send);
  experiment.loader.receive = Fixed(receive);
  return experiment;
}

/// Time of each of the last 100 steps.
Duration LateStep(const trace::RunTrace& trace) {
  const auto& progress = trace.progress;
  return (progress.back().at - progress[progress.size() - 101].at) / 100;
}

TEST(Processes, SendingIsAPartOfTheWorkersOwnTime) {
  // X = W / (s + send)
  EXPECT_EQ(LateStep(Predict(Processes(4, 6ms, 2ms, 100us, 1ms, 401))), 2ms);
}

TEST(Processes, SendingHidesInAWaitAsFarAsItLasts) {
  // X = W / (s + max(wait, send))
  auto experiment = Processes(4, 4ms, 2ms, 100us, 1ms, 401);
  experiment.prepare.wait = Fixed(4ms);
  const trace::RunTrace hidden = Predict(experiment);
  EXPECT_EQ(LateStep(hidden), (4ms + 4ms) / 4);
  EXPECT_GE(TotalIn(hidden, Role::kWorker, State::kSend), 401 * 2ms);
  experiment.prepare.wait = Fixed(1ms);
  EXPECT_EQ(LateStep(Predict(experiment)), 6000us / 4);
  // The cores have all of it to do: X = cores / (s + send + receive)
  experiment.prepare.wait = Fixed(4ms);
  experiment.limits.cpu_count = 1;
  const double step_s = base::ToSeconds(LateStep(Predict(experiment)));
  EXPECT_NEAR(step_s, 6.1e-3, 6.1e-3 * 0.01);
}

TEST(Processes, SendingHidesInAReadOfTheStorage) {
  auto experiment = Processes(4, 4ms, 2ms, 100us, 1ms, 401);
  cost::Pipeline pipeline = cost::Stated(experiment);
  pipeline.storage.present = true;
  pipeline.storage.latency = Fixed(4ms);
  EXPECT_EQ(LateStep(Predict(experiment, pipeline)), (4ms + 4ms) / 4);
}

TEST(Processes, ReceivingIsAPartOfTheTrainersOwnTime) {
  // An asynchronous device computes meanwhile: X = 1 / receive, or 1 / step.
  EXPECT_EQ(LateStep(Predict(Processes(4, 1ms, 0s, 3ms, 1ms, 401))), 3ms);
  EXPECT_EQ(LateStep(Predict(Processes(4, 1ms, 0s, 1ms, 3ms, 401))), 3ms);
}

TEST(Processes, ATrainerOnTheCpuTakesAndTrainsInTurn) {
  // X = 1 / (receive + step)
  auto experiment = Processes(4, 1ms, 100us, 3ms, 0s, 401);
  cost::Pipeline pipeline = cost::Stated(experiment);
  pipeline.step = CpuStep(2ms);
  const trace::RunTrace trace = Predict(experiment, pipeline);
  EXPECT_EQ(LateStep(trace), 5ms);
  EXPECT_EQ(TotalIn(trace, Role::kConsumer, State::kReceive), 401 * 3ms);
}

TEST(Processes, WithoutWorkersNothingIsHandedOver) {
  // X = 1 / s: the device computes meanwhile.
  const trace::RunTrace trace = Predict(Processes(0, 3ms, 2ms, 2ms, 1ms, 401));
  EXPECT_EQ(LateStep(trace), 3ms);
  EXPECT_EQ(TotalIn(trace, Role::kConsumer, State::kReceive), 0s);
}

TEST(Processes, APinThreadReceivesInPlaceOfTheTrainer) {
  auto experiment = Processes(4, 1ms, 100us, 2ms, 1ms, 401);
  experiment.loader.pin_memory = true;
  const trace::RunTrace trace = Predict(experiment);
  EXPECT_EQ(LateStep(trace), 2ms);
  EXPECT_EQ(TotalIn(trace, Role::kConsumer, State::kReceive), 0s);
  EXPECT_GE(TotalIn(trace, Role::kPin, State::kReceive), 401 * 2ms);
}

TEST(Processes, APinThreadAndTheTrainersLaunchesTakeTurns) {
  // One interpreter: X = 1 / max(receive + launch, step)
  auto experiment = Processes(4, 1ms, 100us, 2ms, 1ms, 401);
  experiment.loader.pin_memory = true;
  cost::Pipeline pipeline = cost::Stated(experiment);
  pipeline.step.launch = 3ms;
  const trace::RunTrace trace = Predict(experiment, pipeline);
  EXPECT_EQ(LateStep(trace), 2ms + 3ms);
  EXPECT_GE(TotalIn(trace, Role::kPin, State::kReceive), 401 * 2ms);
  EXPECT_LE(TotalIn(trace, Role::kPin, State::kReceive), 410 * 2ms) << "waiting for it is no receiving";
  pipeline.step.launch_unlocked = 1ms;
  EXPECT_EQ(LateStep(Predict(experiment, pipeline)), 2ms + 2ms) << "receiving goes on while the launch waits";
  pipeline.step.launch_unlocked = 2500us;
  const base::Duration launches = LateStep(Predict(experiment, pipeline));
  EXPECT_GE(launches, 3ms) << "launching limits";
  EXPECT_LT(launches, 3200us) << "and may wait for the lock";
  pipeline.step.launch_unlocked = 0us;
  pipeline.step = pipeline.step.Scaled(8);
  EXPECT_EQ(LateStep(Predict(experiment, pipeline)), 8ms);
  // Threads as workers have no interpreter.
  experiment.loader.kind = spec::LoaderKind::kThread;
  experiment.loader.send = experiment.loader.receive = std::nullopt;
  pipeline = cost::Stated(experiment);
  pipeline.step.launch = 3ms;
  EXPECT_EQ(LateStep(Predict(experiment, pipeline)), 3ms);
}

TEST(Processes, CoresAreSharedBetweenSendingAndReceiving) {
  // X = cores / (s + send + receive)
  auto experiment = Processes(4, 6ms, 2ms, 2ms, 1ms, 2001);
  experiment.limits.cpu_count = 2;
  const double step_s = base::ToSeconds(LateStep(Predict(experiment)));
  EXPECT_NEAR(step_s, 0.010 / 2, 0.010 / 2 * 0.01);
}

TEST(Processes, StartOneAfterAnotherInTheTrainer) {
  auto experiment = Processes(3, 5ms, 0s, 0s, 1ms, 1);
  experiment.loader.worker_startup = Fixed(40ms);
  cost::Pipeline pipeline = cost::Stated(experiment);
  pipeline.hand_over.launch = 10ms;
  // The first worker makes itself ready while the others are launched.
  EXPECT_EQ(*Predict(experiment, pipeline).first_batch, Instant(10ms + 40ms + 5ms));
  // Batches are dealt when all have been launched.
  experiment.loader.worker_startup = Fixed(1ms);
  EXPECT_EQ(*Predict(experiment, pipeline).first_batch, Instant(3 * 10ms + 5ms));
}

TEST(Processes, ShareTheCoresWhileTheyStart) {
  auto experiment = Processes(3, 5ms, 0s, 0s, 1ms, 1);
  experiment.loader.worker_startup = Fixed(40ms);
  cost::Pipeline pipeline = cost::Stated(experiment);
  pipeline.hand_over.launch = 10ms;
  pipeline.machine.cores = 1;
  // Launches take 10, 2 * 10 and 3 * 10 ms, since the workers that are launched have work, too. Then the
  // first worker has 20 ms of its start-up and its batch left, and two others beside it.
  EXPECT_EQ(*Predict(experiment, pipeline).first_batch,
            Instant((1 + 2 + 3) * 10ms + 3 * (20ms + 5ms)));
}

TEST(Processes, WaitForWhatTheirDataSetOpensWithoutACore) {
  auto experiment = Processes(3, 5ms, 0s, 0s, 1ms, 1);
  experiment.loader.worker_startup = Fixed(2ms);
  experiment.loader.worker_opening = 40ms;
  cost::Pipeline pipeline = cost::Stated(experiment);
  pipeline.machine.cores = 1;
  // They start in turn, wait side by side, and make their batches in turn.
  EXPECT_EQ(*Predict(experiment, pipeline).first_batch, Instant(3 * 2ms + 40ms + 3 * 5ms));
  experiment.run.steps.reset();
  experiment.run.epochs = 5;
  experiment.loader.worker_startup = Fixed(0s);
  EXPECT_EQ(TotalIn(Predict(experiment), Role::kWorker, State::kStartup), 5 * 3 * 40ms);
  experiment.loader.persistent_workers = true;
  EXPECT_EQ(TotalIn(Predict(experiment), Role::kWorker, State::kStartup), 3 * 40ms);
}

TEST(Processes, StartAgainInEachEpochUnlessPersistent) {
  auto experiment = Processes(2, 1ms, 0s, 0s, 1ms, 0);
  experiment.dataset.samples = 20;
  experiment.loader.worker_startup = Fixed(40ms);
  experiment.run.steps.reset();
  experiment.run.epochs = 5;
  const Duration anew = TotalIn(Predict(experiment), Role::kWorker, State::kStartup);
  EXPECT_EQ(anew, 5 * 2 * 40ms);
  experiment.loader.persistent_workers = true;
  EXPECT_EQ(TotalIn(Predict(experiment), Role::kWorker, State::kStartup), 2 * 40ms);
}

TEST(Processes, SharingIsAPartOfTheMainThreadsOwnTime) {
  // No wait of the main thread hides it: X = W / (s + share + max(wait, send))
  auto experiment = Processes(4, 3ms, 1ms, 100us, 1ms, 401);
  experiment.loader.share = Fixed(1ms);
  experiment.prepare.wait = Fixed(4ms);
  EXPECT_EQ(LateStep(Predict(experiment)), (3ms + 1ms + 4ms) / 4);
  experiment.prepare.wait = {};
  EXPECT_EQ(LateStep(Predict(experiment)), 5000us / 4);
  // Its lock is held meanwhile.
  experiment = Processes(1, 1ms, 0s, 3ms, 1ms, 401);
  experiment.loader.share = Fixed(1ms);
  experiment.loader.receive_wait = Fixed(5ms);
  EXPECT_EQ(LateStep(Predict(experiment)), 1ms + 1ms + 3ms);
}

TEST(Processes, ABusyWorkersLockIsWaitedFor) {
  // A worker begins its next batch when one is received, so that preparing and receiving take turns:
  // X = 1 / (prepare + receive), and the other threads of its process send meanwhile.
  auto experiment = Processes(1, 2ms, 500us, 3ms, 1ms, 401);
  experiment.loader.prefetch_factor = 8;
  EXPECT_EQ(LateStep(Predict(experiment)), 3ms);
  experiment.loader.receive_wait = Fixed(5ms);
  EXPECT_EQ(LateStep(Predict(experiment)), 2ms + 3ms);
  experiment.loader.receive_wait = Fixed(500us);
  EXPECT_EQ(LateStep(Predict(experiment)), 500us + 3ms);
  // Workers that wait for something have given it up.
  experiment.loader.receive_wait = Fixed(5ms);
  experiment.prepare.kind = spec::PrepareKind::kWait;
  EXPECT_EQ(LateStep(Predict(experiment)), 3ms);
}

TEST(Processes, ServingTakesTheTimeOfBothEnds) {
  // The trainer waits for it: X = 1 / (serve + receive).
  auto experiment = Processes(4, 100us, 0s, 1ms, 1ms, 401);
  experiment.loader.serve = Fixed(2ms);
  EXPECT_EQ(LateStep(Predict(experiment)), 2ms + 1ms);
  // It has the lock of a worker that works: X = W / (prepare + send + serve).
  experiment = Processes(1, 2ms, 500us, 100us, 1ms, 401);
  experiment.loader.serve = Fixed(400us);
  experiment.loader.prefetch_factor = 8;
  EXPECT_EQ(LateStep(Predict(experiment)), 2ms + 500us + 400us);
  // Two workers on one core: each batch's CPU time counts once.
  experiment = Processes(2, 2ms, 500us, 100us, 1ms, 401);
  experiment.loader.serve = Fixed(400us);
  experiment.limits.cpu_count = 1;
  const double each_s = base::ToSeconds(LateStep(Predict(experiment)));
  EXPECT_GE(each_s, 3e-3);
  EXPECT_LE(each_s, 3e-3 + 0.4e-3) << "both may lack their locks at once, and nobody has the core";
  // A worker that waits doesn't need the lock.
  experiment = Processes(1, 2ms, 500us, 100us, 1ms, 401);
  experiment.loader.serve = Fixed(400us);
  experiment.prepare.kind = spec::PrepareKind::kWait;
  EXPECT_EQ(LateStep(Predict(experiment)), 2ms);
}

TEST(Processes, TakingABatchWaitsForAnswersWithoutACore) {
  auto experiment = Processes(4, 1ms, 0s, 1ms, 1ms, 401);
  experiment.loader.receive_latency = Fixed(3ms);
  EXPECT_EQ(LateStep(Predict(experiment)), 3ms + 1ms);
  experiment.limits.cpu_count = 1;
  EXPECT_EQ(LateStep(Predict(experiment)), 3ms + 1ms) << "a worker has the core meanwhile";
  // They come once the worker's lock is there.
  experiment = Processes(1, 2ms, 0s, 3ms, 1ms, 401);
  experiment.loader.receive_wait = Fixed(5ms);
  experiment.loader.receive_latency = Fixed(1ms);
  EXPECT_EQ(LateStep(Predict(experiment)), 2ms + 1ms + 3ms);
}

TEST(Processes, OneAndManyHandOverAtTheirOwnCost) {
  auto experiment = Processes(4, 1ms, 0s, 1ms, 1ms, 401);
  experiment.loader.of_one = {.workers = 1, .share = {}, .send = {}, .serve = {}, .receive = 5ms, .receive_latency = {}};
  experiment.loader.of_many = {.workers = 4, .share = {}, .send = {}, .serve = {}, .receive = 3ms, .receive_latency = {}};
  EXPECT_EQ(LateStep(Predict(experiment)), 3ms);
  experiment.loader.workers = 3;
  EXPECT_EQ(LateStep(Predict(experiment)), 2ms);
  experiment.loader.workers = 2;
  EXPECT_EQ(LateStep(Predict(experiment)), 1ms);
  experiment.loader.workers = 1;
  EXPECT_EQ(LateStep(Predict(experiment)), 5ms);
}

TEST(Processes, PrepareWaitsBesideItsWork) {
  auto experiment = Processes(2, 2ms, 0s, 0s, 1ms, 401);
  experiment.prepare.wait = Fixed(6ms);
  const trace::RunTrace trace = Predict(experiment);
  EXPECT_EQ(LateStep(trace), 4ms);
  // Waiting takes no core: two workers that begin together wait side by side, then share one.
  experiment.limits.cpu_count = 1;
  EXPECT_EQ(LateStep(Predict(experiment)), (6ms + 2 * 2ms) / 2);
}

TEST(Processes, StatedCollateTakesItsTime) {
  auto experiment = Processes(2, 2ms, 0s, 0s, 1ms, 401);
  experiment.collate = {.batch = Fixed(1ms), .sample = 1ms};
  EXPECT_EQ(LateStep(Predict(experiment)), 2ms);
}

TEST(Processes, SkippingPeriodsChangesNothing) {
  auto experiment = Processes(3, 700us, 130us, 210us, 300us, 3001);
  experiment.dataset.samples = 400;
  experiment.prepare.wait = Fixed(450us);
  experiment.collate.batch = Fixed(50us);
  experiment.loader.receive_wait = Fixed(90us);
  experiment.loader.receive_latency = Fixed(40us);
  experiment.loader.serve = Fixed(70us);
  experiment.loader.worker_startup = Fixed(3ms);
  experiment.limits.cpu_count = 2;
  cost::Pipeline pipeline = cost::Stated(experiment);
  pipeline.hand_over.launch = 1ms;
  RunControl whole;
  whole.skip_periods = false;
  EXPECT_EQ(Print(Predict(experiment, pipeline)), Print(Predict(experiment, pipeline, whole)));
}

TEST(Processes, DrawnCostsHaveTheirMeans) {
  auto experiment = Processes(2, 1ms, 0s, 0s, 0s, 20'001);
  experiment.loader.send = Exponential(2ms);
  experiment.loader.receive = Exponential(500us);
  experiment.collate.batch = Exponential(1ms);
  experiment.prepare.wait = Exponential(1ms);
  const trace::RunTrace trace = Predict(experiment);
  const auto mean = [&](Role role, State state) {
    return base::ToSeconds(TotalIn(trace, role, state)) / 20'001;
  };
  EXPECT_NEAR(mean(Role::kWorker, State::kSend), 2e-3, 6e-5);
  EXPECT_NEAR(mean(Role::kConsumer, State::kReceive), 5e-4, 2e-5);
  EXPECT_NEAR(mean(Role::kWorker, State::kCollate), 1e-3, 3e-5);
  // A batch is prepared for 2 ms on average. Its wait passes while the worker sends as far as both
  // last: the mean of the lesser of two exponential times is 1 / (1 / 1 ms + 1 / 2 ms).
  EXPECT_NEAR(mean(Role::kWorker, State::kPrepare), 2e-3 - 1e-3 / 1.5, 6e-5);
}

TEST(Processes, PartitionsClose) {
  auto experiment = Processes(2, 2ms, 300us, 400us, 1ms, 801);
  const cost::Pipeline pipeline = cost::Stated(experiment);
  const auto measured = measure::Measure(Predict(experiment, pipeline), experiment, pipeline);
  EXPECT_EQ(measured.consumer.other_s, 0);
  EXPECT_EQ(measured.workers.other_s, 0);
  ASSERT_TRUE(measured.consumer.receive_s.has_value());
  EXPECT_NEAR(measured.demands.receive_s, 400e-6, 400e-6 * 0.02);
  EXPECT_NEAR(measured.demands.send_s, 300e-6, 300e-6 * 0.02);
}

}  // namespace
}  // namespace pipesim::engine
