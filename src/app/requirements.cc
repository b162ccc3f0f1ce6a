#include "app/requirements.h"

#include <fmt/format.h>

#include <charconv>

#include "base/text.h"

namespace pipesim::app {
namespace {

using diagnose::Verdict;

Verdict VerdictNamed(const std::string& name) {
  if (const auto* row = diagnose::FindVerdict(name)) return row->verdict;
  std::vector<std::string> names;
  for (const auto& row : diagnose::kVerdicts) names.emplace_back(row.name);
  throw base::UsageError(fmt::format("unknown verdict '{}' in --expect; the verdicts are: {}",
                                     base::Printable(name), base::Join(names, ", ")));
}

/// −1: missed, 0: undecided, 1: met.
int Judge(const Requirements::Limit& limit, const measure::Result& result) {
  double low = 0, high = 0;
  if (limit.metric == "au") {
    if (!result.accelerator_utilization) return 0;
    low = high = *result.accelerator_utilization;
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

}  // namespace

Requirements::Limit ReadLimit(std::string_view flag, const std::string& text) {
  const std::size_t at = text.find_first_of("<>");
  const bool readable = at != std::string::npos && at + 1 < text.size() && text[at + 1] == '=';
  Requirements::Limit limit{text, text.substr(0, at), readable && text[at] == '>', 0};
  const char* end = text.data() + text.size();
  const auto number = readable ? std::from_chars(text.data() + at + 2, end, limit.value)
                               : std::from_chars_result{nullptr, std::errc::invalid_argument};
  if (number.ec != std::errc() || number.ptr != end ||
      (limit.metric != "au" && limit.metric != "samples_per_s"))
    throw base::UsageError(fmt::format(
        "{} takes au>=0.9 or samples_per_s>=4000 (or <=), not '{}'", flag, base::Printable(text)));
  return limit;
}

Requirements ReadRequirements(const Arguments& arguments) {
  Requirements requirements;
  if (const auto expected = arguments.Last("expect")) requirements.expect = VerdictNamed(*expected);
  for (const std::string& text : arguments.All("require"))
    requirements.limits.push_back(ReadLimit("--require", text));
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
    result.lines.push_back(
        fmt::format("{} {}", limit.text, judged == 0 ? "is not decided by this run" : "is missed"));
  }
  if (undecided) result.code = base::ExitCode::kUndecided;
  if (missed) result.code = base::ExitCode::kThresholdMissed;
  return result;
}

}  // namespace pipesim::app
