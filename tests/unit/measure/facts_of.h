// What a warning of a measurement is about.
#pragma once

#include <optional>
#include <variant>

#include "measure/measurement.h"

namespace pipesim::measure {

/// nullopt when there is no such warning.
template <typename Facts>
std::optional<Facts> FactsOf(const Measurement& measurement) {
  for (const Warning& warning : measurement.warnings) {
    if (const auto* facts = std::get_if<Facts>(&warning.facts)) return *facts;
  }
  return std::nullopt;
}

}  // namespace pipesim::measure
