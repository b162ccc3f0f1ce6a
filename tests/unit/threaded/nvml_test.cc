#include "engine/nvml.h"

#include <gmock/gmock.h>

#include <algorithm>

#include "pipeline.h"

namespace pipesim::engine {
namespace {

// A fake NVML. Its plain functions can only use static state.
struct FakeNvml {
  int init = 0, device = 0, utilization = 0, power = 0;  ///< what each call returns
  unsigned int per_cent = 0, milliwatts = 0;
  std::string asked;
  int sessions = 0;
};
FakeNvml fake;

NvmlFunctions Functions() {
  NvmlFunctions nvml;
  nvml.init = [] {
    if (fake.init == 0) ++fake.sessions;
    return fake.init;
  };
  nvml.shutdown = [] { return --fake.sessions, 0; };
  nvml.device_by_pci = [](const char* bus_id, void** device) {
    fake.asked = bus_id;
    *device = &fake;
    return fake.device;
  };
  nvml.utilization = [](void* device, NvmlFunctions::Utilization* rates) {
    rates->gpu = static_cast<FakeNvml*>(device)->per_cent;
    return fake.utilization;
  };
  nvml.memory = [](void*, NvmlFunctions::Memory* memory) { return memory->used = 7'000'000, 0; };
  nvml.power = [](void*, unsigned int* milliwatts) {
    *milliwatts = fake.milliwatts;
    return fake.power;
  };
  nvml.power_limit = [](void*, unsigned int* milliwatts) { return *milliwatts = 700'000, 0; };
  nvml.clock = [](void*, int type, unsigned int* mhz) {
    return *mhz = type == NvmlFunctions::kSmClock ? 1755 : 3201, 0;
  };
  nvml.clock_limit = [](void*, int type, unsigned int* mhz) {
    return *mhz = type == NvmlFunctions::kSmClock ? 1980 : 3201, 0;
  };
  return nvml;
}

class Nvml : public testing::Test {
 protected:
  void SetUp() override { fake = {}; }
};

constexpr const char* kBusId = "0000:1a:00.0";

TEST_F(Nvml, ReadsTheDeviceAtABusId) {
  fake.per_cent = 37;
  fake.milliwatts = 412'300;
  {
    const GpuMonitor gpu = MonitorGpu(Functions(), kBusId);
    ASSERT_TRUE(gpu.read);
    EXPECT_EQ(fake.asked, kBusId);
    EXPECT_EQ(gpu.limits.power_w, 700);
    EXPECT_EQ(gpu.limits.sm_clock_mhz, 1980);
    const trace::GpuReading reading = gpu.read();
    EXPECT_EQ(reading.utilization, 0.37);
    EXPECT_EQ(reading.memory_used, base::Bytes{7'000'000});
    EXPECT_EQ(reading.power_w, 412.3);
    EXPECT_EQ(reading.sm_clock_mhz, 1755);
    EXPECT_EQ(reading.memory_clock_mhz, 3201);
    EXPECT_EQ(fake.sessions, 1);
  }
  EXPECT_EQ(fake.sessions, 0);
}

TEST_F(Nvml, AFigureThatADeviceRefusesIsUnknownAndTheOthersAreNot) {
  fake.power = 3;  // NVML_ERROR_NOT_SUPPORTED
  const GpuMonitor gpu = MonitorGpu(Functions(), kBusId);
  EXPECT_EQ(gpu.read().power_w, std::nullopt);
  EXPECT_EQ(gpu.read().sm_clock_mhz, 1755);
  fake.utilization = 3;
  EXPECT_EQ(gpu.read().utilization, std::nullopt);
}

TEST_F(Nvml, FunctionsThatAnOldDriverLacksLeaveTheirFiguresUnknown) {
  fake.per_cent = 50;
  NvmlFunctions old = Functions();
  old.memory = nullptr;
  old.power = old.power_limit = nullptr;
  old.clock = old.clock_limit = nullptr;
  const GpuMonitor gpu = MonitorGpu(old, kBusId);
  const trace::GpuReading reading = gpu.read();
  EXPECT_EQ(reading.utilization, 0.5);
  EXPECT_EQ(reading.memory_used, std::nullopt);
  EXPECT_EQ(reading.power_w, std::nullopt);
  EXPECT_EQ(reading.memory_clock_mhz, std::nullopt);
  EXPECT_EQ(gpu.limits.power_w, std::nullopt);
  EXPECT_EQ(gpu.limits.sm_clock_mhz, std::nullopt);
}

TEST_F(Nvml, IsUnknownWithoutADriverOrForAnUnknownDevice) {
  fake.init = 9;  // NVML_ERROR_DRIVER_NOT_LOADED
  EXPECT_FALSE(MonitorGpu(Functions(), kBusId).read);
  fake.init = 0;
  fake.device = 6;  // NVML_ERROR_NOT_FOUND
  EXPECT_FALSE(MonitorGpu(Functions(), kBusId).read);
  EXPECT_EQ(fake.sessions, 0);
}

TEST(GpuReadings, AreInTheTraceOverTime) {
  auto experiment = Small();
  experiment.run.epochs.reset();
  experiment.run.steps = 700;
  experiment.device.step_base = Fixed(1ms);
  const base::SystemClock clock;
  const auto trainer = MakeEmulatedTrainer(experiment, cost::Stated(experiment), clock);
  const auto memory = MakeHostMemory();
  int asked = 0;
  const auto read = [&] {
    trace::GpuReading reading;
    if (++asked != 2) reading.power_w = 100.0 * asked;
    return reading;
  };
  const trace::RunTrace trace =
      MakeThreadedExecutor(
          {.clock = &clock, .trainer = trainer.get(), .memory = memory.get(), .read_gpu = read})
          ->Run(experiment, cost::Stated(experiment), {});
  ASSERT_GE(asked, 3);
  EXPECT_EQ(trace.resources.front().gpu.power_w, 100);  // a sample holds the last reading
  EXPECT_EQ(trace.resources.back().gpu.power_w, 100.0 * asked);
  const auto unread = [](const trace::ResourceSample& at) { return !at.gpu.power_w; };
  EXPECT_TRUE(std::any_of(trace.resources.begin(), trace.resources.end(), unread));
}

TEST(GpuReadings, AreUnknownWithoutNvml) {
  for (const trace::ResourceSample& at : RunEmulated(Small()).resources)
    EXPECT_FALSE(at.gpu.utilization || at.gpu.power_w);
}

}  // namespace
}  // namespace pipesim::engine
