// Preset files, read as a storage and as a device.
#include "fuzz.h"

namespace pipesim::fuzz {

void Try(std::string_view input) {
  static const MemoryFile file;
  file.Write(input);
  for (const char* path : {"storage", "device"})
    Accepted([&] {
      CheckExperiment(
          spec::ReadExperiment({.file = {}, .overrides = {{path, file.path(), "--set"}}},
                               Folders())
              .experiment);
    });
}

}  // namespace pipesim::fuzz
