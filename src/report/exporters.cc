#include <array>
#include <nlohmann/json.hpp>

#include "report/chrome_trace.h"
#include "report/csv.h"
#include "report/html.h"
#include "report/markdown.h"
#include "report/report.h"
#include "report/tensorboard.h"

namespace pipesim::report {
namespace {

std::string RenderJson(const Document& report) {
  return report.dump(2, ' ', false, Document::error_handler_t::replace) + "\n";
}

std::string RenderText(const Document& report) {
  return ToText(report, {.detail = Detail::kFull, .colour = false, .utf8 = true});
}

constexpr std::string_view kTables[] = {"run", "sweep", "tune", "size", "devices", "memory", "bench"};
constexpr std::string_view kRuns[] = {"run"};
constexpr std::string_view kCharts[] = {"run", "sweep", "bench"};

constexpr auto kExporters = std::to_array<Exporter>({
    {"json", "the whole report; docs/schema/ describes it", &RenderJson},
    {"text", "what --full prints, without colour", &RenderText},
    {"html", "one page with pictures, for a browser and for sharing", &RenderHtml},
    {"markdown", "for an issue or a pull request", &RenderMarkdown},
    {"csv", "one row a run, repeat, point, size; a column a figure", &RenderCsv, kTables},
    {.name = "trace",
     .help = "every thread's spans, for ui.perfetto.dev",
     .kinds = kRuns,
     .write_trace = &WriteChromeTrace},
    {.name = "tensorboard",
     .help = "a folder for tensorboard --logdir",
     .kinds = kCharts,
     .render_folder = &RenderTensorBoard},
});

}  // namespace

std::span<const Exporter> Exporters() { return kExporters; }

}  // namespace pipesim::report
