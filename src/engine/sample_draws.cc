#include "engine/sample_draws.h"

#include <new>

#include "base/rounding.h"

namespace pipesim::engine {

SampleDraws::SampleDraws(const base::Distribution& distribution, std::uint64_t seed,
                         base::Stage stage, std::int64_t samples, bool keep)
    : distribution_(distribution),
      sampler_(distribution),
      seed_(seed),
      stage_(stage),
      samples_(samples) {
  if (!keep || samples <= 0 || samples > kMostKept) return;
  void* zeros = std::calloc(static_cast<std::size_t>(samples), sizeof(std::uint32_t));
  if (zeros == nullptr) throw std::bad_alloc();
  kept_.reset(static_cast<std::uint32_t*>(zeros));
}

std::int64_t SampleDraws::Draw(std::int64_t sample) const {
  base::KeyedStream stream(seed_, stage_, static_cast<std::uint64_t>(sample));
  return base::RoundToInteger(sampler_(stream));
}

}  // namespace pipesim::engine
