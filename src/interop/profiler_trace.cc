#include "interop/profiler_trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <istream>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "base/error.h"
#include "base/number_text.h"
#include "base/text.h"
#include "interop/packed_file.h"
#include "interop/time_bins.h"

namespace pipesim::interop {
namespace {

constexpr std::size_t kMostKept = 4096;
constexpr std::string_view kStep = "ProfilerStep#";
constexpr double kMicro = 1e-6;
// Nothing is recorded for 30 years, or 3,000 years after the epoch.
constexpr double kLongest_us = 1e15, kLatest_us = 1e17;

/// One event of traceEvents, as far as it counts.
struct Event {
  std::string phase, category, name;
  double begin_us = 0, time_us = 0;
  double bytes = 0;
};

bool StartsWith(const std::string& text, std::string_view prefix) { return text.starts_with(prefix); }

/// Calls in which the host waits for the device (CUDA's runtime and driver, and HIP's).
bool WaitsForDevice(const std::string& call) {
  return call.find("Synchronize") != std::string::npos;
}

/// Adds up events; order does not matter.
class TraceCounter {
 public:
  void Add(const Event& event) {
    ++summary_.events;
    if (event.phase != "X" || !(event.time_us >= 0)) return;
    if (event.time_us > kLongest_us || std::abs(event.begin_us) > kLatest_us) return;
    if (event.category == "kernel") {
      ++summary_.kernels;
      bins_.Add(kKernel, event.begin_us, event.time_us);
    } else if (event.category == "gpu_memcpy") {
      AddCopy(event);
    } else if (event.category == "cuda_runtime" || event.category == "cuda_driver" ||
               event.category == "hip_runtime") {
      if (WaitsForDevice(event.name)) AddSync(event);
    } else if (event.category == "user_annotation") {
      AddAnnotation(event);
    } else if (event.category == "gpu_user_annotation" && StartsWith(event.name, kStep)) {
      Keep(on_device_, event);
    }
  }
  void SetDevice(std::string name) { summary_.device_name = std::move(name); }
  /// The sums over whole steps. `broken`: see TraceSummary.
  TraceSummary Finish(std::string broken);

 private:
  enum Kind : std::size_t { kKernel, kCopy, kLoader, kSync, kKinds };
  struct Span {
    double begin_us = 0, end_us = 0;
  };

  void AddCopy(const Event& event) {
    bins_.Add(kCopy, event.begin_us, event.time_us);
    if (event.name.find("HtoD") == std::string::npos) return;
    ++summary_.copies;
    summary_.copied_bytes += event.bytes;
    summary_.pageable = summary_.pageable || event.name.find("Pageable") != std::string::npos;
  }
  void AddSync(const Event& event) {
    ++summary_.host_syncs;
    bins_.Add(kSync, event.begin_us, event.time_us);
  }
  void AddAnnotation(const Event& event) {
    constexpr std::string_view kLoading = "enumerate(DataLoader)#";
    if (StartsWith(event.name, kStep)) {
      Keep(named_, event);
    } else if (StartsWith(event.name, kLoading)) {
      bins_.Add(kLoader, event.begin_us, event.time_us);
      Keep(loadings_, event);
      const std::string rest = event.name.substr(kLoading.size());
      summary_.loader = rest.substr(0, rest.find('.'));
    }
  }
  static void SortByBegin(std::vector<Span>& spans) {
    std::sort(spans.begin(), spans.end(),
              [](const Span& a, const Span& b) { return a.begin_us < b.begin_us; });
  }
  void Keep(std::vector<Span>& spans, const Event& event) {
    if (spans.size() < kMostKept)
      spans.push_back({event.begin_us, event.begin_us + event.time_us});
  }
  std::vector<Span> Steps();
  /// From one step's first kernel to the next's; empty where the device keeps up with `host`.
  std::vector<Span> StepsOfSlowerDevice(const std::vector<Span>& host);

