// What engines record: spans of one thread in one state, steps, and epochs. Knows no engine.
#pragma once

#include <cstdint>
#include <optional>

#include "base/units.h"

namespace pipesim::trace {

enum class Role : std::uint8_t { kConsumer, kWorker, kPin, kDevice };
inline constexpr int kRoleCount = 4;

/// A thread is in exactly one state at a time. Each state is begun and ended by its own clock
/// reads; nothing is computed as a rest.
enum class State : std::uint8_t {
  // consumer
  kStarved,   ///< waits for a batch
  kTransfer,  ///< waits for the pin stage or a copy to the device; recorded for Role::kDevice it is
  ///< the copy itself by the device's clock: it stands beside the device's other states,
  ///< feeds Series::kTransferTime and belongs to no partition
  kHost,     ///< dispatches work
  kForward,  ///< synchronous devices: the parts of compute
  kBackward,
  kOptimizer,
  kCompute,  ///< waits for step n - in_flight
  kSync,     ///< reads a result back
  // worker (and the consumer itself at 0 workers)
  kStartup,
  kRead,
  kPrepare,
  kCollate,
  kBlockedOnConsumer,  ///< no room or no index: the consumer has not taken
  kBlockedOnOrder,     ///< no index: an earlier batch of another worker is unfinished
  kIdle,               ///< the epoch has no more work for this worker
  // pin thread
  kPin,
  // device, on its own clock
  kBusy,
  kDeviceStarved,   ///< nothing submitted: the host had no batch
  kDeviceTransfer,  ///< waits for a copy
  kDeviceLaunch,    ///< waits for the host to launch
  kDeviceSync,      ///< waits for a host that reads results
  // split off by the recorder, never entered
  kContended,  ///< runnable without a core, or woken late
};
inline constexpr int kStateCount = static_cast<int>(State::kContended) + 1;

/// Half-open [begin, end). `contended` <= end - begin is the part that belongs to kContended
/// instead.
struct Span {
  base::Instant begin, end;
  base::Duration contended{};
  std::int64_t batch = -1;  ///< running number over the whole run, from 0; -1: none
  std::int32_t samples = 0;
  std::uint16_t thread = 0;  ///< index within the role
  Role role = Role::kConsumer;
  State state = State::kStarved;
};

/// One training step, recorded by the consumer when it turns to the next batch.
struct StepRecord {
  std::int64_t step = 0;   ///< from 0 over the whole run
  std::int64_t batch = 0;  ///< running number of the batch it trained on
  std::int64_t epoch = 0;
  std::int32_t samples = 0;    ///< true size
  std::int32_t occupancy = 0;  ///< made and not yet taken, when the consumer turned to take one
  bool queue_full = false;     ///< occupancy == the most there can be
  base::Instant taken;         ///< the batch was in hand
  base::Instant done;          ///< the consumer turns to the next batch
  base::Duration starved{};    ///< waited for this batch
  std::optional<double> loss;  ///< where it was read back
};

/// The cost of one worker's batch, for demands: sums over its samples.
struct BatchRecord {
  std::int64_t batch = 0;
  std::uint16_t worker = 0;
  std::int32_t samples = 0;
  std::int64_t reads = 0;       ///< that storage served; of real files all, cached or not
  base::Bytes bytes{};          ///< of those reads
  base::Duration read{};        ///< waiting for storage, wall without contention
  base::Duration read_cpu{};    ///< CPU time of reading: copies of cache hits, system calls
  base::Duration prepare{};     ///< CPU time (burn, decode) or waiting (wait), without contention
  base::Duration collate{};     ///< CPU time
  base::Duration contended{};   ///< summed over the three
  std::int32_t cache_hits = 0;  ///< reads that the emulated cache served instead
};

/// Receives what an engine records. Which threads may call is the implementation's to say: the
/// builder takes one; the threaded engine gives each thread a sink of its own in front of it.
class SpanSink {
 public:
  virtual ~SpanSink() = default;
  virtual void Record(const Span& span) = 0;
  virtual void Record(const StepRecord& step) = 0;
  virtual void Record(const BatchRecord& batch) = 0;
};

}  // namespace pipesim::trace
