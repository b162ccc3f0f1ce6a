#include "app/commands/scenarios.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>
#include <string>

namespace pipesim::app {
namespace {

const std::string kFields =
    "# pain: one\n# met as: two\n# verdict: io-bound\n# shown by: run\n# beside: 2 busy programs\n";

Scenario Read(const std::string& text) { return ReadScenario("/somewhere/slow-disk.yaml", text); }

std::string RefusalOf(const std::string& text) {
  try {
    Read(text);
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return "";
}

TEST(ReadScenario, TakesFieldsTheExplanationAndTheExperimentApart) {
  const Scenario scenario =
      Read(kFields + "#\n# First line:\n# second.\nversion: 1\nstorage: hdd\n");
  EXPECT_EQ(scenario.name, "slow-disk");
  EXPECT_EQ(scenario.pain, "one");
  EXPECT_EQ(scenario.met_as, "two");
  EXPECT_EQ(scenario.verdict, "io-bound");
  EXPECT_TRUE(scenario.can_run);
  EXPECT_FALSE(scenario.can_predict);
  EXPECT_EQ(scenario.busy_programs, 2);
  EXPECT_EQ(scenario.text, "First line: second.");
  EXPECT_EQ(scenario.experiment, "version: 1\nstorage: hdd\n");
}

TEST(ReadScenario, NamesTheFileAndWhatIsWrong) {
  EXPECT_EQ(RefusalOf("# met as: two\n# verdict: io-bound\n"),
            "/somewhere/slow-disk.yaml: `pain` is missing");
  EXPECT_EQ(RefusalOf("# pain: one\n# verdict: io-bound\n"),
            "/somewhere/slow-disk.yaml: `met as` is missing");
  EXPECT_EQ(RefusalOf("# pain: one\n# met as: two\n# verdict: slow\n"),
            "/somewhere/slow-disk.yaml: 'slow' is no verdict");
  EXPECT_THAT(RefusalOf(kFields + "# colour: red\n"), testing::HasSubstr("unknown field 'colour'"));
  EXPECT_THAT(RefusalOf(kFields + "# text\n"), testing::HasSubstr("'text' is no `field: value`"));
  EXPECT_THAT(RefusalOf("# shown by: chance\n"), testing::HasSubstr("neither predict nor run"));
  EXPECT_THAT(RefusalOf("# beside: some\n"), testing::HasSubstr("a number of busy programs"));
}

}  // namespace
}  // namespace pipesim::app
