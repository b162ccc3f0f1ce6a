#include "engine/device_timeline.h"

#include <algorithm>

namespace pipesim::engine {

using base::Instant;
using trace::State;

State DeviceStateWhile(State host) {
  switch (host) {
    case State::kStarved:
    case State::kRead:
    case State::kPrepare:
    case State::kCollate:
      return State::kDeviceStarved;
    case State::kTransfer:
    case State::kPin:
      return State::kDeviceTransfer;
    case State::kSync:
      return State::kDeviceSync;
    default:
      return State::kDeviceLaunch;
  }
}

void DeviceTimeline::Emit(State state, Instant end, std::int64_t batch, std::int32_t samples) {
  if (end <= reached_) return;
  sink_.Record(trace::Span{.begin = reached_,
                           .end = end,
                           .batch = batch,
                           .samples = samples,
                           .thread = 0,
                           .role = trace::Role::kDevice,
                           .state = state});
  reached_ = end;
}

void DeviceTimeline::Gap(Instant end, State host_state) {
  // Neighbouring pieces with one owner become one span.
  State owner = State::kDeviceLaunch;
  Instant until = reached_;
  host_.Over(reached_, end, host_state, [&](State host, Instant, Instant piece_end) {
    const State state = DeviceStateWhile(host);
    if (state != owner) Emit(owner, until);
    owner = state;
    until = piece_end;
  });
  Emit(owner, until);
}

void DeviceTimeline::Done(const StepDone& step, std::int64_t batch, std::int32_t samples,
                          State host_state) {
  const Instant begin = std::max(step.begin, reached_);
  if (step.transfer_begin && step.transfer_end) {
    // How long the copy took, wherever the device was meanwhile: beside the partition.
    sink_.Record(trace::Span{.begin = *step.transfer_begin,
                             .end = *step.transfer_end,
                             .batch = batch,
                             .samples = samples,
                             .thread = 0,
                             .role = trace::Role::kDevice,
                             .state = State::kTransfer});
    Gap(std::min(*step.transfer_begin, begin), host_state);
    Emit(State::kDeviceTransfer, std::min(*step.transfer_end, begin));
  }
  Gap(begin, host_state);
  Emit(State::kBusy, step.end, batch, samples);
  host_.ForgetBefore(reached_);
}

void DeviceTimeline::Finish(Instant end, State host_state) { Gap(end, host_state); }

}  // namespace pipesim::engine
