#include "engine/threaded/copying.h"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstring>
#include <latch>
#include <new>
#include <numeric>
#include <optional>
#include <system_error>
#include <thread>
#include <vector>

#include "base/clock.h"

namespace pipesim::engine::threaded {
namespace {

using base::Duration;

/// More than a core's part of the caches of today's processors (2 to 4 MiB).
constexpr base::Bytes kBeyondCaches{8 << 20};
constexpr base::Bytes kMost{1 << 30};  ///< of all threads, beside the run's own batches
constexpr Duration kCopying = std::chrono::milliseconds(30);

/// What one of `threads` fills: all of them as much as the run's batches, so that caches hold no
/// more of it.
base::Bytes PartOf(const BatchPool& pool, int threads) {
  const std::int64_t all = std::max(pool.slots(), std::int64_t{threads}) * pool.batch_bytes().count;
  return {std::min(all, kMost.count) / threads};
}

/// One thread's part: samples that it copies again and again.
class Copier {
 public:
  /// Throws std::bad_alloc.
  Copier(const RunState& run, base::Bytes part)
      : run_(run),
        sample_bytes_(static_cast<std::size_t>(spec::PreparedBytes(run.experiment.dataset).count)),
        samples_(std::max<std::size_t>(static_cast<std::size_t>(part.count) / sample_bytes_, 1)),
        batch_(samples_ * sample_bytes_) {
    if (run.source != nullptr) decoded_.resize(batch_.size());
  }

  /// Bytes a second of this thread's time on a core.
  double Copy() {
    const Duration begin = base::ThreadCpuTime();
    double bytes = 0;
    Duration used{};
    do {
      Fill();
      bytes += static_cast<double>(batch_.size());
      used = base::ThreadCpuTime() - begin;
    } while (used < kCopying);
    return bytes / base::ToSeconds(used);
  }

  void Fill() {
    if (run_.source != nullptr) {
      std::memcpy(batch_.data(), decoded_.data(), decoded_.size());
      return;
    }
    for (std::size_t i = 0; i < samples_; ++i) {
      const std::span<const std::byte> content = run_.content[static_cast<std::int64_t>(i)];
      std::memcpy(batch_.data() + i * sample_bytes_, content.data(), content.size());
    }
  }

 private:
  const RunState& run_;
  const std::size_t sample_bytes_, samples_;
  std::vector<std::byte> batch_;
  std::vector<std::byte> decoded_;  ///< of real files, whose workers copy from memory of their own
};

/// Copiers that copy side by side for as long as any of them is measured: one that began alone, while
/// the others still got their memory, would copy faster than it does in a run.
class Team {
 public:
  explicit Team(int threads) : ready_(threads), measured_(threads) {}

  /// One thread's part. Every thread of the team must come here once, or to Miss.
  double Measure(Copier& copier) {
    copier.Fill();
    ready_.arrive_and_wait();
    const double rate = copier.Copy();
    measured_.count_down();
    while (!measured_.try_wait()) copier.Fill();
    return rate;
  }
  void Miss(std::ptrdiff_t threads) {
    ready_.count_down(threads);
    measured_.count_down(threads);
  }

 private:
  std::latch ready_, measured_;
};

/// Of so many threads at once; nullopt where memory or threads are short.
std::optional<double> BytesPerSecondOf(int threads, const RunState& run, base::Bytes part) {
  std::vector<double> rates(static_cast<std::size_t>(threads));
  std::atomic<bool> short_of_memory{false};
  Team team(threads);
  const auto measure = [&](double& rate) {
    std::optional<Copier> copier;
    try {
      copier.emplace(run, part);
    } catch (const std::bad_alloc&) {
      short_of_memory = true;
      return team.Miss(1);
    }
    rate = team.Measure(*copier);
  };
  std::vector<std::jthread> started;
  try {
    started.reserve(rates.size());
    for (double& rate : rates) started.emplace_back([&] { measure(rate); });
  } catch (const std::system_error&) {
    team.Miss(static_cast<std::ptrdiff_t>(rates.size() - started.size()));
    return std::nullopt;
  }
  started.clear();  // joins them
  if (short_of_memory) return std::nullopt;
  return std::accumulate(rates.begin(), rates.end(), 0.0);
}

}  // namespace

std::optional<double> CopyingSpeedup(const RunState& run, int threads) {
  if (threads < 2 || run.pool.batch_bytes() < kBeyondCaches) return std::nullopt;
  const base::Bytes part = PartOf(run.pool, threads);
  // One alone varies most: it is measured before the others and after them.
  const auto before = BytesPerSecondOf(1, run, part);
  const auto together = before ? BytesPerSecondOf(threads, run, part) : std::nullopt;
  const auto after = together ? BytesPerSecondOf(1, run, part) : std::nullopt;
  return after ? std::optional(2 * *together / (*before + *after)) : std::nullopt;
}

}  // namespace pipesim::engine::threaded
