// Partitions the time of an asynchronous device into steps and gaps; a gap is attributed to what
// the host did meanwhile. Knows no threads; both engines use it.
#pragma once

#include <cstdint>

#include "engine/state_history.h"
#include "engine/trainer.h"
#include "trace/span.h"

namespace pipesim::engine {

/// The device's wait state while its host is in state `host`.
trace::State DeviceStateWhile(trace::State host);

/// Spans of Role::kDevice that tile its time from `begin` on, given to `sink`; beside them one kTransfer
/// span for each copy, which may run while the device computes. Not thread-safe.
class DeviceTimeline {
 public:
  DeviceTimeline(base::Instant begin, trace::SpanSink& sink) : sink_(sink), reached_(begin) {}

  /// The consumer was in `state` from `begin` to `end`. Call in time order.
  void HostWas(trace::State state, base::Instant begin, base::Instant end) {
    host_.Add(state, begin, end);
  }
  /// Steps come in order. `host_state` is what the host is in now. The part of the gap before the
  /// step in which its own input was copied is transfer; the rest is the host's.
  void Done(const StepDone& step, std::int64_t batch, std::int32_t samples,
            trace::State host_state);
  /// Ends the timeline: the remaining time until `end` is a gap.
  void Finish(base::Instant end, trace::State host_state);
  void Visit(StateVisitor& visitor) {
    host_.Visit(visitor);
    visitor.Time(reached_);
  }

 private:
  void Gap(base::Instant end, trace::State host_state);
  void Emit(trace::State state, base::Instant end, std::int64_t batch = -1,
            std::int32_t samples = 0);

  trace::SpanSink& sink_;
  StateHistory host_;
  base::Instant reached_;
};

}  // namespace pipesim::engine
