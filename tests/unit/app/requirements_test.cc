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

TEST(Requirements, QuantitiesAreThoseOfTheExperimentFile) {
  EXPECT_EQ(ReadLimit("--require", "au>=90%").value, 0.9);
  EXPECT_EQ(ReadLimit("--require", "samples_per_s>=1k").value, 1000);
  EXPECT_EQ(ReadLimit("--require", "samples_per_s<=1.5M").value, 1.5e6);
}

TEST(Requirements, AMissedLimitSaysTheValue) {
  measure::Measurement measurement;
  measurement.result.samples_per_s = 86.5;
  measurement.result.samples_per_s_interval = measure::Interval{86.1, 86.9, 0.95, ""};
  measurement.result.accelerator_utilization = 0.45;
  const auto lines = [&](const std::string& limit) {
    return CheckRequirements(ReadRequirements(ParseArguments({"--require", limit})), measurement,
                             {})
        .lines;
  };
  EXPECT_EQ(lines("samples_per_s>=4k"),
            std::vector<std::string>{"samples_per_s>=4k is missed: it is 86.5 (86.1 to 86.9)"});
  EXPECT_EQ(
      lines("samples_per_s>=86.4"),
      std::vector<std::string>{"samples_per_s>=86.4 is not decided: it is 86.5 (86.1 to 86.9)"});
  measurement.result.samples_per_s = 1998.55;
  measurement.result.samples_per_s_interval = measure::Interval{1998.5, 1998.6, 0.95, ""};
  EXPECT_EQ(lines("samples_per_s>=1999"),
            std::vector<std::string>{"samples_per_s>=1999 is missed: it is 1,998.5 (1,998.5 to 1,998.6)"})
      << "2,000 would contradict it";
  EXPECT_EQ(lines("au>=0.9"), std::vector<std::string>{"au>=0.9 is missed: it is 0.450"});
  EXPECT_EQ(lines("au>=90%"), std::vector<std::string>{"au>=90% is missed: it is 45.0 %"});
}

TEST(Requirements, AnInvalidLimitIsAUsageError) {
  for (const char* text :
       {"au>0.9", "au", "speed>=3", "au>=x", "au>=0.9x", "samples_per_s>=nan", "samples_per_s>=inf",
        "au>=nan", "au>=1.5", "samples_per_s>=-3", "samples_per_s>="})
    EXPECT_THROW(ReadRequirements(ParseArguments({"--require", text})), base::UsageError) << text;
  EXPECT_THROW(ReadRequirements(ParseArguments({"--expect", "io"})), base::UsageError);
}

std::string Refusal(LimitKind kind, const std::string& text) {
  try {
    ReadLimit("--flag", text, kind);
  } catch (const base::UsageError& error) {
    return error.what();
  }
  return "";
}

TEST(Requirements, ARefusalNamesOnlyTheLimitsThatTheFlagTakes) {
  EXPECT_EQ(Refusal(LimitKind::kEither, "au>0.9"),
            "--flag takes au>=0.9 or samples_per_s>=4000 (or <=), not 'au>0.9'");
  EXPECT_EQ(Refusal(LimitKind::kLower, "au>0.9"), "--flag takes au>=0.9 or samples_per_s>=4000, not 'au>0.9'");
  EXPECT_EQ(Refusal(LimitKind::kLower, "au<=0.9"), "--flag takes au>=0.9 or samples_per_s>=4000, not 'au<=0.9'");
  EXPECT_EQ(Refusal(LimitKind::kEither, "au<=0.9"), "");
}

}  // namespace
}  // namespace pipesim::app
