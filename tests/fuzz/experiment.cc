// YAML experiments.
#include "fuzz.h"

namespace pipesim::fuzz {

void Try(std::string_view input) {
  Accepted([&] {
    CheckExperiment(
        spec::ReadExperimentText(input, "experiment.yaml", {}, Folders()).experiment);
  });
}

}  // namespace pipesim::fuzz
