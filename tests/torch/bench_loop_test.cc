// The loops of `bench` against plain LibTorch in the same process, and whole commands.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include <algorithm>
#include <chrono>

#include "engine/bench_loop.h"
#include "support.h"

namespace pipesim::engine {
namespace {

double MedianOf(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

double SecondsOfPlainProducts(const torch::Tensor& a, int count) {
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < count; ++i) torch::mm(a, a);
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

// In turn, so that other programs disturb both alike.
TEST(BenchLoop, OfProductsTakesAsLongAsPlainLibTorch) {
  constexpr int kCount = 20, kRepeats = 31;
  const auto loop = Plugin().make_bench_loop(
      {.operation = cost::Operation::kMatmul, .size = 256, .device = spec::DeviceId::Cpu()});
  const torch::NoGradGuard no_grad;
  const torch::Tensor a = torch::rand({256, 256});
  at::set_num_threads(1);
  std::vector<double> plain, ours;
  for (int i = 0; i < kRepeats; ++i) {
    ours.push_back(loop->Run(kCount).done_s);
    plain.push_back(SecondsOfPlainProducts(a, kCount));
  }
  EXPECT_NEAR(MedianOf(ours) / MedianOf(plain), 1, 0.25);
}

TEST(BenchLoop, OnTheCpuTheHostIsFreeWhenTheOperationIsDone) {
  for (const auto operation : {cost::Operation::kAdd, cost::Operation::kNormEach, cost::Operation::kNormOnce,
                               cost::Operation::kHostCopy, cost::Operation::kTwoInTurn}) {
    const auto loop = Plugin().make_bench_loop(
        {.operation = operation, .size = 64, .device = spec::DeviceId::Cpu()});
    const cost::OperationTime time = loop->Run(10);
    EXPECT_GT(time.done_s, 0);
    EXPECT_EQ(time.enqueue_s, time.done_s);
  }
}

TEST(BenchLoop, TrainsAModel) {
  auto experiment = SmallExperiment(SmallCnn());
  const auto loop = Plugin().make_bench_loop({.operation = cost::Operation::kStep,
                                              .size = 8,
                                              .device = spec::DeviceId::Cpu(),
                                              .experiment = experiment});
  EXPECT_GT(loop->Run(3).done_s, 0);
}

TEST(BenchLoop, AnAmountThatNoMemoryHoldsIsOutOfMemory) {
  EXPECT_THROW(Plugin().make_bench_loop({.operation = cost::Operation::kAdd,
                                         .size = std::int64_t{1} << 28,
                                         .device = spec::DeviceId::Cpu()}),
               OutOfMemory);
}

}  // namespace
}  // namespace pipesim::engine
