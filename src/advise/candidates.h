// The configurations that tuning considers, and the search among them by a score. Pure functions.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "advise/tune.h"

namespace pipesim::advise {

/// Samples/s, predicted or measured; nullopt: it cannot run.
using Score = std::function<std::optional<double>(const Configuration&)>;

struct Scored {
  Configuration configuration;
  double samples_per_s = 0;
};

/// Ascending from `fewest`, each up to 8, then by a half more; ends with `most`.
std::vector<int> CountLadder(int fewest, int most);

/// The fastest configuration, by coordinates from `start`: workers together with compute threads,
/// which share the cores, and with being kept, since starting them costs; prefetch together with
/// dispatch; batch size if allowed; again until nothing changes. Of nearly equal ones (0.5 %) the
/// smallest. nullopt: none can run.
std::optional<Scored> Fastest(const Configuration& start, const TuneSpace& space,
                              const Score& score);

/// The smallest configuration from `from` downwards that reaches `samples_per_s`: fewest workers,
/// then compute threads, then prefetch, then without workers that are kept. `from` itself when nothing smaller does.
Configuration Smallest(const Configuration& from, const TuneSpace& space, double samples_per_s,
                       const Score& score);

}  // namespace pipesim::advise
