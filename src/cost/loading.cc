#include "cost/loading.h"

#include <algorithm>
#include <utility>

#include "cost/rates.h"

namespace pipesim::cost {

using base::Bytes;
using base::Duration;

Prepare Prepare::Decoding(base::Drawn<Duration> cost, Bytes prepared) {
  const double sample_s = cost.in_units.Mean() * 1e-9;
  Prepare decoding{.kind = Kind::kCpu, .cost = std::move(cost), .divisible = false};
  if (sample_s > 0) decoding.memory_bytes_per_s = static_cast<double>(prepared.count) / sample_s;
  return decoding;
}

int Prepare::Threads(int worker_threads) const {
  return UsesCores() && divisible ? std::max(1, worker_threads) : 1;
}

double Prepare::WorkSeconds(double samples, int threads) const {
  const double own_ns = kind == Kind::kCpu ? cost.in_units.Mean() / Threads(threads) : 0;
  return samples * (own_ns + static_cast<double>(python.count())) * 1e-9;
}

double Prepare::WaitSeconds(double samples) const {
  const double own_ns = kind == Kind::kWait ? cost.in_units.Mean() : 0;
  return samples * (own_ns + wait.in_units.Mean() + static_cast<double>(late.count())) * 1e-9;
}

double Prepare::CpuSeconds(double samples) const {
  const double own_ns = kind == Kind::kCpu ? cost.in_units.Mean() : 0;
  return samples * (own_ns + static_cast<double>(python.count())) * 1e-9;
}

Prepare Prepare::Scaled(double factor) const {
  Prepare scaled = *this;
  scaled.cost = cost.Scaled(factor);
  scaled.wait = wait.Scaled(factor);
  Scale(scaled.python, factor);
  Scale(scaled.late, factor);
  scaled.memory_bytes_per_s = factor > 0 ? memory_bytes_per_s / factor : 0;
  return scaled;
}

Duration Collate::Time(Bytes bytes, std::int64_t samples, Duration varies) const {
  Duration time = batch + varies + sample * samples;
  if (bandwidth) time += bytes / *bandwidth;
  if (fault_bandwidth) time += bytes / *fault_bandwidth;
  return time;
}

Collate Collate::MadeBy(int workers) const {
  Collate made = *this;
  if (workers == 0 && own_fault_bandwidth) made.fault_bandwidth = own_fault_bandwidth;
  return made;
}

Collate Collate::Scaled(double factor) const {
  Collate scaled = *this;
  Scale(scaled.batch, factor);
  scaled.varying = varying.Scaled(factor);
  Scale(scaled.sample, factor);
  Scale(scaled.bandwidth, factor);
  Scale(scaled.fault_bandwidth, factor);
  Scale(scaled.own_fault_bandwidth, factor);
  return scaled;
}

Duration Pin::Time(Bytes bytes) const { return bandwidth ? bytes / *bandwidth : Duration::zero(); }

Pin Pin::Scaled(double factor) const {
  Pin scaled = *this;
  Scale(scaled.bandwidth, factor);
  return scaled;
}

Duration Transfer::Time(Bytes bytes, bool pinned) const {
  if (!bandwidth) return latency;
  const Duration time = bytes / *bandwidth;
  return latency + (pinned ? time : Duration(std::llround(static_cast<double>(time.count()) * pageable_factor)));
}

Transfer Transfer::Scaled(double factor) const {
  Transfer scaled = *this;
  Scale(scaled.latency, factor);
  Scale(scaled.bandwidth, factor);
  return scaled;
}

}  // namespace pipesim::cost
