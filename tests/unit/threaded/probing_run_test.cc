// Probes on real threads, with an emulated device.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <thread>

#include "engine/threaded/probing.h"
#include "pipeline.h"
#include "probe_pairs.h"

namespace pipesim::engine {
namespace {

using trace::ProbeKind;

/// A run whose probes may take a fifth of its measured time, as the commands plan them.
RunControl Probing() {
  RunControl control;
  control.plan_probes = [](const trace::RunTrace& trace) {
    return ProbePlan{.most_time = (trace.end - trace.begin) / 5, .setting = {}, .step_s = {}};
  };
  return control;
}

/// A run that takes its time, whatever else the machine does.
RunControl Trying(std::optional<LiveSetting> setting = std::nullopt) {
  RunControl control;
  control.plan_probes = [setting](const trace::RunTrace&) {
    return ProbePlan{.most_time = 4s, .setting = setting, .step_s = {}};
  };
  return control;
}

spec::Experiment WaitingLoader(int workers, Duration batch, Duration step, int steps) {
  auto experiment = Small();
  experiment.dataset.samples = 400;
  experiment.loader.batch_size = 1;
  experiment.loader.workers = workers;
  experiment.prepare = {.kind = spec::PrepareKind::kWait, .cost = Fixed(batch)};
  experiment.device.step_base = Fixed(step);
  experiment.run.epochs.reset();
  experiment.run.steps = steps;
  return experiment;
}

double MedianGain(const trace::RunTrace& trace, ProbeKind kind) {
  const trace::Probe* probe = Find(trace.probes, kind);
  if (probe == nullptr) return NAN;
  std::vector<double> gains;
  for (const trace::ProbePair& pair : probe->pairs) gains.push_back(GainOf(pair));
  std::nth_element(gains.begin(), gains.begin() + static_cast<int>(gains.size() / 2), gains.end());
  return gains[gains.size() / 2];
}

TEST(Rates, ProbesOfAStarvedRunGainOnTheDataSideOnly) {
  // 2 workers of 8 ms a batch against steps of 1 ms: 4 ms a step, of which 1 ms is training.
  const auto trace = RunEmulated(WaitingLoader(2, 8ms, 1ms, 400), Trying());
  // Other programs stretch steps of 1 ms and waits of 8 ms alike, but not by the same share.
  EXPECT_GT(MedianGain(trace, ProbeKind::kFreeData), 1.5);
  EXPECT_NEAR(MedianGain(trace, ProbeKind::kFreeCompute), 0, 0.3);
}

TEST(Rates, ProbesOfABusyDeviceGainOnTheTrainingSideOnly) {
  // 4 workers of 4 ms a batch could feed steps of 1 ms; a step takes 3.
  const auto trace = RunEmulated(WaitingLoader(4, 4ms, 3ms, 400), Trying());
  EXPECT_NEAR(MedianGain(trace, ProbeKind::kFreeData), 0, 0.3);
  EXPECT_GT(MedianGain(trace, ProbeKind::kFreeCompute), 1);
}

TEST(Rates, ProbesTakeAFifthAndLeaveTheMeasuredPartAlone) {
  const auto experiment = WaitingLoader(2, 8ms, 1ms, 600);
  const auto trace = RunEmulated(experiment, Probing());
  EXPECT_EQ(trace.steps, 600);
  EXPECT_EQ(trace.end_reason, EndReason::kSteps);
  ASSERT_FALSE(trace.probes.each.empty());
  // One round may take longer than those before it.
  EXPECT_LE(base::ToSeconds(trace.probes.time), 0.21 * base::ToSeconds(trace.end - trace.begin));
  EXPECT_EQ(trace.progress.back().steps, 600 - 600 % trace.checkpoint_stride);
  EXPECT_LE(trace.progress.back().at, trace.end);
  for (const Role role : {Role::kConsumer, Role::kWorker})
    EXPECT_NEAR(UnownedShare(trace, role, trace.progress.front().at, trace.end), 0, 0.005);
  // 4 ms a step, whatever was tried afterwards.
  const trace::Checkpoint &first = trace.progress.front(), &last = trace.progress.back();
  EXPECT_NEAR(base::ToSeconds(last.at - first.at) / static_cast<double>(last.steps - first.steps),
              0.004, 0.0006);
}

TEST(Rates, FewerWorkersAreTriedLive) {
  const LiveSetting half{.change = "workers 4 to 2", .workers = 2, .prefetch_factor = 2};
  const auto trace = RunEmulated(WaitingLoader(4, 8ms, 500us, 400), Trying(half));
  EXPECT_NEAR(MedianGain(trace, ProbeKind::kSetting), -0.5, 0.15);
}

TEST(Rates, MoreWorkersAreTriedLive) {
  for (const int workers : {1, 2}) {
    const LiveSetting twice{.change = "more", .workers = 2 * workers, .prefetch_factor = 2};
    const auto trace = RunEmulated(WaitingLoader(workers, 8ms * workers, 1ms, 300), Trying(twice));
    const double gain = MedianGain(trace, ProbeKind::kSetting);
    EXPECT_GT(gain, 0.4) << workers;
    EXPECT_LT(gain, 2) << workers;
  }
}

TEST(Rates, ADeeperPrefetchIsTriedLive) {
  const LiveSetting deeper{.change = "prefetch 2 to 8", .workers = 2, .prefetch_factor = 8};
  const auto trace = RunEmulated(WaitingLoader(2, 8ms, 2ms, 400), Trying(deeper));
  const trace::Probe* probe = Find(trace.probes, ProbeKind::kSetting);
  ASSERT_NE(probe, nullptr);
  // Every batch takes as long, so a deeper window gains nothing.
  EXPECT_NEAR(MedianGain(trace, ProbeKind::kSetting), 0, 0.1);
}

/// Trains on the CPU in 2 ms, on another number of threads in 1 ms.
class PoolTrainer final : public Trainer {
 public:
  TrainerInfo info() const override {
    return {.device = spec::DeviceId::Cpu(),
            .device_name = "pool",
            .compute_threads = threads.back(),
            .device_memory = std::nullopt};
  }
  void Submit(const Batch&, std::int64_t, bool, StateTimer& timer) override {
    timer.Enter(State::kForward);
    std::this_thread::sleep_for(threads.back() == 2 ? 5ms : 1ms);
  }
  std::optional<StepDone> WaitDone(std::int64_t, StateTimer&, const base::StopFlag&) override {
    return StepDone{};
  }
  void UseComputeThreads(int count) override { threads.push_back(count); }
  std::vector<int> threads = {2};
};

TEST(ProbingRun, FewerComputeThreadsAreTriedLiveWithAndWithoutWorkers) {
  for (const int workers : {0, 1}) {
    auto experiment = WaitingLoader(workers, 100us, 0us, 250);
    experiment.device.kind = spec::DeviceKind::kCpu;
    PoolTrainer trainer;
    const LiveSetting one{.change = "compute threads 2 to 1",
                          .workers = workers,
                          .prefetch_factor = 2,
                          .compute_threads = 1,
                          .expected_gain = 4};
    const auto trace = RunWith(experiment, trainer, nullptr, Trying(one));
    EXPECT_EQ(trace.steps, 250);
    const trace::Probe* probe = Find(trace.probes, ProbeKind::kSetting);
    ASSERT_NE(probe, nullptr) << workers;
    EXPECT_GT(MedianGain(trace, ProbeKind::kSetting), 0.3) << workers;
    // There and back, at most once a pair each, and back at the end.
    EXPECT_GE(std::count(trainer.threads.begin(), trainer.threads.end(), 1), 2);
    EXPECT_EQ(trainer.threads.back(), 2);
    EXPECT_EQ(trace.effective.compute_threads, 2);
  }
}

TEST(ProbingRun, WithoutWorkersTheConsumerLoads) {
  const auto trace = RunEmulated(WaitingLoader(0, 2ms, 200us, 400), Trying());
  EXPECT_EQ(trace.steps, 400);
  EXPECT_FALSE(trace.probes.each.empty());
}

TEST(ProbingRun, CrossesEpochs) {
  auto experiment = WaitingLoader(2, 1ms, 200us, 0);
  experiment.dataset.samples = 40;
  experiment.run.steps.reset();
  experiment.run.epochs = 20;
  const auto trace = RunEmulated(experiment, Trying());
  EXPECT_EQ(trace.steps, 800);
  EXPECT_EQ(trace.end_reason, EndReason::kEpochs);
  EXPECT_EQ(trace.epochs.size(), 20u);
  EXPECT_FALSE(trace.probes.each.empty());
}

TEST(ProbingRun, PinnedAndOutOfOrderEndsToo) {
  auto experiment = WaitingLoader(3, 1ms, 200us, 600);
  experiment.loader.pin_memory = true;
  experiment.loader.in_order = false;
  const auto trace = RunEmulated(experiment, Trying());
  EXPECT_EQ(trace.steps, 600);
  EXPECT_FALSE(trace.probes.each.empty());
}

TEST(ProbingRun, AStopDuringTheProbesLeavesTheRunWhole) {
  base::StopFlag stop;
  RunControl control;
  control.stop = &stop;
  control.plan_probes = [&](const trace::RunTrace&) {
    stop.Set();
    return ProbePlan{.most_time = 60s, .setting = {}, .step_s = {}};
  };
  const auto trace = RunEmulated(WaitingLoader(2, 1ms, 200us, 400), control);
  EXPECT_EQ(trace.end_reason, EndReason::kSteps);
  EXPECT_EQ(trace.steps, 400);
}

TEST(ProbingRun, AWorkerThatFailsDuringTheProbesLeavesTheRunWhole) {
  auto experiment = FromSource(Small());
  experiment.dataset.samples = 4000;
  experiment.loader.workers = 2;
  experiment.run.epochs.reset();
  experiment.run.steps = 400;
  experiment.storage.on_bad_file = spec::OnBadFile::kFail;
  const NumberedSource source(4000, [](std::int64_t sample) {
    if (sample >= 3000) throw BadSample{"image", "is cut short"};
  });
  experiment.loader.shuffle = false;
  RecordingTrainer trainer;
  RunControl control;
  control.plan_probes = [](const trace::RunTrace&) {
    return ProbePlan{.most_time = 10s, .setting = {}, .step_s = {}};
  };
  const auto trace = RunWith(experiment, trainer, &source, control);
  EXPECT_EQ(trace.end_reason, EndReason::kSteps);
  EXPECT_EQ(trace.steps, 400);
}

}  // namespace
}  // namespace pipesim::engine
