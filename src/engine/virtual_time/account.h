// Accounts for one virtual thread's time: its state and since when. Every span ends where the next
// begins, so a thread's spans tile its time.
#pragma once

#include <cstdint>

#include "engine/device_timeline.h"
#include "engine/state_visitor.h"
#include "trace/builder.h"

namespace pipesim::engine::virtual_time {

/// Records into `recorder`, if there is one, and, for a consumer, tells `device` which state was
/// left.
class Account {
 public:
  Account(trace::TraceBuilder* recorder, trace::Role role, int thread, trace::State state,
          base::Instant begin, DeviceTimeline* device = nullptr)
      : recorder_(recorder),
        device_(device),
        merges_(recorder == nullptr || !recorder->keeps_spans()),
        only_rate_(recorder != nullptr && recorder->only_rate()),
        first_(begin) {
    span_.begin = begin;
    span_.role = role;
    span_.thread = static_cast<std::uint16_t>(thread);
    span_.state = state;
  }

  /// Ends the present state and begins `state`. No earlier than begun().
  void Enter(trace::State state, base::Instant now) {
    Close(now);
    span_.state = state;
  }
  /// The same for a state that costs no core's time: it goes on where it is already entered. Totals are
  /// the same, with less to record.
  void Stay(trace::State state, base::Instant now) {
    if (state != span_.state || span_.contended != base::Duration::zero() || !merges_)
      Enter(state, now);
  }
  /// Adds time of the present state that was spent without a core.
  void Contended(base::Duration time) { span_.contended += time; }
  /// Sets the batch of the spans from the present one on.
  void SetBatch(std::int64_t number, std::int32_t samples) {
    span_.batch = number;
    span_.samples = samples;
  }
  /// Records the present span and begins another in the same state.
  void Close(base::Instant now) {
    if (now != span_.begin) RecordUntil(now);
  }

  /// Records the last span.
  void Finish(base::Instant now) {
    Close(now);
    if (only_rate_) recorder_->RecordPresence(span_.role, span_.thread, first_, now);
  }

  trace::State state() const { return span_.state; }
  base::Instant begun() const { return span_.begin; }
  void Visit(StateVisitor& visitor) {
    visitor.Time(span_.begin);
    visitor.Same(span_.contended);
    visitor.Number(span_.batch);
    visitor.Same(span_.samples);
    visitor.Same(span_.state);
  }

 private:
  void RecordUntil(base::Instant now) {
    span_.end = now;
    if (device_ != nullptr) device_->HostWas(span_.state, span_.begin, now);
    if (recorder_ != nullptr && (!only_rate_ || trace::CountsForRate(span_.state)))
      recorder_->Record(span_);
    span_.begin = now;
    span_.contended = base::Duration::zero();
  }

  trace::TraceBuilder* recorder_;
  DeviceTimeline* device_;
  bool merges_;  ///< nobody asks for single spans
  bool only_rate_;
  base::Instant first_;
  trace::Span span_;
};

}  // namespace pipesim::engine::virtual_time
