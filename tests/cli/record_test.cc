// `pipesim record` becomes a Python with the package in python/pipesim. A shell script stands for Python
// here; tests/pytorch/test_record.py tests the package.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "support/command.h"

namespace pipesim {
namespace {

using support::CommandResult;
using support::RunPipesim;
using support::TestFolder;
using ::testing::HasSubstr;

/// A "Python" that prints its arguments, one a line, and what it was given to find things.
std::string PythonThatTells() {
  const std::filesystem::path file = TestFolder() / "python3";
  std::ofstream(file) << "#!/bin/sh\nprintf '%s\\n' \"$@\"\n"
                         "echo \"path $PYTHONPATH\"\necho \"program $PIPESIM_PROGRAM\"\nexit 4\n";
  std::filesystem::permissions(file, std::filesystem::perms::owner_all);
  return file.string();
}

TEST(Record, HandsItsWordsToPythonAndReturnsItsExitCode) {
  const CommandResult result = RunPipesim(
      {"record", "train:make", "--budget", "1", "--python", PythonThatTells(), "--", "--python", "x"});
  EXPECT_EQ(result.exit_code, 4);
  EXPECT_THAT(result.out, HasSubstr("-m\npipesim\nrecord\ntrain:make\n--budget\n1\n--\n--python\nx\n"));
}

TEST(Record, LetsPythonFindThePackageAndTheProgram) {
  const CommandResult result =
      RunPipesim({"record", "train:make", "--python=" + PythonThatTells()},
                 {.environment = {"PYTHONPATH=/mine"}});
  EXPECT_THAT(result.out, HasSubstr("path /mine:" PIPESIM_SOURCE_DIR "/python\n"));
  EXPECT_THAT(result.out, HasSubstr("program " PIPESIM_BINARY_DIR "/bin/pipesim\n"));
}

TEST(Record, APythonThatIsMissingIsNamed) {
  const CommandResult result = RunPipesim({"record", "train:make", "--python", "/nowhere/python"});
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_THAT(result.err, HasSubstr("cannot start /nowhere/python"));
}

TEST(Record, AFlagWithoutItsValueIsAUsageError) {
  EXPECT_EQ(RunPipesim({"record", "train:make", "--python"}).exit_code, 2);
}

}  // namespace
}  // namespace pipesim