  TraceSummary summary_;
  TimeBins<kKinds> bins_;
  std::vector<Span> named_, loadings_;  ///< steps, waits for a batch
  std::vector<Span> on_device_;         ///< named steps, by their kernels
};

/// The named ones, else from one wait for a batch to the next.
std::vector<TraceCounter::Span> TraceCounter::Steps() {
  SortByBegin(named_);
  SortByBegin(loadings_);
  summary_.steps_are_named = !named_.empty();
  if (summary_.steps_are_named) return named_;
  std::vector<Span> steps;
  for (std::size_t i = 0; i + 1 < loadings_.size(); ++i)
    steps.push_back({loadings_[i].begin_us, loadings_[i + 1].begin_us});
  return steps;
}

/// A host that only launches is done with a step long before the device is, until the queue of
/// launches is full. In a short trace it never is.
std::vector<TraceCounter::Span> TraceCounter::StepsOfSlowerDevice(const std::vector<Span>& host) {
  constexpr double kSlower = 1.05;
  constexpr std::size_t kFewest = 3;
  if (on_device_.size() < kFewest || host.empty()) return {};
  SortByBegin(on_device_);
  std::vector<Span> steps;
  for (std::size_t i = 0; i + 1 < on_device_.size(); ++i)
    steps.push_back({on_device_[i].begin_us, on_device_[i + 1].begin_us});
  const auto mean_us = [](const std::vector<Span>& all) {
    return (all.back().end_us - all.front().begin_us) / static_cast<double>(all.size());
  };
  if (mean_us(steps) < kSlower * mean_us(host)) return {};
  return steps;
}

TraceSummary TraceCounter::Finish(std::string broken) {
  std::vector<Span> steps = Steps();
  if (std::vector<Span> slower = StepsOfSlowerDevice(steps); !slower.empty()) steps = std::move(slower);
  summary_.broken = std::move(broken);
  summary_.steps = static_cast<std::int64_t>(steps.size());
  if (steps.empty()) return std::move(summary_);
  const double from = steps.front().begin_us, to = steps.back().end_us;
  summary_.wall_s = (to - from) * kMicro;
  for (const Span& wait : loadings_) {
    if (wait.begin_us < from || wait.end_us > to) continue;
    summary_.loader_s += (wait.end_us - wait.begin_us) * kMicro;
  }
  if (summary_.kernels == 0) return std::move(summary_);
  const double width = bins_.width_us();
  bins_.ForEachWithin(from, to, [&](const auto& times) {
    const double kernel = times[kKernel];
    const double copy = std::min<double>(times[kCopy], width - kernel);
    const double idle = width - kernel - copy;
    summary_.busy_s += kernel * kMicro;
    summary_.copying_s += copy * kMicro;
    summary_.idle_s += idle * kMicro;
    summary_.starved_s += std::min<double>(idle, times[kLoader]) * kMicro;
    summary_.sync_s += times[kSync] * kMicro;
  });
  return std::move(summary_);
}

/// Picks the events out of the JSON while it is parsed. Everything else passes by.
class TraceHandler final : public nlohmann::json_sax<nlohmann::json> {
 public:
  explicit TraceHandler(TraceCounter& counter) : counter_(counter) {}

  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t value) override { return Number(static_cast<double>(value)); }
  bool number_unsigned(number_unsigned_t value) override {
    return Number(static_cast<double>(value));
  }
  bool number_float(number_float_t value, const string_t&) override { return Number(value); }
  bool string(string_t& value) override;
  bool binary(binary_t&) override { return true; }
  bool start_object(std::size_t) override;
  bool key(string_t& value) override {
    key_ = value;
    if (depth_ == 1) section_ = value;
    return true;
  }
  bool end_object() override;
  bool start_array(std::size_t) override;
  bool end_array() override {
    --depth_;
    return true;
  }
  bool parse_error(std::size_t position, const std::string&,
                   const nlohmann::detail::exception&) override {
    broken_at_ = position;
    return false;
  }

  /// It had a list of events.
  bool is_trace() const { return is_trace_; }
  std::optional<std::size_t> broken_at() const { return broken_at_; }

