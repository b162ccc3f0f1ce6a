// The format: "Trace Event Format", Google; perfetto.dev/docs/getting-started/other-formats links
// it. Slices are complete events "X", counters "C", the way of a batch a flow from "s" to "f".
#include "report/chrome_trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>

#include "report/view.h"
#include "trace/state_names.h"

namespace pipesim::report {
namespace {

using base::Duration;
using base::Instant;
using trace::Role;
using trace::RunTrace;
using trace::Span;
using trace::State;

constexpr int kThreads = 1, kDevice = 2;  // the trace's processes

/// A row of the trace: a thread, or a stream of the device.
struct Track {
  int process = kThreads, thread = 0;
  std::string name;
  bool by_batch = false;  ///< its slices lie in one slice a batch
};

// Numbers of tracks are their order from above.
constexpr int kRunTrack = 1, kEpochTrack = 2, kLeftOutTrack = 3, kConsumerTrack = 10,
              kPinTrack = 11, kFirstWorker = 20, kStepTrack = 1, kCopyTrack = 2;

Track TrackOf(const Span& span) {
  switch (span.role) {
    case Role::kConsumer:
      return {kThreads, kConsumerTrack, "consumer (training thread)", true};
    case Role::kPin:
      return {kThreads, kPinTrack, "pin thread", true};
    case Role::kWorker:
      return {kThreads, kFirstWorker + span.thread, fmt::format("worker {}", span.thread), true};
    case Role::kDevice:
      break;
  }
  if (span.state == State::kTransfer) return {kDevice, kCopyTrack, "copies", false};
  return {kDevice, kStepTrack, "steps", false};
}

/// The spans of one track in the order of time.
struct TrackSpans {
  Track track;
  std::vector<const Span*> spans;
};
using Tracks = std::map<std::pair<int, int>, TrackSpans>;

Tracks TracksOf(const RunTrace& trace) {
  Tracks tracks;
  for (const std::vector<Span>* spans : {&trace.first_spans, &trace.last_spans}) {
    for (const Span& span : *spans) {
      Track track = TrackOf(span);
      TrackSpans& into = tracks[{track.process, track.thread}];
      if (into.spans.empty()) into.track = std::move(track);
      into.spans.push_back(&span);
    }
  }
  return tracks;
}

struct LeftOut {
  std::int64_t from_batch = 0, to_batch = -1;  ///< both left out; none where to < from
  Instant begin, end;
};

LeftOut LeftOutOf(const RunTrace& trace) {
  if (trace.first_spans.empty() || trace.last_spans.empty()) return {};
  std::int64_t last_kept = -1, next_kept = INT64_MAX;
  LeftOut out{.from_batch = 0, .to_batch = -1, .begin = trace.begin, .end = trace.end};
  for (const Span& span : trace.first_spans) {
    last_kept = std::max(last_kept, span.batch);
    out.begin = std::max(out.begin, span.end);
  }
  for (const Span& span : trace.last_spans) {
    if (span.batch >= 0) next_kept = std::min(next_kept, span.batch);
    out.end = std::min(out.end, span.begin);
  }
  out.from_batch = last_kept + 1;
  out.to_batch = next_kept - 1;
  return out;
}

std::string JsonText(std::string_view text) {
  return Document(text).dump(-1, ' ', false, Document::error_handler_t::replace);
}

/// Writes events, a block at a time.
class Events {
 public:
  Events(const RunTrace& trace, const base::TextSink& sink) : begin_(trace.begin), sink_(sink) {}

