#include "spec/overrides.h"

#include <algorithm>
#include <array>
#include <memory>

#include "base/names.h"
#include "base/text.h"
#include "spec/keys.h"
#include "spec/yaml_tree.h"

namespace pipesim::spec {
namespace {

struct ShortForm {
  std::string_view path;
  std::string_view key;        ///< what the word is short for
  std::string_view other_key;  ///< ... unless it is one of:
  std::array<std::string_view, 4> other_words;
};
constexpr std::array<ShortForm, 7> kShortForms{{
    {"storage", "preset", "kind", {"none"}},
    {"storage.cache", "policy", "", {}},
    {"model", "name", "", {}},
    {"device", "name", "", {}},
    {"device.emulated", "preset", "", {}},
    {"device.step", "base", "", {}},
    {"prepare", "cost", "kind", {"none", "burn", "wait", "decode"}},
}};

/// A word for these is their mean.
bool IsDrawn(std::string_view path) {
  return std::any_of(Keys().begin(), Keys().end(), [&](const Key& key) {
    return key.path == path && key.type.ends_with("or distribution");
  });
}

/// The flag as typed, with the places of its path and value.
struct Typed {
  std::shared_ptr<const Source> source;
  int path_column = 1;
  int value_column = 1;
  bool shows_path = false;
};

Typed AsTyped(const Override& change) {
  Typed typed;
  typed.shows_path = change.flag == "--set" || change.flag.starts_with("--from");
  std::string line = change.flag + " ";
  typed.path_column = typed.shows_path ? base::CountCharacters(line) + 1 : 1;
  if (typed.shows_path) line += change.path + "=";
  typed.value_column = base::CountCharacters(line) + 1;
  line += change.value;
  typed.source = std::make_shared<Source>(Source{"command line", {base::Printable(line)}, false});
  return typed;
}

/// Only these words ask for the default; an empty text is a variable of a script that is not set.
bool SaysNull(std::string_view text) {
  const std::string_view word = base::Trim(text);
  return word == "~" || word == "null" || word == "Null" || word == "NULL";
}

/// Moves the node to `place`: a value of an axis keeps the place where the axis was written.
void Relocate(Node& node, const Place& place) {
  node.place = place;
  for (Node& item : node.items) Relocate(item, place);
  for (MapKey& key : node.keys) key.place = place;
}

Node EmptyMap(const Place& place) {
  Node map;
  map.kind = NodeKind::kMap;
  map.place = place;
  map.origin = Origin::kFlag;
  return map;
}

}  // namespace

Node Expanded(std::string_view path, const Node& node) {
  if (node.kind != NodeKind::kScalar) return node;
  if (IsDrawn(path)) return MapOf("mean", node);
  for (const ShortForm& form : kShortForms) {
    if (form.path != path) continue;
    const auto& words = form.other_words;
    const bool other =
        !node.text.empty() &&
        std::find(words.begin(), words.end(), base::LowerCase(node.text)) != words.end();
    return MapOf(std::string(other ? form.other_key : form.key), node);
  }
  return node;
}

void ApplyOverride(Node& root, const Override& change, std::vector<base::Problem>& problems) {
  const Typed typed = AsTyped(change);
  const std::size_t problems_before = problems.size();
  Node value =
      ParseYamlValue(change.value, typed.source, typed.value_column, change.origin, problems);
  if (value.IsNull() && problems.size() == problems_before && !SaysNull(change.value)) {
    problems.push_back(ProblemAt(value.place, change.path + " is given without a value",
                                 "a value, or leave it out"));
    return;
  }
  if (change.place.source) Relocate(value, change.place);
  if (!root.IsMap()) root = EmptyMap(value.place);
  Node* node = &root;
  std::string path;
  int column = typed.path_column;
  const std::vector<std::string> parts = base::Split(change.path, '.');
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const int width =
        typed.shows_path ? base::CountCharacters(parts[i]) : base::CountCharacters(change.flag);
    const Place place = change.place.source ? change.place
                                            : Place{typed.source, 1, column, std::max(1, width)};
    if (parts[i].empty()) {
      problems.push_back(
          ProblemAt(place, base::Quoted(change.path) + " is not a path", "loader.workers"));
      return;
    }
    if (typed.shows_path) column += width + 1;
    if (i + 1 == parts.size()) {
      node->Set({parts[i], place}, std::move(value));
      return;
    }
    path += (path.empty() ? "" : ".") + parts[i];
    if (node->Find(parts[i]) == nullptr) node->Set({parts[i], place}, EmptyMap(place));
    Node& child = *node->Find(parts[i]);
    child = Expanded(path, child);
    if (!child.IsMap()) {
      if (!child.IsNull()) {
        problems.push_back(ProblemAt(child.place, path + " must be a map of keys and values"));
      }
      child = EmptyMap(place);
    }
    node = node->Find(parts[i]);
  }
}

}  // namespace pipesim::spec
