#include "engine/torch/cuda_clock.h"

#include <cmath>
#include <utility>

namespace pipesim::engine {
namespace {

/// cudaEventElapsedTime returns a float of milliseconds: 24 bits hold a second to 61 ns.
constexpr base::Duration kBetweenAnchors = std::chrono::seconds(1);
/// Quartz oscillators differ by at most ±100 ppm (their usual tolerance class).
constexpr double kDrift = 1e-4;
/// Of several tries the narrowest was disturbed least.
constexpr int kFirstTries = 10;

}  // namespace

CudaClock::CudaClock(const base::Clock& clock)
    : clock_(clock), stream_(c10::cuda::getStreamFromPool(/*isHighPriority=*/true)) {
  anchor_ = Take();
  for (int i = 1; i < kFirstTries; ++i)
    if (Anchor next = Take(); next.half_width < anchor_.half_width) anchor_ = std::move(next);
  tried_ = anchor_.at;
}

CudaClock::Anchor CudaClock::Take() {
  Anchor taken;
  taken.event = std::make_unique<CudaEvent>();
  const base::Instant before = clock_.Now();
  taken.event->Record(stream_);
  taken.event->Synchronize();
  taken.half_width = (clock_.Now() - before) / 2;
  taken.at = before + taken.half_width;
  return taken;
}

base::Instant CudaClock::At(const CudaEvent& event) const {
  const double milliseconds = anchor_.event->MillisecondsTo(event);
  return anchor_.at + base::Duration(std::llround(milliseconds * 1e6));
}

void CudaClock::AnchorIfDue() {
  if (clock_.Now() - tried_ < kBetweenAnchors) return;
  Anchor next = Take();
  tried_ = next.at;
  const auto drift = base::FromSeconds(base::ToSeconds(next.at - anchor_.at) * kDrift);
  if (next.half_width <= anchor_.half_width + drift) anchor_ = std::move(next);
}

}  // namespace pipesim::engine
