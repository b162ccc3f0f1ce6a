#include "report/profile_text.h"

#include <gtest/gtest.h>

namespace pipesim::report {
namespace {

TEST(ProfileText, ShowsFiguresWithTheirScatterAndStepsAsATable) {
  const spec::MachineProfile profile = spec::ReadMachineProfileText(R"(
context: {cpu: Z80, cores: 2}
figures:
  wake_up: {value: 10us, spread: 0.2, how: measured}
steps:
  - {model: mlp, shape: [1, 28, 28], device: cpu, batch: 1, time: 100us, how: measured}
  - {model: mlp, shape: [1, 28, 28], device: cpu, threads: 2, batch: 8, time: 300us, how: measured}
)",
                                                                    "z80.yaml");
  EXPECT_EQ(ProfileText(profile, "here.yaml"),
            "Z80, 2 cores: written to here.yaml\n\n"
            "  wake_up                           10.0 us  +-20 %\n\n"
            "Step of mlp 1x28x28, fp32, sgd on cpu\n"
            "   batch      1 thread     2 threads\n"
            "       1        100 us              \n"
            "       8                      300 us\n\n"
            "Next: pipesim predict --profile here.yaml\n");
}

TEST(ProfileText, OfAFileHoldsNoControlCharacters) {
  spec::MachineProfile profile;
  profile.cpu = "a\rcpu";
  profile.gpu = "a\x1b[2Jgpu";
  const std::string text = ProfileText(profile, "here.yaml");
  EXPECT_EQ(text.find_first_of("\r\x1b"), std::string::npos) << text;
}

}  // namespace
}  // namespace pipesim::report
