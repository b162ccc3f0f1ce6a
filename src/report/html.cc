// The frame of the HTML report, and the kinds of documents.
#include <fmt/format.h>

#include <map>

#include "base/text.h"
#include "report/html.h"
#include "report/html_parts.h"
#include "report/html_style.h"
#include "report/html_svg.h"
#include "report/html_text.h"
#include "report/sweep_settings.h"

namespace pipesim::report {
namespace {

// No script, no request: the file may be mailed, kept and opened anywhere. Style sheets and style
// attributes are in the file; the empty icon spares a request for /favicon.ico.
constexpr std::string_view kPolicy =
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; "
    "form-action 'none'";

std::string KindWord(View document) {
  const std::string kind = document.At("kind").Text();
  return kind == "run" && document.At("prediction").IsPresent() ? "prediction" : kind;
}

/// Kinds without a page of their own: their text.
std::string TextBody(const Document& document) {
  std::vector<std::string> lines = base::Split(ToText(document, {.detail = Detail::kFull}), '\n');
  // The first line, with what was wrapped of it, is the answer.
  std::string first = lines.front();
  std::size_t next = 1;
  for (; next < lines.size() && lines[next].starts_with("  "); ++next) first += lines[next].substr(1);
  Page answer(false);
  answer.Add(first, first.starts_with("does not") ? Style::kBad : Style::kGood);
  lines.erase(lines.begin(), lines.begin() + static_cast<std::ptrdiff_t>(next));
  return "<header>\n" + Answer(answer) + "</header>\n<pre class=\"plain\" tabindex=\"0\">" +
         EscapedLines(base::Join(lines, "\n")) + "</pre>\n";
}

std::string BodyOf(const Document& document) {
  Page page(false);
  const Sheet sheet{View(&document, true), page, true, true};
  const std::string kind = sheet.document.At("kind").Text();
  if (kind == "run") return RunBody(sheet);
  if (kind == "sweep") return SweepBody(sheet);
  if (kind == "size") return SizeBody(sheet);
  if (kind == "tune") return TuneBody(sheet);
  if (kind == "compare") return CompareBody(document);
  if (kind == "bench") return BenchBody(document);
  return TextBody(document);
}

/// The text of the first heading.
std::string TitleOfBody(const std::string& body) {
  const std::size_t from = body.find("<h1"), end = body.find("</h1>");
  if (from == std::string::npos || end == std::string::npos) return "pipesim";
  std::string title;
  bool tag = false;
  for (const char c : body.substr(from, end - from)) {
    if (c == '<') tag = true;
    if (!tag) title += c;
    if (c == '>') tag = false;
  }
  return title + " - pipesim";
}

/// "varies: hdd, nvme".
std::string VariesText(const VaryingSetting& setting) {
  constexpr std::size_t kShown = 8;
  std::vector<std::string> values = setting.values;
  if (values.size() > kShown) {
    values.resize(kShown);
    const auto more = static_cast<std::int64_t>(setting.values.size() - kShown);
    values.push_back(fmt::format("and {} more", WithCommas(more)));
  }
  return "varies: " + base::Join(values, ", ");
}

/// The rows of the settings by their paths; of a sweep, the values over its points.
std::map<std::string, std::vector<HtmlCell>> SettingRows(View document) {
  std::map<std::string, std::vector<HtmlCell>> rows;
  for (const auto& [path, setting] : document.At("experiment").Members())
    rows[path] = {TextCell(path), TextCell(setting.At("value").Text()), TextCell(setting.At("origin").Text())};
  for (const VaryingSetting& setting : VaryingSettings(document))
    rows[setting.key] = {TextCell(setting.key), TextCell(VariesText(setting)), TextCell(setting.origin)};
  return rows;
}

}  // namespace

std::string Kicker(View document) {
  std::vector<std::string> parts{"pipesim " + KindWord(document)};
  const View context = document.At("context");
  for (const std::string& part : {Setting(document, "name"), context.At("date").Text(),
                                  context.At("host").Text()})
    if (!part.empty()) parts.push_back(part);
  return "<p class=\"kicker\">" + Escaped(base::Join(parts, " \u00b7 ")) + "</p>\n";
}

std::string Answer(const Page& page) {
  if (page.lines().empty()) return {};
  const PageLine& first = page.lines().front();
  const std::string_view style = first.style == Style::kGood  ? "good"
                                 : first.style == Style::kBad ? "bad"
                                                              : "attention";
  // "io-bound (confidence high): storage limits training"
  const std::size_t colon = first.text.find(": ");
  const std::string verdict = first.text.substr(0, colon);
  const std::string rest = colon == std::string::npos ? "" : first.text.substr(colon);
  return fmt::format("<h1 class=\"{}\"><b>{}</b>{}</h1>\n", style, Escaped(verdict),
                     Escaped(rest)) +
         Paragraphs(page, 1);
}

std::string Origins(const Sheet& sheet) {
  HtmlTable table{"Settings and where each came from", {}, {{"setting"}, {"value", false, "long"}, {"from"}}, {}};
  for (const auto& [path, row] : SettingRows(sheet.document)) table.rows.push_back(row);
  Page machine(false);
  AddProgramAndMachine({sheet.document, machine, true, true});
  std::vector<std::string> argv{"pipesim"};
  for (const std::string& word : sheet.document.At("context.argv").Texts()) argv.push_back(word);
  return Section("Settings and where each came from", ToHtml(table), true) +
         Section("Program and machine",
                 Paragraphs(machine) + "<p>The command was:</p>\n" + Command(base::ShellJoin(argv)),
                 true);
}

std::string HtmlPage(const std::string& title, const std::string& body) {
  return "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
         "<meta http-equiv=\"Content-Security-Policy\" content=\"" +
         std::string(kPolicy) +
         "\">\n<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
         "<meta name=\"referrer\" content=\"no-referrer\">\n"
         "<meta name=\"color-scheme\" content=\"light dark\">\n<title>" +
         title + "</title>\n<link rel=\"icon\" href=\"data:,\">\n<style>" + kStyle +
         "</style>\n</head>\n<body>\n" + Patterns() + "<main>\n" + body +
         "</main>\n</body>\n</html>\n";
}

std::string RenderHtml(const Document& document) {
  const std::string body = BodyOf(document);
  return HtmlPage(TitleOfBody(body), Kicker(View(&document, true)) + body);
}

}  // namespace pipesim::report
