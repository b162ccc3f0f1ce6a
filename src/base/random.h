// Keyed random streams: a draw depends only on its key (seed, stage, a, b), not on the calling
// thread or the order of calls. All arithmetic is exact or correctly rounded on every machine; libm
// is not used, because its log and exp differ between versions.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

namespace pipesim::base {

/// The purpose of a stream. Every result depends on these values: never renumber.
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
  kPrepareWait = 13,    ///< (seed, stage, sample): the same every epoch
  kCollate = 14,        ///< this and the next six: (seed, stage, epoch, batch over all accelerators)
  kSend = 15,
  kReceive = 16,
  kReceiveWait = 17,
  kShare = 18,
  kServe = 19,
  kReceiveLatency = 20,
};

/// Mix64 without its last operation, which leaves the upper 31 bits as they are.
constexpr std::uint64_t UpperMix64(std::uint64_t value) {
  value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9;
  return (value ^ (value >> 27)) * 0x94D049BB133111EB;
}
/// A 64-bit hash in which every input bit affects every output bit (SplitMix64's finalizer).
constexpr std::uint64_t Mix64(std::uint64_t value) {
  value = UpperMix64(value);
  return value ^ (value >> 31);
}

/// A 64-bit counter-based generator (SplitMix64 over a hashed key). Cheap to construct; not
/// thread-safe.
class KeyedStream {
 public:
  KeyedStream(std::uint64_t seed, Stage stage, std::uint64_t a = 0, std::uint64_t b = 0)
      // Hashed after each part, so that (a, b) and (b, a), or seed + 1 and a + 1, give different
      // streams.
      : state_(Mix64(Mix64(Mix64(seed + static_cast<std::uint64_t>(stage) * kGolden) + a) + b)) {}
  std::uint64_t Next() {
    state_ += kGolden;
    return Mix64(state_);
  }
  /// Uniform in the open interval (0, 1): the midpoint of one of 2^52 equal cells, exact.
  double NextUnit() { return (static_cast<double>(Next() >> 12) + 0.5) * 0x1p-52; }

 private:
  // 2^64 / golden ratio, odd: SplitMix64's increment. Source: Steele, Lea, Flood, "Fast splittable
  // pseudorandom number generators", OOPSLA 2014.
  static constexpr std::uint64_t kGolden = 0x9E3779B97F4A7C15;

  std::uint64_t state_;
};

/// A permutation of [0, size) computed without a table: a keyed Feistel network with cycle walking.
/// Thread-safe. Source: Black and Rogaway, "Ciphers with arbitrary finite domains", CT-RSA 2002.
class Shuffle {
 public:
  Shuffle(std::uint64_t seed, std::uint64_t epoch, std::uint64_t size);
  /// The item at `position` < size.
  std::uint64_t operator()(std::uint64_t position) const;
  /// Precomputes the round functions where that takes at most 48 KiB. Pays off from some thousand
  /// items on. The permutation stays the same.
  void Tabulate();
  /// Fills `items` with the items at positions `first`, `first` + 1, ... Faster than one call per
  /// position, because the networks of neighbouring positions are computed in parallel.
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
  std::vector<std::uint16_t> table_;      ///< round functions; empty: not tabulated
  bool small_ = false;                    ///< so few bits that more rounds are needed
  std::array<std::uint64_t, 24> keys_{};  ///< one per round
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

/// A distribution over non-negative numbers, in the caller's unit. Draws below 0 (possible with
/// `normal` only) become 0. spec validates the parameters.
struct Distribution {
  DistributionKind kind = DistributionKind::kFixed;
  double mean = 0;               ///< fixed, normal, lognormal, exponential, gamma
  double stdev = 0;              ///< normal, lognormal, gamma; of the variable itself, not its log
  double low = 0, high = 0;      ///< uniform
  std::vector<double> values{};  ///< empirical: each equally likely
  bool operator==(const Distribution&) const = default;

  static Distribution Fixed(double value) { return {.mean = value}; }
  /// Of the distribution itself; ignores that `normal` is cut at 0.
  double Mean() const;
  double Stdev() const;
  bool IsZero() const { return kind == DistributionKind::kFixed && mean == 0; }
};

/// Draws from one distribution, with everything that depends only on its parameters precomputed.
/// Immutable; thread-safe.
class DistributionSampler {
 public:
  explicit DistributionSampler(const Distribution& distribution);
  double operator()(KeyedStream& stream) const;

 private:
  double Gamma(KeyedStream& stream) const;

  DistributionKind kind_;
  double mean_, stdev_, low_, high_;
  double log_sigma_ = 0, log_shift_ = 0;  ///< lognormal: mean × exp(sigma z - shift)
  std::vector<double> values_;
};

/// DistributionSampler(distribution)(stream).
double Draw(const Distribution& distribution, KeyedStream& stream);

}  // namespace pipesim::base
