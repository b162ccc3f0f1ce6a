#include "spec/sweep.h"

#include <algorithm>
#include <functional>
#include <memory>

#include "base/text.h"
#include "spec/key_rule.h"
#include "spec/keys.h"
#include "spec/yaml_tree.h"

namespace pipesim::spec {
namespace {

constexpr auto kSweepKeys = std::to_array<KeyRule>({
    {{"sweep.axes", "map of keys and values", "none", "pipesim sweep: what to vary"}},
    {{"sweep.repeats", "count", "run.repeats", "pipesim sweep: repeats of each point"}},
    {{"sweep.point_limit", "duration", "auto", "pipesim sweep: longest real run of a point"}},
});

/// A key as the user named it.
struct AxisKey {
  std::string path;  ///< empty: unknown, reported
  std::string (*to_yaml)(std::string_view) = nullptr;
};

bool IsKnownKey(std::string_view path) {
  return std::any_of(Keys().begin(), Keys().end(),
                     [&](const Key& key) { return key.path == path; });
}

std::string NearestKey(std::string_view typed, std::span<const ShortKey> short_keys) {
  if (std::string meant = MeantKey("", typed); !meant.empty()) return meant;
  std::vector<std::string> names;
  for (const ShortKey& key : short_keys) names.emplace_back(key.name);
  for (const Key& key : Keys()) names.emplace_back(key.path);
  return base::Nearest(typed, names).value_or("loader.workers");
}

AxisKey KeyNamed(Reading& reading, std::string_view typed, const Place& place,
                 std::span<const ShortKey> short_keys) {
  for (const ShortKey& key : short_keys)
    if (key.name == typed) return {std::string(key.path), key.to_yaml};
  if (!IsKnownKey(typed)) {
    reading.Problem(place, "unknown key " + base::Quoted(typed) + " of an axis",
                    NearestKey(typed, short_keys));
    return {};
  }
  if (typed == "run.repeats") {
    reading.Problem(place, "repeats are no axis: each point is repeated", "sweep.repeats: 3");
    return {};
  }
  if (typed == "version" || typed == "name" || typed.starts_with("sweep.")) {
    reading.Problem(place, std::string(typed) + " changes nothing in a run", "loader.workers");
    return {};
  }
  return {std::string(typed), nullptr};
}

/// The keys of "a+b" at `place`; empty after a problem.
std::vector<AxisKey> KeysNamed(Reading& reading, std::string_view typed, Place place,
                               std::span<const ShortKey> short_keys) {
  std::vector<AxisKey> keys;
  bool good = true;
  for (const std::string& name : base::Split(typed, '+')) {
    place.width = std::max(1, base::CountCharacters(name));
    keys.push_back(KeyNamed(reading, name, place, short_keys));
    place.column += base::CountCharacters(name) + 1;
    good = good && !keys.back().path.empty();
  }
  return good ? keys : std::vector<AxisKey>{};
}

/// The node as YAML on one line.
std::string FlowText(const Node& node) {
  if (node.kind == NodeKind::kScalar) return QuoteYaml(node.text);
  if (node.IsNull()) return "null";
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < node.items.size(); ++i)
    parts.push_back((node.IsMap() ? QuoteYaml(node.keys[i].text) + ": " : "") +
                    FlowText(node.items[i]));
  return (node.IsMap() ? "{" : "[") + base::Join(parts, ", ") + (node.IsMap() ? "}" : "]");
}

void AppendItem(Reading& reading, const Node& item, std::size_t zipped,
                std::vector<std::vector<AxisValue>>& out) {
  if (zipped > 1 && item.kind == NodeKind::kSequence) {
    std::vector<AxisValue> values;
    for (const Node& part : item.items)
      values.push_back({FlowText(part), part.place, FlowText(part)});
    if (values.size() != zipped)
      reading.Problem(
          item.place,
          std::to_string(values.size()) + " values for " + std::to_string(zipped) + " keys",
          "[1, 2]");
    out.push_back(std::move(values));
  } else if (item.kind == NodeKind::kScalar &&
             (zipped > 1 || item.text.find(':') != std::string::npos)) {
    for (auto& values : ParseAxisValues(reading, item.text, item.place, zipped))
      out.push_back(std::move(values));
  } else {
    out.push_back({{FlowText(item), item.place, FlowText(item)}});
  }
}

void ReadAxis(Reading& reading, const MapKey& key, const Node& node, Sweep& out) {
  const std::vector<AxisKey> keys = KeysNamed(reading, key.text, key.place, {});
  if (keys.empty()) return;
  SweepAxis axis;
  for (const AxisKey& each : keys) axis.keys.push_back(each.path);
  if (node.kind == NodeKind::kSequence) {
    for (const Node& item : node.items) AppendItem(reading, item, keys.size(), axis.values);
  } else if (node.kind == NodeKind::kScalar) {
    axis.values = ParseAxisValues(reading, node.text, node.place, keys.size());
  }
  if (axis.values.empty() && !reading.HasProblems())
    reading.Problem(node.place, "the axis " + key.text + " has no values", "[1, 2, 4]");
  out.axes.push_back(std::move(axis));
}

void ReadAxisFlag(Reading& reading, const std::string& typed, std::span<const ShortKey> short_keys,
                  Sweep& out) {
  constexpr std::string_view kFlag = "--axis ";
  const auto source = std::make_shared<Source>(
      Source{"command line", {base::Printable(std::string(kFlag) + typed)}, false});
  Place place{source, 1, base::CountCharacters(kFlag) + 1, 1};
  const std::size_t equals = typed.find('=');
  if (equals == std::string::npos || equals == 0) {
    place.width = std::max(1, base::CountCharacters(typed));
    reading.Problem(place, "an axis is KEY=VALUES", "--axis workers=0,1,2,4");
    return;
  }
  const std::string_view names = std::string_view(typed).substr(0, equals);
  const std::vector<AxisKey> keys = KeysNamed(reading, names, place, short_keys);
  if (keys.empty()) return;
  place.column += base::CountCharacters(names) + 1;
  SweepAxis axis;
  for (const AxisKey& key : keys) axis.keys.push_back(key.path);
  axis.values =
      ParseAxisValues(reading, std::string_view(typed).substr(equals + 1), place, keys.size());
  for (auto& values : axis.values)
    for (std::size_t i = 0; i < keys.size(); ++i)
      if (keys[i].to_yaml != nullptr) values[i].text = keys[i].to_yaml(values[i].typed);
  const auto same = std::find_if(out.axes.begin(), out.axes.end(),
                                 [&](const SweepAxis& other) { return other.keys == axis.keys; });
  if (same != out.axes.end())
    *same = std::move(axis);  // in its place: maps and rows keep their order
  else
    out.axes.push_back(std::move(axis));
}

void CheckValues(Reading& reading, const SweepAxis& axis) {
  std::vector<std::vector<std::string>> seen;
  for (const auto& values : axis.values) {
    std::vector<std::string> texts;
    for (const AxisValue& value : values) texts.push_back(value.text);
    seen.push_back(texts);
  }
  std::vector<std::vector<std::string>> sorted = seen;
  std::sort(sorted.begin(), sorted.end());
  const auto twice = std::adjacent_find(sorted.begin(), sorted.end());
  if (twice == sorted.end()) return;
  const auto first = std::find(seen.begin(), seen.end(), *twice);
  const auto second = std::find(first + 1, seen.end(), *twice) - seen.begin();
  reading.Problem(axis.values[static_cast<std::size_t>(second)].front().place,
                  base::Quoted(base::Join(*twice, "+")) + " is twice on this axis",
                  "one of the two");
}

}  // namespace

