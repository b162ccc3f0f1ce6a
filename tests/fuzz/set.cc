// --set: each line is PATH=VALUE, on top of the defaults.
#include "base/text.h"
#include "fuzz.h"

namespace pipesim::fuzz {

void Try(std::string_view input) {
  std::vector<spec::Override> overrides;
  for (const std::string& line : base::Split(input, '\n')) {
    const std::size_t equals = line.find('=');
    if (equals != std::string::npos)
      overrides.push_back({line.substr(0, equals), line.substr(equals + 1), "--set"});
  }
  Accepted([&] {
    CheckExperiment(
        spec::ReadExperiment({.file = {}, .overrides = overrides, .for_run = true}, Folders())
            .experiment);
  });
}

}  // namespace pipesim::fuzz
