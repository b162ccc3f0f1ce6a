// Workloads of DLIO: what is accepted makes an experiment that is written and can be read.
#include "fuzz.h"
#include "interop/dlio.h"
#include "interop/dlio_experiment.h"

namespace pipesim::fuzz {

void Try(std::string_view input) {
  std::string experiment;
  const bool accepted = Accepted([&] {
    interop::LooksLikeDlio(input);
    experiment = interop::ExperimentText(interop::ReadDlio(input, "w.yaml", {}), 2, "w.yaml");
  });
  if (!accepted) return;
  RequirePrintable(experiment);
  // Sizes and times that no experiment takes are refused there.
  Accepted([&] { spec::ReadExperimentText(experiment, "e.yaml", {}, Folders()); });
}

}  // namespace pipesim::fuzz
