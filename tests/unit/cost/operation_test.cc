#include "cost/operation.h"

#include <gtest/gtest.h>

namespace pipesim::cost {
namespace {

/// 1 TFLOP/s of which a product reaches half and training a quarter, 100 GB/s, copies at 10 GB/s, launches of 5 us.
spec::DevicePreset Device() {
  spec::DevicePreset device;
  device.fp32_flops_per_s = 1e12;
  device.tf32_flops_per_s = 8e12;
  device.memory_bandwidth.per_s = 100e9;
  device.h2d_bandwidth.per_s = 10e9;
  device.launch = std::chrono::microseconds(5);
  device.efficiency = 0.25;
  device.product_efficiency = 0.5;
  return device;
}

double DoneSeconds(Operation operation, std::int64_t size) {
  return EstimateOperation(operation, size, {}, Device())->done_s;
}

TEST(Operation, SmallOnesTakeTheirLaunch) {
  EXPECT_DOUBLE_EQ(DoneSeconds(Operation::kAdd, 8), 5e-6);
  const double product_s = DoneSeconds(Operation::kMatmul, 8);
  EXPECT_GT(product_s, 5e-6);  // it needs memory for its result
  EXPECT_GT(DoneSeconds(Operation::kNormOnce, 8), product_s + 5e-6);
}

TEST(Operation, ALargeProductTakesItsArithmeticAndALargeSumItsBytes) {
  EXPECT_DOUBLE_EQ(DoneSeconds(Operation::kMatmul, 1000), 2e9 / 0.5e12);
  EXPECT_DOUBLE_EQ(DoneSeconds(Operation::kAdd, 4096), 2 * 4.0 * 4096 * 4096 / 100e9);
}

TEST(Operation, AProductUsesTf32WhereItIsAllowed) {
  spec::Experiment experiment;
  experiment.training.precision = spec::Precision::kTf32;
  EXPECT_DOUBLE_EQ(EstimateOperation(Operation::kMatmul, 1000, experiment, Device())->done_s, 2e9 / 2e12);
}

TEST(Operation, ReadingEachNormAddsLaunchAndArithmeticAndTheReading) {
  const auto once = EstimateOperation(Operation::kNormOnce, 1000, {}, Device());
  EXPECT_GT(DoneSeconds(Operation::kNormEach, 1000), once->done_s + once->enqueue_s + 5e-6);
}

TEST(Operation, TwoDevicesTakeHalfAsLongAsOneInTurn) {
  EXPECT_DOUBLE_EQ(DoneSeconds(Operation::kTwoDevices, 2000), DoneSeconds(Operation::kTwoInTurn, 2000) / 2);
}

TEST(Operation, ACopyTakesItsBytesAndAPresetKnowsOnlyPinnedOnesToTheDevice) {
  EXPECT_DOUBLE_EQ(DoneSeconds(Operation::kPinnedIn, 1'000'000), 1e-4);
  EXPECT_EQ(EstimateOperation(Operation::kPageableIn, 1000, {}, Device()), std::nullopt);
}

TEST(Operation, TheEnqueueIsTheHostsShare) {
  EXPECT_DOUBLE_EQ(EstimateOperation(Operation::kMatmul, 1000, {}, Device())->enqueue_s, DoneSeconds(Operation::kMatmul, 8));
}

}  // namespace
}  // namespace pipesim::cost
