// `--needs-libtorch`, which tools/run uses to decide whether to download 4.7 GB. Works without
// LibTorch.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "support/command.h"

namespace pipesim {
namespace {

using support::RunPipesim;
using support::TestFolder;

std::string Answer(std::vector<std::string> words) {
  words.push_back("--needs-libtorch");
  const support::CommandResult result = RunPipesim(words);
  EXPECT_EQ(result.exit_code, 0) << result.err;
  return result.out;
}

TEST(NeedsLibTorch, IsYesOnlyForDevicesThatReallyTrain) {
  EXPECT_EQ(Answer({"--model", "mlp"}), "yes\n");  // auto: a CPU or a GPU
  EXPECT_EQ(Answer({"--model", "mlp", "--device", "cpu"}), "yes\n");
  EXPECT_EQ(Answer({"run", "--device", "cuda:0"}), "yes\n");
  EXPECT_EQ(Answer({"--model", "mlp", "--device", "emulated"}), "no\n");
  EXPECT_EQ(Answer({"--device", "rtx-4060"}), "no\n");
  EXPECT_EQ(Answer({"--set", "device={emulated: {base: 5ms}}"}), "no\n");
}

TEST(NeedsLibTorch, TheExperimentFileCountsAndLaterFlagsWin) {
  const auto file = TestFolder() / "emulated.yaml";
  std::ofstream(file) << "version: 1\ndevice: emulated\n";
  EXPECT_EQ(Answer({file.string()}), "no\n");
  EXPECT_EQ(Answer({file.string(), "--device", "cpu"}), "yes\n");
}

TEST(NeedsLibTorch, IsUnknownToCommandsThatRunNothing) {
  EXPECT_NE(RunPipesim({"report", "last", "--needs-libtorch"}).exit_code, 0);
  EXPECT_NE(RunPipesim({"--help", "--needs-libtorch"}).out, "yes\n");
  EXPECT_NE(RunPipesim({"--wokers", "4", "--needs-libtorch"}).out, "yes\n");
}

}  // namespace
}  // namespace pipesim
