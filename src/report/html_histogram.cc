// How long steps took: a histogram with its quantiles marked.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "report/html_parts.h"
#include "report/html_svg.h"
#include "report/html_text.h"

namespace pipesim::report {
namespace {

constexpr double kTop = 48, kHeight = 130, kBottom = 20;
// Of the kept steps; fewer make bars of one or two.
constexpr std::size_t kLeastSteps = 10, kMostBins = 40;

/// Left of the bars are the numbers of the grid.
constexpr double kGutter = 12;
double Across(double share) { return kGutter + (100 - kGutter) * share; }

struct Bins {
  double from = 0, width = 0;
  std::vector<std::size_t> counts;
  std::size_t outside = 0;  ///< steps shorter or longer than the axis, in the first or last bin
  std::size_t all = 0;
};

/// The axis begins where one step in 200 is shorter and ends where one in 200 is longer: a single
/// stall would press all others into one bar.
Bins BinsOf(std::vector<double> times) {
  std::sort(times.begin(), times.end());
  Bins bins;
  bins.all = times.size();
  const std::size_t tail = times.size() / 200;
  double low = times[tail], high = times[times.size() - 1 - tail];
  // Not for the little that all steps spread.
  if (times.front() >= low / 1.5) low = times.front();
  if (times.back() <= high * 1.5) high = times.back();
  const double least_span = std::max(high * 0.02, 1e-9);
  const double middle = (low + high) / 2, span = std::max(high - low, least_span);
  const auto count = std::clamp<std::size_t>(
      static_cast<std::size_t>(2 * std::cbrt(static_cast<double>(times.size()))), 8, kMostBins);
  bins.from = std::max(0.0, middle - span / 2);
  bins.width = span / static_cast<double>(count);
  bins.counts.assign(count, 0);
  for (const double time : times) {
    const double at = (time - bins.from) / bins.width;
    // Rounding may put the slowest step just past the end.
    if (at < -1e-6 || at > static_cast<double>(count) + 1e-6) ++bins.outside;
    ++bins.counts[static_cast<std::size_t>(std::clamp(at, 0.0, static_cast<double>(count - 1)))];
  }
  return bins;
}

struct Quantile {
  std::string name;
  double at = 0;
};

std::vector<Quantile> QuantilesOf(View document) {
  std::vector<Quantile> quantiles;
  for (const char* name : {"p50", "p95", "p99"})
    if (const auto at = document.At("result.step_time_s").At(name).Number(); at && *at >= 0)
      quantiles.push_back({name, *at});
  return quantiles;
}

std::string QuantileMarks(const std::vector<Quantile>& quantiles, const Scale& scale) {
  std::string marks;
  double y = 12;
  for (const Quantile& each : quantiles) {
    const double x = Across(std::clamp(scale.Share(each.at), 0.0, 1.0));
    const std::string text = each.name + " " + Seconds(each.at, 3);
    const bool right = x > 60;
    marks += VerticalLine(x, y - 9, kTop + kHeight, "event", text);
    marks += fmt::format("<text x=\"{:.2f}%\" dx=\"{}\" y=\"{}\" text-anchor=\"{}\">{}</text>", x,
                         right ? -5 : 5, y, right ? "end" : "start",
                         Escaped(text + (each.at > scale.to() ? " (beyond)" : "")));
    y += 14;
  }
  return marks;
}

std::string BinText(const Bins& bins, std::size_t i) {
  const double from = bins.from + bins.width * static_cast<double>(i);
  return fmt::format("{} to {}: {} steps, {}", Seconds(from, 3), Seconds(from + bins.width, 3),
                     WithCommas(static_cast<std::int64_t>(bins.counts[i])),
                     Percent(static_cast<double>(bins.counts[i]) / static_cast<double>(bins.all)));
}

std::string HistogramSvg(const Bins& bins, const std::vector<Quantile>& quantiles) {
  const auto count = static_cast<double>(bins.counts.size());
  const Scale scale(bins.from, bins.from + bins.width * count);
  const auto most = static_cast<double>(*std::max_element(bins.counts.begin(), bins.counts.end()));
  const double top = RoundedUp(most / static_cast<double>(bins.all));
  std::string marks = Label(0, 12, "of steps");
  for (const double tick : Ticks(0, top, 4)) {
    const double y = kTop + kHeight * (1 - tick / top);
    marks += HorizontalLine(0, 100, y, tick == 0 ? "axis" : "grid");
    if (tick > 0) marks += Label(0, y - 3, Percent(tick));
  }
  for (std::size_t i = 0; i < bins.counts.size(); ++i) {
    const double height =
        kHeight * static_cast<double>(bins.counts[i]) / static_cast<double>(bins.all) / top;
    if (bins.counts[i] > 0)
      marks += ToSvg({Across(static_cast<double>(i) / count) + 0.1,
                      (100 - kGutter) / count - 0.2, kTop + kHeight - height, height, "bar",
                      BinText(bins, i)});
  }
  marks += QuantileMarks(quantiles, scale);
  for (const double tick : Ticks(scale.from(), scale.to(), 5))
    marks += Label(Across(scale.Share(tick)), kTop + kHeight + 15, AxisTime(tick, scale.to()));
  std::string label = "Histogram of step times:";
  for (const Quantile& each : quantiles) label += " " + each.name + " " + Seconds(each.at, 3);
  return Svg("plot", label, kTop + kHeight + kBottom, marks);
}

std::string BinTable(const Bins& bins) {
  HtmlTable table{"Step times", {}, {{"step time"}, {"steps", true}}, {}};
  for (std::size_t i = 0; i < bins.counts.size(); ++i) {
    const double from = bins.from + bins.width * static_cast<double>(i);
    table.rows.push_back({TextCell(Seconds(from, 3) + " to " + Seconds(from + bins.width, 3)),
                          TextCell(WithCommas(static_cast<std::int64_t>(bins.counts[i])))});
  }
  return Fold("The figures of this histogram", ToHtml(table));
}

}  // namespace

std::string StepHistogram(View document) {
  std::vector<double> times;
  for (const View value : document.At("samples.step_time_s").Items())
    if (const auto time = value.Number(); time && *time >= 0 && *time < 1e12) times.push_back(*time);
  if (times.size() < kLeastSteps) return {};
  const Bins bins = BinsOf(std::move(times));
  std::string note = WithCommas(static_cast<std::int64_t>(bins.all)) + " steps, from one step's end "
                     "to the next one's.";
  if (bins.outside > 0)
    note += fmt::format(" {} outside the axis {} in its first or last bar.",
                        WithCommas(static_cast<std::int64_t>(bins.outside)),
                        bins.outside == 1 ? "is" : "are");
  return HistogramSvg(bins, QuantilesOf(document)) + "<p class=\"note\">" + Escaped(note) +
         "</p>\n" + BinTable(bins);
}

}  // namespace pipesim::report
