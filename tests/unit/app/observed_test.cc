#include "app/observed.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"

namespace pipesim::app {
namespace {

diagnose::Observed Read(const std::vector<std::string>& figures) {
  std::vector<std::string> words;
  for (const std::string& one : figures) words.insert(words.end(), {"--observed", one});
  return ReadObserved(ParseArguments(words));
}

TEST(ReadObserved, ReadsFiguresWithTheirUnitsAndTheLastOneWins) {
  EXPECT_TRUE(Read({}).IsEmpty());
  const auto observed = Read({"gpu=30%,samples_per_s=450,cpu=1", "step=140ms,gpu=0.4"});
  EXPECT_EQ(observed.device_utilization, 0.4);
  EXPECT_EQ(observed.samples_per_s, 450);
  EXPECT_EQ(observed.cpu_utilization, 1);
  EXPECT_EQ(observed.step_s, 0.14);
}

TEST(ReadObserved, AMistakeIsNamedWithWhatWasMeant) {
  const auto error = [](const std::string& figures) -> std::string {
    try {
      Read({figures});
    } catch (const base::UsageError& refusal) {
      return refusal.what();
    }
    return "";
  };
  using testing::HasSubstr;
  EXPECT_THAT(error("samples=450"), HasSubstr("did you mean samples_per_s?"));
  EXPECT_THAT(error("gpu"), HasSubstr("--observed gpu:"));
  EXPECT_THAT(error("gpu=130%"), HasSubstr("--observed gpu=130%:"));
  EXPECT_THAT(error("step=140"), HasSubstr("has no unit"));
  EXPECT_THAT(error("samples_per_s=0"), HasSubstr("must be above 0"));
  EXPECT_THAT(error(""), HasSubstr("--observed 'gpu=30%,samples_per_s=450"));
}

}  // namespace
}  // namespace pipesim::app
