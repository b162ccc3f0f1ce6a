// The text of a tune report: the answer, each run and why, the settings to take over.
#include <fmt/format.h>

#include <set>

#include "base/text.h"
#include "report/search_text.h"
#include "report/tune_report.h"

namespace pipesim::report {
namespace {

constexpr SettingColumn kSettingColumns[] = {{"workers", "workers", true},
                                             {"prefetch_factor", "prefetch", true},
                                             {"compute_threads", "threads"},
                                             {"dispatch", "dispatch"},
                                             {"batch_size", "batch"},
                                             {"persistent_workers", "persistent"}};

std::string RateOr(View value, std::string_view otherwise) {
  const auto rate = value.Number();
  return rate ? Significant(*rate, 4) : std::string(otherwise);
}

std::string SettingsOf(View document, View settings) {
  std::vector<std::string> parts;
  for (const SettingColumn& column : SettingColumnsOf(document)) {
    const std::string value = SettingOf(settings, column.key);
    if (!value.empty()) parts.push_back(fmt::format("{} {}", column.title, value));
  }
  return base::Join(parts, ", ");
}

std::string GainText(double gain) {
  constexpr double kAsFactor = 1;  // from +100 % on
  if (gain >= kAsFactor) return Significant(gain + 1, 3) + " x as it was";
  return Gain(gain) + " on as it was";
}

std::string TuneHeadline(View document) {
  const View tuned = document.At("tuned");
  if (!tuned.IsPresent()) {
    return document.At("ended").Text() == "interrupted" ? "interrupted before any run was finished"
                                                        : "no run was finished";
  }
  std::string text = fmt::format(
      "{}: {} samples/s, {} of the fastest found", SettingsOf(document, tuned.At("settings")),
      RateOr(tuned.At("samples_per_s"), "n/a"),
      Percent(tuned.At("share_of_fastest").NumberOr(0)));
  if (const auto gain = tuned.At("gain").Number()) text += ", " + GainText(*gain);
  if (document.At("ended").Text() == "interrupted") text = "interrupted; so far " + text;
  return text;
}

std::string HowItEnded(View document) {
  const std::string ended = document.At("ended").Text();
  const auto remaining = document.At("remaining_gain").Number();
  const double enough = document.At("rules.enough_gain").NumberOr(0);
  std::string more;
  if (remaining && *remaining < enough)
    more = "no untried settings are predicted to gain " + Percent(enough);
  else if (remaining)
    more = "the best untried settings are predicted to gain " + Gain(*remaining);
  if (ended == "runs_used_up") return "the runs are used up" + (more.empty() ? "" : "; " + more);
  return more;
}

void AddTuneSummary(const Sheet& sheet) {
  const View document = sheet.document;
  const std::size_t runs = document.At("steps").Items().size();
  const bool predicted = document.At("engine").Text() == "predicted";
  std::vector<std::string> parts{
      fmt::format("{} {} run{}", runs, predicted ? "predicted" : "real", runs == 1 ? "" : "s")};
  if (const std::string ended = HowItEnded(document); !ended.empty()) parts.push_back(ended);
  if (const auto held = document.At("tuned.held_bytes").Number())
    parts.push_back("finished batches hold at most " + Amount(*held));
  sheet.page.Add("  " + base::Join(parts, "; "));
}

void AddStep(const Sheet& sheet, std::size_t number, View step,
             const std::vector<SettingColumn>& columns) {
  std::string line = fmt::format("{:>3}", number);
  for (const SettingColumn& column : columns)
    line += fmt::format("  {:>{}}", SettingOf(step.At("settings"), column.key),
                        column.key == "dispatch" ? 11 : column.title.size());
  const std::string status = step.At("status").Text();
  line += fmt::format("  {:>9}  {:>9}  {:<14}  {}", RateOr(step.At("predicted_samples_per_s"), "-"),
                      RateOr(step.At("samples_per_s"), status), step.At("bottleneck").Text(),
                      step.At("why").Text());
  sheet.page.Add(line, Style::kPlain, "       ");
  if (const std::string failure = step.At("failure").Text(); !failure.empty())
    sheet.page.Add("       " + failure, Style::kPlain, "       ");
}

void AddTuneSteps(const Sheet& sheet) {
  const std::vector<SettingColumn> columns = SettingColumnsOf(sheet.document);
  std::string title = "run";
  for (const SettingColumn& column : columns)
    title += fmt::format("  {:>{}}", column.title, column.key == "dispatch" ? 11 : column.title.size());
  sheet.page.AddBlank();
  sheet.page.Add(title + fmt::format("  {:>9}  {:>9}  {:<14}  why", "predicted", "samples/s",
                                     "verdict"));
  std::size_t number = 0;
  for (const View step : sheet.document.At("steps").Items()) AddStep(sheet, ++number, step, columns);
  sheet.page.AddBlank();
}

void AddYaml(const Sheet& sheet) {
  const View tuned = sheet.document.At("tuned");
  const std::string file = tuned.At("file").Text();
  if (!file.empty()) {
    sheet.page.Add("Wrote " + file);
    return;
  }
  sheet.page.Add("The tuned experiment (--out FILE writes it):");
  for (const std::string& line : tuned.At("yaml").Texts()) sheet.page.AddCommand(line);
}

}  // namespace

std::string SettingOf(View settings, std::string_view key) {
  const View value = settings.At(key);
  if (const auto number = value.Number()) return Count(*number);
  if (value.IsBoolean()) return value.IsTrue() ? "yes" : "no";
  return value.Text();
}

std::vector<SettingColumn> SettingColumnsOf(View document) {
  std::vector<SettingColumn> columns;
  for (const SettingColumn& column : kSettingColumns) {
    std::set<std::string> values;
    for (const View step : document.At("steps").Items())
      values.insert(SettingOf(step.At("settings"), column.key));
    if (column.always || values.size() > 1) columns.push_back(column);
  }
  return columns;
}

void AddTuneAnswer(const Sheet& sheet) {
  sheet.page.Add(TuneHeadline(sheet.document),
                 sheet.document.At("tuned").IsPresent() ? Style::kGood : Style::kBad);
  AddTuneSummary(sheet);
}

void AddTuneTakeOver(const Sheet& sheet) {
  const View tuned = sheet.document.At("tuned");
  if (!tuned.IsPresent()) return;
  if (tuned.At("changes_training").IsTrue())
    sheet.page.Add("Note: another batch size changes what is trained.");
  if (tuned.At("settings.dispatch").Text() == "shared")
    sheet.page.Add("Note: PyTorch has no shared dispatch; in_order=False is the nearest.");
  sheet.page.Add("In PyTorch: " + tuned.At("pytorch").Text(), Style::kPlain, "  ");
  const auto threads = tuned.At("settings.compute_threads").Whole();
  const View as_it_was = sheet.document.At("steps").First().At("settings.compute_threads");
  if (threads > 0 && threads != as_it_was.Whole())
    sheet.page.Add(fmt::format("  and torch.set_num_threads({}) in the training program", threads));
  AddYaml(sheet);
  const std::vector<std::string> argv = sheet.document.At("next.argv").Texts();
  if (argv.empty()) return;
  sheet.page.Add("Next  the whole report at these settings:");
  sheet.page.AddCommand(base::ShellJoin(argv));
}

std::string TuneText(const Document& document, const TextOptions& options) {
  Page page(options.colour);
  const Sheet sheet{View(&document, options.utf8), page, options.utf8,
                    options.detail == Detail::kFull};
  AddTuneAnswer(sheet);
  if (options.detail != Detail::kBrief) AddTuneSteps(sheet);
  AddTuneTakeOver(sheet);
  return page.Take();
}

}  // namespace pipesim::report
