// main of test programs that judge what they measured. A test that fails while the machine kept its cores from it
// says so in its last line, and CTest counts it as skipped (SKIP_REGULAR_EXPRESSION in tests/CMakeLists.txt).
#include <gtest/gtest.h>

#include <cstdio>
#include <optional>

#include "support/disturbance.h"

namespace pipesim::support {
namespace {

class Watching : public testing::EmptyTestEventListener {
 public:
  void OnTestStart(const testing::TestInfo&) override { watch_.emplace(); }
  void OnTestEnd(const testing::TestInfo& test) override {
    if (test.result()->Failed()) {
      const std::string what = watch_->WhatDisturbed();
      if (!what.empty()) std::printf("MACHINE DISTURBED, nothing can be judged: %s\n", what.c_str());
    }
    watch_.reset();
  }

 private:
  std::optional<DisturbanceWatch> watch_;
};

}  // namespace
}  // namespace pipesim::support

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  testing::UnitTest::GetInstance()->listeners().Append(new pipesim::support::Watching);
  return RUN_ALL_TESTS();
}
