#include "trace/builder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <numeric>

namespace pipesim::trace {
namespace {

using base::Duration;
using base::Instant;
using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::ElementsAre;

constexpr Instant kBegin{seconds(100)};
Instant At(Duration since_begin) { return kBegin + since_begin; }

Span Worker(Duration begin, Duration end, State state = State::kRead, Duration contended = {},
            std::int64_t batch = 0) {
  return {.begin = At(begin),
          .end = At(end),
          .contended = contended,
          .batch = batch,
          .role = Role::kWorker,
          .state = state};
}

StepRecord Step(std::int64_t step, Duration done, std::int64_t epoch = 0) {
  return {.step = step,
          .batch = step,
          .epoch = epoch,
          .samples = 10,
          .taken = At(done - microseconds(1)),
          .done = At(done),
          .loss = {}};
}

Duration Total(const RunTrace& trace, State state) {
  return TimeIn(trace, Role::kWorker, state, Instant::min(), Instant::max());
}

/// Times of the only thread by bucket.
/// By bucket, up to the last that is not empty.
std::vector<Duration> TimesOf(const RunTrace& trace, State state) {
  std::vector<Duration> times = trace.threads.at(0).times[static_cast<std::size_t>(state)];
  while (!times.empty() && times.back() == Duration::zero()) times.pop_back();
  return times;
}

const Reservoir& Values(const RunTrace& trace, Series series) {
  return trace.series[static_cast<std::size_t>(series)];
}

RunTrace End(TraceBuilder& builder, Duration end = seconds(3600),
             EndReason reason = EndReason::kSteps) {
  return builder.Finish(At(end), reason, "");
}

// Spans that follow each other without a gap, as one thread records them.
struct Tiling {
  std::vector<Span> spans;
  Duration end{};
};
Tiling AnyTiling(Duration longest) {
  const auto count = *rc::gen::inRange(1, 60);
  Tiling tiling;
  for (int i = 0; i < count; ++i) {
    const Duration length(*rc::gen::inRange<std::int64_t>(0, longest.count()));
    const Duration contended(*rc::gen::inRange<std::int64_t>(0, length.count() + 1));
    const State state = *rc::gen::element(State::kRead, State::kPrepare, State::kCollate);
    tiling.spans.push_back(Worker(tiling.end, tiling.end + length, state, contended, i));
    tiling.end += length;
  }
  return tiling;
}

RC_GTEST_PROP(Buckets, HoldEveryNanosecondOnce, ()) {
  // Up to 60 × 500 ms = 30 s: past the 4.096 s that the first buckets hold.
  const Tiling tiling = AnyTiling(milliseconds(500));
  TraceBuilder builder(kBegin, 1);
  std::map<State, Duration> expected;
  for (const Span& span : tiling.spans) {
    builder.Record(span);
    expected[span.state] += span.end - span.begin - span.contended;
    expected[State::kContended] += span.contended;
  }
  const RunTrace trace = End(builder);
  for (const auto& [state, time] : expected) RC_ASSERT(Total(trace, state) == time);
  std::vector<Duration> sums(kMaxBuckets);
  for (const auto& times : trace.threads[0].times) {
    RC_ASSERT(times.size() <= sums.size());
    for (std::size_t bucket = 0; bucket < times.size(); ++bucket) {
      RC_ASSERT(times[bucket] >= Duration::zero());
      sums[bucket] += times[bucket];
    }
  }
  for (const Duration sum : sums) RC_ASSERT(sum <= trace.bucket_width);
}

RC_GTEST_PROP(Buckets, AWindowIsClosedByItsStates, ()) {
  const Tiling tiling = AnyTiling(milliseconds(100));
  RC_PRE(tiling.end > Duration::zero());
  TraceBuilder builder(kBegin, 1);
  for (const Span& span : tiling.spans) builder.Record(span);
  const RunTrace trace = End(builder);
  const auto a = *rc::gen::inRange<std::int64_t>(0, tiling.end.count() + 1);
  const auto b = *rc::gen::inRange<std::int64_t>(0, tiling.end.count() + 1);
  const Duration from(std::min(a, b)), to(std::max(a, b));
  Duration sum{};
  for (int state = 0; state < kStateCount; ++state)
    sum += TimeIn(trace, Role::kWorker, static_cast<State>(state), At(from), At(to));
  // Half a nanosecond of rounding for each state in each of the two edge buckets.
  RC_ASSERT(std::abs((sum - (to - from)).count()) <= kStateCount);
}

RC_GTEST_PROP(Buckets, WindowsSideBySideAddUp, ()) {
  const Tiling tiling = AnyTiling(milliseconds(100));
  TraceBuilder builder(kBegin, 1);
  for (const Span& span : tiling.spans) builder.Record(span);
  const RunTrace trace = End(builder);
  const Duration middle(*rc::gen::inRange<std::int64_t>(0, tiling.end.count() + 1));
  const auto in = [&](Instant from, Instant to) {
    return TimeIn(trace, Role::kWorker, State::kRead, from, to).count();
  };
  RC_ASSERT(std::abs(in(At(Duration(0)), At(middle)) + in(At(middle), At(tiling.end)) -
                     in(At(Duration(0)), At(tiling.end))) <= 1);
}

TEST(Buckets, ASpanIsSplitAmongItsBuckets) {
  TraceBuilder builder(kBegin, 1);
  builder.Record(Worker(microseconds(500), microseconds(3250), State::kRead, microseconds(1100)));
  const RunTrace& trace = builder.trace();
  ASSERT_EQ(trace.bucket_width, milliseconds(1));
  ASSERT_EQ(trace.threads.size(), 1u);
  // 40 % of the span is contended: so is 40 % of its part in each bucket.
  EXPECT_THAT(TimesOf(trace, State::kRead), ElementsAre(microseconds(300), microseconds(600),
                                                        microseconds(600), microseconds(150)));
  EXPECT_THAT(TimesOf(trace, State::kContended), ElementsAre(microseconds(200), microseconds(400),
                                                             microseconds(400), microseconds(100)));
}

TEST(Buckets, DoubleInWidthWhenFull) {
  TraceBuilder builder(kBegin, 1);
  builder.Record(Worker(milliseconds(0), milliseconds(1), State::kRead));
  builder.Record(Worker(milliseconds(1), milliseconds(2), State::kPrepare));
  builder.Record(Worker(milliseconds(4095), milliseconds(4096), State::kCollate));
  EXPECT_EQ(builder.trace().bucket_width, milliseconds(1));
  EXPECT_EQ(TimesOf(builder.trace(), State::kCollate).size(), kMaxBuckets);
  builder.Record(Worker(milliseconds(4096), milliseconds(4097), State::kRead));
  const RunTrace& trace = builder.trace();
  EXPECT_EQ(trace.bucket_width, milliseconds(2));
  EXPECT_EQ(TimesOf(trace, State::kRead).front(), milliseconds(1));
  EXPECT_EQ(TimesOf(trace, State::kPrepare).front(), milliseconds(1));
  EXPECT_EQ(TimesOf(trace, State::kRead).at(2048), milliseconds(1));
}

TEST(Buckets, ASpanFromBeforeADoublingStillCounts) {
  TraceBuilder builder(kBegin, 1);
  builder.Record(Worker(seconds(20), seconds(21), State::kRead));
  Span late = Worker(milliseconds(3), milliseconds(5), State::kPrepare);
  late.thread = 1;  // another thread's ring was emptied later
  builder.Record(late);
  const RunTrace trace = End(builder);
  EXPECT_EQ(trace.bucket_width, milliseconds(8));  // 21 s / 4096 = 5.1 ms
  EXPECT_EQ(Total(trace, State::kPrepare), milliseconds(2));
}

TEST(Buckets, TimeBeforeTheBeginIsCut) {
  TraceBuilder builder(kBegin, 1);
  builder.Record(Worker(milliseconds(-3), milliseconds(1), State::kRead, milliseconds(2)));
  builder.Record(Worker(milliseconds(-5), milliseconds(-4), State::kPrepare));
  const RunTrace trace = End(builder);
  EXPECT_EQ(Total(trace, State::kRead), microseconds(500));
  EXPECT_EQ(Total(trace, State::kContended), microseconds(500));
  EXPECT_EQ(Total(trace, State::kPrepare), Duration::zero());
}

TEST(Buckets, AnHourFitsInTheSameMemory) {
  TraceBuilder builder(kBegin, 1);
  for (int i = 0; i < 36'000; ++i)
    builder.Record(Worker(milliseconds(100) * i, milliseconds(100) * (i + 1)));
  const RunTrace trace = End(builder);
  EXPECT_EQ(trace.bucket_width, milliseconds(1024));
  EXPECT_LE(TimesOf(trace, State::kRead).size(), kMaxBuckets);
  EXPECT_EQ(Total(trace, State::kRead), seconds(3600));
}

TEST(TimeInTest, AnEdgeBucketCountsByItsShare) {
  TraceBuilder builder(kBegin, 1);
  builder.Record(Worker(milliseconds(0), milliseconds(4), State::kRead));
  const RunTrace trace = End(builder);
  EXPECT_EQ(
      TimeIn(trace, Role::kWorker, State::kRead, At(microseconds(1500)), At(microseconds(2250))),
      microseconds(750));
}

TEST(TimeInTest, AThreadThatEndsInsideABucketHasAllItsTimeBefore) {
  TraceBuilder builder(kBegin, 1);
  builder.Record(Worker(microseconds(0), microseconds(250), State::kRead));
  const RunTrace trace = End(builder);
  EXPECT_EQ(TimeIn(trace, Role::kWorker, State::kRead, kBegin, At(microseconds(250))),
            microseconds(250));
  EXPECT_EQ(TimeIn(trace, Role::kWorker, State::kRead, At(microseconds(125)), At(seconds(1))),
            microseconds(125));
}

TEST(TimeInTest, ARoleIsTheSumOfItsThreads) {
  TraceBuilder builder(kBegin, 1);
  for (std::uint16_t thread = 0; thread < 3; ++thread) {
    Span span = Worker(milliseconds(0), milliseconds(2));
    span.thread = thread;
    builder.Record(span);
  }
  Span consumer = Worker(milliseconds(0), milliseconds(2));
  consumer.role = Role::kConsumer;
  builder.Record(consumer);
  EXPECT_EQ(Total(End(builder), State::kRead), milliseconds(6));
}

TEST(TimeInTest, AnEmptyWindowHoldsNothing) {
  TraceBuilder builder(kBegin, 1);
  builder.Record(Worker(milliseconds(0), milliseconds(2)));
  const RunTrace trace = End(builder);
  EXPECT_EQ(TimeIn(trace, Role::kWorker, State::kRead, At(milliseconds(1)), At(milliseconds(1))),
            Duration::zero());
  EXPECT_EQ(TimeIn(trace, Role::kPin, State::kPin, Instant::min(), Instant::max()),
            Duration::zero());
}

TEST(Steps, AreCountedWithTheirTrueSizes) {
  TraceBuilder builder(kBegin, 1);
  StepRecord partial = Step(1, milliseconds(25));
  partial.samples = 3;
  builder.Record(Step(0, milliseconds(10)));
  builder.Record(partial);
  const RunTrace trace = End(builder);
  EXPECT_EQ(trace.steps, 2);
  EXPECT_EQ(trace.samples, 13);
  EXPECT_EQ(trace.first_batch, At(milliseconds(10) - microseconds(1)));
  ASSERT_EQ(Values(trace, Series::kStepTime).kept.size(), 1u);  // the first has no step before it
  EXPECT_EQ(Values(trace, Series::kStepTime).kept[0].value, 15e6);
}

TEST(Steps, WithoutAReadBackHaveNoLoss) {
  TraceBuilder builder(kBegin, 1);
  builder.Record(Step(0, milliseconds(10)));
  StepRecord read = Step(1, milliseconds(20));
  read.loss = 0.5;
  builder.Record(read);
  const RunTrace trace = End(builder);
  ASSERT_EQ(Values(trace, Series::kLoss).kept.size(), 1u);
  EXPECT_EQ(Values(trace, Series::kLoss).kept[0].key, 1);
  EXPECT_EQ(Values(trace, Series::kLoss).kept[0].value, 0.5);
}

TEST(Progress, KeepsEveryStrideThStep) {
  TraceBuilder builder(kBegin, 1);
  for (std::int64_t step = 0; step < 100'000; ++step)
    builder.Record(Step(step, microseconds(step + 1)));
  const RunTrace trace = End(builder);
  EXPECT_EQ(trace.checkpoint_stride, 32);  // 100,000 / 32 = 3,125 <= 4,096
  EXPECT_EQ(trace.progress.size(), 3125u);
  for (std::size_t i = 0; i < trace.progress.size(); ++i) {
    const Checkpoint& checkpoint = trace.progress[i];
    EXPECT_EQ(checkpoint.steps, static_cast<std::int64_t>(i + 1) * 32);
    EXPECT_EQ(checkpoint.samples, checkpoint.steps * 10);
    EXPECT_EQ(checkpoint.at, At(microseconds(checkpoint.steps)));
  }
}

TEST(Series, DeviceStepsComeFromBusySpans) {
  TraceBuilder builder(kBegin, 1);
  Span busy = Worker(milliseconds(1), milliseconds(4), State::kBusy, {}, 7);
  busy.role = Role::kDevice;
  builder.Record(busy);
  const RunTrace trace = End(builder);
  ASSERT_EQ(Values(trace, Series::kDeviceStep).kept.size(), 1u);
  EXPECT_EQ(Values(trace, Series::kDeviceStep).kept[0].value, 3e6);
  EXPECT_EQ(Values(trace, Series::kDeviceStep).kept[0].key, 7);
}

Span Transfer(Role role, Duration begin, Duration end, std::int64_t batch) {
  Span span = Worker(begin, end, State::kTransfer, {}, batch);
  span.role = role;
  return span;
}

TEST(Series, TransfersOfAStepAreTheConsumersTimeInThem) {
  TraceBuilder builder(kBegin, 1);
  builder.Record(Transfer(Role::kConsumer, milliseconds(1), milliseconds(2), 0));
  builder.Record(Transfer(Role::kConsumer, milliseconds(5), milliseconds(7), 0));
  builder.Record(Step(0, milliseconds(10)));
  builder.Record(Step(1, milliseconds(20)));  // nothing to copy
  const RunTrace trace = End(builder);
  ASSERT_EQ(Values(trace, Series::kTransferTime).kept.size(), 1u);
  EXPECT_EQ(Values(trace, Series::kTransferTime).kept[0].value, 3e6);
}

TEST(Series, CopiesTimedByTheDeviceReplaceTheConsumersTimes) {
  TraceBuilder builder(kBegin, 1);
  builder.Record(Transfer(Role::kConsumer, milliseconds(1), milliseconds(2), 0));
  builder.Record(Step(0, milliseconds(10)));
  builder.Record(Transfer(Role::kDevice, milliseconds(1), milliseconds(6), 0));
  builder.Record(Transfer(Role::kConsumer, milliseconds(11), milliseconds(12), 1));
  builder.Record(Step(1, milliseconds(20)));
  const RunTrace trace = End(builder);
  ASSERT_EQ(Values(trace, Series::kTransferTime).kept.size(), 1u);
  EXPECT_EQ(Values(trace, Series::kTransferTime).kept[0].value, 5e6);
  // a copy may overlap the device's other states
  EXPECT_EQ(TimeIn(trace, Role::kDevice, State::kTransfer, kBegin, At(seconds(1))), Duration(0));
}

TEST(Series, ABatchHasTheTimeOfItsWork) {
  TraceBuilder builder(kBegin, 1);
  builder.Record(Worker(milliseconds(2), milliseconds(9), State::kCollate));
  builder.Record(BatchRecord{.batch = 4,
                             .samples = 10,
                             .read = milliseconds(1),
                             .prepare = milliseconds(2),
                             .collate = milliseconds(3),
                             .contended = milliseconds(4)});
  const RunTrace trace = End(builder);
  EXPECT_EQ(Values(trace, Series::kReadTime).kept.at(0).value, 1e6);
  EXPECT_EQ(Values(trace, Series::kPrepareTime).kept.at(0).value, 2e6);
  EXPECT_EQ(Values(trace, Series::kCollateTime).kept.at(0).value, 3e6);
  EXPECT_EQ(Values(trace, Series::kContendedTime).kept.at(0).value, 4e6);
  EXPECT_EQ(Values(trace, Series::kReadTime).kept.at(0).at, At(milliseconds(9)));
}

std::vector<std::int64_t> KeysKept(std::uint64_t seed, const std::vector<std::int64_t>& order) {
  TraceBuilder builder(kBegin, seed);
  for (const std::int64_t batch : order) builder.Record(BatchRecord{.batch = batch});
  const RunTrace trace = End(builder);
  std::vector<std::int64_t> keys;
  for (const Sampled& sampled : Values(trace, Series::kReadTime).kept) keys.push_back(sampled.key);
  return keys;
}

TEST(Reservoirs, KeepTheSameKeysInAnyOrder) {
  std::vector<std::int64_t> order(50'000);
  std::iota(order.begin(), order.end(), 0);
  const std::vector<std::int64_t> forward = KeysKept(1, order);
  std::reverse(order.begin(), order.end());
  EXPECT_EQ(KeysKept(1, order), forward);
  EXPECT_EQ(forward.size(), kReservoirSize);
  EXPECT_TRUE(std::is_sorted(forward.begin(), forward.end()));
  EXPECT_NE(KeysKept(2, order), forward);
}

TEST(Reservoirs, AreAFairSample) {
  std::vector<std::int64_t> order(50'000);
  std::iota(order.begin(), order.end(), 0);
  const std::vector<std::int64_t> keys = KeysKept(1, order);
  const double mean =
      std::accumulate(keys.begin(), keys.end(), 0.0) / static_cast<double>(keys.size());
  EXPECT_NEAR(mean, 25'000, 4 * 50'000 / std::sqrt(12.0 * kReservoirSize));
}

TEST(Reservoirs, CountDroppedValues) {
  TraceBuilder builder(kBegin, 1);
  for (std::int64_t batch = 0; batch < 10'000; ++batch) builder.Record(BatchRecord{.batch = batch});
  const RunTrace trace = End(builder);
  EXPECT_EQ(Values(trace, Series::kReadTime).seen, 10'000);
  EXPECT_EQ(Values(trace, Series::kReadTime).kept.size(), kReservoirSize);
}

}  // namespace
}  // namespace pipesim::trace