  void NameProcess(int process, std::string_view name) {
    Add(R"({{"ph":"M","name":"process_name","pid":{},"args":{{"name":{}}}}})", process,
        JsonText(name));
    Add(R"({{"ph":"M","name":"process_sort_index","pid":{0},"args":{{"sort_index":{0}}}}})",
        process);
  }
  void NameTrack(const Track& track) {
    Add(R"({{"ph":"M","name":"thread_name","pid":{},"tid":{},"args":{{"name":{}}}}})",
        track.process, track.thread, JsonText(track.name));
    Add(R"({{"ph":"M","name":"thread_sort_index","pid":{0},"tid":{1},"args":{{"sort_index":{1}}}}})",
        track.process, track.thread);
  }
  void Slice(int process, int thread, std::string_view name, Instant from, Instant to,
             std::string_view args = "") {
    Add(R"({{"ph":"X","name":{},"pid":{},"tid":{},"ts":{},"dur":{},"args":{{{}}}}})",
        JsonText(name), process, thread, At(from), Micros(to - from), args);
  }
  /// The way of a batch from one track to another. `key` names it.
  void Flow(const Track& from, Instant leaves, const Track& to, Instant arrives, std::int64_t key) {
    Add(R"({{"ph":"s","name":"batch","cat":"batch","id":{},"pid":{},"tid":{},"ts":{}}})", key,
        from.process, from.thread, At(leaves));
    Add(R"({{"ph":"f","bp":"e","name":"batch","cat":"batch","id":{},"pid":{},"tid":{},"ts":{}}})",
        key, to.process, to.thread, At(arrives));
  }
  void Counter(std::string_view name, std::string_view unit, Instant at, double value) {
    Add(R"({{"ph":"C","name":{},"pid":{},"ts":{},"args":{{{}:{}}}}})", JsonText(name), kThreads,
        At(at), JsonText(unit), value);
  }
  void End(const Document& other_data) {
    text_ += "\n],\"displayTimeUnit\":\"ms\",\"otherData\":" +
             other_data.dump(-1, ' ', false, Document::error_handler_t::replace) + "}\n";
    Flush();
  }

 private:
  template <class... Values>
  void Add(fmt::format_string<Values...> format, Values&&... values) {
    constexpr std::size_t kBlock = 1 << 16;
    text_ += first_ ? "{\"traceEvents\":[\n" : ",\n";
    first_ = false;
    fmt::format_to(std::back_inserter(text_), format, std::forward<Values>(values)...);
    if (text_.size() > kBlock) Flush();
  }
  void Flush() {
    sink_(text_);
    text_.clear();
  }
  /// Whole nanoseconds as microseconds, without rounding.
  static std::string Micros(Duration time) {
    const std::int64_t ns = std::max<std::int64_t>(time.count(), 0);
    return fmt::format("{}.{:03}", ns / 1000, ns % 1000);
  }
  std::string At(Instant when) const { return Micros(when - begin_); }

