#include "spec/map_reader.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "base/names.h"
#include "base/text.h"
#include "spec/drawn_text.h"
#include "spec/keys.h"

namespace pipesim::spec {

void Reading::Problem(const Place& place, std::string what, std::string suggestion) {
  ++count_;
  if (!IsFull()) problems_.push_back(ProblemAt(place, std::move(what), std::move(suggestion)));
}

void Reading::Add(std::vector<base::Problem> problems) {
  count_ += problems.size();
  for (base::Problem& problem : problems) {
    if (!IsFull()) problems_.push_back(std::move(problem));
  }
}

void Reading::Warn(const Place& place, std::string what, std::string suggestion) {
  warnings_.push_back(ProblemAt(place, std::move(what), std::move(suggestion)));
}

void Reading::Note(const std::string& path, const Node& node) {
  noted_[path] = {node.place, node.origin};
}

bool Reading::SetByUser(const std::string& path) const {
  const auto origin = OriginOf(path);
  return origin == Origin::kFile || origin == Origin::kFlag;
}

std::optional<Origin> Reading::OriginOf(const std::string& path) const {
  const auto found = noted_.find(path);
  if (found == noted_.end()) return std::nullopt;
  return found->second.origin;
}

Place Reading::PlaceOf(std::string path) const {
  while (true) {
    const auto found = noted_.find(path);
    if (found != noted_.end()) return found->second.place;
    if (path.empty()) return {};  // defaults alone
    const std::size_t dot = path.rfind('.');
    path.resize(dot == std::string::npos ? 0 : dot);
  }
}

std::vector<base::Problem> Reading::TakeProblems() {
  // Sorts by file and line, flags last.
  std::stable_sort(problems_.begin(), problems_.end(), [](const auto& a, const auto& b) {
    if (a.source != b.source || a.line == 0 || b.line == 0) return false;
    return std::pair(a.line, a.column) < std::pair(b.line, b.column);
  });
  if (count_ > problems_.size()) {
    base::Problem rest;
    rest.source = problems_.back().source;
    rest.what = "and " + std::to_string(count_ - problems_.size()) + " more problems";
    problems_.push_back(std::move(rest));
  }
  return std::move(problems_);
}

MapReader::MapReader(Reading& reading, const Node& node, std::string path)
    : reading_(reading), node_(&node), path_(std::move(path)) {
  if (!node.IsNull()) reading_.Note(path_, node);
  if (!node.IsMap() && !node.IsNull()) {
    const std::string what = path_.empty() ? "an experiment" : path_;
    reading_.Problem(node.place, what + " must be a map of keys and values",
                     path_.empty() ? "version: 1" : "");
  }
}

const Node* MapReader::Peek(std::string_view key) const {
  if (!node_->IsMap()) return nullptr;
  const Node* value = node_->Find(key);
  return value == nullptr || value->IsNull() ? nullptr : value;
}

const Node* MapReader::Take(std::string_view key) {
  known_.emplace(key);
  const Node* value = Peek(key);
  if (value != nullptr) reading_.Note(PathOf(key), *value);
  return value;
}

std::string MapReader::PathOf(std::string_view key) const {
  return path_.empty() ? std::string(key) : path_ + "." + std::string(key);
}

const Node* MapReader::Scalar(std::string_view key) {
  const Node* value = Take(key);
  if (value == nullptr || value->kind == NodeKind::kScalar) return value;
  reading_.Problem(value->place,
                   PathOf(key) + " must be one value, not a " + (value->IsMap() ? "map" : "list"));
  return nullptr;
}

template <class T, class Parse>
bool MapReader::Value(std::string_view key, T& out, Parse parse) {
  const Node* node = Scalar(key);
  if (node == nullptr) return false;
  auto parsed = parse(std::string_view(node->text));
  if (const auto* bad = std::get_if<BadText>(&parsed)) {
    reading_.Problem(node->place, PathOf(key) + ": " + bad->what, bad->suggestion);
    reading_.NoteInvalid(PathOf(key));
    return false;
  }
  out = std::get<0>(std::move(parsed));
  return true;
}

namespace {

/// Wraps a parser so that the word `absent` gives nullopt.
template <class T, class Parse>
auto OrAbsent(std::string_view absent, Parse parse) {
  return [absent, parse](std::string_view text) -> Parsed<std::optional<T>> {
    if (text == absent) return std::optional<T>{};
    auto parsed = parse(text);
    if (auto* bad = std::get_if<BadText>(&parsed)) return std::move(*bad);
    return std::optional<T>(std::get<0>(parsed));
  };
}

Parsed<std::int64_t> CountWithin(std::string_view text, std::int64_t low, std::int64_t high) {
  auto parsed = ParseCount(text);
  const auto* count = std::get_if<std::int64_t>(&parsed);
  if (count != nullptr && *count < low) {
    return BadText{std::string(text) + " is too small", std::to_string(low) + " or more"};
  }
  if (count != nullptr && *count > high) {
    return BadText{std::string(text) + " is too large", "at most " + std::to_string(high)};
  }
  return parsed;
}

Parsed<int> IntWithin(std::string_view text, int low, int high) {
  const auto parsed = CountWithin(text, low, high);
  if (const auto* bad = std::get_if<BadText>(&parsed)) return *bad;
  return static_cast<int>(std::get<std::int64_t>(parsed));
}

/// Above any real device; keeps products with times within 64 bits.
constexpr double kFastest = 1e15;

Parsed<BytesPerSecond> PositiveRate(std::string_view text) {
  auto parsed = ParseRate(text);
  const auto* rate = std::get_if<BytesPerSecond>(&parsed);
  if (rate != nullptr && rate->per_s <= 0) return BadText{"a rate of 0 never delivers", "1MB/s"};
  if (rate != nullptr && rate->per_s > kFastest)
    return BadText{"is faster than 1 PB/s", "unlimited"};
  return parsed;
}

Parsed<double> PositivePerSecond(std::string_view text) {
  auto parsed = ParsePerSecond(text);
  const auto* rate = std::get_if<double>(&parsed);
  if (rate != nullptr && *rate <= 0) return BadText{"a rate of 0 never delivers", "100"};
  if (rate != nullptr && *rate > kFastest)
    return BadText{"is more than 10^15 a second", "unlimited"};
  return parsed;
}

Parsed<double> NumberWithin(std::string_view text, double low, double high) {
  double value = 0;
  const char* last = text.data() + text.size();
  const auto end = std::from_chars(text.data(), last, value);
  const bool plain = text.find_first_not_of("0123456789.eE+-") == std::string_view::npos;
  if (end.ec != std::errc() || end.ptr != last || !plain) {
    return BadText{base::Quoted(text) + " is not a number", ""};
  }
  if (value < low)
    return BadText{std::string(text) + " is too small", NumberText(low) + " or more"};
  if (value > high)
    return BadText{std::string(text) + " is too large", "at most " + NumberText(high)};
  return value;
}

Parsed<bool> ParseFlag(std::string_view text) {
  if (text == "true") return true;
  if (text == "false") return false;
  constexpr std::array<std::string_view, 8> kYes{"True", "TRUE", "yes", "Yes",
                                                 "on",   "On",   "1",   "y"};
  constexpr std::array<std::string_view, 8> kNo{"False", "FALSE", "no", "No",
                                                "off",   "Off",   "0",  "n"};
  const auto among = [&](const auto& words) {
    return std::find(words.begin(), words.end(), text) != words.end();
  };
  return BadText{base::Quoted(text) + " is not true or false", among(kYes)  ? "true"
                                                               : among(kNo) ? "false"
                                                                            : "true or false"};
}

}  // namespace

bool MapReader::Text(std::string_view key, std::string& out) {
  return Value(key, out, [](std::string_view text) -> Parsed<std::string> {
    if (text.empty()) return BadText{"is empty", ""};
    if (text.size() > 4096) return BadText{"is longer than 4096 bytes", ""};
    return std::string(text);
  });
}

bool MapReader::Flag(std::string_view key, bool& out) { return Value(key, out, ParseFlag); }

bool MapReader::Count(std::string_view key, std::int64_t& out, std::int64_t low,
                      std::int64_t high) {
  return Value(key, out, [=](std::string_view text) { return CountWithin(text, low, high); });
}

bool MapReader::Count(std::string_view key, int& out, int low, int high) {
  return Value(key, out, [=](std::string_view text) { return IntWithin(text, low, high); });
}

bool MapReader::Count(std::string_view key, std::optional<std::int64_t>& out, std::int64_t low,
                      std::int64_t high, std::string_view absent) {
  return Value(key, out, OrAbsent<std::int64_t>(absent, [=](std::string_view text) {
                 return CountWithin(text, low, high);
               }));
}

bool MapReader::Count(std::string_view key, std::optional<int>& out, int low, int high,
                      std::string_view absent) {
  return Value(key, out, OrAbsent<int>(absent, [=](std::string_view text) {
                 return IntWithin(text, low, high);
               }));
}

bool MapReader::Time(std::string_view key, Duration& out) { return Value(key, out, ParseDuration); }

bool MapReader::Time(std::string_view key, std::optional<Duration>& out, std::string_view absent) {
  return Value(key, out, OrAbsent<Duration>(absent, ParseDuration));
}

bool MapReader::Size(std::string_view key, Bytes& out) { return Value(key, out, ParseBytes); }

bool MapReader::Size(std::string_view key, std::optional<Bytes>& out, std::string_view absent) {
  return Value(key, out, OrAbsent<Bytes>(absent, ParseBytes));
}

bool MapReader::Rate(std::string_view key, BytesPerSecond& out) {
  return Value(key, out, PositiveRate);
}

bool MapReader::Rate(std::string_view key, std::optional<BytesPerSecond>& out,
                     std::string_view absent) {
  return Value(key, out, OrAbsent<BytesPerSecond>(absent, PositiveRate));
}

bool MapReader::PerSecond(std::string_view key, std::optional<double>& out,
                          std::string_view absent) {
  return Value(key, out, OrAbsent<double>(absent, PositivePerSecond));
}

bool MapReader::Share(std::string_view key, double& out) { return Value(key, out, ParseShare); }

bool MapReader::Number(std::string_view key, double& out, double low, double high) {
  return Value(key, out, [=](std::string_view text) { return NumberWithin(text, low, high); });
}

template <class Unit, class Parse>
bool MapReader::DrawnValue(std::string_view key, base::Drawn<Unit>& out, Parse parse) {
  const Node* node = Take(key);
  if (node == nullptr) return false;
  const auto amount = [parse](std::string_view text) -> Parsed<double> {
    const auto parsed = parse(text);
    if (const auto* bad = std::get_if<BadText>(&parsed)) return *bad;
    return UnitCount(std::get<0>(parsed));
  };
  const auto drawn = ReadDistribution(reading_, *node, PathOf(key), amount);
  if (drawn) out.in_units = *drawn;
  return drawn.has_value();
}

bool MapReader::Drawn(std::string_view key, base::Drawn<Duration>& out) {
  return DrawnValue(key, out, ParseDuration);
}

bool MapReader::Drawn(std::string_view key, base::Drawn<Bytes>& out) {
  return DrawnValue(key, out, ParseBytes);
}

bool MapReader::Drawn(std::string_view key, std::optional<base::Drawn<Duration>>& out,
                      std::string_view absent) {
  const Node* node = Take(key);
  if (node != nullptr && node->kind == NodeKind::kScalar && node->text == absent) {
    out.reset();
    return true;
  }
  base::Drawn<Duration> drawn;
  if (!DrawnValue(key, drawn, ParseDuration)) return false;
  out = std::move(drawn);
  return true;
}

bool MapReader::Sizes(std::string_view key, Shape& out) {
  const Node* node = Take(key);
  if (node == nullptr) return false;
  const std::string path = PathOf(key);
  if (node->kind != NodeKind::kSequence || node->items.empty() || node->items.size() > 8) {
    reading_.Problem(node->place, path + " must be a list of 1 to 8 sizes", "[3, 224, 224]");
    return false;
  }
  Shape sizes;
  double elements = 1;
  for (const Node& item : node->items) {
    const auto parsed = CountWithin(item.text, 1, std::int64_t{1} << 24);
    if (const auto* bad = std::get_if<BadText>(&parsed)) {
      reading_.Problem(item.place, path + ": " + bad->what, bad->suggestion);
      return false;
    }
    sizes.push_back(std::get<std::int64_t>(parsed));
    elements *= static_cast<double>(sizes.back());
  }
  if (elements > 2147483648.0) {
    reading_.Problem(node->place, path + " has more than 2^31 elements");
    return false;
  }
  out = std::move(sizes);
  return true;
}

std::optional<std::size_t> MapReader::ChoiceIndex(std::string_view key,
                                                  const std::vector<std::string>& names) {
  const Node* node = Scalar(key);
  if (node == nullptr) return std::nullopt;
  if (const auto found = base::FindName(node->text, names)) return found;
  const auto near = base::Nearest(node->text, names);
  const std::string list = base::Join(names, ", ");
  reading_.Problem(node->place,
                   PathOf(key) + ": " + base::Quoted(node->text) + " is not one of " + list,
                   near.value_or(list));
  return std::nullopt;
}

void MapReader::Finish() {
  if (!node_->IsMap()) return;
  const std::vector<std::string> names(known_.begin(), known_.end());
  for (const MapKey& key : node_->keys) {
    if (known_.contains(key.text)) continue;
    if (reading_.IsFull()) {
      reading_.Problem(key.place, "");
      continue;
    }
    const std::string in = path_.empty() ? "" : " in " + path_;
    std::string suggestion = MeantKey(path_, key.text);
    if (suggestion.empty()) suggestion = base::Nearest(key.text, names).value_or("");
    if (suggestion.empty()) suggestion = "one of " + base::Join(names, ", ");
    reading_.Problem(key.place, "unknown key " + base::Quoted(key.text) + "" + in, suggestion);
  }
}

std::string NumberText(double value) {
  std::array<char, 400> buffer;
  const auto end =
      std::to_chars(buffer.data(), buffer.data() + buffer.size(), value, std::chars_format::fixed);
  return {buffer.data(), end.ptr};
}

}  // namespace pipesim::spec
