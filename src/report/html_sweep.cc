// The page of a sweep: the answer, its picture, the ranked points.
#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "report/html_parts.h"
#include "report/html_svg.h"
#include "report/html_text.h"

namespace pipesim::report {
namespace {

// A page of all points of a large sweep would take seconds to open; exports have them all.
constexpr std::size_t kMostRanked = 300;

struct Ranked {
  std::vector<const SweepRow*> rows;
  std::size_t left_out = 0;
};

/// All points of a small sweep; else as in the text, which keeps the marked and the failed ones.
Ranked RankedRows(const SweepTable& table) {
  Ranked ranked{ShownRows(table, table.rows.size() <= kMostRanked)};
  if (ranked.rows.size() > kMostRanked) ranked.rows.resize(kMostRanked);
  ranked.left_out = table.rows.size() - ranked.rows.size();
  return ranked;
}

std::string RateBar(const SweepRow& row, double best) {
  if (!row.ok || !(best > 0)) return {};
  const Scale scale(0, best * 1.05);
  const auto low = row.main.At("samples_per_s_low").Number();
  const auto high = row.main.At("samples_per_s_high").Number();
  const std::string text = Significant(row.rate, 4) + " samples/s";
  std::string marks = ToSvg({0, scale.Percent(row.rate), 4, 10, "bar", text});
  if (low && high)
    marks += HorizontalLine(scale.Percent(*low), scale.Percent(*high), 9, "interval",
                            text + " (" + Significant(*low, 4) + " to " + Significant(*high, 4) + ")");
  return Svg("rate-bar", text, 18, marks);
}

/// Over the columns of the figures, which it lacks. A reason may be long, so it wraps.
HtmlCell FailureCell(const SweepRow& row, std::size_t columns) {
  HtmlCell cell =
      TextCell(base::Trim(row.main.At("status").Text() + " " + row.main.At("reason").Text()));
  cell.attributes = fmt::format(" colspan=\"{}\"", columns);
  cell.name = "long";
  return cell;
}

std::vector<HtmlCell> RankedRow(const SweepTable& table, const SweepRow& row,
                                const std::vector<SweepColumn>& columns, double best) {
  std::vector<HtmlCell> cells;
  for (std::size_t axis = 0; axis < table.axes.size(); ++axis)
    cells.push_back(TextCell(table.axes[axis].labels[row.position[axis]]));
  cells.push_back(TextCell(row.point.At("pareto").IsTrue() ? "*" : ""));
  cells.push_back({RateBar(row, best)});
  if (!row.ok) {
    cells.push_back(FailureCell(row, columns.size()));
    return cells;
  }
  for (const SweepColumn& column : columns) cells.push_back(TextCell(column.cell(row)));
  return cells;
}

std::string RankedTable(const Sheet& sheet, const SweepTable& table) {
  const std::vector<SweepColumn> columns = FigureColumns(sheet);
  const Ranked ranked = RankedRows(table);
  if (ranked.rows.empty()) return {};
  HtmlTable html{"The points, fastest first", "rank", {}, {}};
  for (const SweepAxisText& axis : table.axes) html.columns.push_back({axis.name});
  html.columns.push_back({"*"});
  html.columns.push_back({"", false, "chart"});
  for (const SweepColumn& column : columns) html.columns.push_back({column.title, !column.left});
  bool marks = false;
  for (const SweepRow* row : ranked.rows) {
    marks |= row->point.At("pareto").IsTrue();
    html.rows.push_back(RankedRow(table, *row, columns, table.rows.front().rate));
  }
  std::string text = ToHtml(html);
  if (marks) text += "<p class=\"note\">" + Escaped(kParetoNote) + "</p>\n";
  if (ranked.left_out > 0)
    text += fmt::format("<p class=\"note\">{} more points; the JSON export has them.</p>\n",
                        WithCommas(static_cast<std::int64_t>(ranked.left_out)));
  return text;
}

}  // namespace

std::string SweepBody(const Sheet& sheet) {
  const SweepTable table = TableOf(sheet.document);
  Page page(false);
  const Sheet recorded{sheet.document, page, true, true};
  AddSweepAnswer(recorded, table);
  AddSweepSummary(recorded);
  AddSweepJournal(recorded);
  return "<header>\n" + Answer(page) + "</header>\n" + SweepFigure(sheet.document, table) +
         Section("The points, fastest first", RankedTable(sheet, table)) + Origins(sheet);
}

}  // namespace pipesim::report
