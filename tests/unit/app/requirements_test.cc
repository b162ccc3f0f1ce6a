#include "app/requirements.h"

#include <gtest/gtest.h>

namespace pipesim::app {
namespace {

using base::ExitCode;
using diagnose::Verdict;

ExitCode Check(const std::vector<std::string>& words, Verdict verdict, double rate,
               double half_width) {
  measure::Measurement measurement;
  measurement.result.samples_per_s = rate;
  measurement.result.samples_per_s_interval =
      measure::Interval{rate - half_width, rate + half_width, 0.95, ""};
  diagnose::Diagnosis diagnosis;
  diagnosis.bottleneck = verdict;
  return CheckRequirements(ReadRequirements(ParseArguments(words)), measurement, diagnosis).code;
}

TEST(Requirements, NoRequirementsAreMet) {
  EXPECT_EQ(Check({}, Verdict::kInconclusive, 100, 1), ExitCode::kOk);
}

TEST(Requirements, AnotherVerdictMissesAndInconclusiveIsUndecided) {
  EXPECT_EQ(Check({"--expect", "io-bound"}, Verdict::kIoBound, 100, 1), ExitCode::kOk);
  EXPECT_EQ(Check({"--expect", "io-bound"}, Verdict::kCpuBound, 100, 1),
            ExitCode::kThresholdMissed);
  EXPECT_EQ(Check({"--expect", "io-bound"}, Verdict::kInconclusive, 100, 1), ExitCode::kUndecided);
}

TEST(Requirements, ALimitInsideTheIntervalIsUndecided) {
  EXPECT_EQ(Check({"--require", "samples_per_s>=90"}, Verdict::kIoBound, 100, 5), ExitCode::kOk);
  EXPECT_EQ(Check({"--require", "samples_per_s>=98"}, Verdict::kIoBound, 100, 5),
            ExitCode::kUndecided);
  EXPECT_EQ(Check({"--require", "samples_per_s>=110"}, Verdict::kIoBound, 100, 5),
            ExitCode::kThresholdMissed);
  EXPECT_EQ(Check({"--require", "samples_per_s<=110"}, Verdict::kIoBound, 100, 5), ExitCode::kOk);
}

TEST(Requirements, AMissWinsOverAnOpenOne) {
  EXPECT_EQ(
      Check({"--require", "samples_per_s>=98", "--expect", "cpu-bound"}, Verdict::kIoBound, 100, 5),
      ExitCode::kThresholdMissed);
}

TEST(Requirements, AnUnknownUtilizationIsUndecided) {
  EXPECT_EQ(Check({"--require", "au>=0.9"}, Verdict::kIoBound, 100, 5), ExitCode::kUndecided);
}

TEST(Requirements, AnInvalidLimitIsAUsageError) {
  for (const char* text : {"au>0.9", "au", "speed>=3", "au>=x", "au>=0.9x"})
    EXPECT_THROW(ReadRequirements(ParseArguments({"--require", text})), base::UsageError) << text;
  EXPECT_THROW(ReadRequirements(ParseArguments({"--expect", "io"})), base::UsageError);
}

}  // namespace
}  // namespace pipesim::app
