#include "app/commands/compare_gate.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/names.h"
#include "base/number_text.h"
#include "base/text.h"
#include "diagnose/verdicts.h"
#include "spec/units_text.h"

namespace pipesim::app {
namespace {

using compare::Call;

double ReadThreshold(const std::string& text) {
  const auto parsed = spec::ParseShare(text);
  const auto* bad = std::get_if<spec::BadText>(&parsed);
  const double share = bad ? 0 : std::get<double>(parsed);
  if (bad != nullptr || share >= 1)
    throw base::UsageError(fmt::format(
        "--fail-on-regression takes a share such as 5%, not '{}'{}", base::Printable(text),
        bad != nullptr && !bad->suggestion.empty() ? "; did you mean " + bad->suggestion + "?"
                                                   : ""));
  return share;
}

std::optional<Call> CallNamed(const std::string& text) {
  const std::string word = base::LowerCase(text);
  for (const Call call : {Call::kFaster, Call::kSlower, Call::kSame})
    if (word == base::LowerCase(std::string(compare::ToText(call)))) return call;
  return std::nullopt;
}

/// The figures of a point that --expect and --require judge.
RequirementResult CheckPoint(const Requirements& requirements, const compare::Point& point) {
  measure::Measurement measurement;
  diagnose::Diagnosis diagnosis;
  if (const auto* row = diagnose::FindVerdict(point.bottleneck))
    diagnosis.bottleneck = row->verdict;
  measurement.result.accelerator_utilization = point.accelerator_utilization;
  if (point.rate) {
    const double rate = point.rate->rate, half = point.rate->RelativeHalfWidth().value_or(0);
    measurement.result.samples_per_s = rate;
    measurement.result.samples_per_s_interval =
        measure::Interval{.low = rate * (1 - half), .high = rate * (1 + half), .method = {}};
  }
  return CheckRequirements(requirements, measurement, diagnosis);
}

/// "2 of 6 points of A are not in B, which was interrupted: not decided".
std::string MissingText(const std::vector<compare::Side>& sides,
                        const compare::Comparison& comparison) {
  const compare::Side& b = sides[comparison.side];
  return fmt::format("{} of {} points of A {} not in {}{}: not decided", comparison.missing,
                     sides[0].points.size(), comparison.missing == 1 ? "is" : "are",
                     compare::LetterOf(comparison.side),
                     b.why_partial.empty() ? "" : ", which " + b.why_partial);
}

/// What B never measured may have changed.
void CheckMissing(const std::vector<compare::Side>& sides,
                  const std::vector<compare::Comparison>& comparisons, bool& undecided,
                  std::vector<std::string>& lines) {
  for (const compare::Comparison& comparison : comparisons) {
    if (comparison.missing == 0) continue;
    undecided = true;
    lines.push_back(MissingText(sides, comparison));
  }
}

void CheckRegressions(double threshold, const std::vector<compare::Comparison>& comparisons,
                      bool& missed, bool& undecided, std::vector<std::string>& lines) {
  const compare::Tally tally = compare::TallyOf(comparisons);
  const std::string limit = base::Count(threshold * 100) + " %";
  if (tally.regressions > 0) {
    missed = true;
    lines.push_back(
        fmt::format("{} of {} points lost more than {}", tally.regressions, tally.points, limit));
  } else if (tally.open > 0) {
    undecided = true;
    lines.push_back(fmt::format("{} of {} points may have lost more than {}: not decided",
                                tally.open, tally.points, limit));
  }
}

void CheckCall(Call expected, const std::vector<compare::Comparison>& comparisons, bool& missed,
               bool& undecided, std::vector<std::string>& lines) {
  const Call call = compare::TallyOf(comparisons).Overall();
  if (call == expected) return;
  (call == Call::kUnsure ? undecided : missed) = true;
  lines.push_back(fmt::format("expected {}, the answer is {}", compare::ToText(expected),
                              compare::ToText(call)));
}

}  // namespace

CompareGate ReadCompareGate(const Arguments& arguments) {
  CompareGate gate;
  if (const auto text = arguments.Last("fail-on-regression")) gate.threshold = ReadThreshold(*text);
  Arguments others = arguments;
  if (const auto text = arguments.Last("expect"); text && (gate.expect = CallNamed(*text)))
    std::erase_if(others.options,
                  [](const Argument& argument) { return argument.option->name == "expect"; });
  try {
    gate.requirements = ReadRequirements(others);
  } catch (const base::UsageError& error) {
    const std::string what = error.what();
    if (what.find("--expect") == std::string::npos) throw;
    throw base::UsageError(what + "\n`pipesim compare` also takes faster, slower and same");
  }
  return gate;
}

RequirementResult CheckGate(const CompareGate& gate, const std::vector<compare::Side>& sides,
                            const std::vector<compare::Comparison>& comparisons) {
  RequirementResult result;
  bool missed = false, undecided = false;
  if (gate.threshold)
    CheckRegressions(*gate.threshold, comparisons, missed, undecided, result.lines);
  if (gate.threshold || gate.expect == Call::kSame)
    CheckMissing(sides, comparisons, undecided, result.lines);
  if (gate.expect) CheckCall(*gate.expect, comparisons, missed, undecided, result.lines);
  for (const compare::Comparison& comparison : comparisons)
    for (const compare::PointComparison& each : comparison.points) {
      const compare::Point& point = sides[comparison.side].points[each.b];
      const RequirementResult one = CheckPoint(gate.requirements, point);
      missed = missed || one.code == base::ExitCode::kThresholdMissed;
      undecided = undecided || one.code == base::ExitCode::kUndecided;
      const std::string who =
          compare::LetterOf(comparison.side) + (point.name.empty() ? "" : ", " + point.name) + ": ";
      for (const std::string& line : one.lines) result.lines.push_back(who + line);
    }
  if (undecided) result.code = base::ExitCode::kUndecided;
  if (missed) result.code = base::ExitCode::kThresholdMissed;
  return result;
}

}  // namespace pipesim::app
