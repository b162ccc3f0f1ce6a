#include "spec/yaml_tree.h"

#include <fmt/format.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <sstream>
#include <unordered_set>
#include <utility>

#include "base/text.h"

namespace pipesim::spec {
namespace {

/// Stops parsing at valid YAML that experiments do not allow.
struct Refused {
  base::Problem problem;
};

/// Converts a mark of the parser (from 0, in bytes) to a place.
class Places {
 public:
  Places(std::shared_ptr<const Source> source, int first_column, std::vector<std::string> lines)
      : source_(std::move(source)), first_column_(first_column), lines_(std::move(lines)) {}

  Place At(const YAML::Mark& mark, std::size_t bytes_wide = 1) const {
    const std::size_t line = mark.line < 0 ? 0 : static_cast<std::size_t>(mark.line);
    std::size_t column = mark.column < 0 ? 0 : static_cast<std::size_t>(mark.column);
    const std::string_view text = line < lines_.size() ? lines_[line] : std::string_view{};
    column = std::min(column, text.size());
    Place place{source_, static_cast<int>(line) + 1,
                base::CountCharacters(text.substr(0, column)) + 1,
                std::max(1, base::CountCharacters(text.substr(column, bytes_wide)))};
    if (!source_->numbered) {
      place.line = 1;
      place.column = first_column_ + (line == 0 ? place.column - 1 : 0);
    }
    return place;
  }
  const std::vector<std::string>& lines() const { return lines_; }

 private:
  std::shared_ptr<const Source> source_;
  int first_column_;
  std::vector<std::string> lines_;
};

class TreeBuilder final : public YAML::EventHandler {
 public:
  TreeBuilder(const Places& places, Origin origin, std::vector<base::Problem>& problems)
      : places_(places), origin_(origin), problems_(problems) {}

  Node Take() { return std::move(root_); }

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (documents_++ > 0) Refuse(mark, "a second document begins here; a file holds one");
  }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    RefuseAnchor(mark, anchor);
    if (IsKeyNext()) Refuse(mark, "a key is missing before ':'");
    Add(Make(NodeKind::kNull, places_.At(mark)));
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override {
    Refuse(mark, "aliases are not supported", "the value itself");
  }
  void OnAnchor(const YAML::Mark& mark, const std::string&) override {
    Refuse(mark, "anchors are not supported", "the value itself, where it is used");
  }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    RefuseAnchor(mark, anchor);
    RefuseTag(mark, tag);
    const Place place = places_.At(mark, value.size() + (tag == "!" ? 2 : 0));
    if (IsKeyNext()) return AddKey(value, place);
    Node node = Make(NodeKind::kScalar, place);
    node.text = value;
    Add(std::move(node));
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    Open(mark, tag, anchor, NodeKind::kSequence);
  }
  void OnSequenceEnd() override { Close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    Open(mark, tag, anchor, NodeKind::kMap);
  }
  void OnMapEnd() override { Close(); }

 private:
  struct Frame {
    Node node;
    std::unordered_set<std::string> seen;
    bool duplicate = false;  ///< the key just read is a duplicate: drop its value
  };

  [[noreturn]] void Refuse(const YAML::Mark& mark, std::string what, std::string suggestion = "") {
    throw Refused{ProblemAt(places_.At(mark), std::move(what), std::move(suggestion))};
  }
  void RefuseAnchor(const YAML::Mark& mark, YAML::anchor_t anchor) {
    if (anchor != YAML::NullAnchor) Refuse(mark, "anchors are not supported", "the value itself");
  }
  void RefuseTag(const YAML::Mark& mark, const std::string& tag) {
    if (tag.size() > 1) Refuse(mark, "tags are not supported", "the value without the tag");
  }

  bool IsKeyNext() const {
    if (open_.empty() || !open_.back().node.IsMap()) return false;
    return open_.back().node.keys.size() == open_.back().node.items.size();
  }
  Node Make(NodeKind kind, const Place& place) const {
    Node node;
    node.kind = kind;
    node.place = place;
    node.origin = origin_;
    return node;
  }
  void AddKey(const std::string& key, const Place& place) {
    Frame& frame = open_.back();
    if (!frame.seen.insert(key).second) {
      frame.duplicate = true;
      problems_.push_back(
          ProblemAt(place, base::Quoted(key) + " is given twice", "one of the two"));
    }
    frame.node.keys.push_back({key, place});
  }
  void Open(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor, NodeKind kind) {
    RefuseAnchor(mark, anchor);
    RefuseTag(mark, tag);
    // The parser takes a bracket that is never closed for a key, too.
    if (IsKeyNext())
      Refuse(mark, kind == NodeKind::kMap ? "a key must be one word, not a map; or a } is missing"
                                          : "a key must be one word, not a list; or a ] is missing");
    if (open_.size() >= static_cast<std::size_t>(kDeepestNesting)) {
      Refuse(mark, "nested more than " + std::to_string(kDeepestNesting) + " deep");
    }
    open_.push_back({Make(kind, places_.At(mark)), {}, false});
  }
  void Close() {
    Node node = std::move(open_.back().node);
    open_.pop_back();
    Add(std::move(node));
  }
  void Add(Node node) {
    if (++nodes_ > kMostNodes) {
      throw Refused{ProblemAt(node.place, "more than " + std::to_string(kMostNodes) + " values")};
    }
    if (open_.empty()) {
      root_ = std::move(node);
      return;
    }
    Frame& frame = open_.back();
    if (std::exchange(frame.duplicate, false)) {
      frame.node.keys.pop_back();
      return;
    }
    frame.node.items.push_back(std::move(node));
  }

