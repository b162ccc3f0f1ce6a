// Every view of a document, whatever it holds: missing values and values of the wrong type are n/a.
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "fuzz.h"
#include "report/report.h"
#include "report/view.h"

namespace pipesim::fuzz {
namespace {

constexpr int kDeepest = 64;  // of report::Parse

void CheckTexts(const report::Document& document) {
  using report::Detail;
  for (const Detail detail : {Detail::kBrief, Detail::kNormal, Detail::kFull}) {
    RequirePrintable(report::ToText(document, {.detail = detail}));
    const std::string ascii = report::ToText(document, {.detail = detail, .utf8 = false});
    for (const std::string& line : base::Split(ascii, '\n'))
      Require(report::ToAscii(line) == line, "ASCII is ASCII: " + line);
  }
}

void CheckExports(const report::Document& document) {
  const auto kind = document.find("kind");
  if (kind == document.end() || !kind->is_string()) return;
  for (const report::Exporter& exporter : report::Exporters()) {
    if (!exporter.Takes(kind->get<std::string>())) continue;
    if (exporter.render != nullptr) exporter.render(document);
    if (exporter.render_folder == nullptr) continue;
    for (const report::ExportedFile& file : exporter.render_folder(document))
      Require(file.path.find("..") == std::string::npos && !file.path.starts_with("/"),
              "an exported file stays in its folder: " + file.path);
  }
}

}  // namespace

void Try(std::string_view input) {
  bool deep = false;
  const auto shallow = [&](int depth, report::Document::parse_event_t, report::Document&) {
    deep = deep || depth > kDeepest;
    return !deep;
  };
  const auto document = report::Document::parse(input, shallow, false);
  if (deep || document.is_discarded()) return;
  CheckTexts(document);
  if (document.is_object()) CheckExports(document);
}

}  // namespace pipesim::fuzz
