// Everything that a RunTrace of the virtual engine holds, as text, to compare two runs.
#pragma once

#include <fmt/format.h>

#include <string>

#include "trace/run_trace.h"

namespace pipesim::engine {

inline std::int64_t Ns(base::Instant at) { return at.time_since_epoch().count(); }

inline std::string Print(const trace::Span& span) {
  return fmt::format("\nspan {} {} {} {} {} {} {} {}", Ns(span.begin), Ns(span.end),
                     span.contended.count(), span.batch, span.samples, span.thread,
                     static_cast<int>(span.role), static_cast<int>(span.state));
}

inline std::string Print(const trace::Checkpoint& mark) {
  return fmt::format(" {}/{}/{}/{}/{}", mark.steps, mark.samples, mark.epoch, Ns(mark.at),
                     mark.loaded);
}

inline std::string Print(const trace::RunTrace& trace, const trace::ThreadTotals& thread) {
  std::string text = fmt::format("\nthread {} {} {} {}", static_cast<int>(thread.role),
                                 thread.index, Ns(thread.begin), Ns(thread.end));
  for (std::size_t state = 0; state < trace::kStateCount; ++state) {
    text += ";";
    for (const base::Duration time :
         TimesPerBucket(trace, thread, static_cast<trace::State>(state)))
      text += fmt::format(" {}", time.count());
  }
  return text;
}

inline std::string Print(const trace::EpochRecord& epoch) {
  return fmt::format("\nepoch {} {} {} {} {} {} {} {} {} {} {}", epoch.epoch, Ns(epoch.begin),
                     Ns(epoch.end), epoch.first_batch.count(), epoch.starved.count(), epoch.steps,
                     epoch.samples, epoch.reads, epoch.cache_hits, epoch.bytes.count,
                     epoch.complete);
}

inline std::string Print(const trace::ResourceSample& sample) {
  return fmt::format("\nresources {} {} {} {} {} {} {}", Ns(sample.at), sample.process_cpu.count(),
                     sample.storage_reads, sample.storage_bytes.count,
                     sample.storage_bandwidth_busy.count(), sample.storage_iops_busy.count(),
                     sample.loaded);
}

inline std::string Print(const trace::RunTrace& trace) {
  std::string text = fmt::format(
      "{} {} {} {} {} {} {} {} {}", Ns(trace.begin), Ns(trace.end), trace.steps, trace.samples,
      trace.first_batch ? Ns(*trace.first_batch) : -1, trace.bucket_width.count(),
      Ns(trace.bucket_origin), static_cast<int>(trace.end_reason), trace.failure);
  for (const auto& thread : trace.threads) text += Print(trace, thread);
  text += fmt::format("\nprogress {}", trace.checkpoint_stride);
  for (const auto& mark : trace.progress) text += Print(mark);
  for (const auto& other : trace.others) {
    text += fmt::format("\nother {}", other.stride);
    for (const auto& mark : other.kept) text += Print(mark);
  }
  for (const auto& epoch : trace.epochs) text += Print(epoch);
  for (const auto& series : trace.series) {
    text += fmt::format("\nseries {}", series.seen);
    for (const auto& kept : series.kept)
      text += fmt::format(" {}/{}/{}", kept.key, Ns(kept.at), kept.value);
  }
  for (const auto& span : trace.first_spans) text += Print(span);
  for (const auto& span : trace.last_spans) text += Print(span);
  for (const auto& sample : trace.resources) text += Print(sample);
  return text;
}

}  // namespace pipesim::engine
