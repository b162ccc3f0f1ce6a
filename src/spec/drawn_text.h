// Reads and writes distributions: "2ms", or {distribution: lognormal, mean: 2ms, stdev: 1ms}.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/random.h"
#include "spec/map_reader.h"

namespace pipesim::spec {

inline double UnitCount(Duration value) { return static_cast<double>(value.count()); }
inline double UnitCount(Bytes value) { return static_cast<double>(value.count); }

/// Parses one amount with its unit into the base unit (ns, bytes).
using ParseAmountText = std::function<Parsed<double>(std::string_view)>;

/// Problems go to `reading`; nullopt when there were any.
std::optional<base::Distribution> ReadDistribution(Reading& reading, const Node& node,
                                                   const std::string& path,
                                                   const ParseAmountText& parse);

std::string ToText(const Drawn<Duration>& drawn);
std::string ToText(const Drawn<Bytes>& drawn);

}  // namespace pipesim::spec
