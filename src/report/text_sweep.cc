// The text of a sweep's report: the answer, the ranked points. The maps are in text_sweep_maps.cc.
#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "report/sweep_report.h"
#include "report/sweep_text.h"
#include "report/text_parts.h"

namespace pipesim::report {
namespace {

constexpr std::size_t kShownWhole = 20;  // more points than this are not all shown
constexpr std::size_t kShownBest = 10;

/// Cuts a cell that would leave no room for others.
std::string Short(std::string text) {
  constexpr std::size_t kWidest = 24;
  if (base::DisplayWidth(text) <= kWidest) return text;
  return std::string(FirstColumns(text, kWidest - 2)) + "..";
}

std::string LongTime(double seconds) {
  const auto whole = static_cast<std::int64_t>(std::clamp(seconds, 0.0, 1e9) + 0.5);
  if (whole < 60) return Seconds(seconds, 2);
  if (whole < 3600) return fmt::format("{} min {} s", whole / 60, whole % 60);
  return fmt::format("{} h {} min", whole / 3600, whole % 3600 / 60);
}

std::string SweepEnoughText(const SweepTable& table, View document) {
  const View enough = document.At("enough");
  const std::string share = Percent(enough.At("share_of_best").NumberOr(0));
  if (const SweepRow* row = table.RowOf(enough.At("point"))) {
    if (row == table.RowOf(document.At("best")))
      return "Enough: no point with fewer workers or batches ahead reaches 99 % of it";
    return fmt::format("Enough: {} reaches {} of it", PointName(table, *row), share);
  }
  const double workers = enough.At("workers").NumberOr(0);
  return fmt::format("Enough: {} worker{} with prefetch {} {} {} of it (predicted, not a point)",
                     Count(workers), workers == 1 ? "" : "s",
                     Count(enough.At("prefetch_factor").NumberOr(0)),
                     workers == 1 ? "reaches" : "reach", share);
}

std::string NoiseCell(const SweepRow& row) {
  const auto low = row.main.At("samples_per_s_low").Number();
  const auto high = row.main.At("samples_per_s_high").Number();
  return low && high && row.rate > 0 ? Noise((*high - *low) / 2 / row.rate) : "-";
}

std::string StepCell(const SweepRow& row) {
  const auto step = row.main.At("step_time_s").Number();
  return step ? Significant(*step * 1e3, 3) : "-";
}

std::string UtilizationCell(const SweepRow& row) {
  const auto share = row.main.At("accelerator_utilization").Number();
  return share ? Percent(*share) : "-";
}

std::string ErrorCell(const SweepRow& row) {
  const auto error = row.point.At("prediction_error").Number();
  return error ? Gain(*error) : "-";
}

std::size_t WidthOf(const std::string& text) { return base::DisplayWidth(text); }

struct SweepTexts {
  std::vector<std::string> titles;
  std::vector<bool> left;
  std::vector<std::vector<std::string>> cells;  ///< of each shown row
  std::vector<std::size_t> widths;