std::string SweepAxis::LabelAt(std::size_t position) const {
  std::vector<std::string> parts;
  for (const AxisValue& value : values[position]) parts.push_back(value.typed);
  return base::Join(parts, "+");
}

std::size_t Sweep::Points() const {
  if (axes.empty()) return 0;
  std::size_t points = 1;
  for (const SweepAxis& axis : axes) points *= axis.values.size();
  return points;
}

std::vector<std::size_t> Sweep::PositionOf(std::size_t point) const {
  std::vector<std::size_t> position(axes.size());
  for (std::size_t i = axes.size(); i-- > 0; point /= axes[i].values.size())
    position[i] = point % axes[i].values.size();
  return position;
}

std::size_t Sweep::PointAt(std::span<const std::size_t> position) const {
  std::size_t point = 0;
  for (std::size_t i = 0; i < axes.size(); ++i) point = point * axes[i].values.size() + position[i];
  return point;
}

std::span<const KeyRule> SweepKeys() { return kSweepKeys; }

void ReadSweep(Reading& reading, const Node& section, Sweep& out) {
  MapReader reader(reading, section, "sweep");
  int repeats = 1;
  if (reader.Count("repeats", repeats, 1, 10'000)) out.repeats = repeats;
  reader.Time("point_limit", out.point_limit, "auto");
  const Node* axes = reader.Take("axes");
  reader.Finish();
  if (axes == nullptr) return;
  if (!axes->IsMap()) {
    reading.Problem(axes->place, "sweep.axes must be a map of keys and values",
                    "axes: {loader.workers: [0, 1, 2, 4]}");
    return;
  }
  for (std::size_t i = 0; i < axes->keys.size(); ++i)
    ReadAxis(reading, axes->keys[i], axes->items[i], out);
}

void ReadAxisFlags(Reading& reading, std::span<const std::string> typed,
                   std::span<const ShortKey> short_keys, Sweep& out) {
  for (const std::string& flag : typed) ReadAxisFlag(reading, flag, short_keys, out);
}

void CheckAxes(Reading& reading, const Sweep& sweep) {
  std::vector<std::string> keys;
  std::size_t points = 1;
  for (const SweepAxis& axis : sweep.axes) {
    if (axis.values.empty()) continue;
    const Place& place = axis.values.front().front().place;
    CheckValues(reading, axis);
    for (const std::string& key : axis.keys) {
      if (std::find(keys.begin(), keys.end(), key) != keys.end())
        reading.Problem(place, key + " is in two axes", "one of the two");
      keys.push_back(key);
    }
    const bool over = points > kMostPoints;
    points =
        over || axis.values.size() > kMostPoints ? kMostPoints + 1 : points * axis.values.size();
    if (points > kMostPoints && !over)
      reading.Problem(place, "more than " + std::to_string(kMostPoints) + " points",
                      "fewer values");
  }
}

}  // namespace pipesim::spec
