// What runs draw alike, kept between the runs of one executor: the points of a sweep and the
// variants of a diagnosis mostly have the same samples.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "engine/sampler.h"

namespace pipesim::engine::virtual_time {

/// Thread-safe. Keeps what was asked for last; what is evicted lives on in the runs that use it.
class DrawsBetweenRuns {
 public:
  KeptDraws Of(const spec::Experiment& experiment, const cost::Pipeline& pipeline);

 private:
  std::mutex mutex_;
  // The latest first; under mutex_.
  std::vector<std::shared_ptr<const SampleDraws>> sample_bytes_, prepare_, prepare_wait_;
  std::vector<std::shared_ptr<ChunkSums>> sums_;
};

}  // namespace pipesim::engine::virtual_time
