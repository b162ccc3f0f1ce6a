#include "base/proc.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

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

}  // namespace
}  // namespace pipesim::base