 private:
  bool Number(double value);
  bool InEvents() const { return bare_ || section_ == "traceEvents"; }
  /// Depth of an event's own members: {"traceEvents": [{...}]}, or [{...}].
  int DepthOfEvent() const { return bare_ ? 2 : 3; }

  TraceCounter& counter_;
  Event event_;
  std::string section_, key_;
  int depth_ = 0;
  bool bare_ = false;  ///< the file is the list itself
  bool is_trace_ = false;
  std::optional<std::size_t> broken_at_;
};

bool TraceHandler::Number(double value) {
  if (!InEvents()) return true;
  const int below = depth_ - DepthOfEvent();
  if (below == 0 && key_ == "ts") event_.begin_us = value;
  if (below == 0 && key_ == "dur") event_.time_us = value;
  if (below == 1 && key_ == "bytes") event_.bytes = value;
  return true;
}

bool TraceHandler::string(string_t& value) {
  if (section_ == "deviceProperties" && depth_ == 3 && key_ == "name") counter_.SetDevice(value);
  if (!InEvents() || depth_ != DepthOfEvent()) return true;
  if (key_ == "ph") event_.phase = value;
  if (key_ == "cat") event_.category = value;
  if (key_ == "name") event_.name = value;
  return true;
}

bool TraceHandler::start_object(std::size_t) {
  ++depth_;
  if (InEvents() && depth_ == DepthOfEvent()) event_ = {};
  return true;
}

bool TraceHandler::end_object() {
  if (InEvents() && depth_ == DepthOfEvent()) counter_.Add(event_);
  --depth_;
  return true;
}

bool TraceHandler::start_array(std::size_t) {
  ++depth_;
  if (depth_ == 1) bare_ = true;
  if (InEvents() && depth_ == DepthOfEvent() - 1) is_trace_ = true;
  return true;
}

[[noreturn]] void NoTrace(const std::filesystem::path& file, std::string what,
                          std::string suggestion) {
  base::Problem problem;
  problem.source = base::Printable(file.string());
  problem.what = std::move(what);
  problem.suggestion = std::move(suggestion);
  throw base::ConfigError({problem});
}

}  // namespace

TraceSummary ReadProfilerTrace(const std::filesystem::path& file) {
  PackedFile text(file);
  std::istream stream(&text);
  TraceCounter counter;
  TraceHandler handler(counter);
  const bool whole = nlohmann::json::sax_parse(stream, &handler);
  std::string broken, end;
  if (!whole) {
    end = base::WithCommas(static_cast<std::int64_t>(handler.broken_at().value_or(0)));
    broken = fmt::format("breaks off at byte {} of the JSON", end);
  } else if (text.broken()) {
    broken = "is damaged at the end of its packing";
  }
  if (!handler.is_trace())
    NoTrace(file,
            end.empty() ? "this JSON has no traceEvents"
                        : fmt::format("this is no trace: at byte {} it stops being JSON", end),
            "a trace of torch.profiler: profiler.export_chrome_trace(\"trace.json.gz\")");
  TraceSummary summary = counter.Finish(broken);
  constexpr std::int64_t kFewestSteps = 2;
  if (summary.steps < kFewestSteps)
    NoTrace(file,
            fmt::format("the trace{} has {} whole training step{}; a verdict needs {}",
                        broken.empty() ? "" : " " + broken + " and", summary.steps,
                        summary.steps == 1 ? "" : "s", kFewestSteps),
            "call profiler.step() after each step, or iterate a DataLoader while recording");
  return summary;
}

bool LooksLikeTrace(const std::filesystem::path& file) {
  constexpr std::uintmax_t kLargestWorkload = std::uintmax_t{1} << 20;
  const std::string extension = file.extension();
  if (extension == ".json" || extension == ".gz") return true;
  std::error_code failed;
  const std::uintmax_t size = std::filesystem::file_size(file, failed);
  if (failed) return false;
  return size > kLargestWorkload || PackedFile(file).packed();
}

}  // namespace pipesim::interop
