#include "measure/cache_kinds.h"

namespace pipesim::measure {

std::optional<double> CacheHitFraction(const trace::RunTrace&, const trace::EpochRecord& epoch,
                                       const spec::Storage& storage) {
  if (storage.kind != spec::StorageKind::kEmulated) return std::nullopt;
  if (storage.cache.policy == spec::CachePolicy::kNone) return std::nullopt;
  const std::int64_t asked = epoch.reads + epoch.cache_hits;
  if (asked == 0) return std::nullopt;
  return static_cast<double>(epoch.cache_hits) / static_cast<double>(asked);
}

}  // namespace pipesim::measure
