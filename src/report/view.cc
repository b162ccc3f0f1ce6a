#include "report/view.h"

#include <fmt/format.h>

#include <array>
#include <cmath>

#include "base/error.h"
#include "base/files.h"
#include "base/number_text.h"
#include "base/text.h"
#include "report/schema.h"
#include "report/sweep_report.h"

namespace pipesim::report {
namespace {

// A report has five levels. The library's writer recurses once a level, so anything deeper is
// refused.
constexpr int kDeepest = 64;

// Reports have tens to hundreds of KB, one of 10,000 workers a few MB. This is read in two seconds.
constexpr std::uintmax_t kLargestBytes = 32 << 20;

[[noreturn]] void Refuse(const std::string& source, std::string_view why) {
  throw base::EnvironmentError(fmt::format("{}: {}; use a file written by --export json=FILE",
                                           base::Printable(source), why));
}

}  // namespace

std::string ToAscii(std::string_view text) {
  struct Spelling {
    std::string_view sign, ascii;
  };
  static constexpr std::array<Spelling, 12> kSpellings = {{{"±", "+-"},
                                                           {"µ", "u"},
                                                           {"μ", "u"},
                                                           {"×", "x"},
                                                           {"–", "-"},
                                                           {"—", "-"},
                                                           {"−", "-"},
                                                           {"…", "..."},
                                                           {"→", "->"},
                                                           {"≤", "<="},
                                                           {"≥", ">="},
                                                           {"½", "1/2"}}};
  std::string ascii;
  for (std::size_t at = 0; at < text.size();) {
    if (static_cast<unsigned char>(text[at]) < 0x80) {
      ascii += text[at++];
      continue;
    }
    std::string_view spelling = "?";
    std::size_t length = 1;
    while (at + length < text.size() &&
           (static_cast<unsigned char>(text[at + length]) & 0xC0) == 0x80)
      ++length;
    for (const Spelling& known : kSpellings)
      if (text.substr(at, length) == known.sign) spelling = known.ascii;
    ascii += spelling;
    at += length;
  }
  return ascii;
}

View View::At(std::string_view path) const {
  View at = *this;
  while (true) {
    const std::size_t dot = path.find('.');
    at = at.Member(path.substr(0, dot));
    if (dot == std::string_view::npos) return at;
    path.remove_prefix(dot + 1);
  }
}

View View::Member(std::string_view name) const {
  if (value_ == nullptr || !value_->is_object()) return {nullptr, utf8_};
  const auto found = value_->find(std::string(name));
  return {found == value_->end() ? nullptr : &*found, utf8_};
}

std::optional<double> View::Number() const {
  if (value_ == nullptr || !value_->is_number()) return std::nullopt;
  const double number = value_->get<double>();
  if (!std::isfinite(number)) return std::nullopt;
  return number;
}

std::int64_t View::Whole(std::int64_t fallback) const {
  const double number = NumberOr(static_cast<double>(fallback));
  return static_cast<std::int64_t>(
      std::clamp(number, -base::kLargestWhole, base::kLargestWhole));
}

bool View::IsTrue() const {
  return value_ != nullptr && value_->is_boolean() && value_->get<bool>();
}

bool View::IsBoolean() const { return value_ != nullptr && value_->is_boolean(); }

std::string View::Json() const {
  if (value_ == nullptr) return "null";
  return value_->dump(-1, ' ', false, Document::error_handler_t::replace);
}

std::string View::Text() const {
  if (value_ == nullptr || !value_->is_string()) return {};
  const std::string text = base::Printable(value_->get_ref<const std::string&>());
  return utf8_ ? text : ToAscii(text);
}

std::vector<View> View::Items() const {
  std::vector<View> items;
  if (value_ == nullptr || !value_->is_array()) return items;
  for (const Document& item : *value_) items.emplace_back(&item, utf8_);
  return items;
}

View View::First() const {
  const bool none = value_ == nullptr || !value_->is_array() || value_->empty();
  return {none ? nullptr : &value_->front(), utf8_};
}

std::vector<std::string> View::Texts() const {
  std::vector<std::string> texts;
  for (const View item : Items()) texts.push_back(item.Text());
  return texts;
}

std::vector<std::pair<std::string, View>> View::Members() const {
  std::vector<std::pair<std::string, View>> members;
  if (value_ == nullptr || !value_->is_object()) return members;
  for (const auto& [name, member] : value_->items()) {
    const std::string shown = base::Printable(name);
    members.emplace_back(utf8_ ? shown : ToAscii(shown), View(&member, utf8_));
  }
  return members;
}

Document Parse(std::string_view text, const std::string& source) {
  const auto shallow = [&](int depth, Document::parse_event_t, Document&) {
    if (depth > kDeepest) Refuse(source, "nested too deeply to be a report");
    return true;
  };
  Document document;
  try {
    document = Document::parse(text, shallow);
  } catch (const Document::exception& error) {
    Refuse(source, "not JSON (" + base::Printable(error.what()) + ")");
  }
  const View view(&document, true);
  if (!view.At("pipesim").IsPresent() || !view.At("kind").IsPresent())
    Refuse(source, "not a report of pipesim");
  const std::string kind = view.At("kind").Text();
  if (!HasSchema(kind)) Refuse(source, "a report of the unknown kind '" + kind + "'");
  if (view.At("schema_version").Number() != kSchemaVersion)
    Refuse(source, "written by a version of pipesim with another report format");
  if (const auto misfit = Misfit(document, kind))
    Refuse(source, "edited, or written by another version of pipesim (" + *misfit + ")");
  return document;
}

namespace {

std::string PlainText(const Document& document) {
  return document.dump(-1, ' ', false, Document::error_handler_t::replace);
}

}  // namespace

Document ReadReport(const std::filesystem::path& path) {
  const std::string source = path.string();
  std::error_code error;
  // Reading a pipe or a device might never end.
  if (std::filesystem::exists(path, error) && !std::filesystem::is_regular_file(path, error))
    Refuse(source, "not a regular file");
  const auto size = std::filesystem::file_size(path, error);
  if (!error && size > kLargestBytes)
    Refuse(source,
           fmt::format("{}, too large for a report", base::Amount(static_cast<double>(size))));
  if (path.extension() == ".jsonl") return Parse(PlainText(ReadSweepJournal(path)), source);
  return Parse(base::ReadFile(path), source);
}

std::string Setting(View document, std::string_view path) {
  return document.At("experiment").Member(path).At("value").Text();
}

}  // namespace pipesim::report