  std::size_t Width() const {
    std::size_t width = 1;  // the mark
    for (const std::size_t each : widths) width += each + 1;
    return width;
  }
  std::string Line(const std::vector<std::string>& texts, std::size_t count, bool mark) const {
    std::string line = mark ? "*" : " ";
    for (std::size_t i = 0; i < count; ++i)
      line += " " + (left[i] ? PadRight(texts[i], widths[i]) : PadLeft(texts[i], widths[i]));
    return line.substr(0, line.find_last_not_of(' ') + 1);
  }
};

SweepTexts TextsOf(const SweepTable& table, const std::vector<const SweepRow*>& shown,
                   const std::vector<SweepColumn>& columns) {
  SweepTexts texts;
  for (const SweepAxisText& axis : table.axes) texts.titles.push_back(Short(axis.name));
  texts.left.assign(table.axes.size(), false);
  for (const SweepColumn& column : columns) {
    texts.titles.push_back(column.title);
    texts.left.push_back(column.left);
  }
  for (const std::string& title : texts.titles) texts.widths.push_back(WidthOf(title));
  for (const SweepRow* row : shown) {
    std::vector<std::string> cells;
    for (std::size_t axis = 0; axis < table.axes.size(); ++axis)
      cells.push_back(Short(table.axes[axis].labels[row->position[axis]]));
    for (const SweepColumn& column : columns) cells.push_back(row->ok ? column.cell(*row) : "");
    for (std::size_t i = 0; i < cells.size(); ++i)
      texts.widths[i] = std::max(texts.widths[i], WidthOf(cells[i]));
    texts.cells.push_back(std::move(cells));
  }
  return texts;
}

/// Drops the least columns until the table fits.
SweepTexts FittingTexts(const Sheet& sheet, const SweepTable& table,
                        const std::vector<const SweepRow*>& shown) {
  std::vector<SweepColumn> columns = FigureColumns(sheet);
  SweepTexts texts = TextsOf(table, shown, columns);
  for (int least = 1; texts.Width() > kColumns && least <= 4; ++least) {
    std::erase_if(columns, [least](const SweepColumn& column) { return column.least == least; });
    texts = TextsOf(table, shown, columns);
  }
  return texts;
}

void AddSweepTable(const Sheet& sheet, const SweepTable& table) {
  const std::vector<const SweepRow*> shown = ShownRows(table, sheet.full);
  if (shown.empty()) return;
  const SweepTexts texts = FittingTexts(sheet, table, shown);
  const std::string indent(table.axes.size() + 2, ' ');
  sheet.page.AddBlank();
  sheet.page.Add(texts.Line(texts.titles, texts.titles.size(), false), Style::kPlain, indent);
  bool marks = false;
  for (std::size_t i = 0; i < shown.size(); ++i) {
    const SweepRow& row = *shown[i];
    const bool mark = row.point.At("pareto").IsTrue();
    marks = marks || mark;
    std::string line =
        texts.Line(texts.cells[i], row.ok ? texts.titles.size() : table.axes.size(), mark);
    if (!row.ok) line += "  " + row.main.At("status").Text() + "  " + row.main.At("reason").Text();
    sheet.page.Add(line, Style::kPlain, "    ");
  }
  if (marks) sheet.page.Add(kParetoNote);
  if (shown.size() < table.rows.size())
    sheet.page.Add(
        fmt::format("{} more points; --full shows them", table.rows.size() - shown.size()));
}

}  // namespace

void AddSweepAnswer(const Sheet& sheet, const SweepTable& table) {
  const View document = sheet.document, summary = document.At("summary");
  const bool interrupted = summary.At("interrupted").IsTrue();
  const SweepRow* best = table.RowOf(document.At("best"));
  if (best == nullptr) {
    sheet.page.Add(
        interrupted ? "interrupted before any point was finished" : "no point ended with a result",
        Style::kBad);
    return;
  }
  sheet.page.Add(fmt::format("{}Best: {}: {} samples/s, {}",
                             interrupted ? "interrupted; so far " : "", PointName(table, *best),
                             Significant(best->rate, 4), best->main.At("bottleneck").Text()),
                 Style::kGood);
  if (document.At("enough").IsPresent()) sheet.page.Add(SweepEnoughText(table, document));
  const std::vector<std::string> argv = document.At("next.argv").Texts();
  if (argv.empty()) return;
  sheet.page.Add("Next  " + document.At("next.text").Text() + ":");
  sheet.page.AddCommand(base::ShellJoin(argv));
}

void AddSweepSummary(const Sheet& sheet) {
  const View document = sheet.document, summary = document.At("summary");
  const double asked = summary.At("asked").NumberOr(0), done = summary.At("done").NumberOr(0);
  std::string text = Count(done) + (done < asked ? " of " + Count(asked) : "") +
                     (asked == 1 ? " point" : " points");
  const double shards = document.At("sweep.shard.count").NumberOr(1);
  if (shards > 1)
    text = fmt::format("Shard {} of {}: {}", Count(document.At("sweep.shard.index").NumberOr(1)),
                       Count(shards), text);
  if (const double repeats = document.At("sweep.repeats").NumberOr(1); repeats > 1)
    text += " x " + Count(repeats) + " repeats";
  if (const auto wall = summary.At("wall_s").Number()) text += " in " + LongTime(*wall);
  if (document.At("sweep.engine").Text() == "predict") text += ", predicted";
  text += fmt::format("; {} ok, {} failed", Count(summary.At("ok").NumberOr(0)),
                      Count(summary.At("failed").NumberOr(0)));
  if (const View error = document.At("prediction_error"); error.IsPresent())
    text += fmt::format(
        "; predicted within {} of measured on average, {} at worst; verdicts agree on {} of {}",
        Noise(error.At("mean").NumberOr(0)), Noise(error.At("worst").NumberOr(0)),
        Count(error.At("verdicts_agree").NumberOr(0)), Count(error.At("compared").NumberOr(0)));
  sheet.page.AddBlank();
  sheet.page.Add(text, Style::kPlain, "");
}

void AddSweepJournal(const Sheet& sheet) {
  const std::string journal = sheet.document.At("journal").Text();
  if (journal.empty()) return;
  const View summary = sheet.document.At("summary");
  const bool whole = summary.At("done").NumberOr(0) >= summary.At("asked").NumberOr(0);
  sheet.page.AddBlank();
  sheet.page.Add("Journal: " + journal +
                 (whole ? ", complete" : "; --resume runs the other points"));
}

std::string PointName(const SweepTable& table, const SweepRow& row) {
  std::vector<std::string> parts;
  for (std::size_t axis = 0; axis < table.axes.size(); ++axis)
    parts.push_back(table.axes[axis].name + " " + table.axes[axis].labels[row.position[axis]]);
  return base::Join(parts, ", ");
}

std::vector<SweepColumn> FigureColumns(const Sheet& sheet) {
  std::vector<SweepColumn> columns{
      {"samples/s", false, 0, [](const SweepRow& row) { return Significant(row.rate, 4); }},
      {sheet.utf8 ? "±" : "+-", false, 3, NoiseCell},
      {"step ms", false, 1, StepCell},
      {"AU", false, 4, UtilizationCell},
      {"verdict", true, 0, [](const SweepRow& row) { return row.main.At("bottleneck").Text(); }},
      {"queued", false, 2,
       [](const SweepRow& row) { return Amount(row.main.At("queued_bytes").NumberOr(0)); }}};
  if (sheet.document.At("sweep.engine").Text() == "both")
    columns.push_back({"predict", false, 0, ErrorCell});
  return columns;
}

std::vector<const SweepRow*> ShownRows(const SweepTable& table, bool all) {
  std::vector<const SweepRow*> shown;
  const bool whole = all || table.rows.size() <= kShownWhole;
  for (std::size_t i = 0; i < table.rows.size(); ++i) {
    const SweepRow& row = table.rows[i];
    if (whole || i < kShownBest || row.point.At("pareto").IsTrue() || !row.ok)
      shown.push_back(&row);
  }
  return shown;
}

const SweepRow* SweepTable::RowOf(View point) const {
  const auto number = point.Number();
  if (!number) return nullptr;
  for (const SweepRow& row : rows)
    if (row.point.At("point").Number() == number) return &row;
  return nullptr;
}

SweepTable TableOf(View document) {
  SweepTable table;
  for (const View axis : document.At("sweep.axes").Items()) {
    table.axes.push_back({axis.At("name").Text(), axis.At("labels").Texts()});
    if (table.axes.back().labels.empty()) table.axes.back().labels.emplace_back("?");
  }
  for (const View point : document.At("points").Items()) {
    const View run = point.At("run");
    SweepRow row{point, run.IsPresent() ? run : point.At("predicted")};
    const std::vector<View> position = point.At("position").Items();
    for (std::size_t axis = 0; axis < table.axes.size(); ++axis) {
      const double at = axis < position.size() ? position[axis].NumberOr(0) : 0;
      const double last = static_cast<double>(table.axes[axis].labels.size() - 1);
      row.position.push_back(static_cast<std::size_t>(std::clamp(at, 0.0, last)));
    }
    row.rate = row.main.At("samples_per_s").NumberOr(0);
    row.ok = row.main.At("status").Text() == "ok" && row.rate > 0;
    if (!row.ok) row.rate = 0;
    table.rows.push_back(std::move(row));
  }
  std::stable_sort(table.rows.begin(), table.rows.end(),
                   [](const SweepRow& a, const SweepRow& b) { return a.rate > b.rate; });
  return table;
}

std::string SweepText(const Document& document, const TextOptions& options) {
  Page page(options.colour);
  const Sheet sheet{View(&document, options.utf8), page, options.utf8,
                    options.detail == Detail::kFull};
  const SweepTable table = TableOf(sheet.document);
  AddSweepAnswer(sheet, table);
  AddSweepSummary(sheet);
  if (options.detail != Detail::kBrief) {
    AddSweepTable(sheet, table);
    AddSweepMaps(sheet, table);
  }
  AddSweepJournal(sheet);
  return page.Take();
}

}  // namespace pipesim::report
