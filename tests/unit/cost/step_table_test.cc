#include "cost/step_table.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <stdexcept>

#include "cost/machine_of.h"
#include "cost/step.h"

namespace pipesim::cost {
namespace {

using namespace std::chrono_literals;
using spec::StepPoint;

StepTable Table(std::vector<StepPoint> points) { return StepTable(points); }

TEST(StepTable, IsExactAtMeasuredBatchSizesAndLinearBetween) {
  const StepTable table = Table({{16, 100us}, {64, 196us}, {256, 1000us}});
  EXPECT_EQ(table.At(16), 100us);
  EXPECT_EQ(table.At(64), 196us);
  EXPECT_EQ(table.At(40), 148us);
  EXPECT_EQ(table.At(160), 598us);
  EXPECT_EQ(table.At(256), 1000us);
}

TEST(StepTable, AboveTheLargestBatchTimeIsProportional) {
  const StepTable table = Table({{16, 100us}, {64, 200us}});
  EXPECT_TRUE(table.Covers(64));
  EXPECT_FALSE(table.Covers(65));
  EXPECT_EQ(table.At(128), 400us);
}

TEST(StepTable, BelowTheSmallestBatchExtrapolatesWithinBounds) {
  const StepTable table = Table({{16, 100us}, {32, 140us}});
  EXPECT_FALSE(table.Covers(15));
  EXPECT_EQ(table.At(8), 80us);
  // Steeper than proportional: the time per sample stays that of the smallest batch.
  EXPECT_EQ(Table({{16, 100us}, {32, 400us}}).At(8), 50us);
  // Falling: the time per step stays that of the smallest batch.
  EXPECT_EQ(Table({{16, 100us}, {32, 90us}}).At(8), 100us);
}

TEST(StepTable, ASingleBatchSizeScalesProportionally) {
  const StepTable table = Table({{64, 640us}});
  EXPECT_EQ(table.At(1), 10us);
  EXPECT_EQ(table.At(128), 1280us);
  EXPECT_TRUE(table.Covers(64));
}

TEST(StepTable, SortsPointsAndAveragesEqualBatchSizes) {
  const StepTable table = Table({{64, 300us}, {16, 100us}, {64, 200us}});
  EXPECT_EQ(table.At(64), 250us);
  EXPECT_EQ(table.smallest(), 16);
}

TEST(StepTable, RefusesAnEmptyTableAndEmptyBatches) {
  EXPECT_THROW(Table({}), std::invalid_argument);
  EXPECT_THROW(Table({{0, 1us}}), std::invalid_argument);
}

RC_GTEST_PROP(StepTable, MoreSamplesNeverTakeLessOfATableThatGrows, ()) {
  std::vector<StepPoint> points;
  base::Duration time{};
  std::int64_t samples = 0;
  for (int i = *rc::gen::inRange(1, 6); i > 0; --i) {
    samples += *rc::gen::inRange<std::int64_t>(1, 1000);
    time += base::Duration(*rc::gen::inRange<std::int64_t>(0, 1'000'000'000));
    points.push_back({samples, time});
  }
  const StepTable table(points);
  const auto n = *rc::gen::inRange<std::int64_t>(1, 6000);
  RC_ASSERT(table.At(n) <= table.At(n + 1));
}

TEST(StepModel, ATableComesBeforeTheRooflineAndLaunchesStay) {
  spec::Experiment experiment;
  experiment.dataset.shape = {1000};
  experiment.loader.batch_size = 64;
  experiment.model.layers = {{.kind = spec::LayerKind::kLinear, .out = 10}};
  experiment.device.preset.emplace();
  experiment.device.preset->launch = 5us;
  experiment.device.step_table = {{64, 2ms}};
  const StepModel model(experiment);
  EXPECT_EQ(model.Device(0, 64), 2ms);
  EXPECT_EQ(model.Device(0, 32), 1ms);
  const int launches = LaunchesOfStep(experiment.model, {1000}, {});
  EXPECT_GT(launches, 3);
  EXPECT_EQ(model.Host(64), 5us * launches);
}

spec::MachineProfile EightCores() {
  return spec::ReadMachineProfileText(R"(
context: {cores: 8}
figures:
  fp32_gflops: {value: 50, how: measured}
  fp32_gflops_all_cores: {value: 330, how: measured}
  memory_bandwidth: {value: 10GB/s, how: measured}
  memory_bandwidth_all_cores: {value: 45GB/s, how: measured}
  operation: {value: 2us, how: measured}
steps:
  - {model: m, shape: [8], device: cpu, threads: 2, batch: 64, time: 2ms, how: measured}
  - {model: m, shape: [8], device: cpu, threads: 2, batch: 16, time: 1ms, how: measured}
  - {model: m, shape: [8], device: cpu, threads: 4, batch: 16, time: 3ms, how: measured}
  - {model: m, shape: [8], device: cpu, threads: 2, omp_wait: passive, batch: 16, time: 7ms, how: measured}
  - {model: m, shape: [9], device: cpu, threads: 2, batch: 32, time: 4ms, how: measured}
  - {model: m, shape: [8], device: "cuda:0", batch: 16, time: 5ms, how: measured}
  - {model: m, shape: [8], device: cpu, threads: 2, optimizer: adam, batch: 16, time: 6ms, how: measured}
)",
                                      "eight.yaml");
}

TEST(MachineOf, TakesOnlyStepsOfTheSameTraining) {
  spec::Experiment experiment;
  experiment.model.name = "m";
  experiment.dataset.shape = {8};
  const auto points = StepsOf(EightCores(), experiment, spec::DeviceId::Cpu(), 2);
  ASSERT_EQ(points.size(), 2u);
  EXPECT_EQ(points[0].samples, 16);
  EXPECT_EQ(points[1].time, 2ms);
  EXPECT_EQ(StepsOf(EightCores(), experiment, spec::DeviceId::Cuda(0), 1).size(), 1u);
  EXPECT_TRUE(StepsOf(EightCores(), experiment, spec::DeviceId::Cpu(), 3).empty());
}

TEST(MachineOf, TheCpuGrowsFromOneCoreToAllAndItsMemoryNoFurther) {
  const auto flops = [](int threads) { return CpuAsDevice(EightCores(), threads)->fp32_flops_per_s; };
  const auto bytes = [](int threads) {
    return CpuAsDevice(EightCores(), threads)->memory_bandwidth.per_s;
  };
  EXPECT_DOUBLE_EQ(flops(1), 50e9);
  EXPECT_DOUBLE_EQ(flops(8), 330e9);
  EXPECT_DOUBLE_EQ(flops(4), 170e9);
  EXPECT_DOUBLE_EQ(flops(16), 660e9);
  EXPECT_DOUBLE_EQ(bytes(1), 10e9);
  EXPECT_DOUBLE_EQ(bytes(8), 45e9);
  EXPECT_DOUBLE_EQ(bytes(16), 45e9);
}

TEST(MachineOf, WithoutItsFiguresACpuHasNoRooflineAndPartsAreFree) {
  const spec::MachineProfile nothing;
  EXPECT_FALSE(CpuAsDevice(nothing, 4));
  EXPECT_FALSE(GpuOf(nothing));
  const Machine machine = MachineOf(nothing.figures);
  EXPECT_EQ(machine.wake_up, 0ns);
  EXPECT_FALSE(machine.collate_bandwidth);
}

}  // namespace
}  // namespace pipesim::cost
