#include "app/command_line/output.h"

#include <fmt/format.h>
#include <langinfo.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "base/error.h"
#include "base/text.h"

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

}  // namespace

Exports::Exports(const Arguments& arguments) {
  for (const std::string& value : arguments.All("export")) {
    const std::size_t equals = value.find('=');
    if (equals == std::string::npos || equals + 1 == value.size())
      throw base::UsageError(
          fmt::format("--export takes FORMAT=FILE, for example --export json=run.json, not '{}'",
                      base::Printable(value)));
    Target target{&ExporterOf(value.substr(0, equals)), std::nullopt};
    const std::string file = value.substr(equals + 1);
    if (file == "-")
      replaces_text_ = true;
    else
      target.file.emplace(file);
    targets_.push_back(std::move(target));
  }
}

void Exports::Write(const report::Document& document) {
  std::string failures;
  for (Target& target : targets_) {
    const std::string text = target.exporter->render(document);
    try {
      if (target.file)
        target.file->Commit(text);
      else
        PrintOut(text);
    } catch (const base::EnvironmentError& error) {
      failures += (failures.empty() ? "" : "\n") + std::string(error.what());
    }
  }
  if (!failures.empty()) throw base::EnvironmentError(failures);
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
