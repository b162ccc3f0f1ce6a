// The page of a run or a prediction, in the order of its text.
#include <fmt/format.h>

#include "base/text.h"
#include "report/html_parts.h"
#include "report/html_svg.h"
#include "report/html_text.h"

namespace pipesim::report {
namespace {

/// What a block of the text says, as paragraphs.
std::string Said(View document, void (*add)(const Sheet&)) {
  Page page(false);
  add({document, page, true, true});
  return Paragraphs(page);
}

/// "4,680 samples/s ±0.7 %": the number large, the rest below it.
std::string FigureTile(const std::string& text, std::size_t number_length) {
  return fmt::format("<div><dt>{}</dt><dd>{}</dd></div>", Escaped(text.substr(0, number_length)),
                     Escaped(base::Trim(std::string_view(text).substr(number_length))));
}

std::string KeyFigures(const Sheet& sheet) {
  if (!HasMeasurement(sheet.document)) return {};
  const RateFigures figures = RateFiguresOf(sheet);
  std::string html = "<dl class=\"figures\">" + FigureTile(figures.rate, figures.rate.find(' '));
  if (!figures.step.empty()) html += FigureTile(figures.step, figures.step.find(' '));
  const std::string share = figures.utilization.substr(3);  // "AU 28 %"
  html += FigureTile(share + " AU: the accelerator is busy", share.size());
  return html + "</dl>\n";
}

std::string ShareBar(const LadderLine& row) {
  if (!row.share) return {};
  const Scale scale(0, 1);
  const std::string text = row.resource + ": " + Percent(*row.share) + " of its limit";
  return Svg("share-bar", text, 12,
             ToSvg({0, 100, 0, 12, "track"}) +
                 ToSvg({0, scale.Percent(*row.share), 0, 12, row.is_limit ? "starved" : "busy", text}));
}

std::string LadderTable(View document) {
  HtmlTable table{"How full each resource is",
                  "ladder",
                  {{"resource"}, {"used", false, "long"}, {"share of its limit", false, "share"}, {"full?"}},
                  {}};
  for (const LadderLine& row : LadderLines(document)) {
    const std::string text = row.text + (row.below.empty() ? "" : "; " + row.below);
    table.rows.push_back(
        {TextCell(row.resource), TextCell(text), {ShareBar(row)}, TextCell(row.full)});
  }
  std::string html = ToHtml(table);
  return html;
}

std::string EpochTable(View document) {
  HtmlTable table{"Epochs", {}, {{"epoch"}, {"samples/s", true}, {"first batch", true}, {"starved", true}, {"cache hits", true}}, {}};
  const auto share = [](View value) {
    const auto number = value.Number();
    return TextCell(number ? Percent(*number) : "n/a");
  };
  for (const View epoch : document.At("result.epochs").Items()) {
    const auto first = epoch.At("time_to_first_batch_s").Number();
    const auto rate = epoch.At("samples_per_s").Number();
    table.rows.push_back({TextCell(Count(epoch.At("index").NumberOr(0))),
                          TextCell(rate ? Significant(*rate, 4) : "n/a"),
                          TextCell(first ? Seconds(*first, 3) : "n/a"),
                          share(epoch.At("starved_fraction")),
                          share(epoch.At("cache_hit_fraction"))});
  }
  std::string html = ToHtml(table);
  if (const View judged = document.At("result.judged_epochs"); judged.IsPresent())
    html += fmt::format("<p>Measured and judged: epochs {} to {}</p>\n",
                        Count(judged.At("first").NumberOr(0)), Count(judged.At("last").NumberOr(0)));
  return html;
}

std::string EachWorkerTable(View document) {
  HtmlTable table{"Each worker, shares of its time",
                  {},
                  {{"worker"}, {"read", true}, {"prepare", true}, {"collate", true},
                   {"contended", true}, {"blocked", true}, {"idle", true}, {"other", true}},
                  {}};
  for (const std::vector<std::string>& shares : EachWorkerShares(document)) {
    std::vector<HtmlCell> row{TextCell(std::to_string(table.rows.size()))};
    for (const std::string& share : shares) row.push_back(TextCell(share));
    table.rows.push_back(std::move(row));
  }
  return ToHtml(table);
}

std::string RepeatTable(View document) {
  HtmlTable table{"Repeats", {}, {{"repeat"}, {"samples/s", true}, {"AU", true}, {"steps", true}}, {}};
  for (const View repeat : document.At("repeats").Items()) {
    const auto rate = repeat.At("samples_per_s").Number();
    const auto au = repeat.At("accelerator_utilization").Number();
    table.rows.push_back({TextCell(std::to_string(table.rows.size() + 1)),
                          TextCell(rate ? Significant(*rate, 4) : "n/a"),
                          TextCell(au ? Percent(*au) : "n/a"),
                          TextCell(Count(repeat.At("steps").NumberOr(0)))});
  }
  return ToHtml(table);
}

std::string TitledFigure(const std::optional<TimeTable>& table, bool folded = false) {
  return table ? Section(table->title, TimeFigure(table), folded) : "";
}

}  // namespace

std::string RunBody(const Sheet& sheet) {
  const View document = sheet.document;
  Page answer(false);
  AddVerdict({document, answer, true, true});
  AddProof({document, answer, true, true});
  std::string html = "<header>\n" + Answer(answer) + KeyFigures(sheet) +
                     Said(document, AddConditions) + "</header>\n";
  html += TitledFigure(StepTable(document));
  html += Section("Ladder: is anything full?", LadderTable(document));
  html += TitledFigure(WorkerTable(document));
  html += Section(WhatIfTitle(document, ShownChanges(document)), WhatIfFigure(document));
  html += Section("Enough", Said(document, AddEnough));
  html += Section("Notes", Said(document, AddNotes));
  html += Section("Over time", OverTimeFigure(document));
  html += Section("How long a step took", StepHistogram(document));
  html += TitledFigure(HostSideTable(document), true);
  html += Section("Each worker, shares of its time", EachWorkerTable(document), true);
  if (HasMeasurement(document))
    html += Section("Between the stages", Said(document, AddStages), true);
  html += Section("Epochs", EpochTable(document), true);
  html += Section("Repeats", RepeatTable(document), true);
  html += Origins(sheet);
  return html + "<footer class=\"note\">" + Said(document, AddMore) + "</footer>\n";
}

}  // namespace pipesim::report
