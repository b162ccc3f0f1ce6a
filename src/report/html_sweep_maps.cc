// Pictures of a sweep. Over one axis: points with intervals and a line. Over two: a heat map with
// the rates and a map of the verdicts.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include "base/text.h"
#include "report/html_parts.h"
#include "report/html_svg.h"
#include "report/html_text.h"

namespace pipesim::report {
namespace {

// More columns or rows have no room for numbers.
constexpr std::size_t kMostColumns = 16, kMostRows = 40;

struct Colour {
  double red = 0, green = 0, blue = 0;
};

/// Cividis at eleven places: Nuñez, Anderton and Renslow, "Optimizing colormaps with consideration
/// for color vision deficiency", PLOS ONE 13(7), 2018.
Colour Cividis(double share) {
  static constexpr std::array<Colour, 11> kPlaces = {{{0, 34, 78},
                                                      {18, 53, 112},
                                                      {59, 73, 108},
                                                      {87, 93, 109},
                                                      {112, 113, 115},
                                                      {138, 134, 120},
                                                      {165, 156, 116},
                                                      {195, 179, 105},
                                                      {225, 204, 85},
                                                      {243, 219, 75},
                                                      {254, 232, 56}}};
  const double at = std::clamp(share, 0.0, 1.0) * (kPlaces.size() - 1);
  const auto low = std::min(static_cast<std::size_t>(at), kPlaces.size() - 2);
  const double part = at - static_cast<double>(low);
  const Colour &a = kPlaces[low], &b = kPlaces[low + 1];
  return {a.red + (b.red - a.red) * part, a.green + (b.green - a.green) * part,
          a.blue + (b.blue - a.blue) * part};
}

std::string HexOf(const Colour& colour) {
  return fmt::format("#{:02x}{:02x}{:02x}", static_cast<int>(colour.red),
                     static_cast<int>(colour.green), static_cast<int>(colour.blue));
}

/// WCAG 2.1's relative luminance; on a ground above 0.18 black has the higher contrast.
bool IsLight(const Colour& colour) {
  const auto linear = [](double channel) {
    const double share = channel / 255;
    return share <= 0.04045 ? share / 12.92 : std::pow((share + 0.055) / 1.055, 2.4);
  };
  return 0.2126 * linear(colour.red) + 0.7152 * linear(colour.green) +
             0.0722 * linear(colour.blue) >
         0.18;
}

/// What is the same for all cells of a map.
struct MapFacts {
  const SweepTable& table;
  const SweepRow* best;
  const SweepRow* enough;
  double low = 0, high = 1;  ///< rates

