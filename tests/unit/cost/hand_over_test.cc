#include "cost/hand_over.h"

#include <gmock/gmock.h>

#include "cost/pipeline.h"
#include "cost/profile.h"
#include "support/drawn.h"

namespace pipesim::cost {
namespace {

using namespace std::chrono_literals;
using base::Bytes;
using base::BytesPerSecond;
using base::Duration;
using tests::Fixed;

spec::MachineFigures Measured() {
  spec::MachineFigures figures;
  figures.worker_startup = {20us, {}, "test"};
  figures.collate_bandwidth = {{5e9}, {}, "test"};
  figures.process_launch = {4ms, {}, "test"};
  figures.process_startup_fork = {10ms, {}, "test"};
  figures.process_startup_spawn = {2s, {}, "test"};
  figures.process_share_batch = {30us, {}, "test"};
  figures.process_share_tensor = {10us, {}, "test"};
  figures.process_share_bandwidth = {{2e9}, {}, "test"};
  figures.process_lock_wait = {20us, {}, "test"};
  figures.process_send_batch = {100us, {}, "test"};
  figures.process_send_tensor = {50us, {}, "test"};
  figures.process_send_bandwidth = {{10e9}, {}, "test"};
  figures.process_receive_batch = {40us, {}, "test"};
  figures.process_receive_tensor = {140us, {}, "test"};
  figures.process_serve_batch = {15us, {}, "test"};
  figures.process_serve_tensor = {70us, {}, "test"};
  figures.process_latency_batch = {25us, {}, "test"};
  figures.process_latency_tensor = {35us, {}, "test"};
  figures.process_memory = {Bytes{30'000'000}, {}, "test"};
  figures.python_sample = {1us, {}, "test"};
  figures.python_collate_batch = {10us, {}, "test"};
  figures.python_collate_tensor = {5us, {}, "test"};
  figures.python_collate_sample = {Duration(200), {}, "test"};
  figures.python_collate_bandwidth = {{2e9}, {}, "test"};
  return figures;
}

/// Batches of 10 samples of 1 MB in 3 tensors, made by two processes.
spec::Experiment TwoProcesses() {
  spec::Experiment experiment;
  experiment.dataset.shape = {1'000'000};
  experiment.dataset.tensors = 3;
  experiment.loader.kind = spec::LoaderKind::kProcess;
  experiment.loader.workers = 2;
  experiment.loader.batch_size = 10;
  return experiment;
}

spec::MachineProfile Profile(const spec::MachineFigures& figures) {
  spec::MachineProfile profile;
  profile.figures = figures;
  return profile;
}

Pipeline On(const spec::Experiment& experiment) {
  Pipeline pipeline = Stated(experiment);
  SetHost(Profile(Measured()), experiment, pipeline);
  return pipeline;
}

TEST(HandOver, CostsEachBatchEachTensorAndEachByte) {
  const Pipeline pipeline = On(TwoProcesses());
  const Bytes batch{10'000'000};
  EXPECT_EQ(pipeline.hand_over.share.Mean(batch), 30us + 3 * 10us + 5ms);
  EXPECT_EQ(pipeline.hand_over.send.Mean(batch), 100us + 3 * 50us + 1ms);
  EXPECT_EQ(pipeline.hand_over.serve.Mean(batch), 15us + 3 * 70us);
  EXPECT_EQ(pipeline.hand_over.receive.Mean(batch), 40us + 3 * 140us);
  EXPECT_EQ(pipeline.hand_over.receive_latency, Fixed(25us + 3 * 35us));
  EXPECT_EQ(pipeline.collate.Mean(batch, 10), 10us + 3 * 5us + 10 * 3 * Duration(200) + 5ms);
  EXPECT_EQ(pipeline.prepare.CpuSeconds(10), 10e-6);
  EXPECT_EQ(pipeline.hand_over.launch, 4ms);
  EXPECT_EQ(pipeline.hand_over.startup, Fixed(10ms));
  EXPECT_EQ(pipeline.hand_over.worker_memory, Bytes{30'000'000});
  EXPECT_EQ(pipeline.machine.worker_startup, 0s) << "that of a thread";
}

TEST(HandOver, AStatedLaunchCountsInPlaceOfTheProfiles) {
  spec::Experiment experiment = TwoProcesses();
  experiment.loader.worker_launch = 12ms;
  EXPECT_EQ(Stated(experiment).hand_over.launch, 12ms);
  EXPECT_EQ(On(experiment).hand_over.launch, 12ms);
}

TEST(HandOver, SamplesThatAreLookedUpPayForTheirTensors) {
  spec::MachineFigures figures = Measured();
  figures.python_tensor = {2us, {}, "test"};
  auto experiment = TwoProcesses();
  experiment.dataset.numbers = 1;
  Pipeline pipeline = Stated(experiment);
  SetHost(Profile(figures), experiment, pipeline);
  EXPECT_EQ(pipeline.prepare.python, 1us + 2 * 2us) << "a number becomes a tensor in collate";
  experiment.prepare = {.kind = spec::PrepareKind::kBurn, .cost = Fixed(3us)};
  pipeline = Stated(experiment);
  SetHost(Profile(figures), experiment, pipeline);
  EXPECT_EQ(pipeline.prepare.python, 1us) << "a stated cost is all of a sample's";
}

TEST(HandOver, ASamplesWaitEndsLateAndCostsCpuTime) {
  spec::MachineFigures figures = Measured();
  figures.python_wait = {100us, {}, "test"};
  figures.python_wait_cpu = {50us, {}, "test"};
  const auto prepare_of = [&](const spec::Experiment& experiment) {
    Pipeline pipeline = Stated(experiment);
    SetHost(Profile(figures), experiment, pipeline);
    return pipeline.prepare;
  };
  auto experiment = TwoProcesses();
  EXPECT_EQ(prepare_of(experiment).WaitSeconds(10), 0) << "nothing waits";
  EXPECT_EQ(prepare_of(experiment).python, 1us);
  experiment.prepare = {.kind = spec::PrepareKind::kWait, .cost = Fixed(1ms)};
  EXPECT_DOUBLE_EQ(prepare_of(experiment).WaitSeconds(10), 11e-3);
  EXPECT_EQ(prepare_of(experiment).python, 1us + 50us);
  EXPECT_EQ(prepare_of(experiment).Scaled(0).WaitSeconds(10), 0);
  experiment.prepare = {.kind = spec::PrepareKind::kBurn, .cost = Fixed(3us), .wait = Fixed(2ms)};
  EXPECT_DOUBLE_EQ(prepare_of(experiment).WaitSeconds(10), 21e-3);
  experiment.loader.python_sample = Duration{};
  EXPECT_DOUBLE_EQ(prepare_of(experiment).WaitSeconds(10), 20e-3) << "who states Python's part has measured it";
}

TEST(HandOver, LooksUpKeepTheInterpretersLock) {
  auto experiment = TwoProcesses();
  EXPECT_EQ(On(experiment).hand_over.receive_wait, Fixed(5 * 3 * 20us)) << "five times a tensor";
  experiment.prepare = {.kind = spec::PrepareKind::kBurn, .cost = Fixed(3us)};
  EXPECT_TRUE(On(experiment).hand_over.receive_wait.IsZero()) << "what it calls may release the lock";
  experiment.loader.receive_wait = Fixed(7us);
  EXPECT_EQ(On(experiment).hand_over.receive_wait, Fixed(7us));
}

TEST(HandOver, AStatedSendIsAllOfAWorkersPart) {
  auto experiment = TwoProcesses();
  experiment.loader.send = Fixed(300us);
  EXPECT_EQ(On(experiment).hand_over.share, HandOverEnd{});
  experiment.loader.share = Fixed(50us);
  EXPECT_EQ(On(experiment).hand_over.share.Mean(Bytes{1000}), 50us);
}

TEST(HandOver, WhatWasStatedWithoutServingHoldsIt) {
  auto experiment = TwoProcesses();
  experiment.loader.send = Fixed(300us);
  experiment.loader.receive = Fixed(200us);
  EXPECT_EQ(On(experiment).hand_over.serve, HandOverEnd{});
  EXPECT_TRUE(On(experiment).hand_over.receive_latency.IsZero());
  experiment.loader.serve = Fixed(50us);
  experiment.loader.receive_latency = Fixed(60us);
  EXPECT_EQ(On(experiment).hand_over.serve.Mean(Bytes{1000}), 50us);
  EXPECT_EQ(On(experiment).hand_over.receive_latency, Fixed(60us));
}

TEST(HandOver, OfOneAndOfManyWorkersCostsWhatWasMeasuredWithThem) {
  auto experiment = TwoProcesses();
  experiment.loader.share = Fixed(0us);
  experiment.loader.send = Fixed(300us);
  experiment.loader.serve = Fixed(100us);
  experiment.loader.receive = base::Drawn<Duration>{{.kind = base::DistributionKind::kExponential, .mean = 200e3}};
  experiment.loader.receive_latency = Fixed(50us);
  const HandOver same = On(experiment).hand_over;
  EXPECT_EQ(same.With(64), same);
  experiment.loader.of_many = {.workers = 4, .share = 40us, .send = 500us, .serve = 100us, .receive = 400us,
                               .receive_latency = 0us};
  const HandOver few = On(experiment).hand_over;
  const Bytes batch{1000};
  EXPECT_EQ(few.With(2), few);
  EXPECT_EQ(few.With(1), few);
  experiment.loader.of_one = {.workers = 1, .share = 10us, .send = 600us, .serve = 0us, .receive = 500us,
                              .receive_latency = 70us};
  const HandOver with_one = On(experiment).hand_over, one = with_one.With(1);
  EXPECT_EQ(one.share.Mean(batch), 10us);
  EXPECT_EQ(one.send.Mean(batch), 600us);
  EXPECT_EQ(one.serve.Mean(batch), 0us);
  EXPECT_EQ(one.receive.Mean(batch), 500us);
  EXPECT_EQ(one.receive_latency, Fixed(70us));
  EXPECT_EQ(with_one.With(2), with_one);
  EXPECT_EQ(with_one.With(4), few.With(4));
  const HandOver between = few.With(3), many = few.With(4);
  EXPECT_EQ(between.share.Mean(batch), 20us);
  EXPECT_EQ(between.send.Mean(batch), 400us);
  EXPECT_EQ(between.serve.Mean(batch), 100us);
  EXPECT_EQ(between.receive.Mean(batch), 300us);
  EXPECT_EQ(between.receive.batch.in_units.kind, base::DistributionKind::kExponential) << "drawn as with few";
  EXPECT_EQ(between.receive_latency, Fixed(25us));
  EXPECT_EQ(many.share.Mean(batch), 40us);
  EXPECT_TRUE(many.receive_latency.IsZero());
  EXPECT_EQ(few.With(64), many);
  HandOver free = few;
  free.ScaleSending(0);
  free.ScaleReceiving(0);
  EXPECT_EQ(free.With(4).send.Mean(batch) + free.With(4).receive.Mean(batch), 0us);
}

TEST(HandOver, AProfileSaysHowManyTimesAsMuchItCostsWithOneAndWithManyWorkers) {
  spec::MachineFigures figures = Measured();
  figures.process_worker_of_one = {1.5, {}, "test"};
  figures.process_trainer_of_one = {0.5, {}, "test"};
  figures.process_worker_of_many = {2.0, {}, "test"};
  figures.process_trainer_of_many = {3.0, {}, "test"};
  figures.process_many_workers = {4.0, {}, "test"};
  const auto on = [&](const spec::Experiment& experiment) {
    Pipeline pipeline = Stated(experiment);
    SetHost(Profile(figures), experiment, pipeline);
    return pipeline.hand_over;
  };
  auto experiment = TwoProcesses();
  const HandOver two = on(experiment);
  const auto worker = [](const HandOver& h) {
    return base::ToSeconds(h.share.batch.Mean() + h.send.batch.Mean() + h.serve.batch.Mean());
  };
  const auto trainer = [](const HandOver& h) {
    return base::ToSeconds(h.serve.batch.Mean() + h.receive.batch.Mean() + h.receive_latency.Mean());
  };
  EXPECT_NEAR(worker(two.With(1)), 1.5 * worker(two), 1e-7);
  EXPECT_NEAR(trainer(two.With(1)), 0.5 * trainer(two), 1e-7);
  EXPECT_NEAR(worker(two.With(4)), 2 * worker(two), 1e-7);
  EXPECT_NEAR(trainer(two.With(4)), 3 * trainer(two), 1e-7);
  EXPECT_NEAR(trainer(two.With(3)), 2 * trainer(two), 1e-7);
  EXPECT_EQ(two.With(9), two.With(4));
  experiment.loader.send = Fixed(1ms);
  EXPECT_EQ(on(experiment).of_many, spec::HandOverOf{}) << "was measured with the workers that there are";
}

TEST(HandOver, TheTrainingLoopsOwnBatchesMapFreshMemory) {
  spec::MachineFigures figures = Measured();
  figures.python_fault_bandwidth = {{1e9}, {}, "test"};
  const auto experiment = TwoProcesses();
  Pipeline pipeline = Stated(experiment);
  SetHost(Profile(figures), experiment, pipeline);
  const Bytes batch{10'000'000};
  const Duration with_workers = pipeline.collate.MadeBy(2).Mean(batch, 10);
  EXPECT_EQ(with_workers, On(experiment).collate.Mean(batch, 10)) << "sharing pays for shared memory";
  EXPECT_EQ(pipeline.collate.MadeBy(0).Mean(batch, 10), with_workers + 10ms);
  EXPECT_EQ(pipeline.collate.Scaled(0).MadeBy(0).Mean(batch, 10), 0s);
}

TEST(HandOver, VariesAsItsFiguresDid) {
  spec::MachineFigures figures = Measured();
  figures.process_send_batch->spread = 0.1;
  figures.process_send_tensor->spread = 0.2;
  Pipeline pipeline = Stated(TwoProcesses());
  SetHost(Profile(figures), TwoProcesses(), pipeline);
  const base::Drawn<Duration>& send = pipeline.hand_over.send.batch;
  EXPECT_EQ(send.Mean(), 250us);
  EXPECT_NEAR(send.in_units.Stdev(), 10e3 + 3 * 10e3, 1);
  EXPECT_TRUE(pipeline.hand_over.receive.batch.IsFixed()) << "its spread is not known";
}

TEST(HandOver, IsFreeWhereWorkersAreThreads) {
  auto experiment = TwoProcesses();
  experiment.loader.kind = spec::LoaderKind::kThread;
  const Pipeline pipeline = On(experiment);
  EXPECT_EQ(pipeline.hand_over, HandOver{});
  EXPECT_EQ(pipeline.prepare.python, 0s);
  EXPECT_EQ(pipeline.collate.Mean(Bytes{10'000'000}, 10), 2ms);
}

TEST(HandOver, TakesWhatIsStatedBeforeWhatTheProfileHas) {
  auto experiment = TwoProcesses();
  experiment.loader.start_method = spec::StartMethod::kSpawn;
  experiment.loader.send = Fixed(300us);
  experiment.loader.receive = Fixed(200us);
  experiment.loader.python_sample = 7us;
  experiment.loader.worker_memory = Bytes{1000};
  experiment.collate.sample = 2us;
  const Pipeline pipeline = On(experiment);
  const Bytes batch{10'000'000};
  EXPECT_EQ(pipeline.hand_over.send.Mean(batch), 300us);
  EXPECT_EQ(pipeline.hand_over.receive.Mean(batch), 200us);
  EXPECT_EQ(pipeline.collate.Mean(batch, 10), 20us);
  EXPECT_EQ(pipeline.prepare.python, 7us);
  EXPECT_EQ(pipeline.hand_over.worker_memory, Bytes{1000});
  EXPECT_EQ(pipeline.hand_over.startup, Fixed(2s));
}

TEST(HandOver, ScaledByNothingIsFree) {
  const HandOverEnd end{.batch = Fixed(10us), .bandwidth = BytesPerSecond{1e9}};
  EXPECT_EQ(end.Scaled(0.5).Mean(Bytes{1'000'000}), 505us);
  EXPECT_EQ(end.Scaled(0).Mean(Bytes{1'000'000}), 0s);
}

TEST(Prepare, WaitsAndWorksForPythonBesideItsOwnCost) {
  spec::Experiment experiment = TwoProcesses();
  experiment.prepare = {.kind = spec::PrepareKind::kBurn, .cost = Fixed(2ms), .wait = Fixed(4ms)};
  const Prepare prepare = On(experiment).prepare;
  EXPECT_DOUBLE_EQ(prepare.AloneSeconds(10, 1), 10 * (2e-3 + 4e-3 + 1e-6));
  EXPECT_DOUBLE_EQ(prepare.AloneSeconds(10, 2), 10 * (1e-3 + 4e-3 + 1e-6));
  EXPECT_DOUBLE_EQ(prepare.CpuSeconds(10), 10 * (2e-3 + 1e-6));
}

TEST(Collate, StatedAsADistributionIsDrawn) {
  spec::Experiment experiment = TwoProcesses();
  experiment.collate.batch = {{.kind = base::DistributionKind::kUniform, .low = 1e6, .high = 3e6,
                               .values = {}}};
  const Collate collate = On(experiment).collate;
  EXPECT_FALSE(collate.varying.IsFixed());
  EXPECT_EQ(collate.Mean(Bytes{10'000'000}, 10), 2ms);
  EXPECT_EQ(collate.Time(Bytes{10'000'000}, 10, 3ms), 3ms);
}

}  // namespace
}  // namespace pipesim::cost
