#include "cost/storage.h"

#include <algorithm>
#include <cmath>
#include <functional>

namespace pipesim::cost {

using base::Duration;
using base::Instant;

Instant ServiceClock::Serve(Instant at, std::int64_t amount) {
  const double exact_ns = static_cast<double>(amount) * ns_each_ + carried_ns_;
  const double whole_ns = std::floor(exact_ns);
  carried_ns_ = exact_ns - whole_ns;
  const Duration time(static_cast<Duration::rep>(whole_ns));
  free_ = std::max(free_, at) + time;
  busy_ += time;
  return free_;
}

Instant ServiceClock::LastStart(Instant at, std::int64_t amount) {
  return Serve(at, amount) - Duration(static_cast<Duration::rep>(ns_each_));
}

StorageModel::StorageModel(const spec::Storage& storage) {
  if (storage.bandwidth) bandwidth_.emplace(storage.bandwidth->per_s);
  if (storage.iops_per_s) iops_.emplace(*storage.iops_per_s);
  if (storage.queue_depth) {
    slots_.assign(static_cast<std::size_t>(*storage.queue_depth), Instant(Duration::min()));
  }
}

Instant StorageModel::Ask(const StorageAsk& ask) {
  last_ask_ = std::max(last_ask_, ask.at);
  Instant served = last_ask_;
  if (bandwidth_) served = std::max(served, bandwidth_->Serve(last_ask_, ask.bytes.count));
  if (!slots_.empty()) {
    std::pop_heap(slots_.begin(), slots_.end(), std::greater<>());
    served = std::max(served, slots_.back());
    slots_.back() = served + ask.latency;
    std::push_heap(slots_.begin(), slots_.end(), std::greater<>());
  }
  Instant done = served + ask.latency;
  if (iops_) {
    done = std::max(done, iops_->LastStart(last_ask_, ask.reads) + ask.latency / ask.reads);
  }
  use_.reads += ask.reads;
  use_.bytes += ask.bytes;
  if (bandwidth_) use_.bandwidth_busy = bandwidth_->busy();
  if (iops_) use_.iops_busy = iops_->busy();
  return done;
}

}  // namespace pipesim::cost
