#include <algorithm>
#include <cmath>

#include "report/bench_report.h"
#include "report/json_parts.h"

namespace pipesim::report {
namespace {

using calibrate::BenchPoint;
using calibrate::BenchSeries;
using calibrate::BenchTime;
using calibrate::BenchUnit;
using cost::Operation;

std::string_view UnitText(BenchUnit unit) {
  switch (unit) {
    case BenchUnit::kRows:
      return "rows";
    case BenchUnit::kBytes:
      return "bytes";
    case BenchUnit::kSamples:
      break;
  }
  return "samples";
}

bool CopiesOverLink(Operation operation) {
  return operation == Operation::kPinnedIn || operation == Operation::kPageableIn ||
         operation == Operation::kPinnedOut || operation == Operation::kPageableOut;
}

Document ShareOfPeak(double rate, std::optional<double> peak) {
  return peak && *peak > 0 && rate > 0 ? NumberValue(rate / *peak) : nullptr;
}

Document BenchPointValue(const BenchReport& report, const BenchSeries& series, const BenchPoint& point) {
  Document value = {{"size", point.size}};
  const auto& time = point.time;
  value["time_s"] = time ? NumberValue(time->median_s) : nullptr;
  value["time_low_s"] = time ? NumberValue(time->low_s) : nullptr;
  value["time_high_s"] = time ? NumberValue(time->high_s) : nullptr;
  value["enqueued_s"] = time ? NumberValue(time->enqueue_s) : nullptr;
  const bool timed = time && time->repeats > 0;
  value["estimated_s"] = NumberValue(point.estimated_s);
  value["repeats"] = timed ? Document(time->repeats) : nullptr;
  value["operations"] = timed ? Document(time->operations) : nullptr;
  const cost::Work work = cost::WorkOf(series.way.operation, point.size, report.plan.experiment);
  const bool known = time && time->median_s > 0;
  const double flops = known ? work.flops / time->median_s : 0;
  const double bytes = known ? work.bytes / time->median_s : 0;
  value["flops_per_s"] = flops > 0 ? NumberValue(flops) : nullptr;
  value["bytes_per_s"] = bytes > 0 ? NumberValue(bytes) : nullptr;
  const bool gpu = series.way.on_gpu;
  // The peak is that of one GPU.
  const double devices = series.way.operation == Operation::kTwoDevices ? 2 : 1;
  const auto link = CopiesOverLink(series.way.operation) ? report.peak.link_bytes_per_s : report.peak.bytes_per_s;
  value["flops_of_peak"] = gpu ? ShareOfPeak(flops / devices, report.peak.flops_per_s) : nullptr;
  value["bytes_of_peak"] = gpu ? ShareOfPeak(bytes / devices, link) : nullptr;
  return value;
}

Document BenchSeriesValue(const BenchReport& report, const BenchSeries& series) {
  Document points = Document::array();
  for (const BenchPoint& point : series.points) points.push_back(BenchPointValue(report, series, point));
  return {{"name", TextValue(series.way.name)},
          {"device", spec::ToText(series.device)},
          {"predicted", series.predicted},
          {"points", std::move(points)}};
}

/// The series of the way that the bench compares; else of the next one on the same side.
const BenchSeries* SeriesOfWay(const BenchReport& report, std::size_t way) {
  const auto& ways = report.plan.kind->ways;
  const auto& series = report.result.series;
  for (std::size_t i = way; i < ways.size(); ++i) {
    const auto found = std::find_if(series.begin(), series.end(), [&](const BenchSeries& each) {
      return each.way.name == ways[i].name && each.way.on_gpu == ways[way].on_gpu;
    });
    if (found != series.end()) return &*found;
  }
  return nullptr;
}

/// Why the GPU takes longer. Where the host's share is most of it, launching sets the pace.
Document ReasonOfSlowGpu(const BenchReport& report, const BenchSeries& faster, const BenchTime& time, double ratio) {
  constexpr double kMostly = 0.5;
  if (ratio >= 1 || !faster.way.on_gpu || report.plan.kind->ways[0].on_gpu) return nullptr;
  if (time.enqueue_s < kMostly * time.median_s)
    return "the CPU is far stronger than this GPU";
  return faster.way.operation == Operation::kStep
             ? "the model is too simple; launching costs more than the arithmetic"
             : "the tensor is too small; launching costs more than the arithmetic";
}

Document BenchComparison(const BenchReport& report) {
  const BenchSeries* slower = SeriesOfWay(report, report.plan.kind->slower);
  const BenchSeries* faster = SeriesOfWay(report, report.plan.kind->faster);
  if (slower == nullptr || faster == nullptr || slower == faster) return nullptr;
  Document points = Document::array();
  Document crossover = nullptr;
  for (std::size_t i = 0; i < report.plan.sizes.size(); ++i) {
    const auto& one = slower->points[i].time;
    const auto& other = faster->points[i].time;
    if (!one || !other || !(other->median_s > 0)) continue;
    const double ratio = one->median_s / other->median_s;
    if (ratio < 1)
      crossover = nullptr;
    else if (crossover.is_null())
      crossover = report.plan.sizes[i];
    points.push_back({{"size", report.plan.sizes[i]},
                      {"ratio", NumberValue(ratio)},
                      {"enqueued_ratio", other->enqueue_s > 0
                                             ? NumberValue(one->median_s / other->enqueue_s)
                                             : nullptr},
                      {"reason", ReasonOfSlowGpu(report, *faster, *other, ratio)}});
  }
  return {{"slower", TextValue(slower->way.name)},
          {"faster", TextValue(faster->way.name)},
          {"crossover", std::move(crossover)},
          {"points", std::move(points)}};
}

Document BenchSkipped(const BenchReport& report) {
  Document skipped = Document::array();
  for (const BenchSeries& series : report.result.series)
    for (const BenchPoint& point : series.points)
      if (!point.time)
        skipped.push_back({{"size", point.size},
                           {"series", TextValue(series.way.name)},
                           {"why", TextValue(point.why_not)}});
  return skipped;
}

Document BenchGpu(const BenchReport& report) {
  const spec::Device& device = report.plan.experiment.device;
  if (report.gpu_name.empty()) return nullptr;
  return {{"device", spec::ToText(device.Id())},
          {"name", TextValue(report.gpu_name)},
          {"predicted", device.Id().IsEmulated()},
          {"peak_from", TextOrNull(report.peak.from)},
          {"peak_flops_per_s", NumberValue(report.peak.flops_per_s)},
          {"peak_bytes_per_s", NumberValue(report.peak.bytes_per_s)},
          {"peak_link_bytes_per_s", NumberValue(report.peak.link_bytes_per_s)}};
}

}  // namespace

Document ToJson(const BenchReport& report) {
  const calibrate::BenchPlan& plan = report.plan;
  Document document = HeadOf(report.context, "bench");
  const bool is_step = plan.kind->unit == BenchUnit::kSamples;
  const calibrate::BenchResult& result = report.result;
  document["bench"] = {
      {"name", TextValue(plan.kind->name)},
      {"what", TextValue(plan.kind->what)},
      {"model", is_step ? TextOrNull(plan.experiment.model.name) : Document(nullptr)},
      {"unit", UnitText(plan.kind->unit)},
      {"sizes", plan.sizes},
      {"iterations", CountValue(plan.iterations)},
      {"max_time_s", base::ToSeconds(plan.max_time)},
      {"wall_s", NumberValue(result.wall_s)},
      {"stopped_by", result.interrupted ? "interrupted" : result.out_of_time ? "max_time" : "sizes"}};
  document["cpu"] = {{"name", TextOrNull(report.cpu_name)},
                     {"threads", plan.compute_threads},
                     {"cores", report.cores},
                     {"foreign_cores", NumberValue(report.foreign_cores)}};
  document["gpu"] = BenchGpu(report);
  Document series = Document::array();
  for (const BenchSeries& each : result.series) series.push_back(BenchSeriesValue(report, each));
  document["series"] = std::move(series);
  document["comparison"] = BenchComparison(report);
  document["skipped"] = BenchSkipped(report);
  return document;
}

}  // namespace pipesim::report
