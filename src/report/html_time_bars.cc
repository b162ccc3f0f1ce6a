// Where time goes: one stacked bar, labelled directly, and the table of its parts.
#include <fmt/format.h>

#include "base/text.h"
#include "report/html_parts.h"
#include "report/html_svg.h"
#include "report/html_text.h"

namespace pipesim::report {
namespace {

constexpr double kBarHeight = 40;
// Shares from which a label fits into its part on a page of 360 and of 720 pixels.
constexpr double kFitsNarrow = 0.36, kFitsWide = 0.17;

/// The colour of a state, the same in all figures: states of a worker share those of like states.
std::string_view StateColour(std::string_view state) {
  struct OfState {
    std::string_view state, css_class;
  };
  constexpr OfState kColours[] = {
      {"busy", "busy"},           {"compute", "busy"},       {"prepare", "busy"},
      {"starved", "starved"},     {"contended", "contended"}, {"blocked", "blocked"},
      {"transfer", "transfer"},   {"read", "transfer"},      {"launch", "launch"},
      {"host", "launch"},         {"sync", "sync"},          {"collate", "sync"}};
  for (const OfState& each : kColours)
    if (each.state == state) return each.css_class;
  return "other";
}

bool IsHatched(std::string_view colour) {
  return colour == "starved" || colour == "contended" || colour == "blocked";
}

/// Filled, and hatched where the state is a kind of waiting.
std::string StateRect(RectMark mark, std::string_view colour) {
  mark.css_class = colour;
  std::string html = ToSvg(mark);
  if (!IsHatched(colour)) return html;
  const std::string hatch = "hatch h-" + std::string(colour);
  mark.css_class = hatch;
  mark.tooltip.clear();
  return html + ToSvg(mark);
}

std::string StateLabel(const TimeTable::Row& row, double x, std::string_view colour) {
  if (row.share < kFitsWide) return {};
  const bool wide_only = row.share < kFitsNarrow;
  return fmt::format("<text class=\"on on-{}{}\" x=\"{:.2f}%\" dx=\"8\" y=\"25\">{} {}</text>",
                     colour, wide_only ? " wide" : "", x, Escaped(row.time.name),
                     Escaped(row.percent));
}

std::string PartText(const TimeTable& table, const TimeTable::Row& row) {
  return fmt::format("{}{}{}: {} {}{}{}, {}", row.time.name, row.time.gloss.empty() ? "" : ", ",
                     row.time.gloss, row.value, table.unit, table.of.empty() ? "" : " ", table.of,
                     row.percent);
}

std::string StackedBar(const TimeTable& table) {
  std::string marks, label = table.title + ": ";
  double x = 0;
  for (const TimeTable::Row& row : table.rows) {
    if (!row.time.seconds || !(row.share > 0)) continue;
    const std::string_view colour = StateColour(row.time.name);
    const double width = 100 * row.share;
    marks += StateRect({x, width, 0, kBarHeight, {}, PartText(table, row)}, colour);
    if (x > 0) marks += VerticalLine(x, 0, kBarHeight, "edge");
    marks += StateLabel(row, x, colour);
    label += (x > 0 ? ", " : "") + row.time.name + " " + row.percent;
    x += width;
  }
  return x > 0 ? Svg("stack", label, kBarHeight, marks) : "";
}

std::string Swatch(std::string_view state) {
  return "<svg class=\"swatch\" width=\"14\" height=\"14\" aria-hidden=\"true\">" +
         StateRect({0, 100, 0, 14, {}, {}}, StateColour(state)) + "</svg>";
}

}  // namespace

std::string TimeFigure(const std::optional<TimeTable>& table) {
  if (!table) return {};
  const std::string unit = std::string(table->unit) + (table->of.empty() ? " a step" : " a batch");
  HtmlTable html{table->title,
                 "times",
                 {{"state"}, {"", false, "gloss dim"}, {unit, true}, {"share", true}},
                 {}};
  for (const TimeTable::Row& row : table->rows) {
    const bool known = row.time.seconds.has_value();
    std::string gloss = Escaped(row.time.gloss);
    if (!row.parts.empty()) gloss += (gloss.empty() ? "" : ": ") + Escaped(row.parts);
    html.rows.push_back({{Swatch(row.time.name) + Escaped(row.time.name)},
                         {gloss},
                         TextCell(known ? row.value : "n/a"),
                         TextCell(known ? row.percent : "n/a")});
  }
  html.rows.push_back({TextCell("total"), {""}, TextCell(table->total), TextCell("100 %")});
  return StackedBar(*table) + ToHtml(html);
}

}  // namespace pipesim::report
