// What the user wrote, as a tree of texts that remember where each stands. Made from a YAML file
// (yaml_tree.h) and from flags (overrides.h), read once into an Experiment. Knows no key's meaning.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "spec/experiment.h"

namespace pipesim::spec {

/// A text that problems point into. Lines are cut at '\n', without it and without a '\r' before it.
struct Source {
  std::string name;  ///< file name, or "command line"
  std::vector<std::string> lines;
  bool numbered = true;  ///< false: one line that has no number (a flag as typed)
};

/// Line and column count from 1, the column and the width in characters (code points).
struct Place {
  std::shared_ptr<const Source> source;
  int line = 0;
  int column = 1;
  int width = 1;
};

/// `what` at `place`. Lines beyond 400 bytes are left out of the problem: nobody could see the
/// caret.
base::Problem ProblemAt(const Place& place, std::string what, std::string suggestion = "");

enum class NodeKind { kNull, kScalar, kSequence, kMap };

struct MapKey {
  std::string text;
  Place place;
};

struct Node {
  NodeKind kind = NodeKind::kNull;
  std::string text;          ///< of a scalar, as written, without quotes
  std::vector<Node> items;   ///< of a sequence; of a map: the values
  std::vector<MapKey> keys;  ///< of a map, one for each item
  Place place;
  Origin origin = Origin::kDefault;

  bool IsMap() const { return kind == NodeKind::kMap; }
  bool IsNull() const { return kind == NodeKind::kNull; }
  const Node* Find(std::string_view key) const;
  Node* Find(std::string_view key);
  /// Sets `key` to `value`, in place of what it was.
  void Set(MapKey key, Node value);
  void Erase(std::string_view key);
};

/// A map with the one entry `key: value`, standing where `value` stands.
Node MapOf(std::string key, Node value);

/// `over`'s entries on top of `base`'s, this level only: a value is replaced as a whole. A null on
/// top leaves what is below. Either may be no map: then the one that is wins, `over` first.
Node Overlay(const Node& base, const Node& over);

}  // namespace pipesim::spec
