// Values counted in the folder of real samples.
#include <stdexcept>

#include "base/error.h"
#include "spec/checks.h"
#include "spec/experiment.h"
#include "spec/keys.h"
#include "spec/model_layers.h"

namespace pipesim::spec {
namespace {

[[noreturn]] void Contradicts(const Experiment& experiment, std::string what,
                              std::string suggestion) {
  base::Problem problem;
  problem.source = experiment.storage.path.string();
  problem.what = std::move(what);
  problem.suggestion = std::move(suggestion);
  throw base::ConfigError({std::move(problem)});
}

void Update(Experiment& experiment, const std::string& path) {
  if (auto text = SettingText(experiment, path)) {
    experiment.settings[path] = {std::move(*text), Origin::kData};
  }
}

}  // namespace

void SetFromData(Experiment& experiment, std::int64_t samples, std::int64_t classes,
                 Bytes mean_sample_bytes) {
  Dataset& dataset = experiment.dataset;
  const bool own_classes = dataset.classes > 0;
  if (own_classes && dataset.classes < classes) {
    Contradicts(experiment,
                "the folder has " + std::to_string(classes) + " classes, dataset.classes is " +
                    std::to_string(dataset.classes),
                "classes: " + std::to_string(classes));
  }
  dataset.samples = samples;
  dataset.sample_bytes = {base::Distribution::Fixed(static_cast<double>(mean_sample_bytes.count))};
  if (!own_classes) dataset.classes = classes;
  SetClasses(experiment.model.layers, dataset.classes);
  const std::int64_t outputs = OutputsOf(experiment.model, dataset.shape);
  if (outputs < dataset.classes) {
    Contradicts(experiment,
                "the folder has " + std::to_string(dataset.classes) + " classes, and model " +
                    experiment.model.name + " gives " + std::to_string(outputs) + " outputs",
                "linear: {out: classes}");
  }
  if (BatchesPerEpoch(experiment) == 0) {
    Contradicts(
        experiment,
        "loader.drop_last leaves no batch: the folder has " + std::to_string(samples) + " samples",
        "--batch " + std::to_string(samples));
  }
  Update(experiment, "dataset.samples");
  Update(experiment, "dataset.sample_bytes");
  if (!own_classes) Update(experiment, "dataset.classes");
  if (experiment.settings.contains("model.layers")) {
    experiment.settings["model.layers"].text = *SettingText(experiment, "model.layers");
  }
}

}  // namespace pipesim::spec
