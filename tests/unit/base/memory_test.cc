#include "base/memory.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <new>
#include <vector>

#include "support/test_folder.h"

namespace pipesim::base {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;

/// A fake /proc and /sys/fs/cgroup.
class MemoryTest : public testing::Test {
 protected:
  void Write(const std::string& path, const std::string& content) {
    fs::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << content;
  }
  void Version2(const std::string& group) {
    Write("proc/self/cgroup", "0::" + group + "\n");
    Write("proc/self/mountinfo", "31 22 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
  }
  void Version1(const std::string& group) {
    Write("proc/self/cgroup", "4:memory:" + group + "\n3:cpu:/\n0::/\n");
    Write("proc/self/mountinfo",
          "34 32 0:31 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
          "35 32 0:32 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n");
  }
  /// Free bytes per bound of `root_`, without the process's own limits.
  std::vector<std::int64_t> Free() {
    std::vector<std::int64_t> free;
    for (const MemoryBound& bound : ReadMemoryBounds(root_)) free.push_back(bound.free.count);
    return free;
  }

  support::TemporaryFolder temporary_;
  const fs::path root_ = temporary_.path();
};

TEST_F(MemoryTest, NothingIsKnownWhereNothingCanBeRead) {
  EXPECT_THAT(Free(), ElementsAre());
  EXPECT_FALSE(Tightest({}));
  EXPECT_EQ(OomKills(root_), std::nullopt);
}

TEST_F(MemoryTest, TheMachinesBoundIsMemAvailable) {
  Write("proc/meminfo", "MemTotal:  100 kB\nMemFree:  10 kB\nMemAvailable:  40 kB\n");
  EXPECT_THAT(Free(), ElementsAre(40 * 1024));
}

TEST_F(MemoryTest, SizesThatNoMachineHasAreUnknown) {
  for (const char* size : {"400333333333333333", "9223372036854775807", "-5", "99999999999999999999"}) {
    Write("proc/meminfo", fmt::format("MemAvailable: {} kB\n", size));
    EXPECT_THAT(Free(), ElementsAre()) << size;
  }
  Version2("/job");
  for (const char* used : {"-9223372036854775807", "9223372036854775807"}) {
    Write("sys/fs/cgroup/job/memory.max", "1000\n");
    Write("sys/fs/cgroup/job/memory.current", std::string(used) + "\n");
    EXPECT_THAT(Free(), ElementsAre()) << used;
  }
  Write("sys/fs/cgroup/job/memory.current", "900\n");
  Write("sys/fs/cgroup/job/memory.stat", "inactive_file 9223372036854775807\nactive_file -7\n");
  EXPECT_THAT(Free(), ElementsAre(100));
}

TEST_F(MemoryTest, Version2CountsPageCacheAsFreeAndEveryAncestorsLimit) {
  Version2("/user/job");
  Write("sys/fs/cgroup/user/memory.max", "5000\n");
  Write("sys/fs/cgroup/user/memory.current", "4500\n");
  Write("sys/fs/cgroup/user/job/memory.max", "max\n");
  Write("sys/fs/cgroup/user/job/memory.current", "900\n");
  EXPECT_THAT(Free(), ElementsAre(500));
  Write("sys/fs/cgroup/user/job/memory.max", "1000\n");
  Write("sys/fs/cgroup/user/job/memory.stat",
        "anon 100\nfile 800\ninactive_file 500\nactive_file 200\n");
  EXPECT_THAT(Free(), ElementsAre(500, 1000 - (900 - 700)));
  const auto tightest = Tightest(ReadMemoryBounds(root_));
  EXPECT_THAT(tightest->name, HasSubstr("cgroup/user"));
}

TEST_F(MemoryTest, Version1RecognizesTheValueForNoLimit) {
  Version1("/job");
  Write("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  Write("sys/fs/cgroup/memory/memory.usage_in_bytes", "1\n");
  Write("sys/fs/cgroup/memory/job/memory.limit_in_bytes", "1000\n");
  Write("sys/fs/cgroup/memory/job/memory.usage_in_bytes", "900\n");
  Write("sys/fs/cgroup/memory/job/memory.stat",
        "active_file 1\ntotal_inactive_file 100\ntotal_active_file 50\n");
  EXPECT_THAT(Free(), ElementsAre(1000 - (900 - 150)));
}

TEST_F(MemoryTest, OomKillsComeFromTheOwnCgroupElseTheMachine) {
  Write("proc/vmstat", "pgfault 5\noom_kill 7\n");
  EXPECT_EQ(OomKills(root_), 7);
  Version2("/user/job");
  Write("sys/fs/cgroup/user/memory.events", "low 0\noom 3\noom_kill 2\n");
  Write("sys/fs/cgroup/user/job/memory.events", "low 0\noom 1\noom_kill 1\n");
  EXPECT_EQ(OomKills(root_), 1);
  Version1("/job");
  Write("sys/fs/cgroup/memory/job/memory.oom_control",
        "oom_kill_disable 0\nunder_oom 0\noom_kill 4\n");
  EXPECT_EQ(OomKills(root_), 4);
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
// Not under sanitizers, which reserve large address ranges.
TEST(LimitOwnData, MakesAnAllocationFailInThisProcessOnly) {
  const pid_t child = fork();
  if (child == 0) {
    if (!LimitOwnData({64 << 20})) _exit(2);
    try {
      const std::vector<char> fits(32 << 20, 1);
    } catch (const std::bad_alloc&) {
      _exit(3);
    }
    try {
      const std::vector<char> too_much(128 << 20, 1);
    } catch (const std::bad_alloc&) {
      rlimit before{}, after{};
      getrlimit(RLIMIT_DATA, &before);
      LimitOwnData({1 << 30});
      getrlimit(RLIMIT_DATA, &after);
      _exit(before.rlim_cur == after.rlim_cur ? 0 : 5);  // never raised
    }
    _exit(4);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status), 0);
}
#endif

}  // namespace
}  // namespace pipesim::base
