// The what-if table as a chart: a bar for each predicted gain with its interval, a dot for the gain
// that was tried, upper bounds hatched.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "report/html_parts.h"
#include "report/html_svg.h"
#include "report/html_text.h"

namespace pipesim::report {
namespace {

constexpr double kRowHeight = 30, kBarTop = 8, kBarThick = 14;
// A chart of gains near 0 must not look like one of large gains.
constexpr double kSmallestSpan = 0.1;
// Gains are at least -100 %; a foreign file may hold any number.
constexpr double kLeastGain = -1, kMostGain = 1e6;

bool IsBound(View change) { return change.At("takes").Text().empty(); }

std::optional<double> GainIn(View value, std::string_view path) {
  const auto gain = value.At(path).Number();
  return gain ? std::optional(std::clamp(*gain, kLeastGain, kMostGain)) : gain;
}

/// Wide enough for what can be done; upper bounds may reach beyond it.
Scale ScaleOfGains(const std::vector<ShownChange>& changes) {
  double low = 0, high = 0, bounds = 0;
  for (const ShownChange& each : changes) {
    if (each.small) continue;
    for (const char* path : {"gain", "gain_interval.low", "gain_interval.high", "tried.gain",
                             "tried.gain_interval.low", "tried.gain_interval.high"}) {
      const double gain = GainIn(each.change, path).value_or(0);
      double& most = IsBound(each.change) ? bounds : high;
      most = std::max(most, gain);
      low = std::min(low, gain);
    }
  }
  if (high < kSmallestSpan) high = std::max(high, bounds);
  high = std::max(high * 1.08, kSmallestSpan);
  // Room for a little text left of 0 where anything loses.
  return {low < 0 ? std::min(low * 1.08, -0.04 * high) : 0, high};
}

std::string GridOfGains(const Scale& scale) {
  std::string marks;
  for (const double tick : Ticks(scale.from(), scale.to(), 5))
    marks += VerticalLine(scale.Percent(tick), 0, kRowHeight, tick == 0 ? "zero" : "grid");
  return marks;
}

std::string Whisker(const Scale& scale, View interval, double y, std::string_view css_class,
                    const std::string& tooltip) {
  const auto low = GainIn(interval, "low"), high = GainIn(interval, "high");
  if (!low || !high) return {};
  const double from = scale.Percent(std::min(*low, *high)), to = scale.Percent(std::max(*low, *high));
  return HorizontalLine(from, to, y, css_class, tooltip) +
         VerticalLine(from, y - 4, y + 4, css_class) + VerticalLine(to, y - 4, y + 4, css_class);
}

std::string GainIntervalText(View interval) {
  const auto low = GainIn(interval, "low"), high = GainIn(interval, "high");
  return low && high ? " (" + Gain(*low) + " to " + Gain(*high) + ")" : "";
}

std::string PredictedBar(const Scale& scale, View change) {
  const auto gain = GainIn(change, "gain");
  if (!gain) return {};
  const bool bound = IsBound(change), refuted = change.At("tried.refutes").IsTrue();
  const double zero = scale.Percent(0), end = scale.Percent(*gain);
  const std::string text = change.At("change").Text() + ": predicted " + Gain(*gain) +
                           GainIntervalText(change.At("gain_interval")) +
                           (bound ? ", an upper bound" : refuted ? ", refuted" : "");
  RectMark bar{std::min(zero, end), std::abs(end - zero), kBarTop,
               kBarThick, bound || refuted ? "bar-bound" : *gain < 0 ? "bar-loss" : "bar", text};
  std::string marks = ToSvg(bar);
  if (bound || refuted) {
    bar.css_class = "hatch h-bound";
    bar.tooltip.clear();
    marks += ToSvg(bar);
  }
  // It goes on beyond the page.
  if (*gain > scale.to()) marks += "<text class=\"on\" x=\"100%\" dx=\"-12\" y=\"20\">&#8250;</text>";
  return marks + Whisker(scale, change.At("gain_interval"), kBarTop + kBarThick / 2, "interval",
                         text);
}

std::string TriedDot(const Scale& scale, View change) {
  const auto gain = GainIn(change, "tried.gain");
  if (!gain) return {};
  const std::string text = change.At("change").Text() + ": tried, " + Gain(*gain) +
                           GainIntervalText(change.At("tried.gain_interval"));
  const double y = kBarTop + kBarThick / 2;
  return Whisker(scale, change.At("tried.gain_interval"), y, "tried-line", text) +
         Dot(scale.Percent(*gain), y, 5, "tried", text);
}

std::string ShownGain(const ShownChange& each) {
  const View change = each.change;
  const auto low = GainIn(change, "gain_interval.low"), high = GainIn(change, "gain_interval.high");
  if (each.as_interval && low && high) return Gain(*low) + " .. " + Gain(*high);
  const auto gain = GainIn(change, "gain");
  return gain ? Gain(*gain) : "n/a";
}

std::vector<HtmlCell> ChangeRow(const Scale& scale, const ShownChange& each, bool tried) {
  const View change = each.change;
  const auto rate = change.At("samples_per_s").Number(), was = GainIn(change, "tried.gain");
  const std::string then = change.At("then").Text();
  std::vector<HtmlCell> row{
      TextCell(change.At("change").Text()),
      {Svg("gain-bar", change.At("change").Text() + ": " + ShownGain(each) +
                           (was ? ", tried " + Gain(*was) : ""),
           kRowHeight, GridOfGains(scale) + PredictedBar(scale, change) + TriedDot(scale, change))},
      TextCell(ShownGain(each))};
  if (tried) row.push_back(TextCell(was ? Gain(*was) : ""));
  row.push_back(TextCell(rate ? Significant(*rate, 4) : "n/a"));
  row.push_back(TextCell(then.empty() ? "n/a" : then));
  row.push_back(TextCell(IsBound(change) && each.takes == "-" ? "upper bound" : each.takes));
  return row;
}

}  // namespace

std::string WhatIfFigure(View document) {
  const std::vector<ShownChange> changes = ShownChanges(document);
  if (changes.empty()) return {};
  const Scale scale = ScaleOfGains(changes);
  const bool tried = std::any_of(changes.begin(), changes.end(), [](const ShownChange& each) {
    return each.change.At("tried").IsPresent();
  });
  HtmlTable table{"What each change would gain", "what-if", {}, {}};
  table.columns = {{"change"}, {"gain, predicted", false, "chart", GainAxis(scale)}, {"gain", true, "gain"}};
  if (tried) table.columns.push_back({"tried", true});
  table.columns.push_back({"samples/s", true});
  table.columns.push_back({"then"});
  table.columns.push_back({"takes"});
  for (const ShownChange& each : changes)
    if (!each.small) table.rows.push_back(ChangeRow(scale, each, tried));
  std::string html = ToHtml(table);
  if (const std::string small = SmallChangesText(changes); !small.empty())
    html += "<p class=\"note\">" + Escaped(small) + "</p>\n";
  return html + "<p class=\"note\">Bars: predicted gain in samples/s, with its interval where it is "
                "known. Hatched: upper bounds, which nobody can buy, and what was refuted." +
         (tried ? " Dots: measured when it was tried." : "") + "</p>\n";
}

}  // namespace pipesim::report
