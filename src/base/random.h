// Keyed random streams: a draw depends on its key (seed, stage, a, b) alone, never on which thread
// asks or when. All arithmetic is exact or correctly rounded on every machine: no libm, whose log
// and exp differ between versions.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

namespace pipesim::base {

/// What a stream is for. The values are part of every result's identity: never renumber.
enum class Stage : std::uint64_t {
  kSampleSize = 1,      ///< (seed, stage, sample)
  kPrepare = 2,         ///< (seed, stage, sample): the same every epoch
  kStorageLatency = 3,  ///< (seed, stage, epoch, position in epoch)
  kOpenCost = 4,        ///< (seed, stage, epoch, position in epoch)
  kStep = 5,            ///< (seed, stage, step)
  kShuffle = 6,         ///< (seed, stage, epoch)
  kLabel = 7,           ///< (seed, stage, sample)
  kSampleBytes = 8,     ///< content of the generated sample pool
  kCache = 9,           ///< (seed, stage, epoch, position in epoch)
  kWeights = 10,        ///< initial weights of a model
  kReservoir = 11,      ///< which values a bounded series keeps
  kWorkerStartup = 12,  ///< (seed, stage, epoch, worker)
};

/// A mix of 64 bits in which every input bit reaches every output bit (SplitMix64's finalizer).
constexpr std::uint64_t Mix64(std::uint64_t value) {
  value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9;
  value = (value ^ (value >> 27)) * 0x94D049BB133111EB;
  return value ^ (value >> 31);
}

/// A 64-bit counter-based generator (SplitMix64 over a hashed key). Cheap to make; not shared
/// between threads.
class KeyedStream {
 public:
  KeyedStream(std::uint64_t seed, Stage stage, std::uint64_t a = 0, std::uint64_t b = 0)
      // Mixed after each part, so that (a, b) and (b, a), or seed + 1 and a + 1, never share a
      // stream.
      : state_(Mix64(Mix64(Mix64(seed + static_cast<std::uint64_t>(stage) * kGolden) + a) + b)) {}
  std::uint64_t Next() {
    state_ += kGolden;
    return Mix64(state_);
  }
  /// Uniform in the open interval (0, 1), 52 bits: the middles of 2^52 equal cells, exact.
  double NextUnit() { return (static_cast<double>(Next() >> 12) + 0.5) * 0x1p-52; }

 private:
  // 2^64 / golden ratio, odd: SplitMix64's increment. Source: Steele, Lea, Flood, "Fast splittable
  // pseudorandom number generators", OOPSLA 2014.
  static constexpr std::uint64_t kGolden = 0x9E3779B97F4A7C15;

  std::uint64_t state_;
};

/// A permutation of [0, size) that needs no memory: a keyed Feistel network with cycle walking.
/// Thread-safe. Source: Black and Rogaway, "Ciphers with arbitrary finite domains", CT-RSA 2002.
class Shuffle {
 public:
  Shuffle(std::uint64_t seed, std::uint64_t epoch, std::uint64_t size);
  /// The item at `position` < size.
  std::uint64_t operator()(std::uint64_t position) const;
  /// Works out all that the rounds can ask for, where that is at most 48 KiB: worth it for some
  /// thousand items. The permutation stays the same.
  void Tabulate();
  /// The items at the positions from `first` on, as many as `items` has room for: faster than
  /// one by one, because the networks of neighbours are worked out side by side.
  void Range(std::uint64_t first, std::span<std::uint64_t> items) const;

 private:
  template <int kTimes>
  std::uint64_t Network(std::uint64_t position) const;
  std::uint64_t TabulatedNetwork(std::uint64_t position) const;
  template <class Permute>
  void Range(std::uint64_t first, std::span<std::uint64_t> items, const Permute& permute) const;
  std::uint64_t WalkOn(std::uint64_t position) const;

  std::uint64_t size_;
  int high_bits_ = 0, low_bits_ = 0;
  std::vector<std::uint16_t> table_;      ///< of each round's function; empty: not tabulated
  bool small_ = false;                    ///< so few bits that they need more rounds
  std::array<std::uint64_t, 24> keys_{};  ///< one a round
};

enum class DistributionKind {
  kFixed,
  kUniform,
  kNormal,
  kLognormal,
  kExponential,
  kGamma,
  kEmpirical
};

/// A distribution over non-negative numbers, in the unit of whoever holds it. Draws below 0 are cut
/// to 0 (only `normal` has them). Parameters are checked by spec before they get here.
struct Distribution {
  DistributionKind kind = DistributionKind::kFixed;
  double mean = 0;               ///< fixed, normal, lognormal, exponential, gamma
  double stdev = 0;              ///< normal, lognormal, gamma; of the variable itself, not its log
  double low = 0, high = 0;      ///< uniform
  std::vector<double> values{};  ///< empirical: each equally likely
  bool operator==(const Distribution&) const = default;

  static Distribution Fixed(double value) { return {.mean = value}; }
  /// Of the distribution itself: the cut of `normal` at 0 is not counted.
  double Mean() const;
  double Stdev() const;
  bool IsZero() const { return kind == DistributionKind::kFixed && mean == 0; }
};

/// Draws from one distribution: what depends on its parameters alone is worked out once. Immutable;
/// thread-safe.
class Drawer {
 public:
  explicit Drawer(const Distribution& distribution);
  double operator()(KeyedStream& stream) const;

 private:
  double Gamma(KeyedStream& stream) const;

  DistributionKind kind_;
  double mean_, stdev_, low_, high_;
  double log_sigma_ = 0, log_shift_ = 0;  ///< lognormal: mean × exp(sigma z - shift)
  std::vector<double> values_;
};

/// Drawer(distribution)(stream).
double Draw(const Distribution& distribution, KeyedStream& stream);

}  // namespace pipesim::base
