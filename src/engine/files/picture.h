// A picture and its size, in pixels.
#pragma once

#include <cstdint>
#include <vector>

namespace pipesim::engine {

struct ImageSize {
  int width = 0, height = 0;
  bool operator==(const ImageSize&) const = default;
};

struct Picture {
  ImageSize size;
  int channels = 3;  ///< 1: grey, 3: RGB, 4: CMYK as Adobe's programs store it (inverted)
  std::vector<std::uint8_t> pixels;  ///< height × width × channels
};

}  // namespace pipesim::engine