  double Share(double rate) const { return high > low ? (rate - low) / (high - low) : 1; }
};

MapFacts FactsOf(View document, const SweepTable& table) {
  MapFacts facts{table, table.RowOf(document.At("best")),
                 table.RowOf(document.At("enough.point"))};
  facts.high = table.rows.empty() ? 1 : table.rows.front().rate;
  facts.low = facts.high;
  for (const SweepRow& row : table.rows)
    if (row.ok) facts.low = std::min(facts.low, row.rate);
  return facts;
}

std::string CellText(const MapFacts& facts, const SweepRow* row) {
  if (row == nullptr) return "no result";
  std::string text = PointName(facts.table, *row) + ": ";
  if (!row->ok) return text + row->main.At("status").Text() + " " + row->main.At("reason").Text();
  text += Significant(row->rate, 4) + " samples/s";
  const auto low = row->main.At("samples_per_s_low").Number();
  const auto high = row->main.At("samples_per_s_high").Number();
  if (low && high) text += " (" + Significant(*low, 4) + " to " + Significant(*high, 4) + ")";
  text += ", " + row->main.At("bottleneck").Text();
  if (row == facts.best) text += "; the best";
  if (row == facts.enough) text += "; enough";
  return text;
}

std::string_view VerdictColour(std::string_view word) {
  struct Row {
    std::string_view word, css_class;
  };
  constexpr Row kRows[] = {{"COMPUTE", "v-work"},       {"io", "v-io"},
                           {"loader", "v-loader"},      {"cpu", "v-cpu"},
                           {"contention", "v-contention"}, {"h2d", "v-h2d"},
                           {"launch", "v-launch"},      {"sync", "v-sync"},
                           {"host", "v-host"},          {"balanced", "v-balanced"}};
  for (const Row& row : kRows)
    if (row.word == word) return row.css_class;
  return "v-open";
}

std::string CellClass(const MapFacts& facts, const SweepRow* row) {
  if (row == nullptr) return "v-none";
  if (row == facts.best) return "best";
  return row == facts.enough ? "enough" : "";
}

HtmlCell RateCell(const MapFacts& facts, const SweepRow* row) {
  const std::string tooltip = " title=\"" + Escaped(CellText(facts, row)) + "\"";
  if (row == nullptr || !row->ok)
    return {row == nullptr ? "-" : Escaped(row->main.At("status").Text()),
            " class=\"v-none\"" + tooltip};
  const Colour colour = Cividis(facts.Share(row->rate));
  return {Significant(row->rate, 4),
          fmt::format(" class=\"{}\" style=\"background:{};color:{}\"{}", CellClass(facts, row),
                      HexOf(colour), IsLight(colour) ? "#000" : "#fff", tooltip)};
}

HtmlCell VerdictCell(const MapFacts& facts, const SweepRow* row) {
  const std::string word = VerdictWord(row);
  return {Escaped(word), fmt::format(" class=\"word {} {}\" title=\"{}\"", VerdictColour(word),
                                     CellClass(facts, row), Escaped(CellText(facts, row)))};
}

/// The width of a table, in characters: its text becomes smaller where its place is narrower, to 12 pixels.
double CharactersOf(const HtmlTable& table) {
  constexpr double kPadding = 1.4, kCapital = 1.25;
  double characters = 0;
  for (std::size_t x = 0; x < table.columns.size(); ++x) {
    auto widest = static_cast<double>(base::DisplayWidth(table.columns[x].title));
    for (const std::vector<HtmlCell>& row : table.rows) {
      double width = 0;
      if (x >= row.size()) continue;
      for (const char c : row[x].html) width += c >= 'A' && c <= 'Z' ? kCapital : 1;
      widest = std::max(widest, width);
    }
    characters += widest + kPadding;
  }
  return characters;
}

/// A table with a heading, for SideBySide.
struct MapPart {
  std::string title, axes;
  HtmlTable table;
};

/// Tables beside each other, or below each other where the page is too narrow for two.
std::string SideBySide(const std::vector<MapPart>& parts) {
  std::string html;
  double widest = 0;
  for (const MapPart& part : parts) {
    const double characters = std::ceil(CharactersOf(part.table));
    widest = std::max(widest, characters);
    html += fmt::format("<div style=\"--characters:{:.0f}\"><h3>{}<span>{}</span></h3>\n{}</div>\n", characters,
                        Escaped(part.title), Escaped(part.axes), ToHtml(part.table));
  }
  return fmt::format("<div class=\"maps\" style=\"--widest:{:.0f}\">\n{}</div>\n", widest, html);
}

/// A table of cells over the two axes of the plane.
MapPart MapTable(const MapFacts& facts, const Plane& plane, const std::string& title,
                 HtmlCell (*cell)(const MapFacts&, const SweepRow*)) {
  const SweepAxisText &down = facts.table.axes[plane.down], &across = facts.table.axes[*plane.across];
  HtmlTable table{title, "map", {{down.name}}, {}};
  for (const std::string& label : across.labels) table.columns.push_back({label});
  for (std::size_t y = 0; y < down.labels.size(); ++y) {
    std::vector<HtmlCell> row{TextCell(down.labels[y])};
    for (std::size_t x = 0; x < across.labels.size(); ++x)
      row.push_back(cell(facts, plane.At(y, x)));
    table.rows.push_back(std::move(row));
  }
  return {title, down.name + " by " + across.name, std::move(table)};
}

/// The words of a map that has room for colours only.
std::string VerdictKey(const std::set<std::string>& words) {
  std::string html = "<p class=\"words\">";
  for (const std::string& word : words)
    html += fmt::format("<span class=\"{}\">{}</span> ", VerdictColour(word), Escaped(word));
  return html + "</p>\n";
}

/// A map with cells too many for numbers: the tooltips have them, and the table of points.
std::string CellMap(const MapFacts& facts, const Plane& plane, const std::string& title,
                    bool verdicts) {
  const SweepAxisText &down = facts.table.axes[plane.down], &across = facts.table.axes[*plane.across];
  const auto columns = static_cast<double>(across.labels.size());
  const auto rows = static_cast<double>(down.labels.size());
  const double side = std::clamp(480 / rows, 4.0, 20.0);
  std::string marks, rings;
  std::set<std::string> words;
  for (std::size_t y = 0; y < down.labels.size(); ++y)
    for (std::size_t x = 0; x < across.labels.size(); ++x) {
      const SweepRow* row = plane.At(y, x);
      words.insert(VerdictWord(row));
      if (row != nullptr && (row == facts.best || row == facts.enough))
        rings += Dot(100 * (static_cast<double>(x) + 0.5) / columns,
                     (static_cast<double>(y) + 0.5) * side, row == facts.best ? 6 : 4, "ring halo",
                     CellText(facts, row));
      const bool known = row != nullptr && row->ok;
      const std::string fill =
          known && !verdicts ? HexOf(Cividis(facts.Share(row->rate))) : "currentColor";
      marks += fmt::format(
          "<rect class=\"{}\" x=\"{:.2f}%\" y=\"{:.1f}\" width=\"{:.2f}%\" height=\"{:.1f}\" "
          "fill=\"{}\">{}</rect>",
          verdicts ? "f" + std::string(VerdictColour(VerdictWord(row))).substr(1) : "",
          100 * static_cast<double>(x) / columns, static_cast<double>(y) * side, 100 / columns, side,
          known || verdicts ? fill : "none", Tooltip(CellText(facts, row)));
    }
  return "<div><h3>" + Escaped(title) + "</h3>\n<p class=\"note\">" +
         Escaped(down.name + " from " + down.labels.front() + " (top) to " + down.labels.back() +
                 ", " + across.name + " from " + across.labels.front() + " (left) to " +
                 across.labels.back()) +
         "</p>\n" + Svg("cells", title, side * rows, marks + rings) +
         (verdicts ? VerdictKey(words) : "") + "</div>\n";
}

std::string ColourKey(const MapFacts& facts) {
  std::string stops;
  for (int i = 0; i <= 10; ++i) stops += (i > 0 ? "," : "") + HexOf(Cividis(i / 10.0));
  return fmt::format(
      "<p class=\"key\"><span>{}</span><i style=\"background:linear-gradient(90deg,{})\"></i>"
      "<span>{} samples/s</span></p>\n",
      Significant(facts.low, 3), stops, Significant(facts.high, 3));
}

std::string TwoAxes(const MapFacts& facts, const Plane& plane) {
  const bool cells = facts.table.axes[*plane.across].labels.size() > kMostColumns ||
                     facts.table.axes[plane.down].labels.size() > kMostRows;
  const std::string at = plane.elsewhere.empty() ? "" : ", at " + plane.elsewhere;
  const std::string rates = "samples/s" + at, verdicts = "Where the bottleneck changes" + at;
  const std::string maps =
      cells ? "<div class=\"maps\">\n" + CellMap(facts, plane, rates, false) +
                  CellMap(facts, plane, verdicts, true) + "</div>\n"
            : SideBySide({MapTable(facts, plane, rates, RateCell), MapTable(facts, plane, verdicts, VerdictCell)});
  return Section("The points as a map",
                 maps + ColourKey(facts) +
                     (cells ? "<p class=\"note\">Large ring: the best. Small ring: enough.</p>\n"
                            : "<p class=\"note\">Solid frame: the best. Dashed: enough.</p>\n"));
}

// ---- one axis

constexpr double kPlotAbove = 34, kPlotTall = 190, kPlotBelow = 36;

/// The middle of a value's place on the axis, in per cent; left of it are the numbers of the grid.
double PlaceOf(std::size_t at, std::size_t count) {
  constexpr double kLeft = 11;
  return kLeft + (100 - kLeft) * (static_cast<double>(at) + 0.5) / static_cast<double>(count);
}

/// A rate's height in the chart, in pixels.
double HeightOf(double rate, double top) {
  return kPlotAbove + kPlotTall * (1 - std::clamp(rate / top, 0.0, 1.0));
}

/// A name over its point; under it where another one is so near that they would overlap on a phone.
std::string NameMark(double x, double y, std::string_view name, double other_x) {
  constexpr double kNear = 15;
  return Label(x, name == "enough" && std::abs(other_x - x) < kNear ? y + 23 : y - 14, name, "mark");
}

/// `best_x`: where the best point stands.
std::string PointMarks(const MapFacts& facts, const SweepRow& row, double x, double best_x, double top) {
  const std::string text = CellText(facts, &row);
  std::string marks;
  const auto low = row.main.At("samples_per_s_low").Number();
  const auto high = row.main.At("samples_per_s_high").Number();
  if (low && high)
    marks += VerticalLine(x, HeightOf(*low, top), HeightOf(*high, top), "interval", text);
  // With --engine both the prediction stands beside the run.
  const auto predicted = row.point.At("predicted.samples_per_s").Number();
  if (predicted && row.point.At("run").IsPresent())
    marks += Dot(x, HeightOf(*predicted, top), 4, "point-2",
                 PointName(facts.table, row) + ": predicted " + Significant(*predicted, 4) +
                     " samples/s");
  const double y = HeightOf(row.rate, top);
  marks += Dot(x, y, 4.5, "point", text);
  const bool is_enough = &row == facts.enough, is_best = &row == facts.best;
  if (is_enough || is_best) {
    marks += Dot(x, y, 8.5, "ring", text);
    marks += NameMark(x, y, is_best ? "best" : "enough", best_x);
  }
  return marks;
}

std::string OneAxis(const MapFacts& facts, const Plane& plane) {
  const SweepAxisText& axis = facts.table.axes[plane.down];
  const std::size_t count = axis.labels.size();
  const double top = RoundedUp(facts.high * 1.02);
  std::string marks, points;
  for (const double tick : Ticks(0, top, 5)) {
    const double y = HeightOf(tick, top);
    marks += HorizontalLine(0, 100, y, tick == 0 ? "axis" : "grid");
    if (tick > 0) marks += Label(0, y - 3, Significant(tick, 3));
  }
  marks += Label(0, 11, "samples/s");
  const std::size_t stride = (count + 7) / 8;  // labels of a phone's width
  std::vector<LinePoint> line;
  const double best_x = facts.best == nullptr ? -100 : PlaceOf(facts.best->position[plane.down], count);
  for (std::size_t at = 0; at < count; ++at) {
    const double x = PlaceOf(at, count);
    const SweepRow* row = plane.At(at, 0);
    const bool ok = row != nullptr && row->ok;
    line.push_back({x / 100, ok ? std::optional(row->rate / top) : std::nullopt});
    if (ok) points += PointMarks(facts, *row, x, best_x, top);
    if (row != nullptr && !row->ok)
      points += VerticalLine(x, kPlotAbove + kPlotTall - 8, kPlotAbove + kPlotTall, "failed",
                             CellText(facts, row));
    if (at % stride == 0) marks += Label(x, kPlotAbove + kPlotTall + 15, axis.labels[at]);
  }
  marks += PolyLine(line, kPlotAbove, kPlotTall, "line", false) + points;
  marks += Label(50, kPlotAbove + kPlotTall + 31, axis.name);
  const std::string label =
      "samples/s over " + axis.name +
      (facts.best != nullptr ? ": the best is " + CellText(facts, facts.best) : "");
  const std::string at = plane.elsewhere.empty() ? "" : ", at " + plane.elsewhere;
  return Section("samples/s over " + axis.name + at,
                 Svg("plot", label, kPlotAbove + kPlotTall + kPlotBelow, marks) +
                     "<p class=\"note\">Upright lines: the interval of the rate. The table of points "
                     "below has the figures.</p>\n");
}

std::string GainTables(View document, const SweepTable& table, const Plane& plane) {
  constexpr std::size_t kMostCells = 2000, kMostOpen = 100;
  std::vector<MapPart> parts;
  std::size_t cells = 0;
  for (const SweepGrid& grid : GainGrids(document, table, plane)) {
    if (grid.cells.size() * grid.across_labels.size() > kMostCells) continue;
    cells += grid.cells.size() * grid.across_labels.size();
    HtmlTable gains{grid.title, "map", {{grid.down_name}}, {}};
    for (const std::string& label : grid.across_labels) gains.columns.push_back({label});
    for (std::size_t y = 0; y < grid.cells.size(); ++y) {
      std::vector<HtmlCell> row{TextCell(grid.down_labels[y])};
      for (const std::string& cell : grid.cells[y]) row.push_back(TextCell(cell));
      gains.rows.push_back(std::move(row));
    }
    const std::string axes =
        grid.across_name.empty() ? "" : grid.down_name + " by " + grid.across_name;
    parts.push_back({grid.title, axes, std::move(gains)});
  }
  if (parts.empty()) return {};
  return Section("What one step more gains", SideBySide(parts), cells > kMostOpen);
}

}  // namespace

std::string SweepFigure(View document, const SweepTable& table) {
  const auto plane = PlaneOf(table);
  if (!plane) return {};
  const MapFacts facts = FactsOf(document, table);
  return (plane->across ? TwoAxes(facts, *plane) : OneAxis(facts, *plane)) +
         GainTables(document, table, *plane);
}

}  // namespace pipesim::report
