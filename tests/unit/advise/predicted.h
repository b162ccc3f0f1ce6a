// Experiments for searches among predictions: short ones, on a machine where only what they state
// costs anything.
#pragma once

#include <filesystem>
#include <string>

#include "advise/size.h"
#include "advise/tune.h"
#include "measure/repeats.h"
#include "predict/predict.h"
#include "spec/read.h"

namespace pipesim::advise {

inline predict::Basis BareMachine() {
  predict::Basis basis;
  basis.profile =
      spec::ReadMachineProfileText("source: a test\ncontext: {cores: 8}\n", "bare.yaml");
  basis.cores_here = 8;
  return basis;
}

inline spec::Experiment Short(const std::string& yaml) {
  const spec::DataFolders folders{{std::filesystem::path(PIPESIM_SOURCE_DIR)}};
  const std::string head =
      "model: linear\ndataset: {samples: 64000, shape: [8], sample_bytes: 100kB, classes: 2}\n";
  return spec::ReadExperimentText(head + yaml, "test.yaml", {}, folders).experiment;
}

inline std::optional<Rates> RatesOfExperiment(const spec::Experiment& experiment) {
  static const predict::Basis basis = BareMachine();
  const measure::Measurement measured =
      predict::PredictRates(experiment, basis, nullptr).measurement;
  if (!measure::Finished(measured.result)) return std::nullopt;
  return Rates{*measured.result.samples_per_s, measured.result.accelerator_utilization};
}

}  // namespace pipesim::advise
