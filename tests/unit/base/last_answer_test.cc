#include "base/last_answer.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <tuple>

namespace pipesim::base {
namespace {

TEST(LastAnswerTest, IsFoundOnceForTheSameQuestion) {
  LastAnswer<std::tuple<std::string, int>, int> last;
  int asked = 0;
  const auto ask = [&](const std::string& word, int number) {
    return last.To(std::tie(word, number), [&] { return 10 * number + ++asked; });
  };
  EXPECT_EQ(ask("a", 1), 11);
  EXPECT_EQ(ask("a", 1), 11);
  EXPECT_EQ(ask("b", 1), 12);
  EXPECT_EQ(ask("b", 2), 23);
  EXPECT_EQ(ask("a", 1), 14);
}

TEST(LastAnswerTest, IsNotKeptWhereThereIsNone) {
  LastAnswer<int, int> last;
  EXPECT_THROW(last.To(1, []() -> int { throw std::invalid_argument("no"); }), std::invalid_argument);
  EXPECT_EQ(last.To(1, [] { return 7; }), 7);
}

}  // namespace
}  // namespace pipesim::base
