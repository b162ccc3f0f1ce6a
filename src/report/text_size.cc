// The text of a size report: the answer, the values beside it, what binds, the next command.
#include <fmt/format.h>

#include <cmath>

#include "base/text.h"
#include "report/search_text.h"
#include "report/size_report.h"

namespace pipesim::report {
namespace {

constexpr std::string_view kBelowLabel = "          ";  // below "Binds     "

std::string AuText(View attempt) {
  constexpr double kLeast = 0.001;
  const auto au = attempt.At("accelerator_utilization").Number();
  if (!au) return "n/a";
  if (*au > 0 && *au < kLeast) return "<" + Fixed(kLeast, 3);
  // What misses a target is not rounded up to it.
  return Fixed(attempt.At("meets").IsTrue() ? *au : std::floor(*au / kLeast) * kLeast, 3);
}

std::string RateOfTry(View attempt) {
  const auto rate = attempt.At("samples_per_s").Number();
  return rate ? Significant(*rate, 4) : "n/a";
}

std::string_view VerdictOf(View attempt) {
  if (attempt.At("meets").IsTrue()) return "met";
  return attempt.At("samples_per_s").IsPresent() ? "missed" : "no run";
}

/// "AU 0.902, 3,520 samples/s".
std::string Reaches(View attempt) {
  return fmt::format("AU {}, {} samples/s", AuText(attempt), RateOfTry(attempt));
}

/// "storage.bandwidth 212 MB/s", "9 accelerators".
std::string Named(View document, View attempt) {
  const std::string name = document.At("solve.name").Text();
  const std::string setting = Spaced(attempt.At("setting").Text());
  if (name.find('.') != std::string::npos) return name + " " + setting;
  return setting + " " + (setting == "1" ? name.substr(0, name.size() - 1) : name);
}

bool FindsMost(View document) { return document.At("solve.answer_is").Text() == "most"; }

std::string Headline(View document) {
  const View answer = document.At("answer"), best = document.At("best");
  const std::string target = document.At("target.text").Text();
  const bool most = FindsMost(document);
  const bool more_cannot_run = !document.At("neighbor.failure").Text().empty();
  if (answer.IsPresent() && most && more_cannot_run)
    return fmt::format("{} keep {}, and more cannot run: {}", Named(document, answer), target, Reaches(answer));
  if (answer.IsPresent())
    return fmt::format("{} {} {}: {}", Named(document, answer),
                       most ? "at most keep" : "is the least that reaches", target,
                       Reaches(answer));
  if (most)
    return fmt::format("no number of accelerators keeps {}: 1 ends at {}", target, Reaches(best));
  const std::string reached = Reaches(best);
  return fmt::format("{} alone cannot reach {}: {}{} at most, from {} on", document.At("solve.name").Text(), target,
                     reached.starts_with("AU <") ? "" : "about ", reached, Spaced(best.At("setting").Text()));
}

void AddTable(const Sheet& sheet) {
  sheet.page.AddBlank();
  sheet.page.Add(fmt::format("  {:<14} {:>14} {:>12} {:>8}  {}", "",
                             sheet.document.At("solve.name").Text(), "samples/s", "AU", "target"));
  for (const SizeRow& row : SizeRows(sheet.document, sheet.full))
    sheet.page.Add(fmt::format("  {:<14} {:>14} {:>12} {:>8}  {}", row.what, row.setting, row.rate,
                               row.utilization, row.verdict));
  sheet.page.AddBlank();
}

/// One step further does not run at all, which binds first.
bool AddFailure(const Sheet& sheet) {
  const View neighbor = sheet.document.At("neighbor");
  const std::string failure = neighbor.At("failure").Text();
  if (failure.empty()) return false;
  sheet.page.Add(fmt::format("Binds     {} cannot run: {}", Named(sheet.document, neighbor), failure),
                 Style::kAttention, kBelowLabel);
  return true;
}

void AddBinds(const Sheet& sheet) {
  if (AddFailure(sheet)) return;
  const View binds = sheet.document.At("binds");
  const std::string confidence = binds.At("confidence").Text();
  const std::string headline = binds.At("headline").Text(), second = binds.At("second").Text();
  std::string text = "Binds     " + binds.At("bottleneck").Text();
  if (confidence == "high" || confidence == "low") text += " (confidence " + confidence + ")";
  if (!headline.empty()) text += ": " + headline;
  if (!second.empty() && second != binds.At("bottleneck").Text()) text += "; then " + second;
  sheet.page.Add(text, Style::kPlain, kBelowLabel);
}

void AddHeadroom(const Sheet& sheet) {
  const View headroom = sheet.document.At("headroom");
  if (!headroom.IsPresent()) return;
  std::vector<std::string> parts;
  if (const auto over = headroom.At("over_target").Number())
    parts.push_back(Gain(*over) + " on the target");
  // Without workers the present is no share of the answer.
  if (const auto ratio = headroom.At("present_over_answer").Number(); ratio && *ratio > 0)
    parts.push_back("now " + (*ratio < 1 ? Percent(*ratio) + " of" : Significant(*ratio, 3) + " x") +
                    " the answer");
  if (const auto gain = headroom.At("free_data_gain").Number())
    parts.push_back("free data would give " + Gain(*gain));
  if (!parts.empty())
    sheet.page.Add("Headroom  " + base::Join(parts, "; "), Style::kPlain, kBelowLabel);
}

void AddSizeNext(const Sheet& sheet) {
  const std::vector<std::string> argv = sheet.document.At("next.argv").Texts();
  const std::string text = sheet.document.At("next.text").Text();
  if (text.empty()) return;
  sheet.page.Add("Next      " + text + (argv.empty() ? "" : ":"), Style::kPlain, kBelowLabel);
  if (!argv.empty()) sheet.page.AddCommand(base::ShellJoin(argv));
}

}  // namespace

std::vector<SizeRow> SizeRows(View document, bool all) {
  const bool found = document.At("answer").IsPresent(), most = FindsMost(document);
  std::vector<SizeRow> rows;
  const auto add = [&](std::string_view what, View attempt) {
    if (attempt.IsPresent())
      rows.push_back({std::string(what), Spaced(attempt.At("setting").Text()), RateOfTry(attempt),
                      AuText(attempt), std::string(VerdictOf(attempt)), attempt});
  };
  if (all)
    for (const View attempt : document.At("tried").Items()) add("tried", attempt);
  if (found && !most) add("one step less", document.At("neighbor"));
  add(found ? "answer" : "best", document.At(found ? "answer" : "best"));
  if (found && most) add("one more", document.At("neighbor"));
  add("now", document.At("present"));
  return rows;
}

void AddSizeAnswer(const Sheet& sheet) {
  sheet.page.Add(Headline(sheet.document), sheet.document.At("answer").IsPresent()
                                               ? Style::kGood
                                               : Style::kAttention);
}

void AddSizeRest(const Sheet& sheet) {
  AddBinds(sheet);
  AddHeadroom(sheet);
  AddSizeNext(sheet);
}

std::string SizeText(const Document& document, const TextOptions& options) {
  Page page(options.colour);
  const Sheet sheet{View(&document, options.utf8), page, options.utf8,
                    options.detail == Detail::kFull};
  AddSizeAnswer(sheet);
  if (options.detail != Detail::kBrief) AddTable(sheet);
  AddSizeRest(sheet);
  return page.Take();
}

}  // namespace pipesim::report
