// The warning that LibTorch prints when nothing was captured goes to the caller and not to stderr.
#include <ATen/cuda/CUDAGraph.h>

#include <gmock/gmock.h>

#include "warning_timer.h"

namespace pipesim::engine {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

void CaptureNothing() {
  at::cuda::CUDAGraph graph;
  graph.capture_begin({0, 0}, cudaStreamCaptureModeThreadLocal);
  graph.capture_end();
}

TEST(CudaWarnings, OfAnEmptyCaptureAreKeptAndNotPrinted) {
  if (Plugin().devices().empty()) GTEST_SKIP() << "no CUDA device on this machine";
  Plugin().take_warnings();
  auto experiment = SmallExperiment(SmallMlp());
  experiment.device.kind = spec::DeviceKind::kCuda;
  const LearnableBatch batch(experiment, 32);
  Consumer consumer(experiment);
  WarningTimer timer(trace::State::kHost, CaptureNothing);
  testing::internal::CaptureStderr();
  consumer.trainer().Submit(batch.batch(), 0, /*read_back=*/false, timer);
  EXPECT_THAT(testing::internal::GetCapturedStderr(), IsEmpty());
  EXPECT_EQ(timer.warned(), 1);
  EXPECT_THAT(Plugin().take_warnings(), ElementsAre(HasSubstr("CUDA Graph is empty")));
}

}  // namespace
}  // namespace pipesim::engine
