// `pipesim calibrate`: writing, updating and refusing profile files.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <chrono>
#include <fstream>
#include <thread>

#include "support/command.h"
#include "support/sanitized.h"

namespace pipesim {
namespace {

namespace fs = std::filesystem;
using support::CommandOptions;
using support::CommandResult;
using support::ContentOf;
using support::RunPipesim;
using support::TestFolder;
using testing::AllOf;
using testing::HasSubstr;

TEST(CalibratedProfile, IsReadByPredict) {
  if (support::kSanitized) GTEST_SKIP() << "nobody asks what a sanitized build's parts cost";
  const fs::path file = TestFolder() / "machine.yaml";
  const CommandResult result =
      RunPipesim({"calibrate", "--device", "emulated", "--out", file.string(), "--quiet"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  for (const char* figure :
       {"worker_startup", "wake_up", "collate_bandwidth", "memory_bandwidth", "decode_bandwidth"}) {
    EXPECT_THAT(result.out, HasSubstr(figure));
    EXPECT_THAT(ContentOf(file), HasSubstr(std::string(figure) + ": {value: "));
  }
  const CommandResult predicted =
      RunPipesim({"predict", "--profile", file.string(), "--device", "h100", "--no-save"});
  EXPECT_EQ(predicted.exit_code, 0) << predicted.err;
}

TEST(Calibrate, DoesNotOverwriteAnotherMachinesFile) {
  const fs::path file = TestFolder() / "elsewhere.yaml";
  const std::string text = "version: 1\nsource: s\ncontext: {cpu: Z80, cores: 1}\n";
  std::ofstream(file) << text;
  const CommandResult result =
      RunPipesim({"calibrate", "--device", "emulated", "--out", file.string()});
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_THAT(result.err, AllOf(HasSubstr("elsewhere.yaml"), HasSubstr("Z80"), HasSubstr("--out")));
  EXPECT_EQ(ContentOf(file), text);
}

TEST(Calibrate, InterruptedWritesNothing) {
  using namespace std::chrono_literals;
  const fs::path file = TestFolder() / "interrupted.yaml";
  CommandOptions options;
  options.while_running = [](int pid) {
    std::this_thread::sleep_for(1s);
    kill(pid, SIGINT);
  };
  const CommandResult result = RunPipesim(
      {"calibrate", "--device", "emulated", "--out", file.string(), "--quiet"}, options);
  EXPECT_EQ(result.exit_code, 130);
  EXPECT_FALSE(fs::exists(file));
}

TEST(Calibrate, AMistypedModelIsReportedBeforeMeasuring) {
  const CommandResult result =
      RunPipesim({"calibrate", "--device", "emulated", "--also", "resnet81", "--quiet"});
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_THAT(result.err, HasSubstr("resnet81"));
}

}  // namespace
}  // namespace pipesim
