#include "report/profile_text.h"

#include <gtest/gtest.h>

namespace pipesim::report {
namespace {

using base::Duration;
using std::chrono::microseconds;

spec::ProfileStep Step(std::int64_t batch, Duration time) {
  return {.model = "mlp",
          .shape = {1, 28, 28},
          .device = spec::DeviceId::Cpu(),
          .batch = batch,
          .time = {time, 0.1, "measured"}};
}

TEST(ProfileText, ShowsFiguresWithTheirScatterAndStepsAsATable) {
  spec::MachineProfile profile;
  profile.cpu = "Z80";
  profile.cores = 2;
  profile.figures.wake_up = {microseconds(10), 0.2, "measured"};
  profile.steps = {Step(1, microseconds(100)), Step(8, microseconds(300))};
  profile.steps[1].threads = 2;
  EXPECT_EQ(ProfileText(profile, "here.yaml"),
            "Z80, 2 cores: written to here.yaml\n\n"
            "  wake_up                           10.0 us  +-20 %\n\n"
            "Step of mlp 1x28x28, fp32, sgd on cpu\n"
            "   batch      1 thread     2 threads\n"
            "       1        100 us              \n"
            "       8                      300 us\n\n"
            "Next: pipesim predict --profile here.yaml\n");
}

}  // namespace
}  // namespace pipesim::report
