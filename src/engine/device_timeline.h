// The partition of an asynchronous device's time: busy with a step, or in a gap that belongs to
// whatever the host did meanwhile. Free of threads; both engines feed it.
#pragma once

#include <cstdint>

#include "engine/state_history.h"
#include "engine/trainer.h"
#include "trace/span.h"

namespace pipesim::engine {

/// What a device waits for while its host is in `host`.
trace::State DeviceStateWhile(trace::State host);

/// Spans of Role::kDevice that tile its time from `begin` on, given to `sink`; beside them one kTransfer
/// span for each copy, which may run while the device computes. Not thread-safe.
class DeviceTimeline {
 public:
  DeviceTimeline(base::Instant begin, trace::SpanSink& sink) : sink_(sink), reached_(begin) {}

  /// The consumer has left a state; in time order.
  void HostWas(trace::State state, base::Instant begin, base::Instant end) {
    host_.Add(state, begin, end);
  }
  /// Steps come in order. `host_state` is what the host is in now. The part of the gap before the
  /// step in which its own input was copied is transfer; the rest is the host's.
  void Done(const StepDone& step, std::int64_t batch, std::int32_t samples,
            trace::State host_state);
  /// Nothing more comes: the rest until `end` is a gap.
  void Finish(base::Instant end, trace::State host_state);

 private:
  void Gap(base::Instant end, trace::State host_state);
  void Emit(trace::State state, base::Instant end, std::int64_t batch = -1,
            std::int32_t samples = 0);

  trace::SpanSink& sink_;
  StateHistory host_;
  base::Instant reached_;
};

}  // namespace pipesim::engine
