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

base::Duration TimeIn(const RunTrace& trace, const ThreadTotals& thread, State state,
                      base::Instant from, base::Instant to) {
  using base::Duration;
  from = std::max({from, thread.begin, trace.bucket_origin});
  to = std::min(to, thread.end);
  const Duration width = trace.bucket_width;
  Duration total{};
  if (from >= to || width <= Duration::zero()) return total;
  const auto first = static_cast<std::size_t>((from - trace.bucket_origin) / width);
  const auto last = static_cast<std::size_t>((to - trace.bucket_origin - Duration(1)) / width);
  const std::vector<Duration>& times = thread.times[static_cast<std::size_t>(state)];
  for (std::size_t i = first; i <= last && i < times.size(); ++i) {
    const Duration time = times[i];
    if (time == Duration::zero()) continue;
    const base::Instant begin = trace.bucket_origin + width * static_cast<std::int64_t>(i);
    // A thread that starts or ends inside the bucket has all of its time there on one side.
    const base::Instant own_begin = std::max(begin, thread.begin);
    const base::Instant own_end = std::min(begin + width, thread.end);
    const Duration inside = std::min(to, own_end) - std::max(from, own_begin);
    const Duration own = own_end - own_begin;
    total += inside == own ? time
                           : Duration(std::llround(static_cast<double>(time.count()) *
                                                   (static_cast<double>(inside.count()) /
                                                    static_cast<double>(own.count()))));
  }
  return total;
}

base::Duration TimeIn(const RunTrace& trace, Role role, State state, base::Instant from,
                      base::Instant to) {
  base::Duration total{};
  for (const ThreadTotals& thread : trace.threads) {
    if (thread.role == role) total += TimeIn(trace, thread, state, from, to);
  }
  return total;
}

}  // namespace pipesim::trace
