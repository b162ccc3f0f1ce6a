#include "cost/storage.h"

#include <algorithm>
#include <cmath>

#include "cost/rates.h"
#include "spec/drawn_text.h"
#include "spec/units_text.h"

namespace pipesim::cost {

using base::Duration;
using base::Instant;

double Storage::SlotSeconds() const {
  return base::ToSeconds(latency.Mean()) + base::ToSeconds(open_cost.Mean());
}

double Storage::OwnSeconds(double reads, double bytes) const {
  return present ? reads * SlotSeconds() + SecondsAt(bandwidth, bytes) : 0;
}

double Storage::AloneSeconds(double reads, double bytes) const {
  const double iops_s = present && iops_per_s ? reads / *iops_per_s : 0;
  return std::max(OwnSeconds(reads, bytes), iops_s);
}

double Storage::CpuSeconds(double reads, double hit_bytes) const {
  if (!present) return 0;
  return reads * base::ToSeconds(read_cpu) + SecondsAt(cache.hit_bandwidth, hit_bytes);
}

Storage Storage::WithCpuScaled(double factor) const {
  Storage scaled = *this;
  Scale(scaled.read_cpu, factor);
  Scale(scaled.cache.hit_bandwidth, factor);
  return scaled;
}

StorageLimits Storage::Limits() const {
  StorageLimits limits;
  if (!present) return limits;
  if (bandwidth) limits.bytes_per_s = bandwidth->per_s;
  limits.reads_per_s = iops_per_s;
  if (queue_depth && SlotSeconds() > 0) limits.parallel_reads_per_s = *queue_depth / SlotSeconds();
  return limits;
}

double Storage::MostPerSecond(double reads, double bytes) const {
  const StorageLimits limits = Limits();
  const auto most = [](const std::optional<double>& per_s, double per_batch) {
    return per_s && per_batch > 0 ? *per_s / per_batch : kNoLimit;
  };
  return std::min({most(limits.bytes_per_s, bytes), most(limits.reads_per_s, reads),
                   most(limits.parallel_reads_per_s, reads)});
}

Storage Storage::Scaled(double factor) const {
  Storage scaled = *this;
  scaled.latency = latency.Scaled(factor);
  scaled.open_cost = open_cost.Scaled(factor);
  Scale(scaled.bandwidth, factor);
  if (iops_per_s) scaled.iops_per_s = factor > 0 ? std::optional(*iops_per_s / factor) : std::nullopt;
  if (factor <= 0) scaled.queue_depth.reset();
  return scaled;
}

Storage StatedStorage(const spec::Storage& stated) {
  Storage storage;
  if (stated.kind != spec::StorageKind::kEmulated) return storage;
  storage.present = true;
  storage.latency = stated.latency;
  storage.open_cost = stated.open_cost;
  storage.bandwidth = stated.bandwidth;
  storage.fair = stated.sharing == spec::StorageSharing::kFair;
  storage.iops_per_s = stated.iops_per_s;
  storage.queue_depth = stated.queue_depth;
  storage.cache = stated.cache;
  return storage;
}

std::vector<std::pair<std::string, std::string>> StatedChanges(const Storage& from,
                                                               const Storage& to) {
  std::vector<std::pair<std::string, std::string>> changes;
  const auto change = [&](bool differs, const char* key, const std::string& text) {
    if (differs) changes.emplace_back(std::string("storage.") + key, text);
  };
  constexpr const char* kUnlimited = "unlimited";
  change(from.bandwidth != to.bandwidth, "bandwidth",
         to.bandwidth ? spec::ToText(*to.bandwidth) : kUnlimited);
  change(from.iops_per_s != to.iops_per_s, "iops",
         to.iops_per_s ? spec::NumberText(*to.iops_per_s) : kUnlimited);
  change(from.queue_depth != to.queue_depth, "queue_depth",
         to.queue_depth ? std::to_string(*to.queue_depth) : kUnlimited);
  change(from.latency != to.latency, "latency", spec::ToText(to.latency));
  change(from.open_cost != to.open_cost, "open_cost", spec::ToText(to.open_cost));
  return changes;
}

StorageServer::StorageServer(const Storage& storage) : serves_bytes_(!storage.SharesBandwidth()) {
  if (storage.bandwidth) bandwidth_.emplace(storage.bandwidth->per_s);
  if (storage.iops_per_s) iops_.emplace(*storage.iops_per_s);
  if (storage.queue_depth) {
    slots_.assign(static_cast<std::size_t>(*storage.queue_depth), Instant(Duration::min()));
  }
}

Instant StorageServer::Serve(const ReadRequest& request) {
  last_request_ = std::max(last_request_, request.at);
  Instant served = last_request_;
  if (bandwidth_ && serves_bytes_) served = std::max(served, bandwidth_->Serve(last_request_, request.bytes.count));
  if (!slots_.empty()) served = TakeSlot(served, request.latency);
  Instant done = served + request.latency;
  if (iops_) {
    const Instant last_start = iops_->LastStart(last_request_, request.reads) - request.between;
    done = std::max(done, last_start + request.latency / request.reads);
  }
  use_.reads += request.reads;
  use_.bytes += request.bytes;
  return done;
}

/// Holds the slot that is free first for `latency` from the moment that it returns. The slot sinks in
/// the heap until no other below it is free earlier.
Instant StorageServer::TakeSlot(Instant served, Duration latency) {
  served = std::max(served, slots_.front());
  const Instant free = served + latency;
  std::size_t place = 0;
  for (std::size_t below = 1; below < slots_.size(); below = 2 * place + 1) {
    if (below + 1 < slots_.size() && slots_[below + 1] < slots_[below]) ++below;
    if (slots_[below] >= free) break;
    slots_[place] = slots_[below];
    place = below;
  }
  slots_[place] = free;
  return served;
}

StorageUse StorageServer::UseOf(std::int64_t reads, base::Bytes bytes) const {
  StorageUse use{.reads = reads, .bytes = bytes};
  if (bandwidth_) use.bandwidth_busy = bandwidth_->TimeOf(bytes.count);
  if (iops_) use.iops_busy = iops_->TimeOf(reads);
  return use;
}

}  // namespace pipesim::cost
