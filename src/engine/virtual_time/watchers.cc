#include "engine/virtual_time/watchers.h"

#include <algorithm>
#include <stdexcept>

namespace pipesim::engine::virtual_time {

using base::Duration;
using base::Instant;

Monitor::Monitor(VirtualRun& run, const RunControl& control, int id)
    : Actor(id), run_(run), control_(control) {}

void Monitor::Resume(Duration) {
  constexpr Duration kEvery = std::chrono::milliseconds(100);
  constexpr int kPartOfElapsed = 128;
  if (run_.Stuck()) throw std::logic_error("virtual run: all threads wait for each other");
  if (control_.stop != nullptr && control_.stop->IsSet()) {
    run_.End(trace::EndReason::kInterrupted);
  }
  SampleResources();
  if (control_.enough && !run_.ending()) {
    if (const auto reason = control_.enough(run_.builder.trace(), run_.now)) run_.End(*reason);
  }
  const Duration elapsed = run_.now.time_since_epoch();
  run_.Sleep(*this, run_.now + std::max(kEvery, elapsed / kPartOfElapsed));
}

void Monitor::SampleResources() {
  const cost::StorageUse& use = run_.storage.use();
  trace::ResourceSample sample;
  sample.at = run_.now;
  sample.process_cpu = run_.CpuUsed();
  sample.storage_reads = use.reads;
  sample.storage_bytes = use.bytes;
  sample.storage_bandwidth_busy = use.bandwidth_busy;
  sample.storage_iops_busy = use.iops_busy;
  sample.loaded = run_.ranks.front().loaded;
  run_.builder.Record(sample);
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
