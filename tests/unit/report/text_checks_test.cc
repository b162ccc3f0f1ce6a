// The checker of texts sees what it is there to see.
#include "text_checks.h"

#include <string_view>

namespace pipesim::tests {
namespace {

std::string TableOf(std::string_view rows) {
  std::string text = "Where a step goes (GPU timeline)            54.7 ms  100 %\n";
  text.append(rows);
  return text;
}

TEST(KeepsTheRules, AcceptsATableThatAddsUp) {
  EXPECT_TRUE(
      KeepsTheRules(TableOf("  starved  39.2 ms   72 %  ##\n"
                            "  busy     15.4 ms   28 %\n"
                            "  launch    0.1 ms   <1 %  .\n\n")));
}

TEST(KeepsTheRules, SeesRowsThatMissTheTotal) {
  EXPECT_FALSE(
      KeepsTheRules(TableOf("  starved  39.1 ms   72 %\n"
                            "  busy     15.5 ms   28 %\n\n")));
}

TEST(KeepsTheRules, SeesPercentagesThatMissAHundred) {
  EXPECT_FALSE(
      KeepsTheRules(TableOf("  starved  39.2 ms   71 %\n"
                            "  busy     15.5 ms   28 %\n")));
}

TEST(KeepsTheRules, SeesATitleWithoutRows) { EXPECT_FALSE(KeepsTheRules(TableOf(""))); }

TEST(KeepsTheRules, SeesLinesThatAreTooWideButForCommands) {
  const std::string wide(81, 'x');
  EXPECT_FALSE(KeepsTheRules(wide + "\n"));
  EXPECT_TRUE(KeepsTheRules("  pipesim " + wide + "\n"));
}

TEST(KeepsTheRules, SeesControlCharactersAndTrailingSpaces) {
  EXPECT_FALSE(KeepsTheRules("a\x1b[2J\n"));
  EXPECT_FALSE(KeepsTheRules("a \n"));
  EXPECT_FALSE(KeepsTheRules("a"));
}

}  // namespace
}  // namespace pipesim::tests
