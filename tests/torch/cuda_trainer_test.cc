// The training step on a GPU, and the errors without one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstring>

#include "base/error.h"
#include "engine/nvml.h"
#include "support.h"

namespace pipesim::engine {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using trace::State;

spec::Experiment OnGpu(std::vector<spec::Layer> layers) {
  auto experiment = SmallExperiment(std::move(layers));
  experiment.device.kind = spec::DeviceKind::kCuda;
  return experiment;
}

class Cuda : public testing::Test {
 protected:
  void SetUp() override {
    if (Plugin().devices().empty()) GTEST_SKIP() << "no CUDA device on this machine";
  }
};

TEST(WithoutCuda, AMissingGpuIsAClearError) {
  auto experiment = OnGpu(SmallMlp());
  experiment.device.cuda_index = static_cast<int>(Plugin().devices().size());
  EXPECT_THROW(Consumer{experiment}, base::EnvironmentError);
}

TEST(WithoutCuda, PinnedMemoryNeedsADevice) {
  if (!Plugin().devices().empty()) GTEST_SKIP() << "there is a CUDA device on this machine";
  EXPECT_THROW(Plugin().make_pinned_memory(), base::EnvironmentError);
}

TEST_F(Cuda, DevicesHaveNamesAndMemory) {
  const TorchDevice first = Plugin().devices().front();
  EXPECT_EQ(first.name, "cuda:0");
  EXPECT_FALSE(first.device_name.empty());
  EXPECT_GT(first.memory.count, 0);
  EXPECT_LE(first.memory_free, first.memory);
}

TEST_F(Cuda, ADeviceHasNvmlsBusId) {
  EXPECT_THAT(Plugin().devices().front().pci_bus_id,
              testing::MatchesRegex("[0-9A-Fa-f]+:[0-9A-Fa-f]+:[0-9A-Fa-f]+.[0-9A-Fa-f]"));
}

TEST_F(Cuda, ReadingItThroughNvmlCostsLittleBesideARun) {
  const auto nvml = LoadNvml();
  if (!nvml) GTEST_SKIP() << "there is no NVML on this machine";
  const GpuMonitor gpu = MonitorGpu(*nvml, Plugin().devices().front().pci_bus_id);
  ASSERT_TRUE(gpu.read);
  gpu.read();
  constexpr int kReadings = 20;
  const base::SystemClock clock;
  const base::Instant begin = clock.Now();
  for (int i = 0; i < kReadings; ++i) EXPECT_TRUE(gpu.read().power_w);
  const double each_s = base::ToSeconds(clock.Now() - begin) / kReadings;
  RecordProperty("us_a_reading", std::to_string(each_s * 1e6));
  // The monitor reads five times a second: 20 ms would be a tenth of a core.
  EXPECT_LT(each_s, 0.020);
}

TEST_F(Cuda, PinnedMemoryIsAlignedAndFreed) {
  const auto memory = Plugin().make_pinned_memory();
  EXPECT_TRUE(memory->pinned());
  std::byte* data = memory->Allocate({1 << 20});
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(data) % 64, 0U);
  std::memset(data, 1, 1 << 20);
  memory->Free(data, {1 << 20});
}

TEST_F(Cuda, LearnsALabelInFp32AndBf16WithEachOptimizer) {
  for (const auto precision : {spec::Precision::kFp32, spec::Precision::kBf16}) {
    for (const auto& [optimizer, rate] : {std::pair(spec::Optimizer::kSgd, 0.1),
                                          {spec::Optimizer::kMomentum, 0.02},
                                          {spec::Optimizer::kAdam, 0.01}}) {
      auto experiment = OnGpu(SmallMlp());
      experiment.training = {.precision = precision, .optimizer = optimizer, .learning_rate = rate};
      const auto [first, last] = Consumer(experiment).Train(60);
      EXPECT_LT(last, first / 2);
    }
  }
}

TEST_F(Cuda, TheGpuComputesWhatTheCpuComputes) {
  auto experiment = SmallExperiment(SmallMlp());
  const auto cpu = Consumer(experiment).Train(5);
  experiment.device.kind = spec::DeviceKind::kCuda;
  const auto gpu = Consumer(experiment).Train(5);
  EXPECT_NEAR(gpu.first, cpu.first, 1e-3 * cpu.first);
  EXPECT_NEAR(gpu.second, cpu.second, 1e-2 * cpu.second);
}

TEST_F(Cuda, EntersTransferHostAndSyncWhenReadingBack) {
  Consumer consumer(OnGpu(SmallMlp()));
  const LearnableBatch batch(OnGpu(SmallMlp()), 32);
  consumer.trainer().Submit(batch.batch(), 0, /*read_back=*/false, consumer.timer);
  consumer.trainer().Submit(batch.batch(), 1, /*read_back=*/true, consumer.timer);
  EXPECT_THAT(consumer.timer.states, ElementsAre(State::kTransfer, State::kHost, State::kTransfer,
                                                 State::kHost, State::kSync));
}

