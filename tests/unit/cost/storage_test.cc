#include "cost/storage.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <queue>

#include "base/random.h"
#include "support/drawn.h"

namespace pipesim::cost {
namespace {

using base::Bytes;
using base::Duration;
using base::Instant;
using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;
using tests::Fixed;

Storage Disk() {
  Storage storage;
  storage.present = true;
  return storage;
}
Storage WithBandwidth(double per_s) {
  Storage storage = Disk();
  storage.bandwidth = base::BytesPerSecond{per_s};
  return storage;
}

using Latency = std::function<Duration(std::int64_t read)>;

// Reads a second that `readers` get, each requesting its next read when the last one is done, after
// a tenth of the reads for the filling; in simulated time.
double ReadsPerSecond(const Storage& storage, int readers, Bytes size, const Latency& latency,
                      std::int64_t reads = 20'000) {
  StorageServer server(storage);
  std::priority_queue<Instant, std::vector<Instant>, std::greater<>> ready;
  for (int reader = 0; reader < readers; ++reader) ready.push(Instant{});
  Instant from{}, to{};
  for (std::int64_t read = 0; read < reads; ++read) {
    const Instant at = ready.top();
    ready.pop();
    if (read == reads / 10) from = at;
    to = at;
    ready.push(server.Serve({.at = at, .reads = 1, .bytes = size, .latency = latency(read)}));
  }
  return static_cast<double>(reads - 1 - reads / 10) / base::ToSeconds(to - from);
}
double ReadsPerSecond(const Storage& storage, int readers, Bytes size, Duration latency) {
  return ReadsPerSecond(storage, readers, size, [latency](std::int64_t) { return latency; });
}

// The formula in cost/storage.h.
double Expected(const Storage& storage, int readers, Bytes size, Duration latency) {
  const double never = std::numeric_limits<double>::infinity();
  const double by_bandwidth =
      storage.bandwidth ? storage.bandwidth->per_s / static_cast<double>(size.count) : never;
  const double by_iops = storage.iops_per_s.value_or(never);
  const double latency_s = base::ToSeconds(latency);
  const double by_depth = storage.queue_depth ? *storage.queue_depth / latency_s : never;
  const double alone_s = latency_s + 1 / by_bandwidth;
  return std::min({by_bandwidth, by_iops, by_depth, readers / alone_s});
}

RC_GTEST_PROP(StorageThroughput, IsTheSmallestOfItsLimits, ()) {
  Storage storage = WithBandwidth(*rc::gen::inRange(10, 5000) * 1e6);
  if (*rc::gen::arbitrary<bool>()) storage.iops_per_s = *rc::gen::inRange(100, 1'000'000);
  if (*rc::gen::arbitrary<bool>()) storage.queue_depth = *rc::gen::inRange(1, 64);
  const Bytes size{*rc::gen::inRange<std::int64_t>(512, 1 << 20)};
  const Duration latency = microseconds(*rc::gen::inRange(1, 10'000));
  const int readers = *rc::gen::element(1, 2, 3, 16, 64);
  const double expected = Expected(storage, readers, size, latency);
  const double actual = ReadsPerSecond(storage, readers, size, latency);
  RC_LOG() << "expected " << expected << " reads/s, got " << actual;
  RC_ASSERT(std::abs(actual / expected - 1) < 0.005);
}

/// A storage that at most 512 readers fill with reads of 64 KiB to 1 MiB.
Storage AnyStorage() {
  Storage storage = WithBandwidth(*rc::gen::inRange(10, 1000) * 1e6);
  storage.latency = Fixed(microseconds(*rc::gen::inRange(1, 10'000)));
  if (*rc::gen::arbitrary<bool>()) storage.open_cost = Fixed(microseconds(500));
  if (*rc::gen::arbitrary<bool>()) storage.iops_per_s = *rc::gen::inRange(100, 100'000);
  if (*rc::gen::arbitrary<bool>()) storage.queue_depth = *rc::gen::inRange(1, 64);
  return storage;
}
double ReadsPerSecond(const Storage& storage, int readers, Bytes size) {
  return ReadsPerSecond(storage, readers, size, storage.latency.Mean() + storage.open_cost.Mean());
}

RC_GTEST_PROP(StorageFormulas, AgreeWithTheServerForOneReaderAndForMany, ()) {
  const Storage storage = AnyStorage();
  const Bytes size{*rc::gen::inRange<std::int64_t>(1 << 16, 1 << 20)};
  const auto bytes = static_cast<double>(size.count);
  RC_ASSERT(std::abs(ReadsPerSecond(storage, 1, size) * storage.AloneSeconds(1, bytes) - 1) <
            0.005);
  const double most = storage.MostPerSecond(1, bytes);
  RC_ASSERT(std::abs(ReadsPerSecond(storage, 512, size) / most - 1) < 0.005);
}

RC_GTEST_PROP(StorageFormulas, ScaledTakesAsManyTimesAsLongForOneReaderAndForMany, ()) {
  const Storage storage = AnyStorage();
  const double factor = *rc::gen::element(0.25, 0.5, 2.0);
  const Storage scaled = storage.Scaled(factor);
  const Bytes size{*rc::gen::inRange<std::int64_t>(1 << 16, 1 << 20)};
  const auto bytes = static_cast<double>(size.count);
  const auto near = [](double a, double b) { return std::abs(a / b - 1) < 1e-9; };
  RC_ASSERT(near(scaled.AloneSeconds(4, 4 * bytes), factor * storage.AloneSeconds(4, 4 * bytes)));
  RC_ASSERT(near(scaled.MostPerSecond(4, 4 * bytes), storage.MostPerSecond(4, 4 * bytes) / factor));
  for (const int readers : {1, 512}) {
    RC_ASSERT(std::abs(ReadsPerSecond(scaled, readers, size) * factor /
                           ReadsPerSecond(storage, readers, size) -
                       1) < 0.005);
  }
}

TEST(StorageFormulas, LimitsAreThoseThatAreStated) {
  Storage storage = WithBandwidth(100e6);
  EXPECT_EQ(storage.Limits().bytes_per_s, 100e6);
  EXPECT_FALSE(storage.Limits().reads_per_s);
  EXPECT_FALSE(storage.Limits().parallel_reads_per_s);
  storage.latency = Fixed(milliseconds(3));
  storage.open_cost = Fixed(milliseconds(1));
  storage.iops_per_s = 500;
  storage.queue_depth = 8;
  EXPECT_EQ(storage.Limits().reads_per_s, 500);
  EXPECT_DOUBLE_EQ(storage.Limits().parallel_reads_per_s.value(), 8 / 0.004);
  EXPECT_DOUBLE_EQ(storage.MostPerSecond(10, 1e6), 500.0 / 10);
  EXPECT_DOUBLE_EQ(storage.MostPerSecond(1, 1e6), 100.0);
}

TEST(StorageFormulas, FreeStorageTakesNoTimeAndHasNoLimit) {
  Storage storage = WithBandwidth(100e6);
  storage.latency = Fixed(milliseconds(3));
  storage.iops_per_s = 500;
  storage.queue_depth = 8;
  const Storage free = storage.Scaled(0);
  EXPECT_EQ(free.AloneSeconds(1, 1e6), 0);
  EXPECT_EQ(free.MostPerSecond(1, 1e6), std::numeric_limits<double>::infinity());
  StorageServer server(free);
  EXPECT_EQ(server.Serve({.at = Instant(seconds(1)), .bytes = Bytes{1 << 30}}),
            Instant(seconds(1)));
}

TEST(StorageFormulas, WithoutStorageReadingIsFree) {
  const Storage none;
  EXPECT_EQ(none.AloneSeconds(64, 1e9), 0);
  EXPECT_EQ(none.CpuSeconds(64, 1e9), 0);
  EXPECT_EQ(none.MostPerSecond(64, 1e9), std::numeric_limits<double>::infinity());
}

TEST(StorageFormulas, CpuTimeIsOfReadsAndOfCopyingHitsAndScaledByItself) {
  Storage storage = Disk();
  storage.read_cpu = microseconds(10);
  storage.cache.hit_bandwidth = base::BytesPerSecond{1e9};
  EXPECT_DOUBLE_EQ(storage.CpuSeconds(64, 1e6), 640e-6 + 1e-3);
  EXPECT_DOUBLE_EQ(storage.Scaled(0.5).CpuSeconds(64, 1e6), 640e-6 + 1e-3);
  EXPECT_DOUBLE_EQ(storage.WithCpuScaled(0.5).CpuSeconds(64, 1e6), 320e-6 + 0.5e-3);
  EXPECT_EQ(storage.WithCpuScaled(0).CpuSeconds(64, 1e6), 0);
}

TEST(StatedStorageTest, IsTheEmulatedOneAsTheExperimentSays) {
  spec::Storage stated;
  EXPECT_FALSE(StatedStorage(stated).present);
  stated.kind = spec::StorageKind::kFiles;
  EXPECT_FALSE(StatedStorage(stated).present);
  stated.kind = spec::StorageKind::kEmulated;
  stated.latency = Fixed(milliseconds(3));
  stated.bandwidth = base::BytesPerSecond{100e6};
  stated.iops_per_s = 500;
  stated.queue_depth = 8;
  stated.cache.policy = spec::CachePolicy::kLru;
  const Storage storage = StatedStorage(stated);
  EXPECT_TRUE(storage.present);
  EXPECT_TRUE(storage.HasCache());
  EXPECT_EQ(storage.latency, Fixed(milliseconds(3)));
  EXPECT_EQ(storage.bandwidth, base::BytesPerSecond{100e6});
  EXPECT_EQ(storage.iops_per_s, 500);
  EXPECT_EQ(storage.queue_depth, 8);
}

TEST(StorageThroughput, OfOneReaderIsLatencyAndTransferOneAfterAnother) {
  // 100 KB at 100 MB/s: 1 ms, after 4 ms of latency
  EXPECT_NEAR(ReadsPerSecond(WithBandwidth(100e6), 1, Bytes{100'000}, milliseconds(4)), 200, 0.1);
}

TEST(StorageThroughput, OfSixteenReadersIsTheBandwidth) {
  EXPECT_NEAR(ReadsPerSecond(WithBandwidth(100e6), 16, Bytes{100'000}, milliseconds(4)), 1000, 1);
}

TEST(StorageThroughput, OfTinyReadsLosesNoFractionOfANanosecond) {
  // 784 B at 20 GB/s take 39.2 ns each.
  EXPECT_NEAR(ReadsPerSecond(WithBandwidth(20e9), 4, Bytes{784}, Duration(50)) * 784 / 20e9, 1,
              1e-4);
}

RC_GTEST_PROP(StorageThroughput, GrowsWithReadersAndNeverFalls, ()) {
  Storage storage = WithBandwidth(*rc::gen::inRange(10, 5000) * 1e6);
  storage.queue_depth = *rc::gen::inRange(1, 64);
  const Duration latency = microseconds(*rc::gen::inRange(1, 10'000));
  double last = 0;
  for (const int readers : {1, 2, 4, 8, 16, 32}) {
    const double now = ReadsPerSecond(storage, readers, Bytes{100'000}, latency);
    RC_ASSERT(now >= last * 0.999);
    last = now;
  }
}

TEST(StorageThroughput, ASlowReadDoesNotHoldUpTheOthers) {
  // One read in ten takes 100 ms, the others 1 ms: 10.9 ms on average. Sixteen readers without any
  // other limit but a wide bandwidth get 16 / 10.9 ms; in order of their requests they would get a
  // fraction.
  const auto latency = [](std::int64_t read) {
    base::KeyedStream stream(1, base::Stage::kStorageLatency, 0, static_cast<std::uint64_t>(read));
    return stream.NextUnit() < 0.1 ? milliseconds(100) : milliseconds(1);
  };
  EXPECT_NEAR(
      ReadsPerSecond(WithBandwidth(1e12), 16, Bytes{1000}, latency, 100'000) / (16 / 0.0109), 1,
      0.03);
}

RC_GTEST_PROP(StorageServerTest, IsDoneNoEarlierThanItCanBe, ()) {
  Storage storage = WithBandwidth(100e6);
  storage.iops_per_s = 1000;
  storage.queue_depth = 4;
  StorageServer server(storage);
  Instant at{};
  for (int i = 0; i < 100; ++i) {
    // Readers come in any order: also earlier than the one before.
    at += microseconds(*rc::gen::inRange(-500, 3000));
    const ReadRequest request{.at = at,
                              .reads = *rc::gen::inRange(1, 8),
                              .bytes = Bytes{*rc::gen::inRange(0, 1 << 20)},
                              .latency = microseconds(*rc::gen::inRange(0, 5000))};
    const Duration alone = std::max<Duration>(request.latency + request.bytes / *storage.bandwidth,
                                              milliseconds(1) * (request.reads - 1));
    RC_ASSERT(server.Serve(request) >= at + alone - Duration(2));
  }
}

TEST(StorageThroughput, AnIopsLimitPacesReadsAndCostsASlowReaderNothing) {
  // One reader of 10 ms reads at 1,000 IOPS: 100 reads/s, as if there were no limit; of 0.1 ms
  // reads, ten a request: the limit itself.
  Storage storage = Disk();
  storage.iops_per_s = 1000;
  StorageServer slow(storage), quick(storage);
  Instant at{};
  for (int i = 0; i < 100; ++i)
    at = slow.Serve({.at = at, .bytes = {}, .latency = milliseconds(10)});
  EXPECT_EQ(at, Instant(seconds(1)));
  at = {};
  for (int i = 0; i < 100; ++i)
    at = quick.Serve({.at = at, .reads = 10, .bytes = {}, .latency = milliseconds(1)});
  EXPECT_NEAR(base::ToSeconds(at.time_since_epoch()), 1, 0.002);
}

TEST(StorageThroughput, TheIopsPaceRunsOnBesideTheReadersWork) {
  // Four reads at once, then the work on all four: 4 ms a sample are slower than 1,000 IOPS, 0.25 ms are not.
  Storage storage = Disk();
  storage.iops_per_s = 1000;
  const auto seconds_of_100 = [&](Duration work) {
    StorageServer server(storage);
    Instant at{};
    for (int i = 0; i < 100; ++i)
      at = server.Serve({.at = at, .reads = 4, .bytes = {}, .latency = {}, .between = 3 * work}) + 4 * work;
    return base::ToSeconds(at.time_since_epoch());
  };
  EXPECT_DOUBLE_EQ(seconds_of_100(milliseconds(4)), 1.6);
  EXPECT_NEAR(seconds_of_100(microseconds(250)), 0.4, 0.002);
}

TEST(StorageServerTest, WithoutLimitsIsTheLatency) {
  StorageServer server(Disk());
  EXPECT_EQ(server.Serve(
                {.at = Instant(seconds(1)), .bytes = Bytes{1 << 30}, .latency = milliseconds(3)}),
            Instant(seconds(1) + milliseconds(3)));
  EXPECT_EQ(server.Serve({.at = Instant(seconds(2)), .bytes = Bytes{1 << 30}}),
            Instant(seconds(2)));
}

TEST(StorageServerTest, ARequestOfManyReadsHoldsOneSlotForAll) {
  Storage storage = Disk();
  storage.queue_depth = 1;
  StorageServer server(storage);
  const ReadRequest four{.at = Instant{}, .reads = 4, .bytes = {}, .latency = milliseconds(4)};
  EXPECT_EQ(server.Serve(four), Instant(milliseconds(4)));
  EXPECT_EQ(server.Serve(four), Instant(milliseconds(8)));
}

TEST(StorageServerTest, ALateComerDoesNotJumpTheQueue) {
  StorageServer server(WithBandwidth(100e6));
  const auto serve = [&](Duration at) {
    return server.Serve({.at = Instant(at), .bytes = Bytes{100'000}, .latency = {}});
  };
  EXPECT_EQ(serve(milliseconds(10)), Instant(milliseconds(11)));
  EXPECT_EQ(serve(milliseconds(2)), Instant(milliseconds(12)));
}

TEST(StorageServerTest, CountsWhatItServed) {
  Storage storage = WithBandwidth(100e6);
  storage.iops_per_s = 1000;
  StorageServer server(storage);
  for (int i = 0; i < 10; ++i)
    server.Serve({.at = Instant(seconds(i)), .reads = 3, .bytes = Bytes{200'000}, .latency = {}});
  EXPECT_EQ(server.use().reads, 30);
  EXPECT_EQ(server.use().bytes, Bytes{2'000'000});
  EXPECT_EQ(server.use().bandwidth_busy, milliseconds(20));
  EXPECT_EQ(server.use().iops_busy, milliseconds(30));
}

TEST(StatedChanges, AreTheKeysThatGiveTheOtherStorage) {
  Storage storage;
  storage.present = true;
  storage.latency = {base::Distribution::Fixed(100e3)};
  storage.bandwidth = base::BytesPerSecond{550e6};
  storage.iops_per_s = 98e3;
  storage.queue_depth = 32;
  using Changes = std::vector<std::pair<std::string, std::string>>;
  EXPECT_EQ(StatedChanges(storage, storage), Changes{});
  EXPECT_EQ(StatedChanges(storage, storage.Scaled(0.5)),
            (Changes{{"storage.bandwidth", "1.1GB/s"},
                     {"storage.iops", "196000"},
                     {"storage.latency", "50us"}}));
  EXPECT_EQ(StatedChanges(storage, storage.Scaled(0)),
            (Changes{{"storage.bandwidth", "unlimited"},
                     {"storage.iops", "unlimited"},
                     {"storage.queue_depth", "unlimited"},
                     {"storage.latency", "0"}}));
}

}  // namespace
}  // namespace pipesim::cost