  const Places& places_;
  Origin origin_;
  std::vector<base::Problem>& problems_;
  std::vector<Frame> open_;
  Node root_;
  std::size_t nodes_ = 0;
  int documents_ = 0;
};

std::vector<std::string> LinesOf(std::string_view text) {
  std::vector<std::string> lines;
  while (true) {
    const std::size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    lines.emplace_back(line);
    if (end == std::string_view::npos) return lines;
    text.remove_prefix(end + 1);
  }
}

bool IndentedByTab(const std::vector<std::string>& lines, int line) {
  if (line < 0 || static_cast<std::size_t>(line) >= lines.size()) return false;
  const std::string& text = lines[static_cast<std::size_t>(line)];
  const std::size_t first = text.find_first_not_of(" \t");
  return text.substr(0, first).find('\t') != std::string::npos;
}

base::Problem FromParser(const YAML::Exception& error, const Places& places) {
  // The parser often reports a tab one line late.
  for (const int line : {error.mark.line, error.mark.line - 1}) {
    if (!IndentedByTab(places.lines(), line)) continue;
    YAML::Mark mark;
    mark.line = line;
    mark.column = static_cast<int>(places.lines()[static_cast<std::size_t>(line)].find('\t'));
    return ProblemAt(places.At(mark), "a tab indents this line; YAML takes spaces only", "spaces");
  }
  return ProblemAt(places.At(error.mark), "not valid YAML: " + base::Printable(error.msg));
}

Node Parse(std::string_view text, const Places& places, Origin origin,
           std::vector<base::Problem>& problems) {
  TreeBuilder builder(places, origin, problems);
  try {
    std::istringstream stream{std::string(text)};
    YAML::Parser parser(stream);
    // The second call finds a second document, if any, which the builder refuses.
    if (parser.HandleNextDocument(builder)) parser.HandleNextDocument(builder);
  } catch (const Refused& refused) {
    problems.push_back(refused.problem);
  } catch (const YAML::Exception& error) {
    problems.push_back(FromParser(error, places));
  } catch (const std::exception& error) {
    problems.push_back(
        ProblemAt(places.At({}), std::string("not valid YAML: ") + base::Printable(error.what())));
  }
  return builder.Take();
}

/// Returns false and adds a problem for text that should not reach the YAML parser.
bool IsReadableText(std::string_view text, const std::shared_ptr<const Source>& source,
                    std::vector<base::Problem>& problems) {
  if (text.size() > kLargestFileBytes) {
    problems.push_back(
        ProblemAt({source, 1, 1, 1}, "larger than 1 MiB, too large for an experiment file"));
    return false;
  }
  const std::optional<std::size_t> bad = base::FirstUnreadableByte(text);
  if (!bad) return true;
  const std::string_view before = text.substr(0, *bad);
  const auto line = 1 + static_cast<int>(std::count(before.begin(), before.end(), '\n'));
  const std::size_t line_begin = before.rfind('\n') + 1;  // npos + 1 == 0
  base::Problem problem =
      ProblemAt({source, line, base::CountCharacters(before.substr(line_begin)) + 1, 1},
                "a byte that is not UTF-8 text; is this the right file?", "a text file in UTF-8");
  problem.source_line = base::Printable(problem.source_line);
  problems.push_back(std::move(problem));
  return false;
}

}  // namespace

Node ParseYaml(std::string_view text, const std::string& source_name, Origin origin,
               std::vector<base::Problem>& problems) {
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  auto source = std::make_shared<Source>(Source{source_name, {}, true});
  if (text.size() <= kLargestFileBytes) source->lines = LinesOf(text);
  if (!IsReadableText(text, source, problems)) return {};
  return Parse(text, Places(source, 1, source->lines), origin, problems);
}

Node ParseYamlValue(std::string_view text, std::shared_ptr<const Source> source, int column,
                    Origin origin, std::vector<base::Problem>& problems) {
  if (text.size() > kLargestFileBytes || base::FirstUnreadableByte(text)) {
    problems.push_back(ProblemAt({source, 1, column, 1}, "not readable as text"));
    return {};
  }
  const Places places(source, column, LinesOf(text));
  Node node = Parse(text, places, origin, problems);
  if (node.IsNull()) node.place = {source, 1, column, std::max(1, base::CountCharacters(text))};
  node.origin = origin;
  return node;
}

std::string QuoteYaml(std::string_view text) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./+";
  const auto is_plain = [&](char c) { return kPlain.find(c) != std::string_view::npos; };
  const auto is_inner = [&](char c) { return is_plain(c) || c == '-' || c == ':' || c == '%'; };
  const bool null_word = text == "null" || text == "Null" || text == "NULL";
  if (!text.empty() && !null_word && is_plain(text.front()) && text.back() != ':' &&
      std::all_of(text.begin(), text.end(), is_inner)) {
    return std::string(text);
  }
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') quoted += '\\';
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) {
      quoted += fmt::format("\\x{:02x}", static_cast<int>(c));
    } else {
      quoted += c;
    }
  }
  return quoted + '"';
}

}  // namespace pipesim::spec
