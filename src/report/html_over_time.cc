// Rates, queue and resources over time, in rows that share the axis of time.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "report/html_parts.h"
#include "report/html_svg.h"
#include "report/html_text.h"

namespace pipesim::report {
namespace {

constexpr double kPlotTop = 16, kPlotHeight = 60, kAxisHeight = 18;
constexpr std::size_t kMostPoints = 4096;  // a foreign file may hold any number

using Line = std::vector<std::optional<double>>;

Line LineOf(View values) {
  Line line;
  for (const View value : values.Items()) {
    if (line.size() == kMostPoints) break;
    const auto number = value.Number();
    line.push_back(number && *number >= 0 ? number : std::nullopt);
  }
  const bool any = std::any_of(line.begin(), line.end(), [](const auto& v) { return v.has_value(); });
  return any ? line : Line{};
}

/// One row of the figure; the second line, if any, has the same axis.
struct TimeRowChart {
  std::string title;
  Line line, second = {};
  std::string name = {}, second_name = {};
  std::optional<double> top = std::nullopt;  ///< of the axis; else the largest value, rounded up
  std::string (*text)(double) = nullptr;
};

std::string ShareAxisText(double value) { return Percent(value); }
std::string RateAxisText(double value) { return Significant(value, 3) + " samples/s"; }
std::string BatchesText(double value) { return Significant(value, 3); }
std::string CoresText(double value) { return Fixed(value, 1) + " cores"; }
std::string BytesRateText(double value) { return Amount(value) + "/s"; }

std::string BytesText(double value) { return Amount(value); }
std::string WattsText(double value) { return Significant(value, 3) + " W"; }
std::string ClockText(double value) { return Significant(value, 4) + " MHz"; }

void AddGpuRows(View document, std::vector<TimeRowChart>& rows) {
  const View gpu = document.At("over_time.gpu"), limits = document.At("resources.gpu");
  rows.push_back({.title = "GPU utilization (NVML: share of time with a kernel)",
                  .line = LineOf(gpu.At("utilization")),
                  .top = 1,
                  .text = ShareAxisText});
  rows.push_back({.title = "GPU memory in use",
                  .line = LineOf(gpu.At("memory_bytes")),
                  .top = document.At("memory.device_total_bytes").Number(),
                  .text = BytesText});
  rows.push_back({.title = "GPU power",
                  .line = LineOf(gpu.At("power_w")),
                  .top = limits.At("power_limit_w").Number(),
                  .text = WattsText});
  rows.push_back({.title = "GPU clocks",
                  .line = LineOf(gpu.At("sm_clock_mhz")),
                  .second = LineOf(gpu.At("memory_clock_mhz")),
                  .name = "SM",
                  .second_name = "memory",
                  .text = ClockText});
}

std::vector<TimeRowChart> LineRowsOf(View document) {
  const View lines = document.At("over_time"), resources = document.At("resources");
  const bool cpu = DeviceOf(document).IsCpu();
  std::vector<TimeRowChart> rows;
  rows.push_back({.title = "Rate", .line = LineOf(lines.At("samples_per_s")),
                  .text = RateAxisText});
  rows.push_back({.title = cpu ? "Training and waiting, share of time"
                               : "Device busy, trainer starved, share of time",
                  .line = LineOf(lines.At("device_busy")),
                  .second = LineOf(lines.At("starved")),
                  .name = cpu ? "training" : "busy",
                  .second_name = "starved",
                  .top = 1,
                  .text = ShareAxisText});
  if (document.At("effective.workers").NumberOr(0) > 0)
    rows.push_back({.title = "Queue, batches ready",   .line = LineOf(lines.At("occupancy")),
                    .top = document.At("queue.capacity").Number(),
                    .text = BatchesText});
  rows.push_back({.title = "Cores used", .line = LineOf(lines.At("cores_used")),
                  .top = resources.At("cores").Number(),
                  .text = CoresText});
  const bool storage = document.At("effective.storage.kind").Text() != "none";
  if (storage)
    rows.push_back({.title = "Read from storage",   .line = LineOf(lines.At("storage_bytes_per_s")), .text = BytesRateText});
  AddGpuRows(document, rows);
  std::erase_if(rows, [](const TimeRowChart& row) { return row.line.empty(); });
  return rows;
}

struct TimeAxis {
  double slice_s = 0, end_s = 0, warmup_s = 0, measured_s = 0;
  std::vector<double> epochs_s;

