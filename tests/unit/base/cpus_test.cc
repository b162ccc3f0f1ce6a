#include "base/cpus.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <numeric>
#include <thread>

#include "base/error.h"
#include "base/neighbours.h"
#include "support/test_folder.h"

namespace pipesim::base {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;

// A fake /proc and /sys/fs/cgroup.
class CgroupTest : public testing::Test {
 public:
  CgroupTest& With(const std::string& path, const std::string& content) {
    fs::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << content;
    return *this;
  }
  CgroupTest& Version2(const std::string& group) {
    With("proc/self/cgroup", "0::" + group + "\n");
    return With("proc/self/mountinfo",
                "22 1 8:1 / / rw - ext4 /dev/sda1 rw\n"
                "31 22 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n");
  }
  CgroupTest& Version1(const std::string& group, const std::string& top) {
    With("proc/self/cgroup", "5:memory:/elsewhere\n4:cpu,cpuacct:" + group + "\n0::/\n");
    return With("proc/self/mountinfo",
                "33 32 0:30 " + top +
                    " /sys/fs/cgroup/cpu,cpuacct rw shared:9 - cgroup cgroup rw,cpu,cpuacct\n"
                    "34 32 0:31 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n");
  }
  std::optional<double> Quota() const { return ReadCpuAllowance(root_).quota; }

