#include "sweep/order.h"

#include "base/random.h"

namespace pipesim::sweep {

std::vector<std::size_t> OrderOf(std::size_t points, std::uint64_t seed, const Shard& shard) {
  const base::Shuffle shuffle(seed, 0, points);
  std::vector<std::size_t> order;
  const auto step = static_cast<std::size_t>(shard.count);
  for (std::size_t at = static_cast<std::size_t>(shard.index - 1); at < points; at += step)
    order.push_back(shuffle(at));
  return order;
}

}  // namespace pipesim::sweep
