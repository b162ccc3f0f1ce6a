#include "compare/matching.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/text.h"

namespace pipesim::compare {
namespace {

constexpr std::string_view kPreset = ".preset";

/// Keys that say how long or how often to measure, or what to call it.
bool DescribesPipeline(const std::string& key) {
  if (key == "run.accelerators") return true;
  return !key.starts_with("run.") && key != "name" && key != "version";
}

bool IsUnder(const std::string& key, const std::string& group) {
  return key == group || key.starts_with(group + ".");
}

const std::string* Find(const std::map<std::string, std::string>& values, const std::string& key) {
  const auto found = values.find(key);
  return found == values.end() ? nullptr : &found->second;
}

/// What a point's settings or its side's say.
const std::string* FindAt(const Settings& of_point, const Settings& of_side, const std::string& key) {
  const std::string* value = Find(of_point, key);
  return value != nullptr ? value : Find(of_side, key);
}

/// The value of a key as users type it: `storage` stands for `storage.preset`, `model` for
/// `model.name`, `device` for the preset of one that is emulated.
const std::string* Meant(const Settings& settings, const std::string& key) {
  for (const std::string_view part : {"", ".preset", ".emulated.preset", ".name"})
    if (const std::string* value = Find(settings, key + std::string(part))) return value;
  return nullptr;
}

bool IsAxis(const Side& side, const std::string& key) {
  return std::any_of(side.axes.begin(), side.axes.end(),
                     [&](const auto& axis) { return IsUnder(key, axis.first); });
}

bool WasTyped(const Side& side, const Point& point, const std::string& key) {
  const std::string* origin = FindAt(point.origins, side.origins, key);
  return origin != nullptr && (*origin == "file" || *origin == "flag");
}

std::set<std::string> AxisKeys(const Side& a, const Side& b) {
  std::set<std::string> keys;
  for (const Side* side : {&a, &b})
    for (const Point& point : side->points)
      for (const auto& [key, value] : point.at) keys.insert(key);
  return keys;
}

/// The configuration of a point over `keys`; "?" where the side does not say. An older sweep's settings hold
/// some point's value of what an axis changes.
Settings At(const Side& side, const Point& point, const std::set<std::string>& keys) {
  Settings at;
  for (const std::string& key : keys) {
    const std::string* value = Find(point.at, key);
    if (value == nullptr) value = Meant(point.settings, key);
    if (value == nullptr && !IsAxis(side, key)) value = Meant(side.settings, key);
    at[key] = value == nullptr ? "?" : *value;
  }
  return at;
}

void AddOnce(std::vector<std::string>& values, const std::string& value) {
  if (std::find(values.begin(), values.end(), value) == values.end()) values.push_back(value);
}

/// One value as it is; of several, "nothing" stands for that of a point without the setting.
std::string Listed(std::vector<std::string> values) {
  if (values.size() > 1) std::replace(values.begin(), values.end(), std::string(), std::string("nothing"));
  constexpr std::size_t kShown = 8;
  if (values.size() > kShown) {
    values.resize(kShown);
    values.emplace_back("...");
  }
  return base::Join(values, ", ");
}

std::string ValuesOf(const Side& side, const std::string& key) {
  std::vector<std::string> values;
  for (const Point& point : side.points) AddOnce(values, At(side, point, {key})[key]);
  return Listed(std::move(values));
}

}  // namespace

std::vector<ChangedSetting> ChangedSettings(const Side& a, const Point& of_a, const Side& b, const Point& of_b) {
  std::set<std::string> keys;
  for (const Settings* settings : {&a.settings, &of_a.settings, &b.settings, &of_b.settings})
    for (const auto& [key, value] : *settings)
      if (DescribesPipeline(key) && !IsAxis(a, key) && !IsAxis(b, key)) keys.insert(key);
  const auto value_of = [](const Side& side, const Point& point, const std::string& key) {
    const std::string* value = FindAt(point.settings, side.settings, key);
    return value == nullptr ? std::string() : *value;
  };
  std::erase_if(keys, [&](const std::string& key) { return value_of(a, of_a, key) == value_of(b, of_b, key); });
  std::vector<std::string> presets;
  for (const std::string& key : keys)
    if (key.ends_with(kPreset)) presets.push_back(key.substr(0, key.size() - kPreset.size()));
  const auto follows = [&](const std::string& key) {
    return !key.ends_with(kPreset) && !WasTyped(a, of_a, key) && !WasTyped(b, of_b, key) &&
           std::any_of(presets.begin(), presets.end(),
                       [&](const std::string& group) { return IsUnder(key, group); });
  };
  std::vector<ChangedSetting> changed;
  for (const std::string& key : keys)
    if (!follows(key)) changed.push_back({key, value_of(a, of_a, key), value_of(b, of_b, key)});
  return changed;
}

std::string ShortName(const std::string& key) {
  std::string name = key;
  for (const std::string_view part : {".preset", ".name"})
    if (name.ends_with(part)) name.resize(name.size() - part.size());
  if (name == "loader.batch_size") return "batch";
  if (name == "loader.prefetch_factor") return "prefetch";
  const bool section = name.starts_with("loader.") || name.starts_with("limits.");
  if (section) name = name.substr(name.find('.') + 1);
  std::replace(name.begin(), name.end(), '_', ' ');
  std::replace(name.begin(), name.end(), '.', ' ');
  return name;
}

Match MatchPoints(const Side& a, const Side& b) {
  const std::set<std::string> keys = AxisKeys(a, b);
  std::map<Settings, std::size_t> of_b;
  for (std::size_t i = 0; i < b.points.size(); ++i) of_b.emplace(At(b, b.points[i], keys), i);
  std::set<std::size_t> taken;
  Match match;
  for (std::size_t i = 0; i < a.points.size(); ++i) {
    const auto found = of_b.find(At(a, a.points[i], keys));
    if (found == of_b.end()) {
      match.only_a.push_back(a.points[i].name);
      continue;
    }
    match.pairs.emplace_back(i, found->second);
    taken.insert(found->second);
  }
  for (std::size_t i = 0; i < b.points.size(); ++i)
    if (!taken.contains(i)) match.only_b.push_back(b.points[i].name);
  return match;
}

std::string WhyNothingMatches(const Side& a, const Side& b) {
  std::vector<std::string> lines;
  for (const std::string& key : AxisKeys(a, b)) {
    const std::string of_a = ValuesOf(a, key), of_b = ValuesOf(b, key);
    if (of_a != of_b) lines.push_back(key + ": " + of_a + " there, " + of_b + " here");
  }
  return base::Join(lines, "\n  ");
}

std::vector<ChangedSetting> ChangedSettings(const Side& a, const Side& b, const Match& match) {
  std::map<std::string, std::pair<std::vector<std::string>, std::vector<std::string>>> values;
  std::set<std::pair<Settings, Settings>> seen;
  for (const auto& [at_a, at_b] : match.pairs) {
    const Point &of_a = a.points[at_a], &of_b = b.points[at_b];
    if (!seen.insert({of_a.settings, of_b.settings}).second) continue;
    for (const ChangedSetting& each : ChangedSettings(a, of_a, b, of_b)) {
      AddOnce(values[each.key].first, each.a);
      AddOnce(values[each.key].second, each.b);
    }
  }
  std::vector<ChangedSetting> changed;
  for (auto& [key, both] : values)
    changed.push_back({key, Listed(std::move(both.first)), Listed(std::move(both.second))});
  return changed;
}

const Promise* PromiseOf(const Side& a, const Point& of_a, const Side& b, const Point& of_b) {
  if (of_a.promises.empty()) return nullptr;
  const std::vector<ChangedSetting> changed = ChangedSettings(a, of_a, b, of_b);
  if (changed.empty()) return nullptr;
  const auto leads_to_b = [&](const Promise& promise) {
    const bool all_there =
        std::all_of(promise.set.begin(), promise.set.end(), [&](const auto& setting) {
          const std::string* value = Meant(of_b.settings, setting.first);
          if (value == nullptr) value = Meant(b.settings, setting.first);
          return value != nullptr && *value == setting.second;
        });
    return !promise.set.empty() && all_there &&
           std::all_of(changed.begin(), changed.end(), [&](const ChangedSetting& change) {
             return std::any_of(promise.set.begin(), promise.set.end(), [&](const auto& setting) {
               return IsUnder(change.key, setting.first);
             });
           });
  };
  const auto found = std::find_if(of_a.promises.begin(), of_a.promises.end(), leads_to_b);
  return found == of_a.promises.end() ? nullptr : &*found;
}

}  // namespace pipesim::compare
