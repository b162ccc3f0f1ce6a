// What a virtual run has used so far: the cores, the storage, and what it has loaded. Plain data.
#pragma once

#include <cstdint>

#include "engine/virtual_time/processors.h"

namespace pipesim::engine::virtual_time {

struct ResourceCounters {
  base::Duration cpu_of_free_cores{};  ///< of VirtualRun::cores_suffice
  Processors::Usage cpu;               ///< else
  std::int64_t reads = 0, bytes = 0;   ///< served by storage
  std::int64_t loaded = 0;             ///< StepRecord::loaded
};

/// `counters` and `times` what they grow by from `from` to `to`. cpu.updated stays.
inline ResourceCounters Grown(ResourceCounters counters, const ResourceCounters& from,
                              const ResourceCounters& to, std::int64_t times) {
  counters.cpu_of_free_cores += times * (to.cpu_of_free_cores - from.cpu_of_free_cores);
  counters.cpu.used_ns += times * (to.cpu.used_ns - from.cpu.used_ns);
  counters.cpu.used_parts += times * (to.cpu.used_parts - from.cpu.used_parts);
  counters.reads += times * (to.reads - from.reads);
  counters.bytes += times * (to.bytes - from.bytes);
  counters.loaded += times * (to.loaded - from.loaded);
  return counters;
}

}  // namespace pipesim::engine::virtual_time