  double Percent(double at_s) const { return 100 * std::clamp(at_s / end_s, 0.0, 1.0); }
};

double Largest(const Line& line) {
  double largest = 0;
  for (const auto& value : line) largest = std::max(largest, value.value_or(0));
  return largest;
}

std::vector<LinePoint> PointsOf(const Line& line, double top) {
  std::vector<LinePoint> points;
  const auto count = static_cast<double>(line.size());
  for (std::size_t i = 0; i < line.size(); ++i)
    points.push_back({(static_cast<double>(i) + 0.5) / count,
                      line[i] ? std::optional(*line[i] / top) : std::nullopt});
  return points;
}

std::string SliceText(const TimeAxis& axis, const TimeRowChart& row, std::size_t i) {
  const auto at = [&](std::size_t border) {
    return Seconds(static_cast<double>(border) * axis.slice_s, 3);
  };
  std::string text = at(i) + " to " + at(i + 1) + ": ";
  const auto add = [&](const Line& line, const std::string& name) {
    const auto value = i < line.size() ? line[i] : std::nullopt;
    text += (name.empty() ? "" : name + " ") + (value ? row.text(*value) : "n/a");
  };
  add(row.line, row.name);
  if (!row.second.empty()) {
    text += ", ";
    add(row.second, row.second_name);
  }
  return text;
}

std::string EventMarks(const TimeAxis& axis) {
  std::string marks;
  if (axis.warmup_s > 0)
    marks += ToSvg({0, axis.Percent(axis.warmup_s), kPlotTop, kPlotHeight, "warmup",
                    "warm-up, not measured: " + Seconds(axis.warmup_s, 2)});
  const double measured_to = axis.warmup_s + axis.measured_s;
  // A last part that the measured cycles left out.
  if (measured_to < axis.end_s * 0.995 && axis.measured_s > 0)
    marks += ToSvg({axis.Percent(measured_to), 100 - axis.Percent(measured_to), kPlotTop,
                    kPlotHeight, "warmup", "after the measured window"});
  for (std::size_t i = 0; i < axis.epochs_s.size(); ++i)
    marks += VerticalLine(axis.Percent(axis.epochs_s[i]), kPlotTop, kPlotTop + kPlotHeight, "event",
                          fmt::format("epoch {} begins at {}", i + 1, Seconds(axis.epochs_s[i], 3)));
  return marks;
}

/// The largest value, the mean and the name of each line, for those who do not see it.
std::string Spoken(const TimeRowChart& row, const Line& line) {
  double sum = 0, count = 0, least = Largest(line);
  for (const auto& value : line) {
    if (!value) continue;
    sum += *value;
    ++count;
    least = std::min(least, *value);
  }
  return "from " + row.text(least) + " to " + row.text(Largest(line)) + ", mean " +
         row.text(sum / std::max(count, 1.0));
}

std::string RowSvg(const TimeAxis& axis, const TimeRowChart& row, bool last) {
  const double most = std::max(Largest(row.line), Largest(row.second));
  const double asked = row.top.value_or(0);
  const double top = asked > 0 && asked >= most ? asked : RoundedUp(most);
  std::string marks = EventMarks(axis);
  for (const double part : {0.0, 0.5, 1.0})
    marks += HorizontalLine(0, 100, kPlotTop + kPlotHeight * (1 - part), part == 0 ? "axis" : "grid");
  marks += Label(0, kPlotTop - 4, row.text(top));
  marks += PolyLine(PointsOf(row.line, top), kPlotTop, kPlotHeight, "line", false);
  if (!row.second.empty())
    marks += PolyLine(PointsOf(row.second, top), kPlotTop, kPlotHeight, "line-2", false);
  const double width = 100 / static_cast<double>(row.line.size());
  for (std::size_t i = 0; i < row.line.size(); ++i)
    marks += ToSvg({static_cast<double>(i) * width, width, kPlotTop, kPlotHeight, "hit",
                    SliceText(axis, row, i)});
  double height = kPlotTop + kPlotHeight + 1;
  if (last) {
    height += kAxisHeight;
    for (const double tick : Ticks(0, axis.end_s, 5))
      marks += Label(axis.Percent(tick), kPlotTop + kPlotHeight + 14,
                     AxisTime(tick, axis.end_s));
  }
  const std::string second =
      row.second.empty() ? "" : "; " + row.second_name + " " + Spoken(row, row.second);
  return Svg("plot", row.title + " over time: " + row.name + " " + Spoken(row, row.line) + second,
             height, marks);
}

std::string RowHeading(const TimeRowChart& row) {
  std::string names;
  if (!row.second.empty())
    names = fmt::format(
        "<span><span class=\"c1\">&#9473;&#9473; {}</span> &nbsp; <span class=\"c2\">&#9549;&#9549; "
        "{}</span></span>",
        Escaped(row.name), Escaped(row.second_name));
  return "<h3>" + Escaped(row.title) + names + "</h3>\n";
}

std::string TimesTable(const TimeAxis& axis, const std::vector<TimeRowChart>& rows) {
  HtmlTable table{"The run over time", {}, {{"from"}}, {}};
  std::size_t count = 0;
  for (const TimeRowChart& row : rows) {
    table.columns.push_back({row.name.empty() ? row.title : row.name, true});
    if (!row.second.empty()) table.columns.push_back({row.second_name, true});
    count = std::max(count, row.line.size());
  }
  for (std::size_t i = 0; i < count; ++i) {
    std::vector<HtmlCell> cells{TextCell(Seconds(static_cast<double>(i) * axis.slice_s, 3))};
    const auto add = [&](const TimeRowChart& row, const Line& line) {
      cells.push_back(TextCell(i < line.size() && line[i] ? row.text(*line[i]) : "n/a"));
    };
    for (const TimeRowChart& row : rows) {
      add(row, row.line);
      if (!row.second.empty()) add(row, row.second);
    }
    table.rows.push_back(std::move(cells));
  }
  return Fold("The figures of these lines", ToHtml(table));
}

}  // namespace

std::string OverTimeFigure(View document) {
  const View lines = document.At("over_time");
  TimeAxis axis;
  axis.slice_s = lines.At("slice_s").NumberOr(0);
  const std::vector<TimeRowChart> rows = LineRowsOf(document);
  if (rows.empty() || !(axis.slice_s > 0)) return {};
  axis.end_s = axis.slice_s * static_cast<double>(rows.front().line.size());
  if (!(axis.end_s > 0) || !std::isfinite(axis.end_s)) return {};
  axis.warmup_s = std::max(document.At("result.warmup_s").NumberOr(0), 0.0);
  axis.measured_s = std::max(document.At("result.measured_s").NumberOr(0), 0.0);
  for (const View begin : lines.At("epoch_begins_s").Items())
    if (const auto at = begin.Number(); at && *at >= 0) axis.epochs_s.push_back(*at);
  std::string html;
  for (std::size_t i = 0; i < rows.size(); ++i)
    html += RowHeading(rows[i]) + RowSvg(axis, rows[i], i + 1 == rows.size());
  const std::string epochs = axis.epochs_s.empty() ? "" : " Dashed: an epoch begins.";
  html += "<p class=\"note\">Shaded: not measured (warm-up, and what is left after whole cycles)." +
          epochs + "</p>\n";
  return html + TimesTable(axis, rows);
}

}  // namespace pipesim::report
