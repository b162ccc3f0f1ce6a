#include "cost/profile.h"

#include <gtest/gtest.h>

namespace pipesim::cost {
namespace {

using namespace std::chrono_literals;
using base::BytesPerSecond;

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

TEST(Profile, TakesOnlyStepsOfTheSameTraining) {
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

TEST(Profile, KnowsHowMuchLongerStepsTakeAfterPauses) {
  spec::Experiment experiment;
  experiment.model.name = "m";
  experiment.dataset.shape = {8};
  spec::MachineProfile profile = EightCores();
  EXPECT_TRUE(StepsAfterPauses(profile, experiment, 2).empty());
  const auto add = [&](std::int64_t batch, int threads, base::Duration pause, base::Duration time) {
    profile.steps.push_back({.model = "m",
                             .shape = {8},
                             .device = spec::DeviceId::Cpu(),
                             .threads = threads,
                             .batch = batch,
                             .after_pause = pause,
                             .time = {time, {}, "measured"}});
  };
  add(64, 2, 40ms, 2300us);  // 2 ms at once
  add(16, 2, 10ms, 1400us);  // 1 ms at once
  add(64, 2, 10ms, 2800us);
  add(16, 2, 40ms, 1100us);
  add(16, 4, 10ms, 9ms);
  add(32, 2, 10ms, 9ms);  // never measured at once
  const auto steps = StepsAfterPauses(profile, experiment, 2);
  ASSERT_EQ(steps.size(), 2u);
  EXPECT_EQ(steps[0], (PausedStep{10ms, 600us}));
  EXPECT_EQ(steps[1], (PausedStep{40ms, 600us})) << "the mean is 200 us, but no longer pause takes less";
  EXPECT_EQ(StepsOf(profile, experiment, spec::DeviceId::Cpu(), 2).size(), 2u) << "only those at once";
  experiment.limits.omp_wait = spec::OmpWait::kPassive;
  EXPECT_TRUE(StepsAfterPauses(profile, experiment, 2).empty());
}

TEST(Profile, FindsTheFewestThreadsAboveThoseAskedFor) {
  spec::Experiment experiment;
  experiment.model.name = "m";
  experiment.dataset.shape = {8};
  EXPECT_EQ(MoreThreadsMeasured(EightCores(), experiment, 3), 4);
  EXPECT_EQ(MoreThreadsMeasured(EightCores(), experiment, 4), 0);
  EXPECT_EQ(MoreThreadsMeasured(EightCores(), experiment, 1), 0) << "one thread is no part of a pool";
}

TEST(Profile, TheCpuGrowsFromOneCoreToAllAndItsMemoryNoFurther) {
  const auto flops = [](int threads) {
    return CpuAsDevice(EightCores(), threads)->fp32_flops_per_s;
  };
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

TEST(Profile, WithoutItsFiguresACpuHasNoRooflineAndPartsAreFree) {
  const spec::MachineProfile nothing;
  EXPECT_FALSE(CpuAsDevice(nothing, 4));
  Pipeline pipeline;
  SetGpu(nothing, {}, spec::DeviceId::Cuda(0), pipeline);
  EXPECT_EQ(pipeline.transfer, Transfer{});
  EXPECT_EQ(pipeline.step.launch, 0ns);
  EXPECT_FALSE(pipeline.step.device_memory);
  SetHost(nothing, {}, pipeline);
  EXPECT_EQ(pipeline.machine, Machine{});
  EXPECT_EQ(pipeline.host, Host{});
  EXPECT_EQ(pipeline.collate, Collate{});
  EXPECT_EQ(pipeline.pin, Pin{});
}

spec::MachineProfile WithAHostAndAGpu() {
  return spec::ReadMachineProfileText(R"(
context: {cores: 8, gpu: Big One}
figures:
  wake_up: {value: 7us, how: measured}
  burn_handover: {value: 9us, how: measured}
  host_step: {value: 50us, how: measured}
  collate_batch: {value: 3us, how: measured}
  collate_bandwidth: {value: 2GB/s, how: measured}
  collate_bandwidth_all_cores: {value: 12GB/s, how: measured}
  fault_bandwidth: {value: 1GB/s, how: measured}
  pin_bandwidth: {value: 4GB/s, how: measured}
  launch: {value: 5us, how: measured}
  h2d_latency: {value: 8us, how: measured}
  h2d_bandwidth: {value: 16GB/s, how: measured}
  device_memory: {value: 8GiB, how: measured}
)",
                                      "host.yaml");
}

TEST(Profile, OfAHostGivesWhatThreadsAndCopiesCost) {
  spec::Experiment experiment;
  Pipeline pipeline;
  pipeline.machine.cores = 3;
  SetHost(WithAHostAndAGpu(), experiment, pipeline);
  EXPECT_EQ(pipeline.machine.cores, 3);  // the run's, not the profile's
  EXPECT_EQ(pipeline.machine.wake_up, 7us);
  EXPECT_EQ(pipeline.machine.burn_handover, 9us);
  EXPECT_EQ(pipeline.machine.memory, (SharedMemory{{2e9}, {12e9}, 8}));
  EXPECT_EQ(pipeline.host.step, 50us);
  EXPECT_EQ(pipeline.collate.batch, 3us);
  EXPECT_EQ(pipeline.collate.bandwidth, BytesPerSecond{2e9});
  EXPECT_FALSE(pipeline.collate.fault_bandwidth);
  EXPECT_EQ(pipeline.pin.bandwidth, BytesPerSecond{4e9});
}

TEST(Profile, OfAHostMapsPagesOnlyForFreshBuffers) {
  spec::Experiment experiment;
  experiment.loader.buffers = spec::Buffers::kFresh;
  Pipeline pipeline;
  SetHost(WithAHostAndAGpu(), experiment, pipeline);
  EXPECT_EQ(pipeline.collate.fault_bandwidth, BytesPerSecond{1e9});
}

TEST(Profile, OfAGpuGivesWhatIsNotTheStepItself) {
  spec::Experiment experiment;
  experiment.dataset.shape = {1000};
  experiment.model.layers = {{.kind = spec::LayerKind::kLinear, .out = 10}};
  Pipeline pipeline;
  SetGpu(WithAHostAndAGpu(), experiment, spec::DeviceId::Cuda(0), pipeline);
  EXPECT_EQ(pipeline.step.device_name, "Big One");
  EXPECT_EQ(pipeline.step.device_memory, base::Bytes{std::int64_t{8} << 30});
  EXPECT_EQ(pipeline.step.launch,
            5us * LaunchesOfStep(experiment.model, experiment.dataset.shape, experiment.training));
  EXPECT_EQ(pipeline.transfer, (Transfer{.latency = 8us, .bandwidth = BytesPerSecond{16e9}}));
  spec::MachineProfile slow = WithAHostAndAGpu();
  slow.figures.h2d_pageable_bandwidth = {.value = {2e9}, .spread = {}, .how = "measured"};
  SetGpu(slow, experiment, spec::DeviceId::Cuda(0), pipeline);
  EXPECT_EQ(pipeline.transfer.Time(base::Bytes{2'000'000}, false), 1008us);
  experiment.training.cuda_graph = true;
  SetGpu(WithAHostAndAGpu(), experiment, spec::DeviceId::Cuda(0), pipeline);
  EXPECT_EQ(pipeline.step.launch, 5us);  // the whole graph at once
}

TEST(Profile, OfAGpuKnowsWhatLaunchingEachModelTakes) {
  spec::Experiment experiment;
  experiment.dataset.shape = {1000};
  experiment.model.name = "mine";
  experiment.model.layers = {{.kind = spec::LayerKind::kLinear, .out = 10}};
  spec::MachineProfile profile = WithAHostAndAGpu();
  const auto add = [&](const char* model, std::int64_t batch, std::optional<base::Duration> launch) {
    profile.steps.push_back({.model = model, .shape = {1000}, .device = spec::DeviceId::Cuda(0), .batch = batch,
                             .time = {100us, {}, "measured"}, .launch = launch});
  };
  add("other", 64, 1ms);
  add("mine", 4, 210us);
  const auto launch = [&](std::int64_t batch) {
    experiment.loader.batch_size = batch;
    Pipeline pipeline;
    SetGpu(profile, experiment, spec::DeviceId::Cuda(0), pipeline);
    return pipeline.step.launch;
  };
  EXPECT_EQ(launch(7), 210us) << "the only one";
  add("mine", 1, 220us);
  add("mine", 16, 260us);
  add("mine", 64, 240us);
  add("mine", 65, std::nullopt);
  // Of 220, 210, 260 and 240 us at log2 0, 2, 4 and 6, whose means are 3 and 232.5: a slope of 110 / 20.
  EXPECT_NEAR(base::ToSeconds(launch(8)), 232.5e-6, 1e-9);
  EXPECT_NEAR(base::ToSeconds(launch(64)), 249e-6, 1e-9);
  EXPECT_EQ(launch(1024), launch(64)) << "no further than was measured";
  experiment.training.precision = spec::Precision::kBf16;  // not measured: by the kernels
  EXPECT_EQ(launch(64), 5us * LaunchesOfStep(experiment.model, experiment.dataset.shape, experiment.training));
  experiment.training = {.cuda_graph = true};
  EXPECT_EQ(launch(64), 5us);
}

TEST(Profile, OfAGpuKnowsWhatKernelsWaitForTheirLaunches) {
  spec::Experiment experiment;
  experiment.dataset.shape = {1000};
  experiment.model.name = "mine";
  spec::MachineProfile profile;
  const auto add = [&](std::int64_t batch, std::optional<base::Duration> gap) {
    profile.steps.push_back({.model = "mine",
                             .shape = {1000},
                             .device = spec::DeviceId::Cuda(0),
                             .batch = batch,
                             .time = {100us, {}, "measured"},
                             .gap = gap});
  };
  add(1, std::nullopt);  // launch-bound: there is none
  add(64, 30us);
  const auto gap = [&](std::int64_t batch) {
    experiment.loader.batch_size = batch;
    Pipeline pipeline;
    SetGpu(profile, experiment, spec::DeviceId::Cuda(0), pipeline);
    return pipeline.step.gap;
  };
  EXPECT_EQ(gap(256), 30us);
  EXPECT_EQ(gap(2), 0us);
  experiment.training.cuda_graph = true;
  EXPECT_EQ(gap(64), 0us);
}

}  // namespace
}  // namespace pipesim::cost
