#include "report/sweep_settings.h"

#include <algorithm>
#include <map>

#include "base/text.h"

namespace pipesim::report {
namespace {

void AddOnce(std::vector<std::string>& values, const std::string& value) {
  if (std::find(values.begin(), values.end(), value) == values.end()) values.push_back(value);
}

/// The keys of an axis, with the value of each at every position.
void AddAxisValues(View axis, std::map<std::string, VaryingSetting>& settings) {
  const std::vector<std::string> keys = axis.At("keys").Texts();
  for (const std::string& key : keys) settings[key] = {key, {}, "axis"};
  for (const View at : axis.At("values").Items()) {
    const std::vector<std::string> texts = at.Texts();
    for (std::size_t i = 0; i < std::min(keys.size(), texts.size()); ++i)
      AddOnce(settings[keys[i]].values, texts[i]);
  }
}

}  // namespace

std::vector<View> SettingsOfPoints(View document) {
  const std::vector<View> sets = document.At("sweep.settings.sets").Items();
  const std::vector<View> of_points = document.At("sweep.settings.of_points").Items();
  std::vector<View> settings;
  for (const View point : document.At("points").Items()) {
    const std::size_t number = point.At("point").Size();
    const std::size_t set = number < of_points.size() ? of_points[number].Size() : sets.size();
    settings.push_back(set < sets.size() ? sets[set] : View(nullptr, true));
  }
  return settings;
}

std::vector<VaryingSetting> VaryingSettings(View document) {
  std::map<std::string, VaryingSetting> settings;
  std::map<std::string, std::vector<std::string>> origins;
  for (const View set : document.At("sweep.settings.sets").Items())
    for (const auto& [key, setting] : set.Members()) {
      settings[key].key = key;
      AddOnce(settings[key].values, setting.At("value").Text());
      AddOnce(origins[key], setting.At("origin").Text());
    }
  for (const auto& [key, words] : origins) settings[key].origin = base::Join(words, ", ");
  for (const View axis : document.At("sweep.axes").Items()) AddAxisValues(axis, settings);
  std::vector<VaryingSetting> varying;
  for (auto& [key, setting] : settings) varying.push_back(std::move(setting));
  return varying;
}

}  // namespace pipesim::report
