// Model files.
#include "fuzz.h"

namespace pipesim::fuzz {

void Try(std::string_view input) {
  static const MemoryFile file;
  file.Write(input);
  Accepted([&] {
    const auto experiment =
        spec::ReadExperiment({.file = {}, .overrides = {{"model", file.path(), "--model"}}},
                             Folders())
            .experiment;
    CheckExperiment(experiment);
    spec::CostsOf(experiment.model, experiment.dataset.shape);
  });
}

}  // namespace pipesim::fuzz