  Instant begin_;
  const base::TextSink& sink_;
  std::string text_;
  bool first_ = true;
};

std::string ArgsOf(const Span& span) {
  std::string args;
  if (span.batch >= 0) args = fmt::format(R"("batch":{},"samples":{})", span.batch, span.samples);
  if (span.contended > Duration::zero())
    args += fmt::format(R"({}"contended_us":{})", args.empty() ? "" : ",",
                        base::ToSeconds(span.contended) * 1e6);
  return args;
}

/// The end of the spans of one batch that follow each other from `first` on.
std::size_t EndOfBatch(const std::vector<const Span*>& spans, std::size_t first) {
  std::size_t end = first + 1;
  while (end < spans.size() && spans[end]->batch == spans[first]->batch) ++end;
  return end;
}

void AddTrack(const TrackSpans& track, bool of_device, Events& events) {
  const auto& [where, spans] = track;
  events.NameTrack(where);
  for (std::size_t i = 0; i < spans.size();) {
    const std::int64_t batch = spans[i]->batch;
    const std::size_t end = where.by_batch && batch >= 0 ? EndOfBatch(spans, i) : i + 1;
    if (where.by_batch && batch >= 0)
      events.Slice(where.process, where.thread, fmt::format("batch {}", batch), spans[i]->begin,
                   spans[end - 1]->end);
    for (; i < end; ++i)
      events.Slice(where.process, where.thread, trace::NameOf(spans[i]->state, of_device),
                   spans[i]->begin, spans[i]->end, ArgsOf(*spans[i]));
  }
}

/// From the worker that made a batch to the step that took it.
void AddFlows(const Tracks& tracks, Events& events) {
  std::map<std::int64_t, std::pair<const Track*, const Span*>> made;  // by batch: its last span
  for (const auto& [key, track] : tracks) {
    if (track.track.process != kThreads || track.track.thread < kFirstWorker) continue;
    for (const Span* span : track.spans)
      if (span->batch >= 0 && span->state == State::kCollate)
        made[span->batch] = {&track.track, span};
  }
  const auto consumer = tracks.find({kThreads, kConsumerTrack});
  if (consumer == tracks.end()) return;
  for (const Span* span : consumer->second.spans) {
    if (span->batch < 0 || span->state == State::kStarved) continue;
    const auto from = made.find(span->batch);
    if (from == made.end()) continue;
    const auto [track, last] = from->second;
    if (last->end <= span->begin)
      events.Flow(*track, last->begin, consumer->second.track, span->begin, span->batch);
    made.erase(from);
  }
}

void AddSeries(const RunTrace& trace, trace::Series series, std::string_view name,
               std::string_view unit, Events& events) {
  for (const trace::Sampled& value : trace.series[static_cast<std::size_t>(series)].kept)
    events.Counter(name, unit, value.at, value.value);
}

/// The increase of a counter of the resource samples per second of each interval; nothing where it
/// never rises.
template <class TotalOf>
void AddRate(const RunTrace& trace, std::string_view name, std::string_view unit,
             const TotalOf& total_of, Events& events) {
  const auto& samples = trace.resources;
  if (samples.size() < 2 || total_of(samples.back()) <= total_of(samples.front())) return;
  for (std::size_t i = 1; i < samples.size(); ++i) {
    const double seconds = base::ToSeconds(samples[i].at - samples[i - 1].at);
    if (seconds > 0)
      events.Counter(name, unit, samples[i - 1].at,
                     (total_of(samples[i]) - total_of(samples[i - 1])) / seconds);
  }
}

/// Of the steps, at most this many pieces: single steps come in bursts.
constexpr std::size_t kRatePieces = 500;

void AddThroughput(const RunTrace& trace, Events& events) {
  const auto& progress = trace.progress;
  const std::size_t stride = progress.size() / kRatePieces + 1;
  for (std::size_t i = stride; i < progress.size(); i += stride) {
    const trace::Checkpoint &from = progress[i - stride], &to = progress[i];
    const double seconds = base::ToSeconds(to.at - from.at);
    if (seconds > 0)
      events.Counter("throughput", "samples/s", from.at,
                     static_cast<double>(to.samples - from.samples) / seconds);
  }
}

/// A level that resource samples hold; nothing where it is unknown.
template <class LevelOf>  // const trace::ResourceSample& -> optional<double>
void AddLevel(const RunTrace& trace, std::string_view name, std::string_view unit,
              const LevelOf& level_of, Events& events) {
  for (const trace::ResourceSample& at : trace.resources)
    if (const std::optional<double> level = level_of(at))
      events.Counter(name, unit, at.at, *level);
}

void AddGpuCounters(const RunTrace& trace, Events& events) {
  using Sample = trace::ResourceSample;
  const auto bytes = [](const Sample& at) {
    return at.gpu.memory_used ? std::optional(static_cast<double>(at.gpu.memory_used->count))
                              : std::nullopt;
  };
  AddLevel(trace, "GPU utilization (NVML)", "share",
           [](const Sample& at) { return at.gpu.utilization; }, events);
  AddLevel(trace, "GPU memory", "bytes", bytes, events);
  AddLevel(trace, "GPU power", "W", [](const Sample& at) { return at.gpu.power_w; }, events);
  AddLevel(trace, "GPU SM clock", "MHz", [](const Sample& at) { return at.gpu.sm_clock_mhz; },
           events);
  AddLevel(trace, "GPU memory clock", "MHz",
           [](const Sample& at) { return at.gpu.memory_clock_mhz; }, events);
}

void AddCounters(const RunTrace& trace, Events& events) {
  using Sample = trace::ResourceSample;
  AddSeries(trace, trace::Series::kOccupancy, "queue", "batches", events);
  AddThroughput(trace, events);
  AddSeries(trace, trace::Series::kLoss, "loss", "loss", events);
  AddRate(
      trace, "CPU of this run", "cores",
      [](const Sample& at) { return base::ToSeconds(at.process_cpu); }, events);
  AddRate(
      trace, "CPU of all programs", "cores",
      [](const Sample& at) { return base::ToSeconds(at.machine_cpu.value_or(Duration{})); },
      events);
  AddRate(
      trace, "storage", "bytes/s",
      [](const Sample& at) { return static_cast<double>(at.storage_bytes.count); }, events);
  AddRate(
      trace, "storage reads", "reads/s",
      [](const Sample& at) { return static_cast<double>(at.storage_reads); }, events);
  AddRate(
      trace, "storage bandwidth in use", "share",
      [](const Sample& at) { return base::ToSeconds(at.storage_bandwidth_busy); }, events);
  AddLevel(
      trace, "memory", "bytes",
      [](const Sample& at) {
        return at.resident.count > 0 ? std::optional(static_cast<double>(at.resident.count))
                                     : std::nullopt;
      },
      events);
  AddGpuCounters(trace, events);
}

/// The run with its warm-up and measured window, the epochs, and what is left out.
void AddFrame(const RunTrace& trace, View report, Events& events) {
  const auto slice = [&](int track, std::string_view name, Instant from, Instant to) {
    if (from < to) events.Slice(kThreads, track, name, from, to);
  };
  events.NameTrack({kThreads, kRunTrack, "run", false});
  slice(kRunTrack, "run", trace.begin, trace.end);
  const auto warmup_s = report.At("result.warmup_s").Number();
  const auto measured_s = report.At("result.measured_s").Number();
  // Of several repeats the report describes the median one, the trace the first.
  if (warmup_s && measured_s && report.At("repeats").Items().empty()) {
    const Instant from = trace.begin + base::FromSeconds(*warmup_s);
    slice(kRunTrack, "warm-up", trace.begin, std::min(from, trace.end));
    slice(kRunTrack, "measured", from, std::min(from + base::FromSeconds(*measured_s), trace.end));
  }
  if (trace.epochs.size() > 1) {
    events.NameTrack({kThreads, kEpochTrack, "epochs", false});
    for (const trace::EpochRecord& epoch : trace.epochs)
      slice(kEpochTrack, fmt::format("epoch {}", epoch.epoch), epoch.begin, epoch.end);
  }
  if (const LeftOut out = LeftOutOf(trace); out.from_batch <= out.to_batch) {
    events.NameTrack({kThreads, kLeftOutTrack, "not in this trace", false});
    slice(kLeftOutTrack,
          fmt::format("spans of batches {} to {} left out", out.from_batch, out.to_batch),
          out.begin, out.end);
  }
}

Document OtherData(const RunTrace& trace, View report) {
  const std::size_t repeats = std::max<std::size_t>(report.At("repeats").Items().size(), 1);
  const std::string left_out = SpansLeftOut(trace);
  return {{"program", "pipesim " + report.At("pipesim.version").Text()},
          {"date", report.At("context.date").Text()},
          {"host", report.At("context.host").Text()},
          {"engine", report.At("reality.engine").Text()},
          {"verdict", report.At("diagnosis.bottleneck").Text()},
          {"accelerators", report.At("result.accelerators").Whole(1)},
          {"shows", repeats > 1 ? fmt::format("repeat 1 of {}", repeats) : "the run"},
          {"left_out", left_out.empty() ? Document(nullptr) : Document(left_out)}};
}

}  // namespace

std::string SpansLeftOut(const RunTrace& trace) {
  const LeftOut out = LeftOutOf(trace);
  if (out.from_batch > out.to_batch) return {};
  return fmt::format(
      "the trace holds the first and last {} batches (at most {} spans each); the spans of batches "
      "{} to {} are left out",
      trace::kSpanBatches, trace::kKeptSpans, out.from_batch, out.to_batch);
}

void WriteChromeTrace(const RunTrace& trace, const Document& report, const base::TextSink& sink) {
  const View document(&report, true);
  Events events(trace, sink);
  const Tracks tracks = TracksOf(trace);
  const bool has_device = std::any_of(tracks.begin(), tracks.end(),
                                      [](const auto& one) { return one.first.first == kDevice; });
  const std::string device = document.At("effective.device_name").Text();
  events.NameProcess(kThreads, "pipesim: " + Setting(document, "name"));
  if (has_device) events.NameProcess(kDevice, "device" + (device.empty() ? "" : ": " + device));
  AddFrame(trace, document, events);
  for (const auto& [key, track] : tracks) AddTrack(track, has_device, events);
  AddFlows(tracks, events);
  AddCounters(trace, events);
  events.End(OtherData(trace, document));
}

}  // namespace pipesim::report
