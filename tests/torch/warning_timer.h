// A state timer through which a test acts inside a trainer's call, in its thread and on its stream.
#pragma once

#include <torch/torch.h>

#include <functional>
#include <utility>

#include "support.h"

namespace pipesim::engine {

class WarningTimer final : public StateTimer {
 public:
  /// Calls `warn` whenever `state` is entered.
  WarningTimer(trace::State state, std::function<void()> warn) : state_(state), warn_(std::move(warn)) {}
  void Enter(trace::State state) override {
    if (state != state_) return;
    warn_();
    ++warned_;
  }
  base::Instant scheduled() const override { return {}; }
  void WaitedUntil(base::Instant) override {}
  int warned() const { return warned_; }

 private:
  trace::State state_;
  std::function<void()> warn_;
  int warned_ = 0;
};

}  // namespace pipesim::engine
