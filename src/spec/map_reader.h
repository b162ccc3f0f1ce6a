// Typed getters for one merged tree of texts. They collect every problem, and the place and origin
// of every value. Knows texts, units and ranges, not what a key means.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/drawn.h"
#include "base/error.h"
#include "spec/experiment.h"
#include "spec/node.h"
#include "spec/units_text.h"

namespace pipesim::spec {

/// Problems, warnings and origins found while reading. Keeps at most 100 problems, and their
/// number.
class Reading {
 public:
  void Problem(const Place& place, std::string what, std::string suggestion = "");
  void Add(std::vector<base::Problem> problems);
  void Warn(const Place& place, std::string what, std::string suggestion = "");
  /// Records that `node` set `path`; called for every value read.
  void Note(const std::string& path, const Node& node);

  /// The value at `path` was reported and not read; checks across keys leave it alone.
  void NoteInvalid(const std::string& path) { invalid_.insert(path); }
  bool IsInvalid(const std::string& path) const { return invalid_.contains(path); }

  bool HasProblems() const { return count_ > 0; }
  std::size_t problem_count() const { return count_; }
  bool IsFull() const { return problems_.size() >= kMostProblems; }
  /// The value came from the file or a flag, not from a model, a preset or a default.
  bool SetByUser(const std::string& path) const;
  std::optional<Origin> OriginOf(const std::string& path) const;
  /// The place of the value at `path` or, where it is not set, of the nearest path above.
  Place PlaceOf(std::string path) const;

  std::vector<base::Problem> TakeProblems();
  std::vector<base::Problem> TakeWarnings() { return std::move(warnings_); }

 private:
  static constexpr std::size_t kMostProblems = 100;
  struct Noted {
    Place place;
    Origin origin;
  };
  std::map<std::string, Noted> noted_;
  std::set<std::string> invalid_;
  std::vector<base::Problem> problems_, warnings_;
  std::size_t count_ = 0;
};

/// A word of the file and its value.
template <class T>
struct Named {
  std::string_view name;
  T value;
};

/// Reads the entries of one map. A getter returns true when the key is set to a valid value. Else
/// it leaves `out` unchanged: an absent or null key keeps the default, an invalid value is a
/// problem.
class MapReader {
 public:
  /// A null `node` sets nothing. Any other node that is not a map is a problem and sets nothing.
  MapReader(Reading& reading, const Node& node, std::string path);

  /// The value, or nullptr when absent or null. Marks the key as known.
  const Node* Take(std::string_view key);
  /// The same without marking the key as known.
  const Node* Peek(std::string_view key) const;
  bool Has(std::string_view key) const { return Peek(key) != nullptr; }
  std::string PathOf(std::string_view key) const;

  bool Text(std::string_view key, std::string& out);
  bool Flag(std::string_view key, bool& out);
  bool Count(std::string_view key, std::int64_t& out, std::int64_t low, std::int64_t high);
  bool Count(std::string_view key, int& out, int low, int high);
  /// The word `absent` ("auto", "none", "unlimited") sets `out` to nullopt.
  bool Count(std::string_view key, std::optional<std::int64_t>& out, std::int64_t low,
             std::int64_t high, std::string_view absent);
  bool Count(std::string_view key, std::optional<int>& out, int low, int high,
             std::string_view absent);
  bool Time(std::string_view key, Duration& out);
  bool Time(std::string_view key, std::optional<Duration>& out, std::string_view absent);
  bool Size(std::string_view key, Bytes& out);
  bool Size(std::string_view key, std::optional<Bytes>& out, std::string_view absent);
  bool Rate(std::string_view key, BytesPerSecond& out);
  bool Rate(std::string_view key, std::optional<BytesPerSecond>& out, std::string_view absent);
  bool PerSecond(std::string_view key, std::optional<double>& out, std::string_view absent);
  bool Share(std::string_view key, double& out);
  /// A plain decimal number, low <= value <= high.
  bool Number(std::string_view key, double& out, double low, double high);
  bool Drawn(std::string_view key, base::Drawn<Duration>& out);
  bool Drawn(std::string_view key, base::Drawn<Bytes>& out);
  bool Drawn(std::string_view key, std::optional<base::Drawn<Duration>>& out,
             std::string_view absent);
  /// Sizes, each 1 … 2^24, together at most 2^31.
  bool Sizes(std::string_view key, Shape& out);

  template <class T>
  bool Choice(std::string_view key, std::span<const Named<T>> choices, T& out) {
    std::vector<std::string> names;
    for (const auto& choice : choices) names.emplace_back(choice.name);
    const std::optional<std::size_t> index = ChoiceIndex(key, names);
    if (index) out = choices[*index].value;
    return index.has_value();
  }

  /// Reports every key that no getter asked for, with the nearest known key as suggestion.
  void Finish();

 private:
  const Node* Scalar(std::string_view key);
  std::optional<std::size_t> ChoiceIndex(std::string_view key,
                                         const std::vector<std::string>& names);
  template <class T, class Parse>
  bool Value(std::string_view key, T& out, Parse parse);
  template <class Unit, class Parse>
  bool DrawnValue(std::string_view key, base::Drawn<Unit>& out, Parse parse);

  Reading& reading_;
  const Node* node_;
  std::string path_;
  std::set<std::string, std::less<>> known_;
};

/// The shortest decimal text of a number, without exponent.
std::string NumberText(double value);

}  // namespace pipesim::spec
