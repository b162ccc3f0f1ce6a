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

/// /proc/stat of processors that were busy for these ticks.
void WriteBusyTicks(const std::filesystem::path& root, const std::vector<int>& ticks) {
  std::filesystem::create_directories(root / "proc");
  std::ofstream file(root / "proc/stat");
  file << "cpu  9 9 9 9 9 9 9 9 0 0\n";
  for (std::size_t cpu = 0; cpu < ticks.size(); ++cpu)
    file << "cpu" << cpu << ' ' << ticks[cpu] << " 0 0 500 7 0 0 3 0 0\n";
  file << "intr 1 2 3\n";
}

TEST(ReadBusyTimes, LeavesOutIdleWaitingAndStolenTime) {
  const support::TemporaryFolder root;
  WriteBusyTicks(root.path(), {0, 250});
  const double tick_s = 1.0 / static_cast<double>(sysconf(_SC_CLK_TCK));
  const auto times = ReadBusyTimes(root.path());
  ASSERT_EQ(times.size(), 2U);
  EXPECT_EQ(times.at(0), Duration::zero());
  EXPECT_EQ(times.at(1), FromSeconds(250 * tick_s));
}

TEST(IdleWatch, NamesTheProcessorsThatDidNothing) {
  const support::TemporaryFolder root;
  WriteBusyTicks(root.path(), {100, 100, 100, 100});
  const IdleWatch watch({3, 1, 2, 9}, root.path());
  WriteBusyTicks(root.path(), {100, 100, 90'000, 100});
  EXPECT_THAT(watch.Idle(), testing::ElementsAre(1, 3));
  EXPECT_THAT(IdleWatch({}, root.path()).Idle(), testing::IsEmpty());
}

}  // namespace
}  // namespace pipesim::base
