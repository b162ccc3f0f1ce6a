// What makes the run doubtful, what is missing, and where there is more.
#include <algorithm>

#include "base/text.h"
#include "report/text_parts.h"

namespace pipesim::report {
namespace {

constexpr std::size_t kWarningsShown = 3, kSkippedShown = 3;

void AddMissing(const Sheet& sheet) {
  const View diagnosis = sheet.document.At("diagnosis");
  std::vector<std::string> missing;
  for (const View item : diagnosis.At("missing").Items()) {
    const std::string reason = item.At("reason").Text();
    missing.push_back(item.At("signal").Text() + (reason.empty() ? "" : ": " + reason));
  }
  if (missing.empty()) return;
  const bool open = diagnosis.At("bottleneck").Text() == "inconclusive";
  sheet.page.Add((open ? "Too little evidence because: " : "Not measured: ") +
                 base::Join(missing, "; ") + ".");
}

/// The setting that ended an inconclusive run early, with where it came from.
void AddStop(const Sheet& sheet) {
  if (sheet.document.At("diagnosis.bottleneck").Text() != "inconclusive") return;
  const std::string limit = sheet.document.At("result.stopped_by").Text();
  if (limit != "duration" && limit != "steps" && limit != "epochs") return;
  const View setting = sheet.document.At("experiment").Member("run." + limit);
  if (!setting.IsPresent()) return;
  sheet.page.Add("  run." + limit + " " + setting.At("value").Text() + " (" +
                 setting.At("origin").Text() +
                 ") stopped the run; without it the run goes on until it has enough.");
}

void AddWarnings(const Sheet& sheet) {
  const std::vector<View> warnings = sheet.document.At("warnings").Items();
  const std::size_t shown =
      sheet.full ? warnings.size() : std::min(warnings.size(), kWarningsShown);
  for (std::size_t i = 0; i < shown; ++i) sheet.page.Add("Note: " + warnings[i].At("text").Text());
  if (const std::size_t more = warnings.size() - shown; more > 0)
    sheet.page.Add("Note: " + std::to_string(more) + " more with --full.");
}

void AddSkipped(const Sheet& sheet) {
  const View result = sheet.document.At("result");
  const auto count = static_cast<std::int64_t>(result.At("bad_sample_count").NumberOr(0));
  if (count <= 0) return;
  const std::vector<View> items = result.At("bad_samples").Items();
  const std::size_t shown = sheet.full ? items.size() : std::min(items.size(), kSkippedShown);
  sheet.page.Add("Bad samples: " + WithCommas(count) + (shown > 0 ? ", the first of them:" : "."));
  for (std::size_t i = 0; i < shown; ++i)
    sheet.page.Add("  " + items[i].At("item").Text() + ": " + items[i].At("reason").Text(),
                   Style::kPlain, "    ");
}

}  // namespace

void AddNotes(const Sheet& sheet) {
  sheet.page.AddBlank();
  AddMissing(sheet);
  AddStop(sheet);
  AddSkipped(sheet);
  AddWarnings(sheet);
  const std::string verdict = sheet.document.At("diagnosis.bottleneck").Text();
  const std::string explain = verdict.empty() || !HasMeasurement(sheet.document)
                                  ? ""
                                  : "pipesim explain " + verdict + "     ";
  const std::string again = sheet.full ? "--export json=FILE" : "--full";
  sheet.page.Add("More: " + explain + "pipesim report last " + again);
}

}  // namespace pipesim::report
