// Marks of charts. A chart is as wide as its place: positions across are per cents of the width,
// heights are pixels, so that text keeps its size on a phone and on paper.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace pipesim::report {

/// A linear scale onto 0..100 per cent of a chart's width (or 0..1 of its height).
class Scale {
 public:
  /// `to` > `from`, both finite.
  Scale(double from, double to) : from_(from), to_(to) {}
  double from() const { return from_; }
  double to() const { return to_; }
  double Share(double value) const { return (value - from_) / (to_ - from_); }
  /// Within the chart.
  double Percent(double value) const;

 private:
  double from_, to_;
};

/// Round values in [from, to], at most `most` (>= 2): steps of 1, 2 or 5 times a power of ten.
std::vector<double> Ticks(double from, double to, std::size_t most);
/// A time on an axis that ends at `most_s`: "0.5 s", "50 ms"; one unit for the whole axis.
std::string AxisTime(double seconds, double most_s);
/// The smallest round value that is at least `value` (> 0).
double RoundedUp(double value);

/// "<title>…</title>", escaped.
std::string Tooltip(std::string_view text);

/// A chart: role="img" with a label that says what the picture shows.
std::string Svg(std::string_view css_class, std::string_view label, double height,
                const std::string& content);

struct RectMark {
  double x = 0, width = 0;  ///< per cent
  double y = 0, height = 0;  ///< pixels
  std::string_view css_class;
  std::string tooltip = {};
};
std::string ToSvg(const RectMark& rect);

/// Lines: x in per cent, y in pixels.
std::string VerticalLine(double x, double y1, double y2, std::string_view css_class,
                         std::string_view tooltip = {});
std::string HorizontalLine(double x1, double x2, double y, std::string_view css_class,
                           std::string_view tooltip = {});
std::string Dot(double x, double y, double radius, std::string_view css_class,
                std::string_view tooltip);
/// Anchored at its start, middle or end, so that it stays within the chart: by its end or start where
/// it is nearer than `near_edge` per cent to an edge.
std::string Label(double x, double y, std::string_view text, std::string_view css_class = "tick",
                  double near_edge = 5);

/// The axis of gains (0.1: +10 %), for the header of a narrow column of charts.
std::string GainAxis(const Scale& scale);

/// A line through shares of the chart (x and y in 0..1, y from below), broken where a point is
/// missing; drawn between the pixels `top` and `top + height`.
struct LinePoint {
  double x = 0;
  std::optional<double> y;
};
std::string PolyLine(const std::vector<LinePoint>& points, double top, double height,
                     std::string_view css_class, bool steps);

/// Patterns for hatching; once in a page.
std::string Patterns();

}  // namespace pipesim::report
