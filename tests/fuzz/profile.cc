// Machine profiles.
#include "fuzz.h"
#include "report/profile_text.h"
#include "spec/machine_profile.h"

namespace pipesim::fuzz {

void Try(std::string_view input) {
  Accepted([&] {
    const auto profile = spec::ReadMachineProfileText(input, "profile.yaml");
    const std::string written = spec::WriteProfile(profile);
    std::string again;
    Require(Accepted([&] {
              again = spec::WriteProfile(spec::ReadMachineProfileText(written, "again.yaml"));
            }),
            "a written profile reads back");
    Require(written == again, "a written profile reads back as the same");
    RequirePrintable(report::ProfileText(profile, "profile.yaml"));
  });
}

}  // namespace pipesim::fuzz
