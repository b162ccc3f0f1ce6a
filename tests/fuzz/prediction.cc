// Whole predictions of a few steps: experiment, costs, virtual time, measurement, diagnosis, document.
#include <nlohmann/json.hpp>

#include "base/units.h"
#include "fuzz.h"
#include "predict/predict.h"
#include "report/report.h"
#include "report/schema.h"

namespace pipesim::fuzz {
namespace {

predict::Basis MakeBasis() {
  predict::Basis basis;
  basis.profile = spec::ReadMachineProfile("default", "--profile", Folders());
  basis.presets = spec::ReadPresets(Folders());
  basis.cores_here = 4;
  basis.memory_here = {{.name = "this machine", .free = {std::int64_t{64} << 30}}};
  basis.longest_s = 0.001;
  return basis;
}

/// Virtual time has an event for every chunk of every batch, so the sizes bound the time of an
/// input. Folders are not counted here.
bool IsSmall(const spec::Experiment& experiment) {
  return experiment.storage.kind != spec::StorageKind::kFiles &&
         experiment.dataset.samples <= 100'000 && experiment.loader.batch_size <= 512 &&
         experiment.loader.Window() <= 64 && experiment.run.accelerators <= 4;
}

report::Document DocumentOf(const spec::Experiment& experiment, predict::Prediction prediction) {
  report::RunReport report;
  report.experiment = experiment;
  report.storage = report.prepare = report.device = report.engine = report::Reality::kPredicted;
  report.measurement = std::move(prediction.measurement);
  report.diagnosis = std::move(prediction.diagnosis);
  report.repeats = std::move(prediction.repeats);
  report.prediction = std::move(prediction.notes);
  return report::ToJson(report);
}

}  // namespace

void Try(std::string_view input) {
  static const predict::Basis basis = MakeBasis();
  static const std::vector<spec::Override> short_run{{"run.steps", "12", "--steps"},
                                                     {"run.repeats", "1", "--repeats"}};
  Accepted([&] {
    const auto experiment =
        spec::ReadExperimentText(input, "experiment.yaml", short_run, Folders()).experiment;
    if (!IsSmall(experiment)) return;
    const report::Document document =
        DocumentOf(experiment, predict::Predict(experiment, basis, nullptr));
    if (const auto misfit = report::Misfit(document, "run"))
      Require(false, "a prediction fits its schema: " + *misfit);
    RequirePrintable(report::ToText(document, {.detail = report::Detail::kFull}));
  });
}

}  // namespace pipesim::fuzz
