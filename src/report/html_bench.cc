// The page of a bench: who is faster, a plot with logarithmic axes, the table it is drawn from.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "report/bench_report.h"
#include "report/html_parts.h"
#include "report/html_svg.h"
#include "report/html_text.h"

namespace pipesim::report {
namespace {

constexpr double kBenchAbove = 18, kBenchTall = 300, kBenchBelow = 40;
/// Colours and dashes of html_style.h.
constexpr std::size_t kLineStyles = 5;

struct BenchCurve {
  std::string name;
  std::string css_class;
  std::vector<std::pair<double, double>> points;  ///< log10 of size and seconds
};

void AddPoint(BenchCurve& curve, View size, View seconds) {
  const double x = size.NumberOr(0), y = seconds.NumberOr(0);
  if (x > 0 && y > 0) curve.points.emplace_back(std::log10(x), std::log10(y));
}

/// A line for each series, and a dashed one for the GPU's enqueue time.
std::vector<BenchCurve> BenchCurves(View document) {
  std::vector<BenchCurve> curves;
  std::size_t style = 0;
  for (const View series : document.At("series").Items()) {
    const std::string css = fmt::format("s{}", style++ % kLineStyles);
    const bool predicted = series.At("predicted").IsTrue();
    const std::string name = series.At("name").Text();
    BenchCurve curve{name + (predicted ? " (predicted)" : ""), css, {}};
    BenchCurve enqueued{name + " enqueued", css + " enqueued", {}};
    for (const View point : series.At("points").Items()) {
      AddPoint(curve, point.At("size"), point.At("time_s"));
      if (name == "gpu") AddPoint(enqueued, point.At("size"), point.At("enqueued_s"));
    }
    for (BenchCurve* each : {&curve, &enqueued})
      if (!each->points.empty()) curves.push_back(std::move(*each));
  }
  return curves;
}

/// The whole powers of ten around the values.
Scale Decades(const std::vector<BenchCurve>& curves, bool of_time) {
  double low = 300, high = -300;
  for (const BenchCurve& curve : curves)
    for (const auto& [size, seconds] : curve.points) {
      low = std::min(low, of_time ? seconds : size);
      high = std::max(high, of_time ? seconds : size);
    }
  if (of_time) return {std::floor(low), std::max(std::ceil(high), std::floor(low) + 1)};
  const double margin = std::max(high - low, 0.1) * 0.04;
  return {low - margin, high + margin * 4};  // room for the names of the lines
}

std::string BenchGrid(View document, const Scale& x, const Scale& y, const std::vector<BenchCurve>& curves) {
  std::string marks;
  const auto at = [&](double seconds) { return kBenchAbove + kBenchTall * (1 - y.Share(seconds)); };
  const double step = std::max(1.0, std::ceil((y.to() - y.from()) / 6));
  for (double decade = y.from(); decade <= y.to() + 1e-9; decade += step) {
    marks += HorizontalLine(0, 100, at(decade), "grid");
    marks += Label(0, at(decade) - 3, Seconds(std::pow(10, decade), 1));
  }
  std::vector<double> sizes;
  for (const BenchCurve& curve : curves)
    for (const auto& point : curve.points) sizes.push_back(point.first);
  std::sort(sizes.begin(), sizes.end());
  double last = -100;
  for (const double size : sizes) {
    if (x.Percent(size) - last < 9) continue;
    last = x.Percent(size);
    marks += Label(last, kBenchAbove + kBenchTall + 16,
                   BenchSize(document, std::round(std::pow(10, size))));
  }
  if (const auto crossover = document.At("comparison.crossover").Number(); crossover && *crossover > 0) {
    const double place = x.Percent(std::log10(*crossover));
    marks += VerticalLine(place, kBenchAbove, kBenchAbove + kBenchTall, "target");
    marks += Label(place, kBenchAbove + kBenchTall + 33,
                   "faster from " + BenchSize(document, *crossover) + " on", "mark", 15);
  }
  return marks;
}

/// The names at the right edge, as high as the lines end, pushed apart where they would overlap.
std::string CurveNames(const std::vector<BenchCurve>& curves, const Scale& y) {
  constexpr double kLine = 14;
  std::vector<std::pair<double, const BenchCurve*>> places;
  for (const BenchCurve& curve : curves)
    places.emplace_back(kBenchAbove + kBenchTall * (1 - y.Share(curve.points.back().second)), &curve);
  std::sort(places.begin(), places.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::string marks;
  double above = 0;
  for (const auto& [wanted, curve] : places) {
    above = std::max(wanted - 5, above + kLine);
    marks += Label(100, above, curve->name, "mark");
  }
  return marks;
}

std::string BenchChart(View document) {
  const std::vector<BenchCurve> curves = BenchCurves(document);
  if (curves.empty()) return {};
  const Scale x = Decades(curves, false), y = Decades(curves, true);
  std::string marks = BenchGrid(document, x, y, curves);
  for (const BenchCurve& curve : curves) {
    std::vector<LinePoint> line;
    for (const auto& [size, seconds] : curve.points) line.push_back({x.Share(size), y.Share(seconds)});
    marks += PolyLine(line, kBenchAbove, kBenchTall, curve.css_class, false);
    for (const auto& [size, seconds] : curve.points)
      marks += Dot(x.Percent(size), kBenchAbove + kBenchTall * (1 - y.Share(seconds)), 3.5,
                   "dot " + curve.css_class,
                   curve.name + ", " + BenchSize(document, std::round(std::pow(10, size))) + ": " +
                       Seconds(std::pow(10, seconds), 3));
  }
  marks += CurveNames(curves, y);
  return Svg("plot", "Time of one operation by size, both axes logarithmic: " + BenchHeadline(document),
             kBenchAbove + kBenchTall + kBenchBelow, marks) +
         "<p class=\"note\">Time of one operation by size; both axes are logarithmic. Dashed: until the "
         "host is free again, without waiting for the device.</p>\n";
}

std::string BenchTableHtml(View document) {
  const BenchTable from = TableOfBench(document);
  HtmlTable table{"Times by size", {}, {}, {}};
  for (const std::string& title : from.head) table.columns.push_back({title, true});
  for (const auto& row : from.rows) {
    std::vector<HtmlCell> cells;
    for (const std::string& cell : row) cells.push_back(TextCell(cell));
    table.rows.push_back(std::move(cells));
  }
  return ToHtml(table) + (from.note.empty() ? "" : "<p class=\"note\">" + Escaped(from.note) + "</p>\n");
}

}  // namespace

std::string BenchBody(const Document& document) {
  const View view(&document, true);
  Page answer(false);
  answer.Add(BenchHeadline(view), Style::kGood);
  if (const std::string trap = BenchTrap(view); !trap.empty()) answer.Add(trap);
  return "<header>\n" + Answer(answer) + "</header>\n" +
         Section("Time by size", BenchChart(view) + BenchTableHtml(view)) +
         Section("In words",
                 "<pre class=\"plain\" tabindex=\"0\">" +
                     EscapedLines(ToText(document, {.detail = Detail::kFull})) + "</pre>\n",
                 true);
}

}  // namespace pipesim::report
