// Reads documents: those from files are checked against their schema first. In all of them unknown
// values and values of the wrong type are absent, and every text is safe for a terminal.
#pragma once

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "report/report.h"

namespace pipesim::report {

/// A value inside a document, or absent. Cheap to copy; the document must outlive it.
class View {
 public:
  View(const Document* value, bool utf8) : value_(value), utf8_(utf8) {}

  /// The value at a path of member names: "result.step_time_s.mean".
  View At(std::string_view path) const;
  /// The member with this exact name, dots included, because settings are named by their path.
  View Member(std::string_view name) const;

  bool IsPresent() const { return value_ != nullptr && !value_->is_null(); }
  /// Finite, or nullopt.
  std::optional<double> Number() const;
  double NumberOr(double fallback) const { return Number().value_or(fallback); }
  /// A whole number, within what doubles hold exactly.
  std::int64_t Whole(std::int64_t fallback = 0) const;
  /// A number of things: never below 0.
  std::size_t Size(std::int64_t fallback = 0) const {
    return static_cast<std::size_t>(std::max(std::int64_t{0}, Whole(fallback)));
  }
  bool IsTrue() const;
  bool IsBoolean() const;
  /// The value as JSON on one line: numbers as the document has them.
  std::string Json() const;
  /// Without control characters, invalid UTF-8 or (utf8 = false) non-ASCII characters; empty when
  /// not a text.
  std::string Text() const;
  std::vector<View> Items() const;                            ///< of an array
  View First() const;                                         ///< item of an array
  std::vector<std::string> Texts() const;                     ///< the texts of an array
  std::vector<std::pair<std::string, View>> Members() const;  ///< of an object, in its order

 private:
  const Document* value_;
  bool utf8_;
};

/// Parses a saved document. Throws base::EnvironmentError, naming `source`, when the text is not
/// JSON, nested too deeply, or does not fit the schema of its kind: then it was edited, or written
/// by a version that this one cannot read.
Document Parse(std::string_view text, const std::string& source);

/// The same from a file, which must be a regular one of at most 32 MiB: a report, or the journal of a
/// sweep (`.jsonl`), whose points make one.
Document ReadReport(const std::filesystem::path& path);

/// `text` in ASCII: common symbols by their usual spelling, others as '?'.
std::string ToAscii(std::string_view text);

/// The value of an experiment setting as YAML; empty when unknown.
std::string Setting(View document, std::string_view path);

}  // namespace pipesim::report
