#include "base/proc.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "base/neighbours.h"
#include "support/test_folder.h"

namespace pipesim::base {
namespace {

TEST(IdsIn, TakesTheEntriesThatAreNumbers) {
  const support::TemporaryFolder folder;
  for (const char* name : {"12", "7", "self", "12x", "x12"})
    std::filesystem::create_directory(folder.path() / name);
  EXPECT_THAT(IdsIn(folder.path()), testing::UnorderedElementsAre(12, 7));
  EXPECT_THAT(IdsIn(folder.path() / "absent"), testing::IsEmpty());
}

TEST(IdsIn, FindsThisProcessAndItsFirstThread) {
  EXPECT_THAT(IdsIn("/proc"), testing::Contains(getpid()));
  EXPECT_THAT(IdsIn("/proc/self/task"), testing::Contains(getpid()));
}

TEST(ReadProcFile, TakesAllOfAFileAndNothingOfWhatCannotBeRead) {
  const support::TemporaryFolder folder;
  const std::string text(10'000, 'x');
  std::ofstream(folder.path() / "long") << text;
  EXPECT_EQ(ReadProcFile(folder.path() / "long"), text);
  EXPECT_EQ(ReadProcFile(folder.path() / "absent"), "");
  EXPECT_EQ(ReadProcFile(folder.path()), "");  // opened, but read() fails: EISDIR
}

// A process may end between the opening of its file and the reading: read() fails, with ESRCH. A
// folder, whose read() fails too, stands for that file.
TEST(NeighbourWatch, PassesOverAProcessThatEndsWhileItIsRead) {
  const support::TemporaryFolder root;
  std::filesystem::create_directories(root.path() / "proc/12/stat");
  const NeighbourWatch watch({0}, root.path());
  EXPECT_EQ(watch.PeerCores(), 0);
}

}  // namespace
}  // namespace pipesim::base
