#include "sweep/point_settings.h"

#include <set>
#include <utility>

namespace pipesim::sweep {

SettingsCollector::Changes SettingsCollector::ChangesOf(const SettingMap& settings) const {
  Changes changes;
  for (const auto& [key, setting] : settings) {
    const auto before = first_.find(key);
    if (before == first_.end() || before->second != setting)
      changes.push_back({key, true, setting.text, setting.origin});
  }
  for (const auto& [key, setting] : first_)
    if (!settings.contains(key)) changes.push_back({key, false, "", spec::Origin::kDefault});
  return changes;
}

void SettingsCollector::Add(SettingMap settings) {
  for (const std::string& key : keys_) settings.erase(key);
  if (of_point_.empty()) first_ = settings;
  of_point_.push_back(numbers_.emplace(ChangesOf(settings), numbers_.size()).first->second);
}

PointSettings SettingsCollector::Take() const {
  PointSettings result{.shared = first_, .sets = {}, .of_point = {}};
  if (numbers_.size() < 2) return result;
  std::set<std::string> varying;
  for (const auto& [changes, number] : numbers_)
    for (const Changed& change : changes) varying.insert(change.key);
  SettingMap of_first;
  for (const std::string& key : varying)
    if (auto node = result.shared.extract(key)) of_first.insert(std::move(node));
  result.sets.assign(numbers_.size(), of_first);
  for (const auto& [changes, number] : numbers_)
    for (const Changed& change : changes) {
      if (change.present)
        result.sets[number][change.key] = {change.text, change.origin};
      else
        result.sets[number].erase(change.key);
    }
  result.of_point = of_point_;
  return result;
}

}  // namespace pipesim::sweep
