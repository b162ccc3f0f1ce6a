// What workers do to samples on cores: preparing them, collating a batch, copying it into
// page-locked memory. Each part holds its only formula. Never burns, never sleeps.
#pragma once

#include <cstdint>
#include <optional>

#include "base/drawn.h"
#include "base/units.h"

namespace pipesim::cost {

/// Decoding and transforming one sample.
struct Prepare {
  enum class Kind { kNone, kCpu, kWait };
  Kind kind = Kind::kNone;
  base::Drawn<base::Duration> cost;  ///< of one sample, drawn for each
  base::Drawn<base::Duration> wait = {};  ///< of one sample, without a core, on top of kCpu
  base::Duration python{};           ///< CPU time of the interpreter's own work on one sample
  base::Duration late{};             ///< a sample's wait goes on this much longer, without a core
  /// Whether a worker's threads share the work; one thread decodes a whole sample.
  bool divisible = true;
  /// Bytes that one thread writes while it decodes: its share of the memory's bandwidth. 0: the work
  /// stays in caches.
  double memory_bytes_per_s = 0;

  /// Decoding real files to `prepared` bytes each.
  static Prepare Decoding(base::Drawn<base::Duration> cost, base::Bytes prepared);

  bool operator==(const Prepare&) const = default;
  bool UsesCores() const { return kind == Kind::kCpu; }
  bool IsFixed() const { return cost.IsFixed() && wait.IsFixed(); }
  /// How many of a worker's `worker_threads` prepare a sample together.
  int Threads(int worker_threads) const;
  /// One worker of `threads` threads for `samples` samples: on a core, and without one.
  double WorkSeconds(double samples, int threads) const;
  double WaitSeconds(double samples) const;
  double AloneSeconds(double samples, int threads) const {
    return WorkSeconds(samples, threads) + WaitSeconds(samples);
  }
  /// CPU time of `samples` samples, all threads.
  double CpuSeconds(double samples) const;
  Prepare Scaled(double factor) const;
};

/// Copying prepared samples side by side into a batch.
struct Collate {
  base::Duration batch{};                                ///< fixed part
  base::Drawn<base::Duration> varying = {};               ///< the same, where it is drawn
  base::Duration sample{};                               ///< of each sample
  std::optional<base::BytesPerSecond> bandwidth;         ///< absent: the copy is free
  std::optional<base::BytesPerSecond> fault_bandwidth;   ///< mapping fresh pages, on top
  /// The same where the training loop collates (0 workers), if that differs.
  std::optional<base::BytesPerSecond> own_fault_bandwidth = {};

  bool operator==(const Collate&) const = default;
  /// With `workers` workers.
  Collate MadeBy(int workers) const;
  /// `varies`: the draw of `varying`.
  base::Duration Time(base::Bytes bytes, std::int64_t samples, base::Duration varies) const;
  base::Duration Mean(base::Bytes bytes, std::int64_t samples) const {
    return Time(bytes, samples, varying.Mean());
  }
  /// Share of the memory's bandwidth that the copy takes, bytes/s; 0: none.
  double memory_bytes_per_s() const { return bandwidth ? bandwidth->per_s : 0; }
  Collate Scaled(double factor) const;
};

/// Copying a batch into page-locked memory.
struct Pin {
  std::optional<base::BytesPerSecond> bandwidth;  ///< absent: free

  bool operator==(const Pin&) const = default;
  base::Duration Time(base::Bytes bytes) const;
  double memory_bytes_per_s() const { return bandwidth ? bandwidth->per_s : 0; }
  Pin Scaled(double factor) const;
};

/// Copying a batch to the device.
struct Transfer {
  base::Duration latency{};                       ///< of each copy
  std::optional<base::BytesPerSecond> bandwidth;  ///< from page-locked memory; absent: free
  /// How many times as long a copy from pageable memory takes. The driver copies it through a pinned
  /// buffer of its own, so that every byte crosses the host's memory once more, at about the link's
  /// speed (CUDA C++ Best Practices Guide, "Pinned memory"; 26 against 53 GB/s measured over PCIe 5
  /// with an H200; 6 against 54 on other hosts). A run and a profile measure their own.
  double pageable_factor = 2;

  bool operator==(const Transfer&) const = default;
  base::Duration Time(base::Bytes bytes, bool pinned) const;
  Transfer Scaled(double factor) const;
};

}  // namespace pipesim::cost
