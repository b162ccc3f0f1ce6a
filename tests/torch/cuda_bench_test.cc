// The loops of `bench` on a GPU.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/bench_loop.h"
#include "support.h"

namespace pipesim::engine {
namespace {

using cost::Operation;

class CudaBench : public testing::Test {
 protected:
  void SetUp() override {
    if (Plugin().devices().empty()) GTEST_SKIP() << "no CUDA device on this machine";
  }
  static std::unique_ptr<BenchLoop> Loop(Operation operation, std::int64_t size) {
    return Plugin().make_bench_loop({.operation = operation,
                                     .size = size,
                                     .device = spec::DeviceId::Cuda(0),
                                     .experiment = SmallExperiment(SmallCnn())});
  }
  /// Of one operation, after a warm-up.
  static cost::OperationTime TimeOf(Operation operation, std::int64_t size, std::int64_t count) {
    const auto loop = Loop(operation, size);
    loop->Run(3);
    const cost::OperationTime all = loop->Run(count);
    return {all.enqueue_s / static_cast<double>(count), all.done_s / static_cast<double>(count)};
  }
};

TEST_F(CudaBench, EveryOperationRunsAndIsDoneAfterItIsEnqueued) {
  for (const auto operation : {Operation::kAdd, Operation::kMatmul, Operation::kNormEach, Operation::kNormOnce,
                               Operation::kPinnedIn, Operation::kPageableIn, Operation::kPinnedOut,
                               Operation::kPageableOut, Operation::kTwoInTurn, Operation::kTwoStreams,
                               Operation::kStep}) {
    const cost::OperationTime time = TimeOf(operation, 64, 10);
    EXPECT_GT(time.enqueue_s, 0);
    EXPECT_GE(time.done_s, time.enqueue_s);
  }
}

TEST_F(CudaBench, EnqueuingALargeProductTakesAFractionOfIt) {
  const cost::OperationTime time = TimeOf(Operation::kMatmul, 4096, 10);
  EXPECT_LT(time.enqueue_s, 0.5 * time.done_s);
}

TEST_F(CudaBench, PinnedCopiesAreFaster) {
  constexpr std::int64_t kBytes = 64 << 20;
  EXPECT_LT(TimeOf(Operation::kPinnedIn, kBytes, 10).done_s, TimeOf(Operation::kPageableIn, kBytes, 10).done_s);
}

TEST_F(CudaBench, ReadingEachNormTakesLonger) {
  EXPECT_GT(TimeOf(Operation::kNormEach, 100, 1000).done_s, TimeOf(Operation::kNormOnce, 100, 1000).done_s);
}

TEST_F(CudaBench, TwoDevicesAtOnceBeatOneInTurn) {
  if (Plugin().devices().size() < 2) GTEST_SKIP() << "one CUDA device on this machine";
  const auto both = Plugin().make_bench_loop({.operation = Operation::kTwoDevices,
                                              .size = 4096,
                                              .device = spec::DeviceId::Cuda(0),
                                              .second = spec::DeviceId::Cuda(1)});
  both->Run(3);
  EXPECT_LT(both->Run(10).done_s / 10, 0.8 * TimeOf(Operation::kTwoInTurn, 4096, 10).done_s);
}

TEST_F(CudaBench, AnAbsentDeviceIsAClearError) {
  EXPECT_THROW(Plugin().make_bench_loop({.operation = Operation::kAdd,
                                         .size = 8,
                                         .device = spec::DeviceId::Cuda(1000)}),
               std::runtime_error);
}

}  // namespace
}  // namespace pipesim::engine
