#include "calibrate/photos.h"

#include <fmt/format.h>

#include <cstdint>
#include <cstdlib>
#include <random>
#include <system_error>

#include "base/error.h"
#include "base/files.h"
#include "engine/files/jpeg_writer.h"

namespace pipesim::calibrate {

Photos::Photos() {
  std::string name = (std::filesystem::temp_directory_path() / "pipesim-XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr)
    throw base::EnvironmentError(fmt::format("cannot make a temporary folder {}", name));
  folder_ = name;
  std::filesystem::create_directory(folder_ / "a");
  for (int i = 0; i < 64; ++i) Write(i);
}

Photos::~Photos() {
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

void Photos::Write(int index) const {
  engine::Picture picture{{500, 375}, 3, {}};
  std::minstd_rand random(static_cast<unsigned>(index + 1));
  for (int y = 0; y < picture.size.height; ++y) {
    for (int x = 0; x < picture.size.width * 3; ++x) {
      const unsigned slope = static_cast<unsigned>(x + y * (1 + index % 5)) / 12;
      picture.pixels.push_back(static_cast<std::uint8_t>(slope + random() % 48));
    }
  }
  const auto bytes = engine::EncodeJpeg(picture, 90);
  base::OutputFile file(folder_ / "a" / fmt::format("{:03}.jpg", index));
  file.Commit({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

}  // namespace pipesim::calibrate
