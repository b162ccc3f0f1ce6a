#include "base/random.h"

#include <bit>
#include <cmath>
#include <numeric>

#include "base/portable_math.h"

namespace pipesim::base {
namespace {

// Rounds of the Feistel network. With halves of at least four bits, items and pairs look uniform
// after six rounds; smaller halves need many more (chi-square over 40,000 keys). Luby and Rackoff,
// SIAM J. Comput. 17(2), 1988, show why three are too few.
constexpr int kRounds = 6;
constexpr int kRoundsWhenSmall = 24;
constexpr int kSmallBits = 8;

// The round function: the upper `bits` bits of a keyed multiplicative hash, each of which depends
// on every bit of `value`.
std::uint64_t Round(std::uint64_t value, std::uint64_t key, int bits) {
  std::uint64_t x = (value + key) * 0xBF58476D1CE4E5B9;
  x = (x ^ (x >> 32)) * 0x94D049BB133111EB;
  return (x ^ (x >> 29)) >> ((64 - bits) & 63);
}

double DrawNormal(KeyedStream& stream) { return NormalQuantile(stream.NextUnit()); }

}  // namespace

Shuffle::Shuffle(std::uint64_t seed, std::uint64_t epoch, std::uint64_t size) : size_(size) {
  const int bits = size <= 2 ? 1 : std::bit_width(size - 1);
  high_bits_ = (bits + 1) / 2;
  low_bits_ = bits - high_bits_;
  small_ = bits <= kSmallBits;
  KeyedStream stream(seed, Stage::kShuffle, epoch);
  for (std::uint64_t& key : keys_) key = stream.Next();
}

template <int kTimes>
std::uint64_t Shuffle::Network(std::uint64_t position) const {
  const std::uint64_t low_mask = (std::uint64_t{1} << low_bits_) - 1;
  std::uint64_t high = position >> low_bits_;
  std::uint64_t low = position & low_mask;
#pragma GCC unroll 3  // of six rounds: neighbouring positions then overlap better
  for (int round = 0; round < kTimes; round += 2) {
    high ^= Round(low, keys_[round], high_bits_);
    // With two items there are no low bits: the mask clears the round's result.
    low ^= Round(high, keys_[round + 1], low_bits_) & low_mask;
  }
  return (high << low_bits_) | low;
}

// Cycle walking. The network permutes the next power of two, which is less than twice `size`.
// Applying it until the image lies below `size` permutes [0, size).
std::uint64_t Shuffle::WalkOn(std::uint64_t position) const {
  while (position >= size_) {
    position = small_ ? Network<kRoundsWhenSmall>(position) : Network<kRounds>(position);
  }
  return position;
}

std::uint64_t Shuffle::operator()(std::uint64_t position) const {
  if (size_ <= 1) return 0;
  return WalkOn(small_ ? Network<kRoundsWhenSmall>(position) : Network<kRounds>(position));
}

void Shuffle::Tabulate() {
  constexpr int kMostBits = 24;
  if (small_ || high_bits_ + low_bits_ > kMostBits) return;
  const std::size_t half = std::size_t{1} << high_bits_;
  table_.resize(kRounds * half);
  for (std::size_t round = 0; round < kRounds; ++round) {
    const int bits = round % 2 == 0 ? high_bits_ : low_bits_;
    for (std::size_t value = 0; value < half; ++value) {
      table_[round * half + value] = static_cast<std::uint16_t>(Round(value, keys_[round], bits));
    }
  }
}

std::uint64_t Shuffle::TabulatedNetwork(std::uint64_t position) const {
  const std::uint16_t* const table = table_.data();
  const std::size_t half = std::size_t{1} << high_bits_;
  std::size_t high = position >> low_bits_;
  std::size_t low = position & ((std::size_t{1} << low_bits_) - 1);
#pragma GCC unroll 3
  for (std::size_t round = 0; round < kRounds; round += 2) {
    high ^= table[round * half + low];
    low ^= table[(round + 1) * half + high];
  }
  return (high << low_bits_) | low;
}

void Shuffle::Range(std::uint64_t first, std::span<std::uint64_t> items) const {
  if (!table_.empty()) {
    Range(first, items, [this](std::uint64_t at) { return TabulatedNetwork(at); });
  } else if (!small_) {
    Range(first, items, [this](std::uint64_t at) { return Network<kRounds>(at); });
  } else {
    for (std::size_t i = 0; i < items.size(); ++i) items[i] = (*this)(first + i);
  }
}

template <class Permute>
void Shuffle::Range(std::uint64_t first, std::span<std::uint64_t> items,
                    const Permute& permute) const {
  constexpr std::size_t kAtOnce = 256;
  while (items.size() > kAtOnce) {
    Range(first, items.first(kAtOnce), permute);
    items = items.subspan(kAtOnce);
    first += kAtOnce;
  }
  for (std::size_t i = 0; i < items.size(); ++i) items[i] = permute(first + i);
  // Collects the positions that must walk on without an unpredictable branch.
  std::array<std::uint16_t, kAtOnce> outside;
  std::size_t left = 0;
  for (std::size_t i = 0; i < items.size(); ++i) {
    outside[left] = static_cast<std::uint16_t>(i);
    left += items[i] >= size_ ? 1 : 0;
  }
  while (left > 0) {
    std::size_t still = 0;
    for (std::size_t i = 0; i < left; ++i) {
      std::uint64_t& item = items[outside[i]];
      item = permute(item);
      outside[still] = outside[i];
      still += item >= size_ ? 1 : 0;
    }
    left = still;
  }
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

DistributionSampler::DistributionSampler(const Distribution& distribution)
    : kind_(distribution.kind),
      mean_(distribution.mean),
      stdev_(distribution.stdev),
      low_(distribution.low),
      high_(distribution.high),
      values_(distribution.values) {
  if (kind_ != DistributionKind::kLognormal || mean_ <= 0) return;
  // sigma² = log(1 + (stdev / mean)²), mu = log(mean) - sigma² / 2
  const double ratio = stdev_ / mean_;
  const double sigma2 = PortableLog(1 + ratio * ratio);
  log_sigma_ = std::sqrt(sigma2);
  log_shift_ = sigma2 / 2;
}

double DistributionSampler::operator()(KeyedStream& stream) const {
  switch (kind_) {
    case DistributionKind::kFixed:
      return mean_;
    case DistributionKind::kUniform:
      return low_ + (high_ - low_) * stream.NextUnit();
    case DistributionKind::kNormal: {
      const double value = mean_ + stdev_ * DrawNormal(stream);
      return value > 0 ? value : 0;
    }
    case DistributionKind::kLognormal:
      if (mean_ <= 0) return 0;
      return mean_ * PortableExp(log_sigma_ * DrawNormal(stream) - log_shift_);
    case DistributionKind::kExponential:
      return -mean_ * PortableLog(stream.NextUnit());
    case DistributionKind::kGamma:
      return Gamma(stream);
    case DistributionKind::kEmpirical: {
      if (values_.empty()) return 0;
      const auto count = static_cast<double>(values_.size());
      return values_[static_cast<std::size_t>(stream.NextUnit() * count)];
    }
  }
  return 0;
}

// Marsaglia and Tsang, "A simple method for generating gamma variables", ACM TOMS 26(3), 2000.
double DistributionSampler::Gamma(KeyedStream& stream) const {
  if (mean_ <= 0) return 0;
  if (stdev_ <= 0) return mean_;
  const double shape = (mean_ / stdev_) * (mean_ / stdev_);
  const double scale = mean_ / shape;
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

double Draw(const Distribution& distribution, KeyedStream& stream) {
  return DistributionSampler(distribution)(stream);
}

}  // namespace pipesim::base