  support::TemporaryFolder temporary_;
  const fs::path root_ = temporary_.path();
};

TEST_F(CgroupTest, Version2TakesTheSmallestQuotaOfAllAncestors) {
  Version2("/user/job");
  EXPECT_EQ(Quota(), std::nullopt);
  With("sys/fs/cgroup/user/job/cpu.max", "max 100000\n");
  EXPECT_EQ(Quota(), std::nullopt);
  With("sys/fs/cgroup/user/cpu.max", "250000 100000\n");
  EXPECT_EQ(Quota(), 2.5);
  With("sys/fs/cgroup/user/job/cpu.max", "50000 100000\n");
  EXPECT_EQ(Quota(), 0.5);
}

TEST_F(CgroupTest, Version2InAContainerUsesTheMountsRoot) {
  Version2("/").With("sys/fs/cgroup/cpu.max", "150000 100000\n");
  EXPECT_EQ(Quota(), 1.5);
}

TEST_F(CgroupTest, Version1FollowsTheMountedRoot) {
  Version1("/docker/1234", "/docker/1234");  // without a cgroup namespace
  With("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "400000\n");
  With("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(Quota(), 4);
  With("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "-1\n");
  EXPECT_EQ(Quota(), std::nullopt);
}

TEST_F(CgroupTest, Version1TakesTheSmallestQuotaOfAllAncestors) {
  Version1("/slurm/job", "/");
  With("sys/fs/cgroup/cpu,cpuacct/slurm/cpu.cfs_quota_us", "300000\n");
  With("sys/fs/cgroup/cpu,cpuacct/slurm/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(Quota(), 3);
}

TEST_F(CgroupTest, AGroupOutsideTheMountUsesTheMountsRoot) {
  Version2("/../sibling").With("sys/fs/cgroup/cpu.max", "200000 100000\n");
  EXPECT_EQ(Quota(), 2);
}

TEST_F(CgroupTest, ProgramsOfOneCgroupOrOneSessionShareCoresByThread) {
  const auto process = [&](int id, const std::string& cgroup, const std::string& autogroup) {
    const std::string folder = "proc/" + std::to_string(id) + "/";
    With(folder + "cgroup", "0::" + cgroup + "\n");
    With(folder + "autogroup", autogroup + " nice 0\n");
  };
  const auto same = [&](int a, int b) { return SchedulingGroup(a, root_) == SchedulingGroup(b, root_); };
  Version2("/");
  process(11, "/", "/autogroup-1");
  process(12, "/", "/autogroup-2");
  process(13, "/user/job", "/autogroup-3");
  process(14, "/user/job", "/autogroup-4");
  // No cgroup has a weight: sessions count where the kernel groups by them.
  EXPECT_TRUE(same(11, 12));
  With("proc/sys/kernel/sched_autogroup_enabled", "1\n");
  EXPECT_FALSE(same(11, 12));
  EXPECT_FALSE(same(13, 14));
  With("sys/fs/cgroup/user/cpu.weight", "100\n");
  With("sys/fs/cgroup/user/job/cgroup.procs", "");
  EXPECT_TRUE(same(13, 14));
  EXPECT_FALSE(same(11, 13));
  EXPECT_EQ(SchedulingGroup(15, root_), "");
}

TEST_F(CgroupTest, WithoutCgroupsThereIsNoQuota) {
  EXPECT_EQ(Quota(), std::nullopt);
  EXPECT_FALSE(ReadThrottling(root_).has_value());
}

TEST_F(CgroupTest, GarbageIsNoQuota) {
  Version2("/").With("sys/fs/cgroup/cpu.max", "what 100000\n");
  EXPECT_EQ(Quota(), std::nullopt);
  With("sys/fs/cgroup/cpu.max", "100000 0\n");
  EXPECT_EQ(Quota(), std::nullopt);
}

TEST_F(CgroupTest, ThrottlingIsSummedOverAllAncestors) {
  Version2("/a/b");
  With("sys/fs/cgroup/a/cpu.stat",
       "usage_usec 9\nnr_periods 10\nnr_throttled 2\nthrottled_usec 7\n");
  With("sys/fs/cgroup/a/b/cpu.stat", "nr_throttled 1\nthrottled_usec 3\n");
  With("sys/fs/cgroup/cpu.stat", "usage_usec 100\n");  // the root has no throttling counters
  const auto throttling = ReadThrottling(root_);
  ASSERT_TRUE(throttling.has_value());
  EXPECT_EQ(throttling->periods_throttled, 3);
  EXPECT_EQ(throttling->throttled, std::chrono::microseconds(10));
}

TEST_F(CgroupTest, TimesThatCannotBeAreNotSummed) {
  Version2("/a/b");
  With("sys/fs/cgroup/a/cpu.stat", "nr_throttled -9223372036854775807\nthrottled_usec 9223372036854775807\n");
  EXPECT_FALSE(ReadThrottling(root_).has_value());
  With("sys/fs/cgroup/a/b/cpu.stat", "nr_throttled 1\nthrottled_usec 3\n");
  EXPECT_EQ(ReadThrottling(root_)->periods_throttled, 1);
  EXPECT_EQ(ReadThrottling(root_)->throttled, std::chrono::microseconds(3));
}

TEST_F(CgroupTest, ThrottlingOfVersion1IsInNanoseconds) {
  Version1("/", "/").With("sys/fs/cgroup/cpu,cpuacct/cpu.stat",
                          "nr_periods 5\nnr_throttled 4\nthrottled_time 123456789\n");
  EXPECT_EQ(ReadThrottling(root_)->throttled, Duration(123456789));
}

TEST_F(CgroupTest, ReadsTheProcessorsModelName) {
  With("proc/cpuinfo", "processor\t: 0\nmodel name\t: Some CPU @ 3 GHz\n");
  EXPECT_EQ(CpuModelName(root_), "Some CPU @ 3 GHz");
  With("proc/cpuinfo", "processor\t: 0\n");
  EXPECT_EQ(CpuModelName(root_), "");
}

TEST(CpuAllowanceTest, CoresAreTheSmallerOfMaskAndQuota) {
  EXPECT_EQ((CpuAllowance{{0, 1, 2, 3}, {}}.Cores()), 4);
  EXPECT_EQ((CpuAllowance{{0, 1, 2, 3}, 1.5}.Cores()), 1.5);
  EXPECT_EQ((CpuAllowance{{0, 1}, 8.0}.Cores()), 2);
}

TEST(ChooseCpusTest, TakesDistinctCoresFirst) {
  const std::vector<std::vector<int>> cores = {{0, 4}, {1, 5}, {2, 6}, {3, 7}};
  EXPECT_THAT(ChooseCpus(cores, 3), ElementsAre(0, 1, 2));
  EXPECT_THAT(ChooseCpus(cores, 6), ElementsAre(0, 1, 2, 3, 4, 5));
  EXPECT_THAT(ChooseCpus({{0, 1}, {2, 3}}, 2), ElementsAre(0, 2));
  EXPECT_THAT(ChooseCpus(cores, 99), ElementsAre(0, 1, 2, 3, 4, 5, 6, 7));
}

TEST(PhysicalCoresTest, HoldsEveryProcessorOnce) {
  const CpuAllowance allowed = ReadCpuAllowance();
  std::vector<int> all;
  for (const auto& core : PhysicalCores(allowed.cpus))
    all.insert(all.end(), core.begin(), core.end());
  std::sort(all.begin(), all.end());
  EXPECT_EQ(all, allowed.cpus);
  EXPECT_EQ(ChooseCpus(allowed, 1 << 20), allowed.cpus);
  EXPECT_EQ(ChooseCpus(allowed, 1).size(), 1u);
}

// In a separate process, because pinning cannot always be undone.
template <class Check>
void ExpectInChild(Check check) {
  const pid_t child = fork();
  if (child == 0) _exit(check() ? 0 : 1);
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}

TEST(PinProcessTest, PinsRunningThreads) {
  const int target = ReadCpuAllowance().cpus.back();
  ExpectInChild([target] {
    std::atomic<bool> pinned{false};
    std::vector<int> seen;
    std::thread early([&] {
      while (!pinned) sched_yield();
      seen = ReadCpuAllowance().cpus;
    });
    PinProcess({target});
    pinned = true;
    early.join();
    std::vector<int> later;
    std::thread([&] { later = ReadCpuAllowance().cpus; }).join();
    const std::vector<int> expected = {target};
    return seen == expected && later == expected && ReadCpuAllowance().cpus == expected;
  });
}

TEST(PinProcessTest, MissingProcessorsAreRefused) {
  ExpectInChild([] {
    try {
      PinProcess({1 << 14});
    } catch (const EnvironmentError& error) {
      return std::string(error.what()).find("16384") != std::string::npos;
    }
    return false;
  });
}

}  // namespace
}  // namespace pipesim::base
