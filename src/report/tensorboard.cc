#include "report/tensorboard.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <ctime>
#include <map>
#include <set>

#include "base/text.h"
#include "report/event_file.h"
#include "report/markdown.h"
#include "report/view.h"

namespace pipesim::report {
namespace {

/// Seconds since 1970 of "2026-01-31T12:00:00Z"; 0 where it is not such a date.
double WallTime(const std::string& date) {
  std::tm parts{};
  if (strptime(date.c_str(), "%Y-%m-%dT%H:%M:%SZ", &parts) == nullptr) return 0;
  return static_cast<double>(timegm(&parts));
}

/// Readers take a file for one of events by the word in its middle.
std::string EventFileName(double wall_s) {
  return fmt::format("events.out.tfevents.{:.0f}{}", wall_s, kEventFileEnd);
}

struct Scalar {
  std::string_view tag, path;
};

// The figures of a whole run, at its last step.
constexpr Scalar kRunScalars[] = {
    {"result/samples_per_s", "result.samples_per_s"},
    {"result/samples_per_s_low", "result.samples_per_s_interval.low"},
    {"result/samples_per_s_high", "result.samples_per_s_interval.high"},
    {"result/step_time_mean_s", "result.step_time_s.mean"},
    {"result/step_time_p50_s", "result.step_time_s.p50"},
    {"result/step_time_p95_s", "result.step_time_s.p95"},
    {"result/step_time_p99_s", "result.step_time_s.p99"},
    {"result/accelerator_utilization", "result.accelerator_utilization"},
    {"result/time_to_first_batch_s", "result.time_to_first_batch_s"},
    {"consumer/wall_s", "consumer.wall_s"},
    {"consumer/starved_s", "consumer.starved_s"},
    {"consumer/h2d_s", "consumer.h2d_s"},
    {"consumer/host_s", "consumer.host_s"},
    {"consumer/compute_s", "consumer.compute_s"},
    {"consumer/sync_s", "consumer.sync_s"},
    {"consumer/contended_s", "consumer.contended_s"},
    {"device/wall_s", "device.wall_s"},
    {"device/busy_s", "device.busy_s"},
    {"device/starved_s", "device.starved_s"},
    {"device/transfer_s", "device.transfer_s"},
    {"device/launch_s", "device.launch_s"},
    {"workers/wall_s", "workers.wall_s"},
    {"workers/read_s", "workers.read_s"},
    {"workers/prepare_s", "workers.prepare_s"},
    {"workers/collate_s", "workers.collate_s"},
    {"workers/contended_s", "workers.contended_s"},
    {"workers/blocked_on_consumer_s", "workers.blocked_on_consumer_s"},
    {"workers/blocked_on_order_s", "workers.blocked_on_order_s"},
    {"queue/occupancy_mean", "queue.occupancy_mean"},
    {"resources/cores_used", "resources.cores_used"},
    {"resources/storage_bytes_per_s", "resources.storage_bytes_per_s"},
    {"resources/storage_utilization", "resources.storage_utilization"},
    {"memory/rss_peak_bytes", "memory.rss_peak_bytes"},
    {"memory/queued_bytes", "memory.queued_bytes"}};

constexpr Scalar kEpochScalars[] = {{"epoch/samples_per_s", "samples_per_s"},
                                    {"epoch/cache_hit_fraction", "cache_hit_fraction"},
                                    {"epoch/time_to_first_batch_s", "time_to_first_batch_s"}};

constexpr Scalar kPointScalars[] = {{"samples_per_s", "samples_per_s"},
                                    {"samples_per_s_low", "samples_per_s_low"},
                                    {"samples_per_s_high", "samples_per_s_high"},
                                    {"step_time_s", "step_time_s"},
                                    {"accelerator_utilization", "accelerator_utilization"},
                                    {"queued_bytes", "queued_bytes"}};

template <std::size_t kCount>
void AddScalars(EventFile& file, const Scalar (&scalars)[kCount], View from, double wall_s,
                std::int64_t step) {
  for (const Scalar& scalar : scalars)
    if (const auto value = from.At(scalar.path).Number())
      file.AddScalar(scalar.tag, wall_s, step, *value);
}

/// A series of the measured part. Of a long run the document holds 4,096 values drawn evenly, in
/// the order of their steps; they are spread over the steps.
void AddSamples(EventFile& file, View document, std::string_view tag, std::string_view path,
                double end_s) {
  const std::vector<View> values = document.At(path).Items();
  const View result = document.At("result");
  const double steps = std::max(result.At("steps").NumberOr(0), static_cast<double>(values.size()));
  const double measured_s = result.At("measured_s").NumberOr(0);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double share = static_cast<double>(i) / static_cast<double>(values.size());
    const auto step = std::llround(std::min(steps, 1e15) * share);
    if (const auto value = values[i].Number())
      file.AddScalar(tag, end_s - measured_s * (1 - share), step, *value);
  }
}

std::vector<ExportedFile> RunFiles(View document, const Document& report, double wall_s) {
  EventFile file(wall_s);
  file.AddText("report", wall_s, RenderMarkdown(report));
  AddSamples(file, document, "steps/step_time_s", "samples.step_time_s", wall_s);
  AddSamples(file, document, "steps/queue_occupancy", "samples.occupancy", wall_s);
  for (const View epoch : document.At("result.epochs").Items())
    AddScalars(file, kEpochScalars, epoch, wall_s,
               epoch.At("index").Whole());
  const std::vector<View> repeats = document.At("repeats").Items();
  for (std::size_t i = 0; i < repeats.size(); ++i)
    if (const auto rate = repeats[i].At("samples_per_s").Number())
      file.AddScalar("repeats/samples_per_s", wall_s, static_cast<std::int64_t>(i), *rate);
  AddScalars(file, kRunScalars, document, wall_s,
             document.At("result.steps").Whole());
  return {{EventFileName(wall_s), file.bytes()}};
}

// ---- sweeps

/// The step of a point on an axis of whole numbers.
std::optional<std::int64_t> StepOf(std::string_view label) {
  const auto number = base::WholeNumber<std::int64_t>(label);
  return number && *number >= 0 ? number : std::nullopt;
}

struct SeriesAxis {
  std::string name;
  std::vector<std::string> labels;
};

/// The axis to draw along: the first of whole numbers, else the first.
std::size_t DrawnAxis(const std::vector<SeriesAxis>& axes) {
  for (std::size_t i = 0; i < axes.size(); ++i)
    if (std::all_of(axes[i].labels.begin(), axes[i].labels.end(),
                    [](const std::string& label) { return StepOf(label).has_value(); }))
      return i;
  return 0;
}

/// A folder's name from any text: no separators, not hidden, not "..".
std::string FolderName(const std::string& text) {
  constexpr std::size_t kLongest = 120;  // file systems allow 255 bytes
  std::string name;
  for (const char c : text.substr(0, kLongest))
    name += std::isalnum(static_cast<unsigned char>(c)) ||
                    std::string_view("=,+-_. ").find(c) != std::string_view::npos
                ? c
                : '_';
  if (name.empty() || name.front() == '.') name.insert(0, "_");
  return name;
}

struct SweepPosition {
  std::string series;     ///< "batch=64", of all axes but the drawn one; empty: no other axis
  std::int64_t step = 0;  ///< on the drawn axis
};

SweepPosition PositionOf(View point, const std::vector<SeriesAxis>& axes, std::size_t drawn) {
  SweepPosition at;
  const std::vector<View> position = point.At("position").Items();
  for (std::size_t i = 0; i < axes.size() && i < position.size(); ++i) {
    const double index = position[i].NumberOr(-1);
    if (index < 0 || index >= static_cast<double>(axes[i].labels.size())) continue;
    const std::string& label = axes[i].labels[static_cast<std::size_t>(index)];
    if (i == drawn)
      at.step = StepOf(label).value_or(static_cast<std::int64_t>(index));
    else
      at.series += (at.series.empty() ? "" : ",") + axes[i].name + "=" + label;
  }
  return at;
}

/// The files of a sweep by the name of their series.
class SeriesFiles {
 public:
  explicit SeriesFiles(double wall_s) : wall_s_(wall_s) {}

