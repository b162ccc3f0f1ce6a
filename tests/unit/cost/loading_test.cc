#include "cost/loading.h"

#include <gtest/gtest.h>

namespace pipesim::cost {
namespace {

using namespace std::chrono_literals;
using base::Bytes;
using base::BytesPerSecond;
using base::Duration;

Prepare Burning(Duration cost) {
  return {.kind = Prepare::Kind::kCpu,
          .cost = {base::Distribution::Fixed(static_cast<double>(cost.count()))}};
}

TEST(PrepareTest, IsSharedByAWorkersThreadsUnlessItIsOneThreads) {
  Prepare prepare = Burning(2ms);
  EXPECT_DOUBLE_EQ(prepare.AloneSeconds(64, 4), 64 * 0.002 / 4);
  EXPECT_DOUBLE_EQ(prepare.CpuSeconds(64), 64 * 0.002);
  prepare.divisible = false;
  EXPECT_EQ(prepare.Threads(4), 1);
  EXPECT_DOUBLE_EQ(prepare.AloneSeconds(64, 4), 64 * 0.002);
}

TEST(PrepareTest, ThatWaitsUsesNoCores) {
  Prepare prepare = Burning(2ms);
  prepare.kind = Prepare::Kind::kWait;
  EXPECT_DOUBLE_EQ(prepare.AloneSeconds(64, 4), 64 * 0.002);
  EXPECT_EQ(prepare.CpuSeconds(64), 0);
  EXPECT_EQ(Prepare{}.AloneSeconds(64, 1), 0);
}

TEST(PrepareTest, ThatIsTwiceAsFastWritesTwiceAsFast) {
  Prepare prepare = Burning(2ms);
  prepare.memory_bytes_per_s = 1e9;
  EXPECT_DOUBLE_EQ(prepare.Scaled(0.5).AloneSeconds(1, 1), 0.001);
  EXPECT_DOUBLE_EQ(prepare.Scaled(0.5).memory_bytes_per_s, 2e9);
  EXPECT_EQ(prepare.Scaled(0).CpuSeconds(64), 0);
  EXPECT_EQ(prepare.Scaled(0).memory_bytes_per_s, 0);
}

TEST(CollateTest, IsAFixedPartTheCopyAndTheMappingOfFreshPages) {
  const Collate collate{
      .batch = 10us, .bandwidth = BytesPerSecond{1e9}, .fault_bandwidth = BytesPerSecond{2e9}};
  EXPECT_EQ(collate.Mean(Bytes{1'000'000}, 1), 10us + 1ms + 500us);
  EXPECT_EQ(collate.Scaled(2).Mean(Bytes{1'000'000}, 1), 20us + 2ms + 1ms);
  EXPECT_EQ(collate.Scaled(0), Collate{});
  EXPECT_EQ(Collate{}.Mean(Bytes{1'000'000}, 1), 0ns);
  EXPECT_EQ(collate.memory_bytes_per_s(), 1e9);
  EXPECT_EQ(Collate{}.memory_bytes_per_s(), 0);
}

TEST(PinTest, IsACopy) {
  const Pin pin{.bandwidth = BytesPerSecond{1e9}};
  EXPECT_EQ(pin.Time(Bytes{1'000'000}), 1ms);
  EXPECT_EQ(pin.Scaled(0.5).Time(Bytes{1'000'000}), 500us);
  EXPECT_EQ(pin.Scaled(0).Time(Bytes{1'000'000}), 0ns);
  EXPECT_EQ(pin.memory_bytes_per_s(), 1e9);
}

TEST(TransferTest, CrossesTheLinkOnceAndFromPageableMemoryTakesTwice) {
  EXPECT_EQ(Transfer{}.Time(Bytes{1'000'000}, true), 0ns);
  const Transfer transfer{.bandwidth = BytesPerSecond{1e9}};
  EXPECT_EQ(transfer.Time(Bytes{1'000'000}, true), 1ms);
  EXPECT_EQ(transfer.Time(Bytes{1'000'000}, false), 2ms);
  const Transfer measured{.bandwidth = BytesPerSecond{1e9}, .pageable_factor = 9};
  EXPECT_EQ(measured.Time(Bytes{1'000'000}, false), 9ms);
}

TEST(TransferTest, PaysItsLatencyOnceWhateverTheMemory) {
  const Transfer transfer{.latency = 10us, .bandwidth = BytesPerSecond{1e9}};
  EXPECT_EQ(transfer.Time(Bytes{1'000'000}, false), 2ms + 10us);
  EXPECT_EQ(transfer.Scaled(0.5).Time(Bytes{1'000'000}, true), 505us);
  EXPECT_EQ(transfer.Scaled(0), Transfer{});
}

}  // namespace
}  // namespace pipesim::cost
