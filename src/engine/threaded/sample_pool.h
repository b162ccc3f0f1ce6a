// The content of generated samples: a small pool of keyed random data that collate copies from, so
// that copying costs what it would with real samples.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "base/units.h"
#include "spec/experiment.h"

namespace pipesim::engine::threaded {

/// Thread-safe: nothing changes after construction.
class SamplePool {
 public:
  /// cost::GeneratedSamples of them. Floating point values are finite, within ±[0.5, 1); integers
  /// are tokens below the model's vocabulary, or below the classes without one. Throws
  /// std::bad_alloc.
  explicit SamplePool(const spec::Experiment& experiment);

  std::span<const std::byte> operator[](std::int64_t sample) const;

 private:
  base::Bytes sample_bytes_;
  std::int64_t samples_;
  std::vector<std::byte> data_;
};

}  // namespace pipesim::engine::threaded
