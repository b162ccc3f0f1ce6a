// The user's input as a tree of texts with their places, built from a YAML file (yaml_tree.h) and
// from flags (overrides.h). Knows nothing of what a key means.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "spec/experiment.h"

namespace pipesim::spec {

/// An input text for error messages. Lines end at "\n" or "\r\n", which they do not include.
struct Source {
  std::string name;  ///< file name, or "command line"
  std::vector<std::string> lines;
  bool numbered = true;  ///< false: a single line without a number (a flag as typed)
};

/// Line and column count from 1, the column and the width in characters (code points).
struct Place {
  std::shared_ptr<const Source> source;
  int line = 0;
  int column = 1;
  int width = 1;
};

/// `what` at `place`. Source lines over 400 bytes are omitted.
base::Problem ProblemAt(const Place& place, std::string what, std::string suggestion = "");

enum class NodeKind { kNull, kScalar, kSequence, kMap };

struct MapKey {
  std::string text;
  Place place;
};

struct Node {
  NodeKind kind = NodeKind::kNull;
  std::string text;          ///< scalar: as written, without quotes
  std::vector<Node> items;   ///< sequence: its items; map: its values
  std::vector<MapKey> keys;  ///< map: one per item
  Place place;
  Origin origin = Origin::kDefault;

  bool IsMap() const { return kind == NodeKind::kMap; }
  bool IsNull() const { return kind == NodeKind::kNull; }
  const Node* Find(std::string_view key) const;
  Node* Find(std::string_view key);
  /// Sets `key` to `value`, replacing any old value.
  void Set(MapKey key, Node value);
  void Erase(std::string_view key);
};

/// A map with the single entry `key: value`, at the place of `value`.
Node MapOf(std::string key, Node value);

/// Merges one level: `over`'s entries replace `base`'s as a whole, except null ones, which keep the
/// entry of `base`. Where one is not a map, returns `over`, or `base` if `over` is null.
Node Overlay(const Node& base, const Node& over);

}  // namespace pipesim::spec
