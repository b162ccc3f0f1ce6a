// Evicting a folder from the page cache and reading it in. The kernel need not evict every page;
// these tests check what holds on any file system.
#include "engine/files/page_cache.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

#include "base/disk.h"
#include "base/error.h"
#include "support/test_folder.h"

namespace pipesim::engine {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class PageCacheTest : public testing::Test {
 protected:
  PageCacheTest() {
    storage_.kind = spec::StorageKind::kFiles;
    storage_.path = folder_.path();
    for (int i = 0; i < 20; ++i) {
      const fs::path path = folder_.path() / "a" / (std::to_string(i) + ".jpg");
      fs::create_directories(path.parent_path());
      std::ofstream(path) << std::string(50'000, 'x');
      const int fd = ::open(path.c_str(), O_RDONLY);
      ::fsync(fd);  // dirty pages cannot be evicted
      ::close(fd);
    }
  }
  double Cached() { return CachedFraction(FileList(storage_.path)).value(); }

  support::TemporaryFolder folder_;
  spec::Storage storage_;
};

TEST_F(PageCacheTest, WarmHoldsAllOfASmallSet) {
  storage_.file_cache = spec::FileCacheState::kWarm;
  const PageCacheState state = PreparePageCache(storage_, {});
  EXPECT_FALSE(state.interrupted);
  EXPECT_GT(state.cached_fraction.value(), 0.99);
}

TEST_F(PageCacheTest, ColdEvictsFilesOnADisk) {
  storage_.file_cache = spec::FileCacheState::kWarm;
  PreparePageCache(storage_, {});
  storage_.file_cache = spec::FileCacheState::kCold;
  const PageCacheState state = PreparePageCache(storage_, {});
  ASSERT_TRUE(state.cached_fraction);
  EXPECT_EQ(*state.cached_fraction, Cached());
  if (!base::DiskOf(storage_.path)) GTEST_SKIP() << "no block device: files may live in memory";
  EXPECT_LT(*state.cached_fraction, 0.1);
}

TEST_F(PageCacheTest, AsIsReadsNothingAndReportsTheCachedShare) {
  bool touched = false;
  const PageCacheState state =
      PreparePageCache(storage_, {nullptr, [&](std::string_view, double) { touched = true; }});
  EXPECT_FALSE(touched);
  EXPECT_TRUE(state.cached_fraction);
}

TEST_F(PageCacheTest, ReportsProgressAndObeysAStop) {
  storage_.file_cache = spec::FileCacheState::kWarm;
  base::StopFlag stop;
  int told = 0;
  const PageCacheState state =
      PreparePageCache(storage_, {&stop, [&](std::string_view doing, double share) {
                                    EXPECT_THAT(std::string(doing), HasSubstr("page cache"));
                                    EXPECT_LT(share, 1);
                                    if (++told == 5) stop.Set();
                                  }});
  EXPECT_TRUE(state.interrupted);
  EXPECT_EQ(told, 5);
}

TEST_F(PageCacheTest, AVanishedFileIsAnErrorUnlessBadFilesAreSkipped) {
  storage_.file_cache = spec::FileCacheState::kCold;
  const auto remove_last = [&](std::string_view, double) {
    fs::remove(storage_.path / "a" / "9.jpg");  // the last by name
  };
  try {
    PreparePageCache(storage_, {nullptr, remove_last});
    FAIL() << "told nothing";
  } catch (const base::EnvironmentError& error) {
    EXPECT_THAT(error.what(), HasSubstr("9.jpg before the run: No such file"));
  }
  std::ofstream(storage_.path / "a" / "9.jpg") << "x";
  storage_.on_bad_file = spec::OnBadFile::kSkip;
  EXPECT_FALSE(PreparePageCache(storage_, {nullptr, remove_last}).interrupted);
}

}  // namespace
}  // namespace pipesim::engine
