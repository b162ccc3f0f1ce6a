#include "app/kept_runs.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "base/files.h"
#include "support/test_folder.h"

namespace pipesim::app {
namespace {

namespace fs = std::filesystem;

class KeptRuns : public testing::Test {
 protected:
  support::TemporaryFolder temporary_;
  const fs::path folder_ = temporary_.path();
};

TEST_F(KeptRuns, TheNewestIsTheLastKept) {
  KeepRun(folder_, "first");
  KeepRun(folder_, "second");
  EXPECT_EQ(base::ReadFile(*NewestRun(folder_)), "second");
}

TEST_F(KeptRuns, KeepsOnlyTwenty) {
  for (int i = 0; i < 25; ++i) KeepRun(folder_, std::to_string(i));
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_ / "runs"), fs::directory_iterator()), 20);
  EXPECT_EQ(base::ReadFile(*NewestRun(folder_)), "24");
}

TEST_F(KeptRuns, AFolderWithoutRunsHoldsNone) { EXPECT_EQ(NewestRun(folder_), std::nullopt); }

TEST_F(KeptRuns, AFolderThatCannotBeWrittenIsAnEnvironmentError) {
  EXPECT_THROW(KeepRun("/proc/no-such", "x"), base::EnvironmentError);
}

}  // namespace
}  // namespace pipesim::app
