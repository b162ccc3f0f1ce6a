// Reads saved documents.
#include <fmt/format.h>

#include "base/error.h"
#include "base/text.h"
#include "report/view.h"

namespace pipesim::report {
namespace {

// A report has five levels. The library's writer recurses once a level, so anything deeper is
// refused.
constexpr int kDeepest = 64;

[[noreturn]] void Refuse(const std::string& source, std::string_view why) {
  throw base::EnvironmentError(fmt::format("{}: {}; use a file written by --export json=FILE",
                                           base::Printable(source), why));
}

}  // namespace

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
  if (const std::string kind = view.At("kind").Text(); kind != "run")
    Refuse(source, "a report of kind '" + kind + "'; only runs can be shown");
  if (view.At("schema_version").Number() != kSchemaVersion)
    Refuse(source, "written by a version of pipesim with another report format");
  return document;
}

}  // namespace pipesim::report