  void Add(const std::string& series, std::int64_t step, View outcome) {
    if (outcome.At("status").Text() != "ok") return;
    auto at = files_.find(series);
    if (at == files_.end()) at = files_.emplace(series, EventFile(wall_s_)).first;
    AddScalars(at->second, kPointScalars, outcome, wall_s_, step);
  }
  std::vector<ExportedFile> Take() const {
    std::vector<ExportedFile> out;
    std::set<std::string> folders;
    for (const auto& [series, file] : files_) {
      const std::string wanted = FolderName(series);
      std::string folder = wanted;
      for (int n = 2; !folders.insert(folder).second; ++n) folder = fmt::format("{}_{}", wanted, n);
      out.push_back({folder + "/" + EventFileName(wall_s_), file.bytes()});
    }
    return out;
  }

 private:
  double wall_s_;
  std::map<std::string, EventFile> files_;
};

std::vector<ExportedFile> SweepFiles(View document, const Document& report, double wall_s) {
  std::vector<SeriesAxis> axes;
  for (const View axis : document.At("sweep.axes").Items())
    axes.push_back({axis.At("name").Text(), axis.At("labels").Texts()});
  const std::size_t drawn = DrawnAxis(axes);
  std::vector<std::pair<SweepPosition, View>> points;
  for (const View point : document.At("points").Items())
    points.emplace_back(PositionOf(point, axes, drawn), point);
  // Charts connect values in the order of the file.
  std::stable_sort(points.begin(), points.end(),
                   [](const auto& a, const auto& b) { return a.first.step < b.first.step; });
  SeriesFiles files(wall_s);
  for (const auto& [at, point] : points) {
    const std::string more = at.series.empty() ? "" : at.series + ",";
    files.Add(more + "measured", at.step, point.At("run"));
    files.Add(more + "predicted", at.step, point.At("predicted"));
  }
  std::vector<ExportedFile> out = files.Take();
  EventFile text(wall_s);
  text.AddText("report", wall_s, RenderMarkdown(report));
  out.push_back({EventFileName(wall_s), text.bytes()});
  return out;
}

// ---- benches

/// As add_scalars('GPU vs CPU', {'GPU': …, 'CPU': …}, size) of PyTorch's SummaryWriter: a run for each
/// line, named MAIN_LINE, with the same tag. Seconds by size.
std::vector<ExportedFile> BenchFiles(View document, const Document& report, double wall_s) {
  std::vector<ExportedFile> out;
  const std::string name = document.At("bench.name").Text();
  const bool devices = document.At("comparison.slower").Text() == "cpu";
  const std::string main = devices || name == "add" || name == "matmul" || name == "step" ? "GPU vs CPU" : name;
  const auto add = [&](const std::string& line, View series, std::string_view value) {
    EventFile file(wall_s);
    for (const View point : series.At("points").Items())
      if (const auto seconds = point.At(value).Number())
        file.AddScalar(main, wall_s, point.At("size").Whole(), *seconds);
    out.push_back({FolderName(main + "_" + line) + "/" + EventFileName(wall_s), file.bytes()});
  };
  for (const View series : document.At("series").Items()) {
    const std::string own = series.At("name").Text();
    const std::string line = own == "gpu" ? "GPU" : own == "cpu" ? "CPU" : own;
    add(line, series, "time_s");
    if (own == "gpu") add("GPU enqueued", series, "enqueued_s");
  }
  EventFile text(wall_s);
  text.AddText("report", wall_s, RenderMarkdown(report));
  out.push_back({EventFileName(wall_s), text.bytes()});
  return out;
}

}  // namespace

std::vector<ExportedFile> RenderTensorBoard(const Document& report) {
  const View document(&report, true);
  const double wall_s = WallTime(document.At("context.date").Text());
  if (document.At("kind").Text() == "bench") return BenchFiles(document, report, wall_s);
  return document.At("kind").Text() == "sweep" ? SweepFiles(document, report, wall_s)
                                               : RunFiles(document, report, wall_s);
}

}  // namespace pipesim::report
