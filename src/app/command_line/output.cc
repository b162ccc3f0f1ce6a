#include "app/command_line/output.h"

#include <fmt/format.h>
#include <langinfo.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "app/installation.h"
#include "app/kept_runs.h"
#include "app/open_page.h"
#include "base/error.h"
#include "base/standard_streams.h"
#include "base/text.h"
#include "report/html.h"
#include "report/tensorboard.h"

namespace pipesim::app {
namespace {

const report::Exporter& ExporterOf(const std::string& name) {
  std::vector<std::string> names;
  for (const report::Exporter& exporter : report::Exporters()) {
    if (exporter.name == name) return exporter;
    names.emplace_back(exporter.name);
  }
  throw base::UsageError(fmt::format("unknown format '{}' in --export; the formats are: {}",
                                     base::Printable(name), base::Join(names, ", ")));
}

/// The kind of the document that a command ends in.
std::string_view KindOf(const Command& command) {
  return command.name == "predict" || command.name == "scenarios" ? "run" : command.name;
}

/// The formats of a kind of document, comma-separated.
std::string FormatsOf(std::string_view kind, bool saved) {
  std::vector<std::string> names;
  for (const report::Exporter& exporter : report::Exporters())
    if (exporter.Takes(kind) && !(saved && exporter.write_trace != nullptr))
      names.emplace_back(exporter.name);
  return base::Join(names, ", ");
}

/// Throws base::UsageError where the report has no such format.
void CheckFormat(const report::Exporter& exporter, std::string_view kind, bool saved) {
  if (!exporter.Takes(kind))
    throw base::UsageError(fmt::format("a report of kind '{}' has no format '{}'; it has: {}", kind,
                                       exporter.name, FormatsOf(kind, saved)));
  if (saved && exporter.write_trace != nullptr)
    throw base::UsageError(
        fmt::format("a saved report holds no spans for --export {0}; give --export {0}=FILE to the "
                    "run or the prediction itself. A saved report has: {1}",
                    exporter.name, FormatsOf(kind, saved)));
}

const report::Exporter* SpansExporter() {
  for (const report::Exporter& exporter : report::Exporters())
    if (exporter.write_trace != nullptr) return &exporter;
  return nullptr;
}

}  // namespace

bool HasFormat(const Command& command, const report::Exporter& exporter) {
  const bool saved = command.name == "report";  // of any kind
  return saved ? exporter.write_trace == nullptr : exporter.Takes(KindOf(command));
}

bool ExportsSpans(const Arguments& arguments) {
  const report::Exporter* exporter = SpansExporter();
  const std::vector<std::string> values = arguments.All("export");
  return exporter != nullptr && std::any_of(values.begin(), values.end(), [&](const auto& value) {
           return value.starts_with(std::string(exporter->name) + "=");
         });
}

void WriteSpans(const trace::RunTrace& trace, const report::Document& document,
                const base::TextSink& sink) {
  SpansExporter()->write_trace(trace, document, sink);
}

Exports::Exports(const Arguments& arguments) { Open(arguments, KindOf(*arguments.command), false); }

Exports::Exports(const Arguments& arguments, std::string_view kind) { Open(arguments, kind, true); }

void Exports::Open(const Arguments& arguments, std::string_view kind, bool saved) {
  opens_ = arguments.Has("open");
  for (const std::string& value : arguments.All("export")) {
    const std::size_t equals = value.find('=');
    if (equals == std::string::npos || equals + 1 == value.size())
      throw base::UsageError(
          fmt::format("--export takes FORMAT=FILE, for example --export json=run.json, not '{}'",
                      base::Printable(value)));
    Target target{&ExporterOf(value.substr(0, equals)), std::nullopt, std::nullopt};
    CheckFormat(*target.exporter, kind, saved);
    const std::string path = value.substr(equals + 1);
    const bool is_folder = target.exporter->render_folder != nullptr;
    if (is_folder && path == "-")
      throw base::UsageError(fmt::format("--export {}=DIR takes a folder, not standard output",
                                         target.exporter->name));
    if (is_folder)
      target.folder.emplace(path, std::string(report::kEventFileEnd));
    else if (path == "-")
      replaces_text_ = true;
    else
      target.file.emplace(path);
    if (target.file && target.exporter->name == "html") page_ = path;
    targets_.push_back(std::move(target));
  }
  if (opens_ && !page_ && !StateFolder())
    throw base::EnvironmentError(
        "--open has no place for its page: set HOME, or add --export html=FILE");
}

void Exports::WriteOne(Target& target, const report::Document& document, const SpansText& spans) {
  const report::Exporter& exporter = *target.exporter;
  if (exporter.render_folder != nullptr) {
    std::vector<base::FolderFile> files;
    for (report::ExportedFile& file : exporter.render_folder(document))
      files.push_back({std::move(file.path), std::move(file.content)});
    return target.folder->Commit(files);
  }
  if (exporter.write_trace == nullptr) {
    const std::string text = exporter.render(document);
    return target.file ? target.file->Commit(text) : PrintOut(text);
  }
  if (!spans)
    spdlog::warn("no {} is written: the run ended without its spans", exporter.name);
  else if (target.file)
    target.file->Commit(spans);
  else
    spans([](std::string_view piece) { PrintOut(piece); });
}

void Exports::Write(const report::Document& document, const SpansText& spans) {
  std::string failures;
  for (Target& target : targets_) {
    try {
      WriteOne(target, document, spans);
    } catch (const base::EnvironmentError& error) {
      failures += (failures.empty() ? "" : "\n") + std::string(error.what());
    }
  }
  if (!failures.empty()) throw base::EnvironmentError(failures);
  if (opens_) Show(document);
}

void Exports::Show(const report::Document& document) const {
  const std::filesystem::path page =
      page_ ? *page_ : KeepPage(*StateFolder(), report::RenderHtml(document));
  const std::string shown = base::Printable(page.string());
  const std::string why = ShowPage(page);
  base::PrintError(why.empty() ? fmt::format("shown in the browser: {}\n", shown)
                               : fmt::format("--open: {}; the page is {}\n", why, shown));
}

report::TextOptions TextOptionsFor(const Arguments& arguments) {
  report::TextOptions options;
  if (arguments.Has("brief")) options.detail = report::Detail::kBrief;
  if (arguments.Has("full")) options.detail = report::Detail::kFull;
  const char* no_colour = std::getenv("NO_COLOR");
  options.colour = isatty(STDOUT_FILENO) && (no_colour == nullptr || *no_colour == '\0');
  options.utf8 = std::strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
  return options;
}

void PrintOut(std::string_view text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0)
    throw base::EnvironmentError(
        fmt::format("cannot write to standard output: {}", std::strerror(errno)));
}

}  // namespace pipesim::app
