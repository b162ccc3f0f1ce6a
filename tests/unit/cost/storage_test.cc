#include "cost/storage.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <queue>

#include "base/random.h"

namespace pipesim::cost {
namespace {

using base::Bytes;
using base::Duration;
using base::Instant;
using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;

spec::Storage Disk() {
  spec::Storage storage;
  storage.kind = spec::StorageKind::kEmulated;
  return storage;
}
spec::Storage WithBandwidth(double per_s) {
  spec::Storage storage = Disk();
  storage.bandwidth = base::BytesPerSecond{per_s};
  return storage;
}

using Latency = std::function<Duration(std::int64_t read)>;

// Reads a second that `askers` get, each asking for its next read when the last one is done, after
// a tenth of the reads for the filling; in simulated time.
double ReadsPerSecond(const spec::Storage& storage, int askers, Bytes size, const Latency& latency,
                      std::int64_t reads = 20'000) {
  StorageModel model(storage);
  std::priority_queue<Instant, std::vector<Instant>, std::greater<>> ready;
  for (int asker = 0; asker < askers; ++asker) ready.push(Instant{});
  Instant from{}, to{};
  for (std::int64_t read = 0; read < reads; ++read) {
    const Instant at = ready.top();
    ready.pop();
    if (read == reads / 10) from = at;
    to = at;
    ready.push(model.Ask({.at = at, .reads = 1, .bytes = size, .latency = latency(read)}));
  }
  return static_cast<double>(reads - 1 - reads / 10) / base::ToSeconds(to - from);
}
double ReadsPerSecond(const spec::Storage& storage, int askers, Bytes size, Duration latency) {
  return ReadsPerSecond(storage, askers, size, [latency](std::int64_t) { return latency; });
}

// The formula in cost/storage.h.
double Expected(const spec::Storage& storage, int askers, Bytes size, Duration latency) {
  const double never = std::numeric_limits<double>::infinity();
  const double by_bandwidth =
      storage.bandwidth ? storage.bandwidth->per_s / static_cast<double>(size.count) : never;
  const double by_iops = storage.iops_per_s.value_or(never);
  const double latency_s = base::ToSeconds(latency);
  const double by_depth = storage.queue_depth ? *storage.queue_depth / latency_s : never;
  const double alone_s = latency_s + 1 / by_bandwidth;
  return std::min({by_bandwidth, by_iops, by_depth, askers / alone_s});
}

RC_GTEST_PROP(StorageThroughput, IsTheSmallestOfItsLimits, ()) {
  spec::Storage storage = WithBandwidth(*rc::gen::inRange(10, 5000) * 1e6);
  if (*rc::gen::arbitrary<bool>()) storage.iops_per_s = *rc::gen::inRange(100, 1'000'000);
  if (*rc::gen::arbitrary<bool>()) storage.queue_depth = *rc::gen::inRange(1, 64);
  const Bytes size{*rc::gen::inRange<std::int64_t>(512, 1 << 20)};
  const Duration latency = microseconds(*rc::gen::inRange(1, 10'000));
  const int askers = *rc::gen::element(1, 2, 3, 16, 64);
  const double expected = Expected(storage, askers, size, latency);
  const double actual = ReadsPerSecond(storage, askers, size, latency);
  RC_LOG() << "expected " << expected << " reads/s, got " << actual;
  RC_ASSERT(std::abs(actual / expected - 1) < 0.005);
}

TEST(StorageThroughput, OfOneAskerIsLatencyAndTransferOneAfterAnother) {
  // 100 KB at 100 MB/s: 1 ms, after 4 ms of latency
  EXPECT_NEAR(ReadsPerSecond(WithBandwidth(100e6), 1, Bytes{100'000}, milliseconds(4)), 200, 0.1);
}

TEST(StorageThroughput, OfSixteenAskersIsTheBandwidth) {
  EXPECT_NEAR(ReadsPerSecond(WithBandwidth(100e6), 16, Bytes{100'000}, milliseconds(4)), 1000, 1);
}

TEST(StorageThroughput, OfTinyReadsLosesNoFractionOfANanosecond) {
  // 784 B at 20 GB/s take 39.2 ns each.
  EXPECT_NEAR(ReadsPerSecond(WithBandwidth(20e9), 4, Bytes{784}, Duration(50)) * 784 / 20e9, 1,
              1e-4);
}

RC_GTEST_PROP(StorageThroughput, GrowsWithAskersAndNeverFalls, ()) {
  spec::Storage storage = WithBandwidth(*rc::gen::inRange(10, 5000) * 1e6);
  storage.queue_depth = *rc::gen::inRange(1, 64);
  const Duration latency = microseconds(*rc::gen::inRange(1, 10'000));
  double last = 0;
  for (const int askers : {1, 2, 4, 8, 16, 32}) {
    const double now = ReadsPerSecond(storage, askers, Bytes{100'000}, latency);
    RC_ASSERT(now >= last * 0.999);
    last = now;
  }
}

TEST(StorageThroughput, ASlowReadDoesNotHoldUpTheOthers) {
  // One read in ten takes 100 ms, the others 1 ms: 10.9 ms on average. Sixteen askers without any
  // other limit but a wide bandwidth get 16 / 10.9 ms; in order of asking they would get a
  // fraction.
  const auto latency = [](std::int64_t read) {
    base::KeyedStream stream(1, base::Stage::kStorageLatency, 0, static_cast<std::uint64_t>(read));
    return stream.NextUnit() < 0.1 ? milliseconds(100) : milliseconds(1);
  };
  EXPECT_NEAR(
      ReadsPerSecond(WithBandwidth(1e12), 16, Bytes{1000}, latency, 100'000) / (16 / 0.0109), 1,
      0.03);
}

RC_GTEST_PROP(StorageModelTest, IsDoneNoEarlierThanItCanBe, ()) {
  spec::Storage storage = WithBandwidth(100e6);
  storage.iops_per_s = 1000;
  storage.queue_depth = 4;
  StorageModel model(storage);
  Instant at{};
  for (int i = 0; i < 100; ++i) {
    // Askers come in any order: also earlier than the one before.
    at += microseconds(*rc::gen::inRange(-500, 3000));
    const StorageAsk ask{.at = at,
                         .reads = *rc::gen::inRange(1, 8),
                         .bytes = Bytes{*rc::gen::inRange(0, 1 << 20)},
                         .latency = microseconds(*rc::gen::inRange(0, 5000))};
    const Duration alone = std::max<Duration>(ask.latency + ask.bytes / *storage.bandwidth,
                                              milliseconds(1) * (ask.reads - 1));
    RC_ASSERT(model.Ask(ask) >= at + alone - Duration(2));
  }
}

TEST(StorageThroughput, AnIopsLimitPacesReadsAndCostsASlowAskerNothing) {
  // One asker of 10 ms reads at 1,000 IOPS: 100 reads/s, as if there were no limit; of 0.1 ms reads,
  // ten an ask: the limit itself.
  spec::Storage storage = Disk();
  storage.iops_per_s = 1000;
  StorageModel slow(storage), quick(storage);
  Instant at{};
  for (int i = 0; i < 100; ++i) at = slow.Ask({.at = at, .bytes = {}, .latency = milliseconds(10)});
  EXPECT_EQ(at, Instant(seconds(1)));
  at = {};
  for (int i = 0; i < 100; ++i) at = quick.Ask({.at = at, .reads = 10, .bytes = {}, .latency = milliseconds(1)});
  EXPECT_NEAR(base::ToSeconds(at.time_since_epoch()), 1, 0.002);
}

TEST(StorageModelTest, WithoutLimitsIsTheLatency) {
  StorageModel model(Disk());
  EXPECT_EQ(
      model.Ask({.at = Instant(seconds(1)), .bytes = Bytes{1 << 30}, .latency = milliseconds(3)}),
      Instant(seconds(1) + milliseconds(3)));
  EXPECT_EQ(model.Ask({.at = Instant(seconds(2)), .bytes = Bytes{1 << 30}}), Instant(seconds(2)));
}

TEST(StorageModelTest, AnAskOfManyReadsHoldsOneSlotForAll) {
  spec::Storage storage = Disk();
  storage.queue_depth = 1;
  StorageModel model(storage);
  const StorageAsk four{.at = Instant{}, .reads = 4, .bytes = {}, .latency = milliseconds(4)};
  EXPECT_EQ(model.Ask(four), Instant(milliseconds(4)));
  EXPECT_EQ(model.Ask(four), Instant(milliseconds(8)));
}

TEST(StorageModelTest, ALateComerDoesNotJumpTheQueue) {
  StorageModel model(WithBandwidth(100e6));
  const auto ask = [&](Duration at) {
    return model.Ask({.at = Instant(at), .bytes = Bytes{100'000}, .latency = {}});
  };
  EXPECT_EQ(ask(milliseconds(10)), Instant(milliseconds(11)));
  EXPECT_EQ(ask(milliseconds(2)), Instant(milliseconds(12)));
}

TEST(StorageModelTest, CountsWhatItServed) {
  spec::Storage storage = WithBandwidth(100e6);
  storage.iops_per_s = 1000;
  StorageModel model(storage);
  for (int i = 0; i < 10; ++i)
    model.Ask({.at = Instant(seconds(i)), .reads = 3, .bytes = Bytes{200'000}, .latency = {}});
  EXPECT_EQ(model.use().reads, 30);
  EXPECT_EQ(model.use().bytes, Bytes{2'000'000});
  EXPECT_EQ(model.use().bandwidth_busy, milliseconds(20));
  EXPECT_EQ(model.use().iops_busy, milliseconds(30));
}

}  // namespace
}  // namespace pipesim::cost