TEST_F(Cuda, StepsAreInOrderOnTheRunsClock) {
  for (const bool overlap : {true, false}) {
    auto experiment = OnGpu(SmallCnn());
    experiment.transfer.overlap = overlap;
    Consumer consumer(experiment);
    const LearnableBatch batch(experiment, 32);
    const base::StopFlag stop;
    base::Instant last_end = consumer.clock().Now();
    std::array<base::Instant, 2> submitted;  // of the steps in flight
    // An anchor's error is at most half its width, the wait for an idle stream, during which a
    // loaded machine may preempt the thread.
    const base::Duration slack = std::chrono::milliseconds(5);
    for (std::int64_t step = 0; step < 50; ++step) {
      if (step >= 2) {
        const StepDone done = consumer.trainer().WaitDone(step - 2, consumer.timer, stop).value();
        EXPECT_GE(done.begin, last_end - slack);
        EXPECT_GE(done.begin, done.transfer_end.value() - base::Duration(1000));  // rounding
        EXPECT_LE(done.transfer_begin.value(), done.transfer_end.value());
        EXPECT_LT(done.begin, done.end);
        EXPECT_GE(done.transfer_begin.value(), submitted[step % 2] - slack);
        EXPECT_LE(done.end, consumer.clock().Now() + slack);
        last_end = done.end;
      }
      submitted[step % 2] = consumer.clock().Now();
      consumer.trainer().Submit(batch.batch(), step, false, consumer.timer);
    }
  }
}

TEST_F(Cuda, APartialBatchTrainsOnlyItsSamples) {
  const auto experiment = OnGpu(SmallMlp());
  const LearnableBatch partial(experiment, 4), full(experiment, 32);
  EXPECT_NEAR(Consumer(experiment).Step(partial.batch()), Consumer(experiment).Step(full.batch()),
              1e-4);
}

TEST_F(Cuda, ReplayingTheCapturedStepIsFasterThanLaunchingIt) {
  for (const auto precision : {spec::Precision::kFp32, spec::Precision::kBf16}) {
    auto experiment = OnGpu(SmallCnn());
    experiment.training.precision = precision;
    experiment.training.optimizer = spec::Optimizer::kAdam;
    Consumer consumer(experiment);
    const LearnableBatch batch(experiment, 32);
    const base::StopFlag stop;
    base::Duration shortest = base::Duration::max();
    for (std::int64_t step = 0; step < 30; ++step) {
      consumer.trainer().Submit(batch.batch(), step, false, consumer.timer);
      const StepDone done = consumer.trainer().WaitDone(step, consumer.timer, stop).value();
      shortest = std::min(shortest, done.end - done.begin);
    }
    const auto replay = consumer.trainer().MeasureStepAlone();
    ASSERT_TRUE(replay.has_value());
    EXPECT_GT(replay->time, base::Duration(0));
    EXPECT_LT(replay->time, shortest);  // the same kernels without the gaps between launches
    EXPECT_TRUE(std::isfinite(consumer.Train(1).first));  // the trainer still works
  }
}

TEST_F(Cuda, OnlyARunFromPageableMemoryTimesACopyFromPinnedMemory) {
  for (const bool pinned : {false, true}) {
    auto experiment = OnGpu(SmallMlp());
    experiment.loader.pin_memory = pinned;
    Consumer consumer(experiment);
    consumer.Train(3);
    const auto alone = consumer.trainer().MeasureStepAlone();
    ASSERT_TRUE(alone.has_value());
    EXPECT_EQ(alone->pinned_copy.has_value(), !pinned);
  }
}

TEST_F(Cuda, ABatchThatDoesNotFitReportsRequestedAndFreeMemory) {
  auto experiment = OnGpu({Flatten(), Linear(4)});
  experiment.loader.batch_size = std::int64_t{1} << 40;  // 2^40 × 192 bytes = 192 TiB
  try {
    Consumer consumer(experiment);
    FAIL() << "192 TiB were allocated";
  } catch (const OutOfMemory& error) {
    EXPECT_THAT(error.what(), testing::AllOf(HasSubstr("cuda:0"), HasSubstr("asked for "),
                                             HasSubstr(" free, "), HasSubstr("held by this run")));
  }
}

TEST_F(Cuda, ReportsPeakDeviceMemory) {
  Consumer consumer(OnGpu(SmallMlp()));
  consumer.Train(2);
  const auto info = consumer.trainer().info();
  EXPECT_EQ(info.device, spec::DeviceId::Cuda(0));
  EXPECT_TRUE(info.asynchronous);
  EXPECT_GT(consumer.trainer().DeviceMemoryPeak().value().count, 4 * info.parameters);
  EXPECT_LT(consumer.trainer().DeviceMemoryPeak().value(), info.device_memory.value());
}

}  // namespace
}  // namespace pipesim::engine
