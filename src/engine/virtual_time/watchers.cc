#include "engine/virtual_time/watchers.h"

#include <algorithm>
#include <stdexcept>

namespace pipesim::engine::virtual_time {

using base::Duration;
using base::Instant;

Monitor::Monitor(VirtualRun& run, const RunControl& control, int id)
    : Actor(id), run_(run), control_(control) {}

void Monitor::Resume(Duration) {
  if (run_.Stuck()) throw std::logic_error("virtual run: all threads wait for each other");
  SampleResources();
  if (control_.enough && !run_.ending()) {
    if (const auto reason = control_.enough(run_.builder.trace(), run_.now)) run_.End(*reason);
  }
  run_.Sleep(*this, run_.now + Interval(run_.now));
}

Duration Monitor::Interval(Instant now) {
  constexpr Duration kEvery = std::chrono::milliseconds(100);
  constexpr int kPartOfElapsed = 128;
  return std::max(kEvery, now.time_since_epoch() / kPartOfElapsed);
}

void Monitor::SampleResources() {
  if (run_.builder.only_rate()) return;
  run_.builder.Record(run_.SampleOf(run_.Counters(), run_.now));
}

Timeout::Timeout(VirtualRun& run, const Consumer& consumer, std::function<std::string()> missing,
                 int id)
    : Actor(id), run_(run), consumer_(consumer), missing_(std::move(missing)) {}

void Timeout::Resume(Duration) {
  const Duration timeout = run_.experiment.loader.timeout;
  const Instant deadline = consumer_.waits_since().value_or(run_.now) + timeout;
  if (run_.Sleep(*this, deadline)) return;
  --run_.watchers;
  run_.End(trace::EndReason::kFailed, NoBatchWithin(timeout, missing_()));
}

}  // namespace pipesim::engine::virtual_time
