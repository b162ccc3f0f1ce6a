// The records that engines write: spans of a thread in a state, steps and batches.
#pragma once

#include <cstdint>
#include <optional>

#include "base/units.h"

namespace pipesim::trace {

enum class Role : std::uint8_t { kConsumer, kWorker, kPin, kDevice };
inline constexpr int kRoleCount = 4;

/// A thread is in exactly one state at a time. Each state is begun and ended by its own clock
/// reads; none is computed as a remainder.
enum class State : std::uint8_t {
  // consumer
  kStarved,   ///< waits for a batch
  kTransfer,  ///< waits for the pin stage or a copy to the device. For Role::kDevice: the copy
              ///< itself
  ///< by the device's clock, which may overlap other states, feeds Series::kTransferTime and
  ///< belongs
  ///< to no partition
  kHost,     ///< dispatches work
  kForward,  ///< this and the next two: parts of compute on synchronous devices
  kBackward,
  kOptimizer,
  kCompute,  ///< waits for step n - in_flight
  kSync,     ///< reads a result back
  // worker (and the consumer itself at 0 workers)
  kStartup,
  kRead,
  kPrepare,
  kCollate,
  kBlockedOnConsumer,  ///< no room or no index, because the consumer has not taken a batch
  kBlockedOnOrder,     ///< no index, because an earlier batch of another worker is unfinished
  kIdle,               ///< the epoch has no more work for this worker
  kSend,               ///< a worker process hands its batch over
  // consumer or pin thread
  kReceive,            ///< takes a batch over from a worker process
  // pin thread
  kPin,
  // device, on its own clock
  kBusy,
  kDeviceStarved,   ///< nothing submitted: the host had no batch
  kDeviceTransfer,  ///< waits for a copy
  kDeviceLaunch,    ///< waits for the host to launch
  kDeviceSync,      ///< waits while the host reads results
  // split off by the recorder, never entered
  kContended,  ///< runnable without a core, or woken late
};
inline constexpr int kStateCount = static_cast<int>(State::kContended) + 1;

/// Half-open [begin, end). `contended` <= end - begin counts as kContended instead of `state`.
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
  std::int32_t occupancy = 0;  ///< batches made and not yet taken when the consumer asked for one
  base::Instant taken;         ///< when the consumer got the batch
  base::Instant done;          ///< the consumer turns to the next batch
  base::Duration starved{};    ///< waited for this batch
  std::optional<double> loss;  ///< if it was read back
  /// Samples read and prepared for this accelerator until then, this batch's and those of batches
  /// that are not delivered or not yet finished included; 0: not counted.
  std::int64_t loaded = 0;
};

/// Costs of one worker's batch, summed over its samples.
struct BatchRecord {
  std::int64_t batch = 0;
  std::uint16_t worker = 0;
  std::int32_t samples = 0;
  std::int64_t reads = 0;       ///< served by storage; real files: all reads, cached or not
  base::Bytes bytes{};          ///< of those reads
  base::Duration read{};        ///< waiting for storage, wall without contention
  base::Duration read_cpu{};    ///< CPU time of reading: copies of cache hits, system calls
  base::Duration prepare{};     ///< CPU time (burn, decode), without contention
  base::Duration prepare_wait{};  ///< without a core
  base::Duration collate{};     ///< CPU time
  base::Duration contended{};   ///< summed over the three
  std::int32_t cache_hits = 0;  ///< reads that the emulated cache served instead
};

/// Receives an engine's records. The implementation defines which threads may call it: the builder
/// allows one; the threaded engine puts a sink per thread in front of it.
class SpanSink {
 public:
  virtual ~SpanSink() = default;
  virtual void Record(const Span& span) = 0;
  virtual void Record(const StepRecord& step) = 0;
  virtual void Record(const BatchRecord& batch) = 0;
};

}  // namespace pipesim::trace
