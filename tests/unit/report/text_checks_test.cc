// The checker of texts sees what it is there to see.
#include "text_checks.h"

namespace pipesim::tests {
namespace {

constexpr const char* kTitle = "Where a step goes (GPU timeline)            54.7 ms  100 %\n";

TEST(KeepsTheRules, AcceptsATableThatAddsUp) {
  EXPECT_TRUE(KeepsTheRules(std::string(kTitle) + "  starved  39.2 ms   72 %  ##\n" +
                            "  busy     15.4 ms   28 %\n  launch    0.1 ms   <1 %  .\n\n"));
}

TEST(KeepsTheRules, SeesRowsThatMissTheTotal) {
  EXPECT_FALSE(KeepsTheRules(std::string(kTitle) + "  starved  39.1 ms   72 %\n" +
                             "  busy     15.5 ms   28 %\n\n"));
}

TEST(KeepsTheRules, SeesPercentagesThatMissAHundred) {
  EXPECT_FALSE(KeepsTheRules(std::string(kTitle) + "  starved  39.2 ms   71 %\n" +
                             "  busy     15.5 ms   28 %\n"));
}

TEST(KeepsTheRules, SeesATitleWithoutRows) { EXPECT_FALSE(KeepsTheRules(kTitle)); }

TEST(KeepsTheRules, SeesLinesThatAreTooWideButForCommands) {
  EXPECT_FALSE(KeepsTheRules(std::string(81, 'x') + "\n"));
  EXPECT_TRUE(KeepsTheRules("  pipesim " + std::string(81, 'x') + "\n"));
}

TEST(KeepsTheRules, SeesControlCharactersAndTrailingSpaces) {
  EXPECT_FALSE(KeepsTheRules("a\x1b[2J\n"));
  EXPECT_FALSE(KeepsTheRules("a \n"));
  EXPECT_FALSE(KeepsTheRules("a"));
}

}  // namespace
}  // namespace pipesim::tests
