#include "base/disk.h"

#include <gtest/gtest.h>

#include <fstream>

namespace pipesim::base {
namespace {

using std::chrono::milliseconds;

// As a virtio disk of Linux 6.18 shows it.
constexpr std::string_view kStat =
    "   93211    12876  7201736    28134    96217   184923 19840123   210745        0    81344   "
    "250212     2345        0  1234567      890     1711    11333\n";

TEST(DiskStat, CountsSectorsOf512BytesAndMilliseconds) {
  const auto counters = ParseDiskStat(kStat);
  ASSERT_TRUE(counters);
  EXPECT_EQ(counters->reads, 93'211);
  EXPECT_EQ(counters->read_bytes, Bytes{7'201'736LL * 512});
  EXPECT_EQ(counters->reading, milliseconds(28'134));
  EXPECT_EQ(counters->busy, milliseconds(81'344));
  EXPECT_EQ(counters->queued, milliseconds(250'212));
}

TEST(DiskStat, ReadsTheElevenFieldsOfOldKernels) {
  EXPECT_TRUE(ParseDiskStat("1 2 3 4 5 6 7 8 9 10 11"));
  EXPECT_FALSE(ParseDiskStat("1 2 3 4 5 6 7 8 9 10"));
  EXPECT_FALSE(ParseDiskStat("no numbers"));
  EXPECT_FALSE(ParseDiskStat(""));
  EXPECT_FALSE(ParseDiskStat("100 0 5 646744073709551615 1 1 0 0 0 0 0"));
  EXPECT_FALSE(ParseDiskStat("100 0 -5 1 1 1 0 0 0 0 0"));
}

TEST(DiskOf, IsNoneForFileSystemsInMemory) { EXPECT_FALSE(DiskOf("/proc/self")); }

TEST(DiskOf, IsNoneForAMissingPath) { EXPECT_FALSE(DiskOf("/no/such/path")); }

TEST(DiskOf, NamesTheWholeDeviceWhoseCountersNeverDecrease) {
  const auto disk = DiskOf(std::filesystem::current_path());
  if (!disk) GTEST_SKIP() << "the tests do not lie on a block device";
  EXPECT_FALSE(std::filesystem::exists(disk->stat.parent_path() / "partition"));
  const auto first = ReadDiskCounters(*disk), second = ReadDiskCounters(*disk);
  ASSERT_TRUE(first && second);
  EXPECT_LE(first->reads, second->reads);
  EXPECT_LE(first->busy, second->busy);
}

}  // namespace
}  // namespace pipesim::base
