// What LibTorch warns of during a call goes to the caller and not to stderr.
#include "warning_timer.h"

#include <gmock/gmock.h>

namespace pipesim::engine {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(LibraryWarnings, OfAStepAreKeptOnceAndNotPrinted) {
  Plugin().take_warnings();
  const auto experiment = SmallExperiment(SmallMlp());
  const LearnableBatch batch(experiment, 32);
  Consumer consumer(experiment);
  WarningTimer timer(trace::State::kForward, [] { TORCH_WARN("a kernel is slow here\nits stack"); });
  testing::internal::CaptureStderr();
  for (std::int64_t step = 0; step < 3; ++step)
    consumer.trainer().Submit(batch.batch(), step, /*read_back=*/false, timer);
  EXPECT_THAT(testing::internal::GetCapturedStderr(), IsEmpty());
  EXPECT_EQ(timer.warned(), 3);
  EXPECT_THAT(Plugin().take_warnings(), ElementsAre("a kernel is slow here"));
  EXPECT_THAT(Plugin().take_warnings(), IsEmpty());
}

TEST(LibraryWarnings, AfterACallAreLibTorchsAgain) {
  Consumer(SmallExperiment(SmallMlp())).Train(1);
  testing::internal::CaptureStderr();
  TORCH_WARN("of another part of the program");
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("of another part"));
}

}  // namespace
}  // namespace pipesim::engine
