#include "engine/threaded/sample_pool.h"

#include <algorithm>
#include <cstring>

#include "base/random.h"
#include "cost/buffers.h"

namespace pipesim::engine::threaded {
namespace {

template <class Value, class Make>
void Fill(std::vector<std::byte>& data, Make&& make) {
  for (std::size_t at = 0; at + sizeof(Value) <= data.size(); at += sizeof(Value)) {
    const Value value = make();
    std::memcpy(data.data() + at, &value, sizeof value);
  }
}

// The bits of ±[0.5, 1): a sign, the exponent of 0.5, a random mantissa.
template <class Bits>
Bits HalfToOne(std::uint64_t random, Bits exponent, int mantissa_bits) {
  const auto mantissa = static_cast<Bits>(random & ((1ULL << mantissa_bits) - 1));
  const auto sign = static_cast<Bits>((random >> 63) << (8 * sizeof(Bits) - 1));
  return static_cast<Bits>(sign | static_cast<Bits>(exponent << mantissa_bits) | mantissa);
}

std::int64_t Vocabulary(const std::vector<spec::Layer>& layers) {
  for (const spec::Layer& layer : layers) {
    if (layer.kind == spec::LayerKind::kEmbedding) return layer.vocab;
    if (const std::int64_t inside = Vocabulary(layer.body); inside > 0) return inside;
  }
  return 0;
}

}  // namespace

SamplePool::SamplePool(const spec::Experiment& experiment)
    : sample_bytes_(spec::PreparedBytes(experiment.dataset)),
      samples_(cost::GeneratedSamples(experiment)),
      data_(static_cast<std::size_t>(cost::GeneratedBytes(experiment).count)) {
  base::KeyedStream random(experiment.run.seed, base::Stage::kSampleBytes);
  switch (experiment.dataset.dtype) {
    case spec::DType::kUint8:
      Fill<std::uint64_t>(data_, [&] { return random.Next(); });
      break;
    case spec::DType::kFloat32:
      Fill<std::uint32_t>(data_, [&] { return HalfToOne<std::uint32_t>(random.Next(), 126, 23); });
      break;
    case spec::DType::kFloat16:
      Fill<std::uint16_t>(data_, [&] { return HalfToOne<std::uint16_t>(random.Next(), 14, 10); });
      break;
    case spec::DType::kBfloat16:
      Fill<std::uint16_t>(data_, [&] { return HalfToOne<std::uint16_t>(random.Next(), 126, 7); });
      break;
    case spec::DType::kInt64: {
      const std::int64_t vocabulary = Vocabulary(experiment.model.layers);
      const auto below = static_cast<std::uint64_t>(
          std::max<std::int64_t>(vocabulary > 0 ? vocabulary : experiment.dataset.classes, 1));
      Fill<std::uint64_t>(data_, [&] { return random.Next() % below; });
      break;
    }
  }
}

std::span<const std::byte> SamplePool::operator[](std::int64_t sample) const {
  const auto size = static_cast<std::size_t>(sample_bytes_.count);
  return std::span(data_).subspan(static_cast<std::size_t>(sample % samples_) * size, size);
}

}  // namespace pipesim::engine::threaded
