// Parses and prints quantities; case-sensitive: "8ms", "110KiB", "550MB/s", "100Mbit/s", "64k",
// "90%".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

#include "base/units.h"

namespace pipesim::spec {

/// Why a text is not a quantity, and what was probably meant.
struct BadText {
  std::string what;        ///< "'8' has no unit"
  std::string suggestion;  ///< "8ms or 8s"; may be empty
};
template <class T>
using Parsed = std::variant<T, BadText>;

Parsed<base::Duration> ParseDuration(std::string_view text);  ///< ns us µs ms s min h; 0 needs none
Parsed<base::Bytes> ParseBytes(std::string_view text);        ///< B kB MB GB TB KiB MiB GiB TiB
Parsed<base::BytesPerSecond> ParseRate(
    std::string_view text);                              ///< bytes as above + "/s", or Mbit/s
Parsed<double> ParsePerSecond(std::string_view text);    ///< a count, optional k, M; IOPS
Parsed<std::int64_t> ParseCount(std::string_view text);  ///< whole; optional k, M
Parsed<double> ParseShare(std::string_view text);        ///< 0..1 or 0%..100%

/// The shortest text that parses back to the same value.
std::string ToText(base::Duration value);
std::string ToText(base::Bytes value);
std::string ToText(base::BytesPerSecond value);

}  // namespace pipesim::spec
