// Rules for every report text, checked on golden texts and on random runs.
#pragma once

#include <gtest/gtest.h>

#include <string>

namespace pipesim::tests {

/// At most 80 columns (commands apart), no control characters, no trailing spaces, and in each
/// table of times the rows add up to the total and the whole per cents to 100 (99 where a "<1 %"
/// stands for the rest).
testing::AssertionResult KeepsTheRules(const std::string& text);

}  // namespace pipesim::tests
