// Puts the times of CUDA events on the run's clock.
//
// An anchor is an event recorded on an idle stream and waited for: it happened between two readings
// of the run's clock, taken as their middle. Events are placed by their distance from the anchor.
// The two clocks drift, so about once a second a new anchor is tried; it is taken when it is surer
// than what drift may have made of the present one.
#pragma once

#include <c10/cuda/CUDAStream.h>

#include <memory>

#include "base/clock.h"
#include "engine/torch/cuda_event.h"

namespace pipesim::engine {

/// One thread, with its device current.
class CudaClock {
 public:
  explicit CudaClock(const base::Clock& clock);
  /// When a done event happened. Off by at most half the width of the anchor (some µs) and drift.
  base::Instant At(const CudaEvent& event) const;
  /// Tries a new anchor when a second has passed: a wait of some µs on an idle stream.
  void AnchorIfDue();

 private:
  struct Anchor {
    std::unique_ptr<CudaEvent> event;
    base::Instant at;
    base::Duration half_width{};
  };
  Anchor Take();

  const base::Clock& clock_;
  c10::cuda::CUDAStream stream_;
  Anchor anchor_;
  base::Instant tried_;
};

}  // namespace pipesim::engine
