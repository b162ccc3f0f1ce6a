// What a timeline calls the states of threads and devices: a Chrome trace and a profiler's ranges.
#pragma once

#include <string_view>

#include "trace/span.h"

namespace pipesim::trace {

/// `of_device`: the step runs on a device of its own, and the consumer waits for it.
constexpr std::string_view NameOf(State state, bool of_device) {
  switch (state) {
    case State::kStarved:
      return "starved: no batch";
    case State::kTransfer:
      return "copy to the device";
    case State::kHost:
      return "host work";
    case State::kForward:
      return "forward";
    case State::kBackward:
      return "backward";
    case State::kOptimizer:
      return "optimizer";
    case State::kCompute:
      return of_device ? "waits for a step" : "compute";
    case State::kSync:
      return "sync: reads a result";
    case State::kStartup:
      return "startup";
    case State::kRead:
      return "read";
    case State::kPrepare:
      return "prepare";
    case State::kCollate:
      return "collate";
    case State::kBlockedOnConsumer:
      return "blocked: on consumer";
    case State::kBlockedOnOrder:
      return "blocked: on order";
    case State::kIdle:
      return "idle";
    case State::kPin:
      return "pin";
    case State::kBusy:
      return "busy: computes";
    case State::kDeviceStarved:
      return "starved: no batch";
    case State::kDeviceTransfer:
      return "waits for a copy";
    case State::kDeviceLaunch:
      return "waits for a launch";
    case State::kDeviceSync:
      return "waits for the host's read";
    case State::kSend:
      return "send";
    case State::kReceive:
      return "receive";
    case State::kContended:
      break;
  }
  return "contended: no core";
}

}  // namespace pipesim::trace
