// Experiments and machines of the tests of predictions.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "predict/predict.h"
#include "spec/read.h"

namespace pipesim::predict {

inline const spec::DataFolders kFolders{{std::filesystem::path(PIPESIM_SOURCE_DIR)}};

inline spec::Experiment Read(const std::string& yaml, const std::vector<spec::Override>& flags = {}) {
  return spec::ReadExperimentText(yaml, "test.yaml", flags, kFolders).experiment;
}

/// Nothing costs anything but what a test adds; the machine has 8 cores.
inline Basis FreeMachine(const std::string& figures_and_steps = "") {
  Basis basis;
  basis.profile = spec::ReadMachineProfileText(
      "source: a test\ncontext: {cores: 8}\n" + figures_and_steps, "test-profile.yaml");
  basis.cores_here = 3;
  return basis;
}

inline constexpr const char* kTrainOnly =
    "model: linear\ndataset: {samples: 6400, shape: [8], sample_bytes: 8B, classes: 2}\n"
    "storage: none\nprepare: none\nrun: {steps: 200}\n";
inline constexpr const char* kLinearSteps =
    "steps:\n"
    "  - {model: linear, shape: [8], device: cpu, threads: 2, batch: 64, time: 10ms, how: m}\n"
    "  - {model: linear, shape: [8], device: \"cuda:0\", batch: 64, time: 4ms, how: m}\n";

}  // namespace pipesim::predict
