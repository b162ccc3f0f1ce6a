// The page of a comparison: a dot with its interval for each point, a line where both are equal.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "report/html_parts.h"
#include "report/html_svg.h"
#include "report/html_text.h"

namespace pipesim::report {
namespace {

constexpr double kPairHeight = 30, kMiddle = 15;
// A change is at least -100 %; a foreign file may hold any number.
constexpr double kLeastChange = -1, kMostChange = 1e6;

std::optional<double> ChangeIn(View point, std::string_view path) {
  const auto change = point.At(path).Number();
  return change ? std::optional(std::clamp(*change, kLeastChange, kMostChange)) : change;
}

std::vector<View> PointsOfAll(View document) {
  std::vector<View> points;
  for (const View comparison : document.At("comparisons").Items())
    for (const View point : comparison.At("points").Items()) points.push_back(point);
  return points;
}

Scale ScaleOfChanges(const std::vector<View>& points) {
  double low = -0.02, high = 0.02;  // smaller changes than 2 % must not look large
  for (const View point : points)
    for (const char* path : {"change", "change_interval.low", "change_interval.high"}) {
      const double change = ChangeIn(point, path).value_or(0);
      low = std::min(low, change);
      high = std::max(high, change);
    }
  const double margin = (high - low) * 0.06;
  return {low - margin, high + margin};
}

std::string ChangeWords(View point) {
  const auto change = ChangeIn(point, "change");
  if (!change) return "n/a";
  const auto low = ChangeIn(point, "change_interval.low");
  const auto high = ChangeIn(point, "change_interval.high");
  return Gain(*change) + (low && high ? " (" + Gain(*low) + " to " + Gain(*high) + ")" : "");
}

std::string PairMarks(const Scale& scale, View point, const std::string& name) {
  std::string marks;
  const std::string text = name + ": " + ChangeWords(point);
  const double noise = std::clamp(point.At("noise_floor").NumberOr(0), 0.0, 1.0);
  if (noise > 0)
    marks += ToSvg({scale.Percent(-noise), scale.Percent(noise) - scale.Percent(-noise), 0,
                    kPairHeight, "warmup", "noise: " + Gain(-noise) + " to " + Gain(noise)});
  for (const double tick : Ticks(scale.from(), scale.to(), 5))
    if (tick != 0) marks += VerticalLine(scale.Percent(tick), 0, kPairHeight, "grid");
  marks += VerticalLine(scale.Percent(0), 0, kPairHeight, "zero");
  const auto low = ChangeIn(point, "change_interval.low");
  const auto high = ChangeIn(point, "change_interval.high");
  if (low && high)
    marks += HorizontalLine(scale.Percent(*low), scale.Percent(*high), kMiddle, "tried-line", text);
  if (const auto change = ChangeIn(point, "change"))
    marks += Dot(scale.Percent(*change), kMiddle, 5, "point", text);
  return marks;
}

std::string RateOfSide(View side) {
  const auto rate = side.At("samples_per_s").Number();
  return rate ? Significant(*rate, 4) : "n/a";
}

std::string ChangeChart(View document) {
  const std::vector<View> points = PointsOfAll(document);
  if (points.empty()) return {};
  const Scale scale = ScaleOfChanges(points);
  HtmlTable table{"Change of samples/s, B against A", "what-if", {}, {}};
  table.columns = {{"point"},   {"change", false, "chart", GainAxis(scale)}, {"change", true, "gain"},
                   {"A", true}, {"B", true},                                 {"call"}};
  for (const View point : points) {
    const std::string given = point.At("name").Text(), name = given.empty() ? "B against A" : given;
    table.rows.push_back({TextCell(name),
                          {Svg("gain-bar", name + ": " + ChangeWords(point), kPairHeight,
                               PairMarks(scale, point, name))},
                          TextCell(ChangeWords(point)),
                          TextCell(RateOfSide(point.At("a"))),
                          TextCell(RateOfSide(point.At("b"))),
                          TextCell(point.At("call").Text())});
  }
  return ToHtml(table) +
         "<p class=\"note\">Dots: the change of samples/s with its interval. The line: equal. "
         "Shaded: the noise floor.</p>\n";
}

}  // namespace

std::string CompareBody(const Document& document) {
  const View view(&document, true);
  const std::string call = view.At("overall.call").Text();
  Page answer(false);
  const std::vector<View> points = PointsOfAll(view);
  std::string text = call.empty() ? "no call" : call;
  if (points.size() == 1) text += ": B against A " + ChangeWords(points[0]);
  if (points.size() > 1) text += fmt::format(": {} points", points.size());
  answer.Add(text, call == "SLOWER" ? Style::kBad : Style::kGood);
  return "<header>\n" + Answer(answer) + "</header>\n" +
         Section("Change of samples/s", ChangeChart(view)) +
         Section("In words", "<pre class=\"plain\" tabindex=\"0\">" +
                                 EscapedLines(ToText(document, {.detail = Detail::kFull})) +
                                 "</pre>\n");
}

}  // namespace pipesim::report
