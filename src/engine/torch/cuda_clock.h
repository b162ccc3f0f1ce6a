// Converts the times of CUDA events to the run's clock.
//
// An anchor is an event recorded on an idle stream and waited for between two readings of the run's
// clock; its time is their midpoint. Other events are placed by their distance from the anchor.
// Because the two clocks drift, a new anchor is measured about once a second. It replaces the old
// one when its uncertainty is below the old one's plus the possible drift.
#pragma once

#include <c10/cuda/CUDAStream.h>

#include <memory>

#include "base/clock.h"
#include "engine/torch/cuda_event.h"

namespace pipesim::engine {

/// For one thread, whose current device is the clock's.
class CudaClock {
 public:
  explicit CudaClock(const base::Clock& clock);
  /// The time of a completed event. Error: at most half the anchor's width (some µs) plus drift.
  base::Instant At(const CudaEvent& event) const;
  /// Measures a new anchor if a second has passed: waits some µs on an idle stream.
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
