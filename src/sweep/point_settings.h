// The settings of a sweep's points. An axis' value may bring others with it, as a storage preset its
// latency, so points differ in more than the keys of the axes.
#pragma once

#include <compare>
#include <cstddef>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "spec/experiment.h"

namespace pipesim::sweep {

using SettingMap = std::map<std::string, spec::Experiment::Setting>;

/// The settings of all points, without the keys of the axes.
struct PointSettings {
  SettingMap shared;                  ///< by all points
  std::vector<SettingMap> sets;       ///< the others, every set once; empty: points share all settings
  std::vector<std::size_t> of_point;  ///< each point's place in `sets`; empty where that is
};

/// Makes PointSettings of one point after the other; remembers of each only where it differs.
class SettingsCollector {
 public:
  explicit SettingsCollector(std::vector<std::string> keys_of_axes) : keys_(std::move(keys_of_axes)) {}

  /// Of the next point; those of the axes are left out.
  void Add(SettingMap settings);
  PointSettings Take() const;

 private:
  /// A setting that is not as at the first point.
  struct Changed {
    std::string key;
    bool present = false;
    std::string text;
    spec::Origin origin = spec::Origin::kDefault;
    auto operator<=>(const Changed&) const = default;
  };
  using Changes = std::vector<Changed>;
  Changes ChangesOf(const SettingMap& settings) const;

  std::vector<std::string> keys_;
  SettingMap first_;
  std::map<Changes, std::size_t> numbers_;
  std::vector<std::size_t> of_point_;
};

}  // namespace pipesim::sweep
