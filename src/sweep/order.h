// The order of a sweep's points, and the shares of several machines.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace pipesim::sweep {

struct Shard {
  int index = 1, count = 1;  ///< 1 <= index <= count
};

/// The points of this shard, in an order drawn from the seed, so that slow changes of the machine
/// do not look like an axis. The shards of one sweep hold every point once.
std::vector<std::size_t> OrderOf(std::size_t points, std::uint64_t seed, const Shard& shard);

}  // namespace pipesim::sweep
