// `pipesim calibrate`: writing, updating and refusing profile files.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <chrono>
#include <fstream>
#include <thread>

#include "support/command.h"

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

/// A file that runs as `python`, whatever its arguments.
fs::path FakePython(const std::string& name, const std::string& script) {
  const fs::path file = TestFolder() / name;
  std::ofstream(file) << "#!/bin/sh\n" << script << "\n";
  fs::permissions(file, fs::perms::owner_all);
  return file;
}

TEST(CalibratedPython, AddsItsFiguresToTheProfile) {
  const fs::path file = TestFolder() / "python.yaml";
  const fs::path python = FakePython(
      "python", R"(echo '{"source": "Python 3", "figures": {"process_send_batch": )"
                R"({"values": [0.0001, 0.0002, 0.0003], "how": "measured"}}}')");
  const CommandResult result =
      RunPipesim({"calibrate", "--python", python.string(), "--out", file.string()});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(ContentOf(file), AllOf(HasSubstr("process_send_batch: {value: 200us"),
                                     HasSubstr("measured (Python 3)")));
  const CommandResult predicted =
      RunPipesim({"predict", "--profile", file.string(), "--device", "h100", "--workers", "2",
                  "--set", "loader.kind=process", "--no-save"});
  EXPECT_EQ(predicted.exit_code, 0) << predicted.err;
}

TEST(CalibratedPython, ThatFailsOrPrintsSomethingElseIsRefused) {
  const fs::path file = TestFolder() / "nothing.yaml";
  const auto error_with = [&](const std::string& python) {
    const CommandResult result =
        RunPipesim({"calibrate", "--python", python, "--out", file.string()});
    EXPECT_EQ(result.exit_code, 3) << result.err;
    EXPECT_FALSE(fs::exists(file));
    return result.err;
  };
  EXPECT_THAT(error_with("/nowhere/python"), HasSubstr("/nowhere/python: No such file"));
  EXPECT_THAT(error_with(FakePython("broken", "exit 1").string()), HasSubstr("failed"));
  EXPECT_THAT(error_with(FakePython("chatty", "echo hello").string()), HasSubstr("no figures"));
  EXPECT_THAT(
      error_with(FakePython("odd", R"(echo '{"source": "", "figures": {"speed": )"
                                   R"({"values": [1], "how": ""}}}')")
                     .string()),
      HasSubstr("no figures"));
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
    support::UntilItHandles(pid, SIGINT);
    std::this_thread::sleep_for(100ms);
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
