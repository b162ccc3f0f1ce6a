#include "engine/nvml.h"

#include <gmock/gmock.h>

#include "pipeline.h"

namespace pipesim::engine {
namespace {

// A fake NVML. Its plain functions can only use static state.
struct FakeNvml {
  int init = 0, device = 0, utilization = 0;  ///< what each call returns
  unsigned int per_cent = 0;
  std::string asked;
  int sessions = 0;
};
FakeNvml fake;

NvmlFunctions Functions() {
  return {.init =
              [] {
                if (fake.init == 0) ++fake.sessions;
                return fake.init;
              },
          .shutdown =
              [] {
                --fake.sessions;
                return 0;
              },
          .device_by_pci =
              [](const char* bus_id, void** device) {
                fake.asked = bus_id;
                *device = &fake;
                return fake.device;
              },
          .utilization =
              [](void* device, NvmlFunctions::Utilization* rates) {
                rates->gpu = static_cast<FakeNvml*>(device)->per_cent;
                return fake.utilization;
              }};
}

class Nvml : public testing::Test {
 protected:
  void SetUp() override { fake = {}; }
};

TEST_F(Nvml, ReadsTheUtilizationOfTheDeviceAtABusId) {
  fake.per_cent = 37;
  {
    const auto read = NvmlUtilization(Functions(), "0000:1a:00.0");
    ASSERT_TRUE(read);
    EXPECT_EQ(fake.asked, "0000:1a:00.0");
    EXPECT_DOUBLE_EQ(read().value(), 0.37);
    fake.utilization = 3;  // NVML_ERROR_NOT_SUPPORTED
    EXPECT_EQ(read(), std::nullopt);
    EXPECT_EQ(fake.sessions, 1);
  }
  EXPECT_EQ(fake.sessions, 0);
}

TEST_F(Nvml, IsUnknownWithoutADriverOrForAnUnknownDevice) {
  fake.init = 9;  // NVML_ERROR_DRIVER_NOT_LOADED
  EXPECT_FALSE(NvmlUtilization(Functions(), "0000:1a:00.0"));
  fake.init = 0;
  fake.device = 6;  // NVML_ERROR_NOT_FOUND
  EXPECT_FALSE(NvmlUtilization(Functions(), "0000:1a:00.0"));
  EXPECT_EQ(fake.sessions, 0);
}

TEST(DeviceUtilization, IsTheMeanOfAllReadings) {
  auto experiment = Small();
  experiment.run.epochs.reset();
  experiment.run.steps = 700;
  experiment.device.step_base = Fixed(1ms);
  const base::SystemClock clock;
  const auto trainer = MakeEmulatedTrainer(experiment, cost::Stated(experiment), clock);
  const auto memory = MakeHostMemory();
  int asked = 0;
  const auto run = [&](std::function<std::optional<double>()> utilization) {
    return MakeThreadedExecutor({.clock = &clock,
                                 .trainer = trainer.get(),
                                 .memory = memory.get(),
                                 .device_utilization = std::move(utilization)})
        ->Run(experiment, cost::Stated(experiment), {})
        .effective.nvml_utilization;
  };
  const auto mean = run([&]() -> std::optional<double> {
    if (++asked == 2) return std::nullopt;
    return 0.25;
  });
  EXPECT_GE(asked, 2);
  EXPECT_EQ(mean, 0.25);
}

TEST(DeviceUtilization, IsUnknownWithoutReadings) {
  const auto trace = RunEmulated(Small());
  EXPECT_EQ(trace.effective.nvml_utilization, std::nullopt);
}

}  // namespace
}  // namespace pipesim::engine
