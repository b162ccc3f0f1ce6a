#include "trace/run_trace.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <utility>

namespace pipesim::trace {

RunTrace TraceOfNothing(base::Instant at, EndReason why, std::string failure) {
  RunTrace trace;
  trace.begin = trace.end = trace.bucket_origin = at;
  trace.bucket_width = std::chrono::milliseconds(1);
  trace.end_reason = why;
  trace.failure = std::move(failure);
  return trace;
}

namespace {

using base::Duration;
using base::Instant;

Instant BorderOf(const RunTrace& trace, std::size_t bucket) {
  return trace.bucket_origin + trace.bucket_width * static_cast<std::int64_t>(bucket);
}

/// The time in the buckets from `first` on, before `end`.
Duration TimeInBuckets(const RunTrace& trace, const ThreadTotals& thread, State state,
                       std::size_t first, std::size_t end) {
  const std::vector<Duration>& times = thread.times[static_cast<std::size_t>(state)];
  Duration total{};
  for (std::size_t i = first; i < std::min(end, times.size()); ++i) total += times[i];
  for (const RepeatedTime& stretch : thread.repeated)
    total += stretch.TimeIn(state, BorderOf(trace, first), BorderOf(trace, end));
  return total;
}

/// The share of a bucket's time that lies in [from, to).
Duration ShareOfBucket(const RunTrace& trace, const ThreadTotals& thread, State state,
                       std::size_t bucket, Instant from, Instant to) {
  const Duration time = TimeInBuckets(trace, thread, state, bucket, bucket + 1);
  if (time == Duration::zero()) return time;
  // A thread that starts or ends inside the bucket has all of its time there on one side.
  const Instant own_begin = std::max(BorderOf(trace, bucket), thread.begin);
  const Instant own_end = std::min(BorderOf(trace, bucket + 1), thread.end);
  const Duration inside = std::min(to, own_end) - std::max(from, own_begin);
  const Duration own = own_end - own_begin;
  if (inside == own) return time;
  return Duration(
      std::llround(static_cast<double>(time.count()) *
                   (static_cast<double>(inside.count()) / static_cast<double>(own.count()))));
}

}  // namespace

Duration TimeIn(const RunTrace& trace, const ThreadTotals& thread, State state, Instant from,
                Instant to) {
  from = std::max({from, thread.begin, trace.bucket_origin});
  to = std::min(to, thread.end);
  const Duration width = trace.bucket_width;
  if (from >= to || width <= Duration::zero()) return Duration::zero();
  const auto first = static_cast<std::size_t>((from - trace.bucket_origin) / width);
  const auto last = static_cast<std::size_t>((to - trace.bucket_origin - Duration(1)) / width);
  const Duration at_first = ShareOfBucket(trace, thread, state, first, from, to);
  if (first == last) return at_first;
  return at_first + TimeInBuckets(trace, thread, state, first + 1, last) +
         ShareOfBucket(trace, thread, state, last, from, to);
}

Duration TimeIn(const RunTrace& trace, Role role, State state, Instant from, Instant to) {
  Duration total{};
  for (const ThreadTotals& thread : trace.threads) {
    if (thread.role == role) total += TimeIn(trace, thread, state, from, to);
  }
  return total;
}

std::vector<Duration> TimesPerBucket(const RunTrace& trace, const ThreadTotals& thread,
                                     State state) {
  std::vector<Duration> times = thread.times[static_cast<std::size_t>(state)];
  for (const RepeatedTime& stretch : thread.repeated) {
    const auto end = static_cast<std::size_t>(
        (stretch.end - trace.bucket_origin + trace.bucket_width - Duration(1)) / trace.bucket_width);
    times.resize(std::max(times.size(), end));
    for (std::size_t i = 0; i < end; ++i)
      times[i] += stretch.TimeIn(state, BorderOf(trace, i), BorderOf(trace, i + 1));
  }
  while (!times.empty() && times.back() == Duration::zero()) times.pop_back();
  return times;
}

}  // namespace pipesim::trace
