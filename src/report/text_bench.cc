// The text of a report of `bench`: who is faster from which size on, the table, the trap of timing
// only the enqueue, what was left out.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "base/text.h"
#include "measure/warning.h"
#include "report/bench_report.h"
#include "report/text_parts.h"

namespace pipesim::report {
namespace {

/// "387 x", "0.10 x".
std::string Times(double ratio) { return Significant(ratio, ratio < 1 ? 2 : 3) + " x"; }

/// "33.4 T".
std::string WithPrefix(double rate) {
  constexpr std::array<std::pair<double, std::string_view>, 4> kPrefixes = {
      {{1e12, "T"}, {1e9, "G"}, {1e6, "M"}, {1e3, "k"}}};
  for (const auto& [factor, letter] : kPrefixes)
    if (rate >= factor) return Significant(rate / factor, 3) + " " + std::string(letter);
  return Significant(rate, 3);
}

/// The devices are compared, not two ways on one of them.
bool ComparesDevices(View document) {
  return document.At("comparison.slower").Text() == "cpu" && document.At("comparison.faster").Text() == "gpu";
}

View SeriesNamed(View document, const std::string& name) {
  for (const View series : document.At("series").Items())
    if (series.At("name").Text() == name) return series;
  return {nullptr, true};
}

View PointOfSize(View points, double size) {
  for (const View point : points.Items())
    if (point.At("size").NumberOr(-1) == size) return point;
  return {nullptr, true};
}

std::string TimeText(View seconds) {
  const auto value = seconds.Number();
  return value ? Seconds(*value, *value < 1e-5 ? 2 : 3) : "n/a";
}

/// Predictions are marked in every table; a footnote says what the mark means.
std::string SeriesTitle(View series) {
  return series.At("name").Text() + (series.At("predicted").IsTrue() ? "*" : "");
}

std::string DevicesHeadline(View document) {
  const std::vector<View> points = document.At("comparison.points").Items();
  const auto crossover = document.At("comparison.crossover").Number();
  std::string reason;  // at the largest size at which the GPU is slower
  for (const View point : points)
    if (const std::string why = point.At("reason").Text(); !why.empty()) reason = why;
  const bool predicted = document.At("gpu.predicted").IsTrue();
  const std::string gpu = predicted ? "The GPU would be" : "The GPU is";
  const View last = points.back();
  const std::string at = BenchSize(document, last.At("size").NumberOr(0));
  if (!crossover)
    return fmt::format("The CPU is faster at the largest size, {} ({}).{}", at,
                       Times(1 / last.At("ratio").NumberOr(1)), reason.empty() ? "" : " " + Capitalised(reason) + ".");
  const bool everywhere = *crossover == points.front().At("size").NumberOr(0);
  return fmt::format("{} faster {}, {} at {}.{}", gpu,
                     everywhere ? "at every size" : "from size " + BenchSize(document, *crossover) + " on",
                     Times(last.At("ratio").NumberOr(0)), at,
                     reason.empty() ? "" : " Below, " + reason + ".");
}

/// Of two ways on the GPU: the size at which they differ most.
std::string WaysHeadline(View document) {
  View most(nullptr, true);
  for (const View point : document.At("comparison.points").Items())
    if (!most.IsPresent() || point.At("ratio").NumberOr(0) > most.At("ratio").NumberOr(0)) most = point;
  const double ratio = most.At("ratio").NumberOr(0), size = most.At("size").NumberOr(0);
  const std::string name = document.At("bench.name").Text(), at = BenchSize(document, size);
  if (name == "sync")
    return fmt::format("Reading the norm each time takes {} as long as reading it once at the end, at {} rows.",
                       Times(ratio), at);
  if (name == "transfer")
    return fmt::format("Page-locked memory is copied {} as fast as ordinary memory, at {}.", Times(ratio), at);
  const std::string faster = document.At("comparison.faster").Text();
  return fmt::format("{} at once finish two products {} as fast as one after the other, at {} rows.",
                     faster == "two gpus" ? "Two GPUs" : "Two streams on one GPU", Times(ratio), at);
}

/// Cores that other programs used, where it is more than every machine does beside.
std::optional<double> OthersBesideBench(View document) {
  const auto others = document.At("cpu.foreign_cores").Number();
  const double cores = document.At("cpu.cores").NumberOr(0);
  return others && measure::warnings::ForeignCpu::Counts(*others, cores) ? others : std::nullopt;
}

/// Marks what was left out for the time limit.
constexpr std::string_view kEstimated = "~";

bool ShowsRates(View document) { return document.At("bench.unit").Text() == "bytes"; }

std::string PointText(View document, View point) {
  if (const auto estimated_s = point.At("estimated_s").Number(); estimated_s && !ShowsRates(document))
    return std::string(kEstimated) + Seconds(*estimated_s, 2);
  if (!ShowsRates(document)) return TimeText(point.At("time_s"));
  const auto rate = point.At("bytes_per_s").Number();
  return rate ? WithPrefix(*rate) + "B/s" : "n/a";
}

/// Without two ways to compare: what is predicted at the largest size.
std::string AloneHeadline(View document) {
  const std::string name = document.At("bench.name").Text();
  std::vector<std::string> names, texts;
  std::string at;
  for (const View series : document.At("series").Items()) {
    const std::vector<View> points = series.At("points").Items();
    if (!series.At("predicted").IsTrue() || points.empty()) continue;
    names.push_back(series.At("name").Text());
    texts.push_back(PointText(document, points.back()));
    at = BenchSize(document, points.back().At("size").NumberOr(0));
  }
  if (names.empty()) return name + ": nothing to compare was timed";
  return fmt::format("{}: of {} only {} {} predicted: {} at {}", name, document.At("gpu.name").Text(),
                     base::Join(names, " and "), names.size() == 1 ? "is" : "are", base::Join(texts, " and "), at);
}

std::string PlainHeadline(View document) {
  const std::string name = document.At("bench.name").Text();
  if (document.At("comparison.points").Items().empty())
    return document.At("gpu").IsPresent()
               ? AloneHeadline(document)
               : name + " on the CPU only: no GPU was timed; --device rtx-4060 predicts one";
  return ComparesDevices(document) ? DevicesHeadline(document) : WaysHeadline(document);
}

/// The columns after the times: of the way that should be faster.
void AddRatioColumns(View document, BenchTable& table) {
  const View comparison = document.At("comparison");
  if (!comparison.IsPresent()) return;
  const View points = comparison.At("points");
  const View faster = SeriesNamed(document, comparison.At("faster").Text()).At("points");
  const bool devices = ComparesDevices(document);
  const bool adds = document.At("bench.name").Text() == "add";
  if (devices) table.head.insert(table.head.end(), {"gpu enqueued"});
  table.head.emplace_back(devices ? "cpu/gpu" : "ratio");
  if (devices) table.head.insert(table.head.end(), {adds ? "gpu B/s" : "gpu FLOP/s", "of peak"});
  bool cached = false;
  std::size_t row = 0;
  for (const View size : document.At("bench.sizes").Items()) {
    std::vector<std::string>& cells = table.rows[row++];
    const View point = PointOfSize(faster, size.NumberOr(0));
    const auto ratio = PointOfSize(points, size.NumberOr(0)).At("ratio").Number();
    if (devices) cells.push_back(TimeText(point.At("enqueued_s")));
    cells.push_back(ratio ? Significant(*ratio, *ratio < 1 ? 2 : 3) : "n/a");
    if (!devices) continue;
    const auto rate = point.At(adds ? "bytes_per_s" : "flops_per_s").Number();
    const auto share = point.At(adds ? "bytes_of_peak" : "flops_of_peak").Number();
    cells.push_back(rate ? WithPrefix(*rate) : "n/a");
    cells.push_back(share ? Percent(*share) : "n/a");
    cached = cached || (adds && share.value_or(0) > 1);
  }
  if (!cached) return;
  if (!table.note.empty()) table.note += " ";
  table.note += "Above 100 % of peak: the data stay in the GPU's cache, which is faster than its memory.";
}

void AddBenchTable(const Sheet& sheet) {
  const BenchTable table = TableOfBench(sheet.document);
  sheet.page.AddBlank();
  std::vector<std::size_t> widths;
  for (const std::string& title : table.head) widths.push_back(base::DisplayWidth(title));
  for (const auto& row : table.rows)
    for (std::size_t i = 0; i < row.size(); ++i)
      widths[i] = std::max(widths[i], base::DisplayWidth(std::string_view(row[i])));
  const auto add = [&](const std::vector<std::string>& cells) {
    std::string line;
    for (std::size_t i = 0; i < cells.size(); ++i) line += "  " + PadLeft(cells[i], widths[i]);
    sheet.page.Add(line);
  };
  add(table.head);
  for (const auto& row : table.rows) add(row);
  sheet.page.AddBlank();
  if (!table.note.empty()) sheet.page.Add(table.note);
}

/// Sizes left out, by reason and series.
void AddLeftOutSizes(const Sheet& sheet) {
  std::map<std::string, std::vector<std::string>> sizes;
  for (const View each : sheet.document.At("skipped").Items())
    sizes[each.At("series").Text() + ", " + each.At("why").Text()].push_back(
        BenchSize(sheet.document, each.At("size").NumberOr(0)));
  constexpr std::size_t kShown = 6;
  for (auto& [why, left_out] : sizes) {
    const std::size_t count = left_out.size();
    if (!sheet.full && count > kShown) {
      left_out.resize(kShown);
      left_out.push_back(fmt::format("… ({} sizes)", count));
    }
    sheet.page.Add(fmt::format("Left out: {}: {}", why, base::Join(left_out, ", ")));
  }
}

void AddBenchMachine(const Sheet& sheet) {
  const View document = sheet.document;
  const std::string cpu = document.At("cpu.name").Text();
  const double threads = document.At("cpu.threads").NumberOr(0);
  sheet.page.Add(fmt::format("CPU: {}, {} {}.", cpu.empty() ? "n/a" : cpu, Count(threads),
                             threads == 1 ? "thread" : "threads"));
  const View gpu = document.At("gpu");
  if (gpu.IsPresent()) {
    const std::string from = gpu.At("peak_from").Text();
    sheet.page.Add(fmt::format("GPU: {}{}.{}", gpu.At("name").Text(),
                               gpu.At("predicted").IsTrue() ? ", * predicted by its preset" : "",
                               from.empty() ? "" : " Peaks from " + from + "."));
  }
  if (document.At("bench.stopped_by").Text() == "max_time")
    sheet.page.Add(fmt::format("--max-time was {}; more of it reaches the rest.",
                               Seconds(document.At("bench.max_time_s").NumberOr(0), 3)));
}

}  // namespace

std::string BenchSize(View document, double size) {
  return document.At("bench.unit").Text() == "bytes" ? BinaryAmount(size) : Count(size);
}

std::string BenchHeadline(View document) {
  const auto others = OthersBesideBench(document);
  if (!others) return PlainHeadline(document);
  return fmt::format("Beside other programs ({:.1f} of {:.3g} cores): {}", *others,
                     document.At("cpu.cores").NumberOr(0), PlainHeadline(document));
}

std::vector<std::string> BenchDoubts(View document) {
  constexpr double kWide = 0.1;  // half the interval of the median, of the median
  std::vector<std::string> doubts;
  if (OthersBesideBench(document))
    doubts.emplace_back("Other programs used the CPU meanwhile; its times are longer than they would be alone.");
  for (const View series : document.At("series").Items()) {
    std::vector<std::string> sizes;
    double widest = 0;
    for (const View point : series.At("points").Items()) {
      const auto low = point.At("time_low_s").Number(), high = point.At("time_high_s").Number();
      const double median = point.At("time_s").NumberOr(0);
      const double half = low && high && median > 0 ? (*high - *low) / 2 / median : 0;
      if (half <= kWide) continue;
      sizes.push_back(BenchSize(document, point.At("size").NumberOr(0)));
      widest = std::max(widest, half);
    }
    if (sizes.empty()) continue;
    doubts.push_back(fmt::format("Repeats differ: the median of {} at {} is known to ±{} only.",
                                 series.At("name").Text(), base::Join(sizes, ", "), Percent(widest)));
  }
  return doubts;
}

std::string BenchTrap(View document) {
  if (!ComparesDevices(document) || document.At("gpu.predicted").IsTrue()) return {};
  const std::vector<View> points = document.At("comparison.points").Items();
  if (points.empty()) return {};
  const View last = points.back();
  const auto ratio = last.At("ratio").Number(), enqueued = last.At("enqueued_ratio").Number();
  if (!ratio || !enqueued || *enqueued < 1.1 * *ratio) return {};
  const double size = last.At("size").NumberOr(0);
  const View point = PointOfSize(SeriesNamed(document, "gpu").At("points"), size);
  return fmt::format("Timing only the enqueue (no synchronisation) would show {} at {}: {} instead of {}.",
                     TimeText(point.At("enqueued_s")), BenchSize(document, size), Times(*enqueued), Times(*ratio));
}

BenchTable TableOfBench(View document) {
  BenchTable table;
  const std::string unit = document.At("bench.unit").Text();
  table.head.push_back(unit == "samples" ? "batch" : "size");
  const std::vector<View> all = document.At("series").Items();
  for (const View series : all) table.head.push_back(SeriesTitle(series));
  for (const View size : document.At("bench.sizes").Items()) {
    std::vector<std::string> row{BenchSize(document, size.NumberOr(0))};
    for (const View series : all)
      row.push_back(PointText(document, PointOfSize(series.At("points"), size.NumberOr(0))));
    if (std::any_of(row.begin(), row.end(), [](const std::string& cell) { return cell.starts_with(kEstimated); }))
      table.note = std::string(kEstimated) + " left out for --max-time; estimated from smaller sizes.";
    table.rows.push_back(std::move(row));
  }
  AddRatioColumns(document, table);
  return table;
}

std::string BenchText(const Document& document, const TextOptions& options) {
  Page page(options.colour);
  const Sheet sheet{View(&document, options.utf8), page, options.utf8,
                    options.detail == Detail::kFull};
  page.Add(BenchHeadline(sheet.document), Style::kGood);
  if (const std::string trap = BenchTrap(sheet.document); !trap.empty()) page.Add(trap);
  if (options.detail == Detail::kBrief) return page.Take();
  AddBenchTable(sheet);
  for (const std::string& doubt : BenchDoubts(sheet.document)) page.Add("Note: " + doubt);
  AddLeftOutSizes(sheet);
  AddBenchMachine(sheet);
  return page.Take();
}

}  // namespace pipesim::report
