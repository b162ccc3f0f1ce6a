// Warnings, missing evidence, and where to find more.
#include <algorithm>
#include <set>

#include "base/text.h"
#include "report/text_parts.h"

namespace pipesim::report {
namespace {

constexpr std::size_t kWarningsShown = 3;

void AddMissing(const Sheet& sheet) {
  const View diagnosis = sheet.document.At("diagnosis");
  std::vector<std::string> reasons;
  for (const View item : diagnosis.At("missing").Items())
    reasons.push_back(item.At("reason").Text());
  std::erase(reasons, "");
  if (reasons.empty()) return;
  sheet.page.Add(
      (IsOpen(sheet.document) ? "Too little evidence because: " : "Less certain because: ") +
      base::Join(reasons, ", ") + ".");
}

/// The setting that ended an inconclusive run early, and its origin.
void AddStop(const Sheet& sheet) {
  if (!IsOpen(sheet.document)) return;
  const std::string limit = sheet.document.At("result.stopped_by").Text();
  if (limit != "duration" && limit != "steps" && limit != "epochs") return;
  const View setting = sheet.document.At("experiment").Member("run." + limit);
  if (!setting.IsPresent()) return;
  const std::string longest = Setting(sheet.document, "run.max_duration");
  const std::string until =
      longest.empty() ? "the result is precise enough"
                      : "the result is precise enough or " + Spaced(longest) + " have passed";
  sheet.page.Add("  run." + limit + " " + setting.At("value").Text() + " (" +
                 setting.At("origin").Text() +
                 ") stopped the run; without it the run goes on until " + until + ".");
}

void AddWarnings(const Sheet& sheet) {
  const std::vector<View> warnings = sheet.document.At("warnings").Items();
  const std::size_t shown =
      sheet.full ? warnings.size() : std::min(warnings.size(), kWarningsShown);
  for (std::size_t i = 0; i < shown; ++i) sheet.page.Add("Note: " + warnings[i].At("text").Text());
  if (const std::size_t more = warnings.size() - shown; more > 0)
    sheet.page.Add("Note: " + std::to_string(more) + " more with --full.");
}

/// The list behind the warning of bad samples.
void AddSkipped(const Sheet& sheet) {
  const View result = sheet.document.At("result");
  const auto count = result.At("bad_sample_count").Whole();
  if (count <= 0) return;
  const std::vector<View> items = result.At("bad_samples").Items();
  sheet.page.Add("Bad samples: " + WithCommas(count) + (items.empty() ? "." : ", the first:"));
  std::set<std::string> named;  // they are met again every epoch
  for (const View item : items)
    if (named.insert(item.At("item").Text()).second)
      sheet.page.Add("  " + item.At("item").Text() + ": " + item.At("reason").Text(), Style::kPlain,
                     "    ");
}

}  // namespace

void AddNotes(const Sheet& sheet) {
  sheet.page.AddBlank();
  // What ended a run before its first step is said above.
  const bool failed = !sheet.document.At("result.failure").Text().empty();
  if (HasMeasurement(sheet.document) || !failed) AddMissing(sheet);
  AddStop(sheet);
  AddWarnings(sheet);
  if (sheet.full) AddSkipped(sheet);
}

void AddMore(const Sheet& sheet) {
  if (sheet.full) sheet.page.AddBlank();
  const std::string verdict = sheet.document.At("diagnosis.bottleneck").Text();
  const std::string explain = verdict.empty() || !HasMeasurement(sheet.document)
                                  ? ""
                                  : "pipesim explain " + verdict + "     ";
  const std::string again = sheet.full ? "--export json=FILE" : "--full";
  sheet.page.Add("More: " + explain + "pipesim report last " + again);
}

}  // namespace pipesim::report
