#include "diagnose/demands.h"

#include <algorithm>
#include <initializer_list>
#include <stdexcept>

namespace pipesim::diagnose {
namespace {

void Scale(std::optional<double>& seconds, double factor) {
  if (seconds) *seconds *= factor;
}

void ScaleLimit(std::optional<double>& per_s, double factor) {
  if (!per_s) return;
  if (factor > 0) {
    *per_s /= factor;
  } else {
    per_s.reset();
  }
}

void ScaleStorage(Scenario& s, double factor) {
  s.storage_latency_factor *= factor;
  ScaleLimit(s.storage_bytes_per_s, factor);
  ScaleLimit(s.storage_reads_per_s, factor);
  ScaleLimit(s.storage_parallel_reads, factor);
}

void ScaleLoadingCpu(Scenario& s, double factor) {
  auto& d = s.demands;
  // The CPU part of a read is inside read_s, so what becomes of it goes from there too.
  if (d.read_s && d.read_cpu_s) {
    *d.read_s = std::max(0.0, *d.read_s - *d.read_cpu_s * (1 - factor));
  }
  Scale(d.read_cpu_s, factor);
  Scale(d.prepare_cpu_s, factor);
  Scale(d.prepare_wait_s, factor);
  Scale(d.collate_s, factor);
}

void ScaleStep(Scenario& s, double factor) {
  auto& d = s.demands;
  // Reading a result back waits for the step that makes it: that part of sync is the step's.
  if (s.device_asynchronous && d.sync_s && d.step_s) {
    *d.sync_s -= std::min(*d.sync_s, *d.step_s) * (1 - factor);
  }
  Scale(d.step_s, factor);
  Scale(d.step_cpu_s, factor);
}

}  // namespace

Verdict VerdictOf(Demand demand) {
  const auto found = std::find_if(kVerdicts.begin(), kVerdicts.end(),
                                  [&](const auto& row) { return row.demand == demand; });
  if (found == kVerdicts.end()) throw std::logic_error("a demand without a verdict");
  return found->verdict;
}

Scenario Scaled(Scenario s, Demand demand, double factor) {
  switch (demand) {
    case Demand::kStorage:
      ScaleStorage(s, factor);
      break;
    case Demand::kLoadingCpu:
      ScaleLoadingCpu(s, factor);
      break;
    case Demand::kTransfer:
      Scale(s.demands.h2d_s, factor);
      Scale(s.demands.pin_s, factor);
      break;
    case Demand::kLaunch:
      if (s.device_asynchronous) Scale(s.demands.host_s, factor);
      break;
    case Demand::kSync:
      Scale(s.demands.sync_s, factor);
      break;
    case Demand::kOtherHost:
      if (!s.device_asynchronous) Scale(s.demands.host_s, factor);
      break;
    case Demand::kStep:
      ScaleStep(s, factor);
      break;
  }
  return s;
}

bool IsThere(const Scenario& s, Demand demand) {
  const auto any = [](std::initializer_list<std::optional<double>> parts) {
    return std::any_of(parts.begin(), parts.end(), [](const auto& p) { return p.value_or(0) > 0; });
  };
  const auto& d = s.demands;
  switch (demand) {
    case Demand::kStorage:
      return d.read_s.value_or(0) * s.storage_latency_factor > 0 || d.bytes > 0;
    case Demand::kLoadingCpu:
      return any({d.read_cpu_s, d.prepare_cpu_s, d.prepare_wait_s, d.collate_s});
    case Demand::kTransfer:
      return any({d.h2d_s, d.pin_s});
    case Demand::kLaunch:
      return s.device_asynchronous && any({d.host_s});
    case Demand::kOtherHost:
      return !s.device_asynchronous && any({d.host_s});
    case Demand::kSync:
      return any({d.sync_s});
    case Demand::kStep:
      return any({d.step_s});
  }
  throw std::logic_error("unknown demand");
}

Scenario FreeData(const Scenario& scenario) {
  return Free(Free(Free(scenario, Demand::kStorage), Demand::kLoadingCpu), Demand::kTransfer);
}

}  // namespace pipesim::diagnose
