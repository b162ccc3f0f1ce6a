#include "app/requirements.h"

#include <fmt/format.h>

#include "app/verdict_names.h"
#include "base/number_text.h"
#include "base/text.h"
#include "spec/units_text.h"

namespace pipesim::app {
namespace {

using diagnose::Verdict;

Verdict VerdictNamed(const std::string& name) {
  if (const auto* row = FindVerdictAsTyped(name)) return row->verdict;
  const std::string meant = VerdictMeant(name);
  if (!meant.empty())
    throw base::UsageError(
        fmt::format("unknown verdict '{}' in --expect; {}", base::Printable(name), meant));
  std::vector<std::string> names;
  for (const auto& row : diagnose::kVerdicts) names.emplace_back(row.name);
  throw base::UsageError(fmt::format("unknown verdict '{}' in --expect; the verdicts are: {}",
                                     base::Printable(name), base::Join(names, ", ")));
}

/// −1: missed, 0: undecided, 1: met.
int Judge(const Requirements::Limit& limit, const measure::Result& result) {
  double low = 0, high = 0;
  if (limit.metric == "au") {
    const auto au = result.JudgedUtilization();
    if (!au) return 0;
    low = high = *au;
  } else {
    if (!result.samples_per_s) return 0;
    low = high = *result.samples_per_s;
    if (result.samples_per_s_interval)
      low = result.samples_per_s_interval->low, high = result.samples_per_s_interval->high;
  }
  const bool low_meets = limit.at_least ? low >= limit.value : low <= limit.value;
  const bool high_meets = limit.at_least ? high >= limit.value : high <= limit.value;
  if (low_meets && high_meets) return 1;
  return low_meets || high_meets ? 0 : -1;
}

/// As many as tell `value` from the limit; few where they are equal.
int DigitsFrom(double limit, double value) {
  constexpr int kFew = 3, kMost = 12;
  if (value == limit) return kFew;
  int digits = kFew;
  while (digits < kMost && base::Significant(value, digits) == base::Significant(limit, digits)) ++digits;
  return digits;
}

/// "samples_per_s>=4000 is missed: it is 86.5 (86.1 to 86.9)". In percent where the limit is.
std::string LimitLine(const Requirements::Limit& limit, const measure::Result& result,
                      bool missed) {
  const std::string judged = limit.text + (missed ? " is missed: " : " is not decided: ");
  if (limit.metric == "au") {
    const auto au = result.JudgedUtilization();
    if (!au) return judged + "the utilization is not known";
    const int digits = DigitsFrom(limit.value, *au);
    return judged + "it is " +
           (limit.text.ends_with('%') ? base::Significant(100 * *au, digits) + " %" : base::Significant(*au, digits));
  }
  if (!result.samples_per_s) return judged + "no rate was measured";
  const auto& interval = result.samples_per_s_interval;
  const int digits = DigitsFrom(limit.value, *result.samples_per_s);
  const auto figure = [digits](double value) { return base::Significant(value, digits); };
  return judged + "it is " + figure(*result.samples_per_s) +
         (interval ? fmt::format(" ({} to {})", figure(interval->low), figure(interval->high))
                   : "");
}

}  // namespace

Requirements::Limit ReadLimit(std::string_view flag, const std::string& text, LimitKind kind) {
  const std::size_t at = text.find_first_of("<>");
  const bool readable = at != std::string::npos && at + 1 < text.size() && text[at + 1] == '=';
  Requirements::Limit limit{text, text.substr(0, at), readable && text[at] == '>', 0};
  const bool known = limit.metric == "au" || limit.metric == "samples_per_s";
  if (!readable || !known || (kind == LimitKind::kLower && !limit.at_least))
    throw base::UsageError(fmt::format("{} takes au>=0.9 or samples_per_s>=4000{}, not '{}'", flag,
                                       kind == LimitKind::kEither ? " (or <=)" : "", base::Printable(text)));
  const std::string number = text.substr(at + 2);
  const auto parsed =
      limit.metric == "au" ? spec::ParseShare(number) : spec::ParsePerSecond(number);
  if (const auto* bad = std::get_if<spec::BadText>(&parsed))
    throw base::UsageError(fmt::format(
        "{} {}: {}{}", flag, base::Printable(text), bad->what,
        bad->suggestion.empty()
            ? ""
            : fmt::format("; did you mean {}{}?", text.substr(0, at + 2), bad->suggestion)));
  limit.value = std::get<double>(parsed);
  return limit;
}

Requirements ReadRequirements(const Arguments& arguments) {
  Requirements requirements;
  if (const auto expected = arguments.Last("expect")) requirements.expect = VerdictNamed(*expected);
  for (const std::string& text : arguments.All("require"))
    requirements.limits.push_back(ReadLimit("--require", text, LimitKind::kEither));
  return requirements;
}

RequirementResult CheckRequirements(const Requirements& requirements,
                                    const measure::Measurement& measurement,
                                    const diagnose::Diagnosis& diagnosis) {
  RequirementResult result;
  bool missed = false, undecided = false;
  if (requirements.expect && diagnosis.bottleneck != *requirements.expect) {
    const bool open = diagnosis.bottleneck == Verdict::kInconclusive;
    (open ? undecided : missed) = true;
    result.lines.push_back(fmt::format("expected {}, the verdict is {}",
                                       diagnose::ToText(*requirements.expect),
                                       diagnose::ToText(diagnosis.bottleneck)));
  }
  for (const Requirements::Limit& limit : requirements.limits) {
    const int judged = Judge(limit, measurement.result);
    if (judged == 1) continue;
    (judged == 0 ? undecided : missed) = true;
    result.lines.push_back(LimitLine(limit, measurement.result, judged != 0));
  }
  if (undecided) result.code = base::ExitCode::kUndecided;
  if (missed) result.code = base::ExitCode::kThresholdMissed;
  return result;
}

}  // namespace pipesim::app
