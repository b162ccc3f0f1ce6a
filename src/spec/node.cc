#include "spec/node.h"

#include <algorithm>
#include <utility>

namespace pipesim::spec {
namespace {

constexpr std::size_t kLongestShownLine = 400;

std::size_t IndexOf(const Node& map, std::string_view key) {
  const auto found = std::find_if(map.keys.begin(), map.keys.end(),
                                  [&](const MapKey& candidate) { return candidate.text == key; });
  return static_cast<std::size_t>(found - map.keys.begin());
}

}  // namespace

base::Problem ProblemAt(const Place& place, std::string what, std::string suggestion) {
  base::Problem problem;
  problem.what = std::move(what);
  problem.suggestion = std::move(suggestion);
  problem.column = place.column;
  problem.width = std::max(1, place.width);
  if (!place.source) return problem;
  problem.source = place.source->name;
  problem.line = place.source->numbered ? place.line : 0;
  const auto& lines = place.source->lines;
  if (place.line >= 1 && static_cast<std::size_t>(place.line) <= lines.size()) {
    const std::string& line = lines[static_cast<std::size_t>(place.line) - 1];
    if (line.size() <= kLongestShownLine) problem.source_line = line;
  }
  return problem;
}

const Node* Node::Find(std::string_view key) const {
  const std::size_t at = IndexOf(*this, key);
  return at < keys.size() ? &items[at] : nullptr;
}

Node* Node::Find(std::string_view key) { return const_cast<Node*>(std::as_const(*this).Find(key)); }

void Node::Set(MapKey key, Node value) {
  const std::size_t at = IndexOf(*this, key.text);
  if (at < keys.size()) {
    keys[at] = std::move(key);
    items[at] = std::move(value);
    return;
  }
  keys.push_back(std::move(key));
  items.push_back(std::move(value));
}

void Node::Erase(std::string_view key) {
  const std::size_t at = IndexOf(*this, key);
  if (at == keys.size()) return;
  keys.erase(keys.begin() + static_cast<std::ptrdiff_t>(at));
  items.erase(items.begin() + static_cast<std::ptrdiff_t>(at));
}

Node MapOf(std::string key, Node value) {
  Node map;
  map.kind = NodeKind::kMap;
  map.place = value.place;
  map.origin = value.origin;
  const Place place = value.place;
  map.Set({std::move(key), place}, std::move(value));
  return map;
}

Node Overlay(const Node& base, const Node& over) {
  if (over.IsNull() || !base.IsMap()) return over.IsNull() ? base : over;
  if (!over.IsMap()) return over;
  Node merged = base;
  merged.place = over.place;
  merged.origin = over.origin;
  for (std::size_t i = 0; i < over.keys.size(); ++i) {
    if (over.items[i].IsNull() && merged.Find(over.keys[i].text) != nullptr) continue;
    merged.Set(over.keys[i], over.items[i]);
  }
  return merged;
}

}  // namespace pipesim::spec
