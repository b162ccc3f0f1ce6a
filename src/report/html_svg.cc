#include "report/html_svg.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "report/format.h"
#include "report/html_text.h"

namespace pipesim::report {
namespace {

/// Two decimals, without trailing zeros: a tenth of a pixel on the widest page.
std::string Coordinate(double value) {
  if (!std::isfinite(value)) return "0";
  std::string text = fmt::format("{:.2f}", value);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.ends_with('.')) text.pop_back();
  return text == "-0" ? "0" : text;
}

/// Around a mark with a tooltip.
std::string Marked(std::string mark, std::string_view tooltip) {
  if (tooltip.empty()) return mark + "/>";
  const std::string tag = mark.substr(1, mark.find(' ') - 1);
  return mark + ">" + Tooltip(tooltip) + "</" + tag + ">";
}

}  // namespace

double Scale::Percent(double value) const { return 100 * std::clamp(Share(value), 0.0, 1.0); }

std::vector<double> Ticks(double from, double to, std::size_t most) {
  std::vector<double> ticks;
  const double span = to - from;
  if (!(span > 0) || !std::isfinite(span)) return ticks;
  double step = std::pow(10, std::floor(std::log10(span)) - 1);
  for (int i = 0; std::floor(to / step) - std::ceil(from / step) + 1 > static_cast<double>(most);
       ++i)
    step *= i % 3 == 1 ? 2.5 : 2;
  for (double k = std::ceil(from / step - 1e-9); k * step <= to + step * 1e-9; ++k)
    ticks.push_back(k * step + 0.0);  // no -0
  return ticks;
}

std::string AxisTime(double seconds, double most_s) {
  const TimeScale scale = TimeScale::For(most_s);
  return fmt::format("{:.6g} {}", seconds * scale.per_second, scale.unit);
}

double RoundedUp(double value) {
  if (!(value > 0) || !std::isfinite(value)) return 1;
  const double power = std::pow(10, std::floor(std::log10(value)));
  for (const double factor : {1.0, 1.2, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0})
    if (factor * power >= value * (1 - 1e-9)) return factor * power;
  return 10 * power;
}

std::string Tooltip(std::string_view text) { return "<title>" + Escaped(text) + "</title>"; }

std::string Svg(std::string_view css_class, std::string_view label, double height,
                const std::string& content) {
  return fmt::format(
      "<svg class=\"{}\" role=\"img\" aria-label=\"{}\" width=\"100%\" height=\"{}\">{}</svg>\n",
      css_class, Escaped(label), Coordinate(height), content);
}

std::string ToSvg(const RectMark& rect) {
  return Marked(fmt::format("<rect class=\"{}\" x=\"{}%\" y=\"{}\" width=\"{}%\" height=\"{}\"",
                            rect.css_class, Coordinate(rect.x), Coordinate(rect.y), Coordinate(rect.width),
                            Coordinate(rect.height)),
                rect.tooltip);
}

std::string VerticalLine(double x, double y1, double y2, std::string_view css_class,
                         std::string_view tooltip) {
  return Marked(fmt::format("<line class=\"{}\" x1=\"{}%\" x2=\"{}%\" y1=\"{}\" y2=\"{}\"",
                            css_class, Coordinate(x), Coordinate(x), Coordinate(y1), Coordinate(y2)),
                tooltip);
}

std::string HorizontalLine(double x1, double x2, double y, std::string_view css_class,
                           std::string_view tooltip) {
  return Marked(fmt::format("<line class=\"{}\" x1=\"{}%\" x2=\"{}%\" y1=\"{}\" y2=\"{}\"",
                            css_class, Coordinate(x1), Coordinate(x2), Coordinate(y), Coordinate(y)),
                tooltip);
}

std::string Dot(double x, double y, double radius, std::string_view css_class,
                std::string_view tooltip) {
  return Marked(fmt::format("<circle class=\"{}\" cx=\"{}%\" cy=\"{}\" r=\"{}\"", css_class,
                            Coordinate(x), Coordinate(y), Coordinate(radius)),
                tooltip);
}

std::string Label(double x, double y, std::string_view text, std::string_view css_class,
                  double near_edge) {
  const std::string_view anchor =
      x < near_edge ? "start" : x > 100 - near_edge ? "end" : "middle";
  return fmt::format("<text class=\"{}\" x=\"{}%\" y=\"{}\" text-anchor=\"{}\">{}</text>",
                     css_class, Coordinate(x), Coordinate(y), anchor, Escaped(text));
}

std::string GainAxis(const Scale& scale) {
  std::string marks;
  for (const double tick : Ticks(scale.from(), scale.to(), 4))
    marks += Label(scale.Percent(tick), 12, tick == 0 ? "0" : Gain(tick), "tick", 16);
  return Svg("axis-labels", "axis of the gain", 16, marks);
}

std::string PolyLine(const std::vector<LinePoint>& points, double top, double height,
                     std::string_view css_class, bool steps) {
  // Drawn in a square of its own that is stretched; the stroke is not.
  constexpr double kSide = 1000;
  std::string path;
  bool down = false;
  for (std::size_t i = 0; i < points.size(); ++i) {
    if (!points[i].y) {
      down = false;
      continue;
    }
    const double y = kSide * (1 - std::clamp(*points[i].y, 0.0, 1.0));
    path += fmt::format("{}{:.0f} {:.0f}", down ? 'L' : 'M', kSide * points[i].x, y);
    down = true;
    if (steps && i + 1 < points.size()) path += fmt::format("H{:.0f}", kSide * points[i + 1].x);
  }
  return fmt::format(
      "<svg y=\"{}\" width=\"100%\" height=\"{}\" viewBox=\"0 0 1000 1000\" "
      "preserveAspectRatio=\"none\"><path class=\"{}\" d=\"{}\"/></svg>",
      Coordinate(top), Coordinate(height), css_class, path);
}

std::string Patterns() {
  struct Pattern {
    std::string_view id, path;
  };
  // Waiting is hatched, work is plain: nothing depends on colours alone.
  constexpr Pattern kPatterns[] = {{"diagonal", "M-2 2L2-2M0 8L8 0M6 10L10 6"},
                                   {"back", "M-2 6L2 10M0 0L8 8M6-2L10 2"},
                                   {"dots", "M2 2h2v2h-2zM6 6h2v2h-2z"}};
  std::string html = "<svg width=\"0\" height=\"0\" aria-hidden=\"true\" class=\"patterns\"><defs>";
  for (const Pattern& pattern : kPatterns)
    html += fmt::format(
        "<pattern id=\"{}\" width=\"8\" height=\"8\" patternUnits=\"userSpaceOnUse\">"
        "<path d=\"{}\"/></pattern>",
        pattern.id, pattern.path);
  return html + "</defs></svg>\n";
}

}  // namespace pipesim::report
