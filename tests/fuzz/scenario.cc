// Scenario files: the comment that describes one, and its experiment.
#include <stdexcept>

#include "app/commands/scenarios.h"
#include "fuzz.h"

namespace pipesim::fuzz {

void Try(std::string_view input) {
  app::Scenario scenario;
  try {
    scenario = app::ReadScenario("scenario.yaml", input);
  } catch (const std::runtime_error& error) {
    Require(error.what()[0] != '\0', "a refusal says why");
    return;
  }
  Accepted([&] {
    spec::ReadExperimentText(scenario.experiment, "scenario.yaml", {}, Folders());
  });
}

}  // namespace pipesim::fuzz
