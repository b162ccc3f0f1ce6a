// Encodes pictures as JPEG, for tools/make_dataset and the tests. Writes no files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/files/picture.h"

namespace pipesim::engine {

/// `quality`: libjpeg's scale, 1..100. Throws std::runtime_error when a side is outside libjpeg's
/// range (1..65500).
std::vector<std::byte> EncodeJpeg(const Picture& picture, int quality);

}  // namespace pipesim::engine
