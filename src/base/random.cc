#include "base/random.h"

#include <bit>
#include <cmath>
#include <numeric>

#include "base/portable_math.h"

namespace pipesim::base {
namespace {

// 2^64 / golden ratio, odd: SplitMix64's increment. Source: Steele, Lea, Flood, "Fast splittable
// pseudorandom number generators", OOPSLA 2014.
constexpr std::uint64_t kGolden = 0x9E3779B97F4A7C15;

// Rounds of the Feistel network. Halves of four bits and more look uniform after six, single items
// and pairs alike; smaller ones only after many more (chi-square over 40,000 keys; a round on one
// bit mixes little). See Luby and Rackoff, SIAM J. Comput. 17(2), 1988, for why three are too few
// anyway.
constexpr int kRounds = 6;
constexpr int kRoundsWhenSmall = 24;
constexpr int kSmallBits = 8;

// The round function: the upper `bits` bits of a keyed multiplicative mix, in which each depends on
// all of `value`.
std::uint64_t Round(std::uint64_t value, std::uint64_t key, int bits) {
  std::uint64_t x = (value + key) * 0xBF58476D1CE4E5B9;
  x = (x ^ (x >> 32)) * 0x94D049BB133111EB;
  return (x ^ (x >> 29)) >> (64 - bits);
}

double DrawNormal(KeyedStream& stream) { return NormalQuantile(stream.NextUnit()); }

double DrawLognormal(double mean, double stdev, KeyedStream& stream) {
  // sigma² = log(1 + (stdev / mean)²), mu = log(mean) - sigma² / 2
  if (mean <= 0) return 0;
  const double ratio = stdev / mean;
  const double sigma2 = PortableLog(1 + ratio * ratio);
  return mean * PortableExp(std::sqrt(sigma2) * DrawNormal(stream) - sigma2 / 2);
}

// Marsaglia and Tsang, "A simple method for generating gamma variables", ACM TOMS 26(3), 2000.
double DrawGamma(double mean, double stdev, KeyedStream& stream) {
  if (mean <= 0) return 0;
  if (stdev <= 0) return mean;
  const double shape = (mean / stdev) * (mean / stdev);
  const double scale = mean / shape;
  // Below shape 1: a draw at shape + 1, times U^(1 / shape).
  const double boost = shape < 1 ? PortableExp(PortableLog(stream.NextUnit()) / shape) : 1;
  const double d = (shape < 1 ? shape + 1 : shape) - 1.0 / 3;
  const double c = 1 / std::sqrt(9 * d);
  for (;;) {
    const double x = DrawNormal(stream);
    const double root = 1 + c * x;
    if (root <= 0) continue;
    const double v = root * root * root;
    if (PortableLog(stream.NextUnit()) < 0.5 * x * x + d * (1 - v + PortableLog(v))) {
      return d * v * scale * boost;
    }
  }
}

}  // namespace

std::uint64_t Mix64(std::uint64_t value) {
  value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9;
  value = (value ^ (value >> 27)) * 0x94D049BB133111EB;
  return value ^ (value >> 31);
}

KeyedStream::KeyedStream(std::uint64_t seed, Stage stage, std::uint64_t a, std::uint64_t b)
    // Mixed after each part, so that (a, b) and (b, a), or seed + 1 and a + 1, never share a
    // stream.
    : state_(Mix64(Mix64(Mix64(seed + static_cast<std::uint64_t>(stage) * kGolden) + a) + b)) {}

std::uint64_t KeyedStream::Next() {
  state_ += kGolden;
  return Mix64(state_);
}

double KeyedStream::NextUnit() {
  // The middles of 2^52 equal cells: exact, and never 0 or 1.
  return (static_cast<double>(Next() >> 12) + 0.5) * 0x1p-52;
}

Shuffle::Shuffle(std::uint64_t seed, std::uint64_t epoch, std::uint64_t size) : size_(size) {
  const int bits = size <= 2 ? 1 : std::bit_width(size - 1);
  high_bits_ = (bits + 1) / 2;
  low_bits_ = bits - high_bits_;
  rounds_ = bits <= kSmallBits ? kRoundsWhenSmall : kRounds;
  KeyedStream stream(seed, Stage::kShuffle, epoch);
  for (std::uint64_t& key : keys_) key = stream.Next();
}

std::uint64_t Shuffle::operator()(std::uint64_t position) const {
  if (size_ <= 1) return 0;
  const std::uint64_t low_mask = (std::uint64_t{1} << low_bits_) - 1;
  do {
    std::uint64_t high = position >> low_bits_;
    std::uint64_t low = position & low_mask;
    for (int round = 0; round < rounds_; round += 2) {
      high ^= Round(low, keys_[round], high_bits_);
      if (low_bits_ > 0) low ^= Round(high, keys_[round + 1], low_bits_);
    }
    position = (high << low_bits_) | low;
    // The network permutes the next power of two, less than twice `size`: walking on from an image
    // outside comes back inside, and that is a permutation of the inside.
  } while (position >= size_);
  return position;
}

double Distribution::Mean() const {
  switch (kind) {
    case DistributionKind::kUniform:
      return (low + high) / 2;
    case DistributionKind::kEmpirical:
      if (values.empty()) return 0;
      return std::accumulate(values.begin(), values.end(), 0.0) /
             static_cast<double>(values.size());
    default:
      return mean;
  }
}

double Distribution::Stdev() const {
  switch (kind) {
    case DistributionKind::kFixed:
      return 0;
    case DistributionKind::kUniform:
      return (high - low) / std::sqrt(12.0);
    case DistributionKind::kExponential:
      return mean;
    case DistributionKind::kEmpirical: {
      if (values.empty()) return 0;
      const double centre = Mean();
      double squares = 0;
      for (const double value : values) squares += (value - centre) * (value - centre);
      return std::sqrt(squares / static_cast<double>(values.size()));
    }
    default:
      return stdev;
  }
}

double Draw(const Distribution& distribution, KeyedStream& stream) {
  switch (distribution.kind) {
    case DistributionKind::kFixed:
      return distribution.mean;
    case DistributionKind::kUniform:
      return distribution.low + (distribution.high - distribution.low) * stream.NextUnit();
    case DistributionKind::kNormal: {
      const double value = distribution.mean + distribution.stdev * DrawNormal(stream);
      return value > 0 ? value : 0;
    }
    case DistributionKind::kLognormal:
      return DrawLognormal(distribution.mean, distribution.stdev, stream);
    case DistributionKind::kExponential:
      return -distribution.mean * PortableLog(stream.NextUnit());
    case DistributionKind::kGamma:
      return DrawGamma(distribution.mean, distribution.stdev, stream);
    case DistributionKind::kEmpirical: {
      if (distribution.values.empty()) return 0;
      const auto count = static_cast<double>(distribution.values.size());
      return distribution.values[static_cast<std::size_t>(stream.NextUnit() * count)];
    }
  }
  return 0;
}

}  // namespace pipesim::base
