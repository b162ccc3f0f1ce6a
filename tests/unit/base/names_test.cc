#include "base/names.h"

#include <gtest/gtest.h>

#include "base/text.h"

namespace pipesim::base {
namespace {

const std::vector<std::string> kNames{"h100", "a100", "Mixed", "mixed", "relu"};

TEST(FindName, TakesTheExactOneElseTheOnlyOneInAnotherCase) {
  EXPECT_EQ(FindName("h100", kNames), 0u);
  EXPECT_EQ(FindName("H100", kNames), 0u);
  EXPECT_EQ(FindName("mixed", kNames), 3u);
  EXPECT_EQ(FindName("ReLU", kNames), 4u);
  EXPECT_EQ(FindName("MIXED", kNames), std::nullopt);  // two could be meant
  EXPECT_EQ(FindName("h10", kNames), std::nullopt);
}

TEST(FindName, SuggestionsForgiveCaseToo) { EXPECT_EQ(Nearest("H10O", kNames), "h100"); }

}  // namespace
}  // namespace pipesim::base
