#include "measure/cache_kinds.h"

#include <algorithm>
#include <cmath>

#include "measure/resources.h"

namespace pipesim::measure {
namespace {

/// A smaller difference in hits hardly shows in a rate.
constexpr double kAlike = 0.05;

/// Four standard errors of a share are at most 2 / sqrt(n).
double Tolerance(const trace::EpochRecord& epoch) {
  const auto asked = static_cast<double>(epoch.reads + epoch.cache_hits);
  return kAlike + 2 / std::sqrt(std::max(1.0, asked));
}

struct Whole {
  const trace::EpochRecord* epoch;
  double hit_fraction;
};

/// `in_flight`: samples that the device still trains on when an epoch's last step is submitted. Each epoch but the
/// first ends as many of the one before.
EpochKind KindOf(const std::vector<Whole>& epochs, std::size_t first, std::size_t last, std::int64_t in_flight) {
  std::int64_t samples = epochs[first].epoch->epoch == 0 ? -in_flight : 0;
  for (std::size_t i = first; i <= last; ++i) samples += epochs[i].epoch->samples;
  samples = std::max<std::int64_t>(samples, 0);
  const Duration wall = epochs[last].epoch->end - epochs[first].epoch->begin;
  return {.epochs = {epochs[first].epoch->epoch, epochs[last].epoch->epoch},
          .hit_fraction = epochs[last].hit_fraction,
          .samples_per_s =
              wall > Duration::zero() ? static_cast<double>(samples) / base::ToSeconds(wall) : 0};
}

std::optional<EpochRange> WholeEpochs(const trace::RunTrace& trace) {
  std::optional<EpochRange> whole;
  for (const trace::EpochRecord& epoch : trace.epochs) {
    if (epoch.complete) whole = {whole ? whole->first : epoch.epoch, epoch.epoch};
  }
  return whole;
}

}  // namespace

bool HasEmulatedCache(const spec::Storage& storage) {
  return storage.kind == spec::StorageKind::kEmulated &&
         storage.cache.policy != spec::CachePolicy::kNone;
}

std::optional<double> CacheHitFraction(const trace::RunTrace& trace,
                                       const trace::EpochRecord& epoch,
                                       const spec::Storage& storage) {
  if (HasEmulatedCache(storage)) {
    const std::int64_t asked = epoch.reads + epoch.cache_hits;
    if (asked == 0) return std::nullopt;
    return static_cast<double>(epoch.cache_hits) / static_cast<double>(asked);
  }
  if (storage.kind != spec::StorageKind::kFiles || epoch.bytes.count <= 0) return std::nullopt;
  const std::optional<double> fetched = FetchedBytes(trace, epoch.begin, epoch.end);
  if (!fetched) return std::nullopt;
  return std::clamp(1 - *fetched / static_cast<double>(epoch.bytes.count), 0.0, 1.0);
}

std::vector<EpochKind> EpochKinds(const trace::RunTrace& trace,
                                  const spec::Experiment& experiment) {
  std::vector<Whole> whole;
  for (const trace::EpochRecord& epoch : trace.epochs) {
    if (!epoch.complete) continue;
    const auto hit = CacheHitFraction(trace, epoch, experiment.storage);
    if (!hit) return {};
    whole.push_back({&epoch, *hit});
  }
  const bool asynchronous = trace.effective.device_asynchronous;
  const std::int64_t in_flight = asynchronous ? experiment.device.in_flight * experiment.loader.batch_size : 0;
  // From the end, since epochs are compared with the last one of their kind.
  std::vector<EpochKind> kinds;
  for (std::size_t end = whole.size(); end > 0;) {
    std::size_t first = end - 1;
    const Whole& last = whole[end - 1];
    while (first > 0 &&
           std::abs(whole[first - 1].hit_fraction - last.hit_fraction) <= Tolerance(*last.epoch)) {
      --first;
    }
    kinds.push_back(KindOf(whole, first, end - 1, in_flight));
    end = first;
  }
  std::reverse(kinds.begin(), kinds.end());
  return kinds;
}

std::optional<EpochRange> EpochsToJudge(const trace::RunTrace& trace,
                                        const spec::Experiment& experiment) {
  if (experiment.run.barrier) return WholeEpochs(trace);
  const std::vector<EpochKind> kinds = EpochKinds(trace, experiment);
  if (kinds.empty()) return std::nullopt;
  if (!HasEmulatedCache(experiment.storage) && kinds.size() < 2) return std::nullopt;
  return kinds.back().epochs;
}

}  // namespace pipesim::measure
