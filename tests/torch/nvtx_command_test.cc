// Whole commands with --nvtx on a machine without a GPU.
#include <gmock/gmock.h>

#include "nvtx_ranges.h"

namespace pipesim {
namespace {

constexpr bool kHasNvtx = sizeof(PIPESIM_NVTX_RECORDER) > 1;

class Nvtx : public testing::Test {
 protected:
  void SetUp() override {
    if (!kHasNvtx) GTEST_SKIP() << "NVTX's headers were missing at the build";
  }
};

TEST_F(Nvtx, MarksTheStagesOfEveryThreadAndRangesPair) {
  const support::NvtxRanges ranges = support::RunWithNvtx(
      {"--device", "cpu", "--threads", "1", "--workers", "2", "--model", "mlp", "--batch", "16", "--prepare",
       "50us", "--storage", "nvme", "--steps", "12"});
  ASSERT_EQ(ranges.run.exit_code, 0) << ranges.run.err;
  EXPECT_EQ(ranges.unpaired, 0);
  EXPECT_EQ(ranges.nested, 0);
  EXPECT_EQ(ranges.domains, std::set<std::string>{"pipesim"});
  for (const char* stage : {"read", "prepare", "collate"})
    EXPECT_EQ(ranges.threads.at(stage).size(), 2u) << stage;
  for (const char* stage : {"forward", "backward", "optimizer"})
    EXPECT_GE(ranges.batches.at(stage).size(), 12u) << stage;
  EXPECT_EQ(ranges.threads.at("forward").size(), 1u);
}

TEST_F(Nvtx, MarksThePinThreadOfAnEmulatedDevice) {
  const support::NvtxRanges ranges = support::RunWithNvtx(
      {"--device", "emulated", "--workers", "2", "--model", "mlp", "--batch", "16", "--prepare", "50us",
       "--storage", "none", "--steps", "12", "--set", "loader.pin_memory=true"});
  ASSERT_EQ(ranges.run.exit_code, 0) << ranges.run.err;
  EXPECT_EQ(ranges.unpaired, 0);
  EXPECT_EQ(ranges.threads.at("pin").size(), 1u);
  EXPECT_GE(ranges.batches.at("pin").size(), 12u);
  EXPECT_GE(ranges.batches.at("copy to the device").size(), 12u);
}

TEST_F(Nvtx, WithoutTheFlagNothingIsMarked) {
  const std::filesystem::path log = support::TestFolder() / "none.log";
  support::CommandOptions options;
  options.environment = {"NVTX_INJECTION64_PATH=" PIPESIM_NVTX_RECORDER, "PIPESIM_NVTX_LOG=" + log.string()};
  const auto run = support::RunPipesim({"--device", "cpu", "--steps", "3", "--quiet", "--no-save"}, options);
  ASSERT_EQ(run.exit_code, 0) << run.err;
  EXPECT_EQ(support::ReadNvtxLog(log).count, 0);
}

TEST(WithoutNvtx, IsAnErrorThatSaysWhatIsMissing) {
  if (kHasNvtx) GTEST_SKIP() << "this build has NVTX";
  const auto run = support::RunPipesim({"--device", "cpu", "--steps", "3", "--nvtx", "--no-save"});
  EXPECT_EQ(run.exit_code, 3);
  EXPECT_THAT(run.err, testing::HasSubstr("nvtx3/nvToolsExt.h"));
}

}  // namespace
}  // namespace pipesim
