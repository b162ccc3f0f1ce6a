#include <array>
#include <nlohmann/json.hpp>

#include "report/report.h"

namespace pipesim::report {
namespace {

std::string RenderJson(const Document& report) {
  return report.dump(2, ' ', false, Document::error_handler_t::replace) + "\n";
}

std::string RenderText(const Document& report) {
  return ToText(report, {.detail = Detail::kFull, .colour = false, .utf8 = true});
}

constexpr std::array<Exporter, 2> kExporters = {
    {{"json", "the whole report; docs/schema/run.schema.json describes it", &RenderJson},
     {"text", "what --full prints, without colour", &RenderText}}};

}  // namespace

std::span<const Exporter> Exporters() { return kExporters; }

}  // namespace pipesim::report
