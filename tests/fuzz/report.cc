// Report files: against their schema, as a side of a comparison, and as what a prediction starts
// from.
#include <nlohmann/json.hpp>

#include "app/measured_run.h"
#include "fuzz.h"
#include "predict/resolve.h"
#include "report/compare_report.h"
#include "report/schema.h"
#include "report/view.h"

namespace pipesim::fuzz {
namespace {

void CompareWithItself(const report::Document& document) {
  report::CompareReport compared;
  compared.rules.threshold = 0.05;
  for (const char* name : {"a.json", "b.json"})
    compared.sides.push_back(report::SideOf(document, name));
  compared.comparisons = {compare::CompareSides(compared.sides, 1, compared.rules)};
  const report::Document result = report::ToJson(compared);
  if (const auto misfit = report::Misfit(result, "compare"))
    Require(false, "a comparison fits its schema: " + *misfit);
  RequirePrintable(report::ToText(result, {}));
}

void PredictFrom(const report::Document& document) {
  predict::Basis basis;
  basis.profile = spec::ReadMachineProfile("default", "--profile", Folders());
  basis.run = app::MeasuredRunOf(document, "report.json");
  const auto experiment =
      spec::ReadExperiment({.file = {}, .overrides = basis.run->settings}, Folders()).experiment;
  CheckExperiment(experiment);
  predict::Resolve(experiment, basis);
}

}  // namespace

void Try(std::string_view input) {
  report::Document document;
  if (!Accepted([&] { document = report::Parse(input, "report.json"); })) return;
  RequirePrintable(report::ToText(document, {}));
  Accepted([&] { CompareWithItself(document); });
  Accepted([&] { PredictFrom(document); });
}

}  // namespace pipesim::fuzz
