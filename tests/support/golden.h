// Texts of whole commands, compared byte for byte with tests/golden. PIPESIM_UPDATE_GOLDEN=1 rewrites
// them. Header only.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "support/command.h"

namespace pipesim::support {

inline void ExpectGolden(const std::string& name, const std::string& text) {
  const std::filesystem::path golden = PIPESIM_SOURCE_DIR "/tests/golden/" + name;
  if (std::getenv("PIPESIM_UPDATE_GOLDEN") != nullptr) std::ofstream(golden) << text;
  EXPECT_EQ(text, ContentOf(golden));
}

}  // namespace pipesim::support
