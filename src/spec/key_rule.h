// A row of a section's table of keys: everything about a key but its reader, which stands below the
// table in the same file (storage_section.cc, ...). keys.cc lists the tables.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

#include "spec/drawn_text.h"
#include "spec/experiment.h"
#include "spec/keys.h"
#include "spec/map_reader.h"
#include "spec/units_text.h"

namespace pipesim::spec {

struct KeyRule {
  Key key;
  /// Its value as YAML; null: a short form or a sweep's, which are no settings of an experiment.
  std::string (*text)(const Experiment&) = nullptr;
  /// Whether this experiment has the key; null: every experiment has it.
  bool (*applies)(const Experiment&) = nullptr;
};

inline std::string YesNo(bool value) { return value ? "true" : "false"; }
inline std::string CountText(std::int64_t value) { return std::to_string(value); }

template <class T>
std::string OrWord(const std::optional<T>& value, std::string_view absent) {
  if (!value) return std::string(absent);
  if constexpr (std::is_integral_v<T>) {
    return CountText(*value);
  } else if constexpr (std::is_floating_point_v<T>) {
    return NumberText(*value);
  } else {
    return ToText(*value);
  }
}

inline std::string OrAuto(const std::optional<Drawn<Duration>>& drawn) {
  return drawn ? ToText(*drawn) : "auto";
}

inline bool IsEmulated(const Experiment& e) { return e.storage.kind == StorageKind::kEmulated; }
inline bool HasRealFiles(const Experiment& e) { return e.storage.kind == StorageKind::kFiles; }

}  // namespace pipesim::spec
