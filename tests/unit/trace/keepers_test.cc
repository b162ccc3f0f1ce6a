#include "trace/keepers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <new>

#include "trace/builder.h"

namespace pipesim::trace {
namespace {

using base::Duration;
using base::Instant;
using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::ElementsAre;

constexpr Instant kStart{seconds(100)};

// One step every 10 ms on batches in the given order; epochs of `per_epoch` batches.
StepRecord Step(std::int64_t step, std::int64_t batch, std::int64_t per_epoch) {
  const Instant done = kStart + milliseconds(10) * (step + 1);
  return {.step = step,
          .batch = batch,
          .epoch = batch / per_epoch,
          .samples = 8,
          .taken = done - milliseconds(6),
          .done = done,
          .starved = milliseconds(4),
          .loss = {}};
}
BatchRecord Batch(std::int64_t batch) {
  return {.batch = batch, .reads = 100 + batch, .cache_hits = 1};
}

TEST(Epochs, BeginWhereTheLastOneEnded) {
  TraceBuilder builder(kStart, 1);
  for (std::int64_t step = 0; step < 5; ++step) builder.Record(Step(step, step, 3));
  const RunTrace trace = builder.Finish(kStart + seconds(1), EndReason::kSteps, "");
  ASSERT_EQ(trace.epochs.size(), 2u);
  const EpochRecord &first = trace.epochs[0], &second = trace.epochs[1];
  EXPECT_EQ(first.begin, kStart);
  EXPECT_EQ(first.end, kStart + milliseconds(30));
  EXPECT_EQ(second.begin, first.end);
  EXPECT_EQ(second.first_batch, milliseconds(4));
  EXPECT_EQ(first.starved, milliseconds(12));
  EXPECT_EQ(first.steps, 3);
  EXPECT_EQ(first.samples, 24);
  EXPECT_TRUE(first.complete);
  EXPECT_FALSE(second.complete);
}

TEST(Epochs, TheLastIsCompleteWhenEpochsEndedTheRun) {
  TraceBuilder builder(kStart, 1);
  for (std::int64_t step = 0; step < 3; ++step) builder.Record(Step(step, step, 3));
  EXPECT_TRUE(builder.Finish(kStart + seconds(1), EndReason::kEpochs, "").epochs.at(0).complete);
}

std::vector<std::int64_t> ReadsByEpoch(TraceBuilder& builder) {
  std::vector<std::int64_t> reads;
  for (const EpochRecord& epoch : builder.Finish(kStart, EndReason::kSteps, "").epochs)
    reads.push_back(epoch.reads);
  return reads;
}

TEST(Epochs, CountTheReadsOfTheirOwnBatches) {
  // Batches 0 1 2 | 3 4 5: 303 and 312 reads, whether a batch's record comes before its step or,
  // from a slower thread's ring, after it.
  TraceBuilder early(kStart, 1);
  for (std::int64_t batch = 0; batch < 6; ++batch) early.Record(Batch(batch));
  for (std::int64_t step = 0; step < 6; ++step) early.Record(Step(step, step, 3));
  EXPECT_THAT(ReadsByEpoch(early), ElementsAre(303, 312));
  TraceBuilder late(kStart, 1);
  for (std::int64_t step = 0; step < 6; ++step) late.Record(Step(step, step, 3));
  for (std::int64_t batch = 0; batch < 6; ++batch) late.Record(Batch(batch));
  EXPECT_THAT(ReadsByEpoch(late), ElementsAre(303, 312));
}

TEST(Epochs, CountReadsOfBatchesTakenOutOfOrder) {
  TraceBuilder builder(kStart, 1);
  const std::vector<std::int64_t> order = {1, 0, 2, 5, 4, 3};
  for (std::size_t step = 0; step < order.size(); ++step) {
    builder.Record(Step(static_cast<std::int64_t>(step), order[step], 3));
    builder.Record(Batch(order[order.size() - 1 - step]));  // and recorded in yet another order
  }
  EXPECT_THAT(ReadsByEpoch(builder), ElementsAre(303, 312));
}

TEST(Epochs, BatchesThatWereNeverTrainedOnDoNotCount) {
  TraceBuilder builder(kStart, 1);
  builder.Record(Batch(0));
  builder.Record(Batch(1));
  builder.Record(Step(0, 0, 3));
  EXPECT_THAT(ReadsByEpoch(builder), ElementsAre(100));
}

TEST(Epochs, OnlyTheFirstAreKept) {
  TraceBuilder builder(kStart, 1);
  for (std::int64_t step = 0; step < 5000; ++step) {
    builder.Record(Batch(step));
    builder.Record(Step(step, step, 1));
  }
  const RunTrace trace = builder.Finish(kStart, EndReason::kSteps, "");
  EXPECT_EQ(trace.epochs.size(), 4096u);
  EXPECT_EQ(trace.epochs.back().epoch, 4095);
  EXPECT_EQ(trace.epochs.back().steps, 1);
  EXPECT_EQ(trace.epochs.back().reads, 100 + 4095);
  EXPECT_TRUE(trace.epochs.back().complete);
}

Span SpanOf(std::int64_t batch, std::int64_t number = 0) {
  return {.begin = kStart + Duration(number), .end = kStart + Duration(number + 1), .batch = batch};
}

TEST(Spans, OfAShortRunAreAllInTheFirst) {
  TraceBuilder builder(kStart, 1, {.keep_spans = true});
  for (std::int64_t batch = 0; batch < 2000; ++batch) builder.Record(SpanOf(batch));
  builder.Record(SpanOf(-1));
  const RunTrace trace = builder.Finish(kStart, EndReason::kSteps, "");
  EXPECT_EQ(trace.first_spans.size(), 2001u);
  EXPECT_TRUE(trace.last_spans.empty());
}

TEST(Spans, OfTheFirstAndTheLastBatchesAreKept) {
  TraceBuilder builder(kStart, 1, {.keep_spans = true});
  for (std::int64_t batch = 0; batch < 10'000; ++batch) {
    builder.Record(SpanOf(batch, 2 * batch));
    builder.Record(SpanOf(-1, 2 * batch + 1));  // as between batches
  }
  const RunTrace trace = builder.Finish(kStart, EndReason::kSteps, "");
  ASSERT_EQ(trace.first_spans.size(), 4000u);
  EXPECT_EQ(trace.first_spans.front().batch, 0);
  EXPECT_EQ(trace.first_spans[3998].batch, 1999);
  ASSERT_EQ(trace.last_spans.size(), 4000u);
  EXPECT_EQ(trace.last_spans.front().batch, 8000);
  EXPECT_EQ(trace.last_spans[3998].batch, 9999);
  EXPECT_TRUE(std::is_sorted(trace.last_spans.begin(), trace.last_spans.end(),
                             [](const Span& a, const Span& b) { return a.begin < b.begin; }));
}

TEST(Spans, OfLateBatchesAloneAreTheLast) {
  TraceBuilder builder(kStart, 1, {.keep_spans = true});
  for (std::int64_t batch = 5000; batch < 9000; ++batch) builder.Record(SpanOf(batch));
  const RunTrace trace = builder.Finish(kStart, EndReason::kSteps, "");
  EXPECT_TRUE(trace.first_spans.empty());
  ASSERT_EQ(trace.last_spans.size(), 2000u);
  EXPECT_EQ(trace.last_spans.front().batch, 7000);
  EXPECT_EQ(trace.last_spans.back().batch, 8999);
}

TEST(Spans, ABatchOfVeryManyDoesNotTakeMoreMemory) {
  TraceBuilder builder(kStart, 1, {.keep_spans = true});
  const auto spans = static_cast<std::int64_t>(3 * kKeptSpans);
  for (std::int64_t i = 0; i < spans; ++i) builder.Record(SpanOf(i / 1000, i));
  const RunTrace trace = builder.Finish(kStart, EndReason::kSteps, "");
  ASSERT_EQ(trace.first_spans.size(), kKeptSpans);
  ASSERT_EQ(trace.last_spans.size(), kKeptSpans);
  EXPECT_EQ(trace.first_spans.front().begin, kStart);
  EXPECT_EQ(trace.last_spans.front().begin, kStart + Duration(spans) - Duration(kKeptSpans));
  EXPECT_EQ(trace.last_spans.back().begin, kStart + Duration(spans - 1));
}

TEST(Spans, AreKeptOnlyWhereAsked) {
  TraceBuilder builder(kStart, 1);
  for (std::int64_t batch = 0; batch < 5000; ++batch) builder.Record(SpanOf(batch, batch));
  const RunTrace trace = builder.Finish(kStart + Duration(5000), EndReason::kSteps, "");
  EXPECT_TRUE(trace.first_spans.empty());
  EXPECT_TRUE(trace.last_spans.empty());
  EXPECT_EQ(TimeIn(trace, Role::kConsumer, State::kStarved, kStart, trace.end), Duration(5000));
}

TEST(Resources, AreThinnedEvenly) {
  TraceBuilder builder(kStart, 1);
  for (std::int64_t i = 0; i < 20'000; ++i) {
    ResourceSample sample;
    sample.storage_reads = i;
    builder.Record(sample);
  }
  const auto& kept = builder.trace().resources;
  EXPECT_LE(kept.size(), 4096u);
  EXPECT_GT(kept.size(), 2048u);
  for (std::size_t i = 0; i < kept.size(); ++i)
    EXPECT_EQ(kept[i].storage_reads, static_cast<std::int64_t>(i) * 8);
}

TEST(BadSamples, AreAllCountedAndSomeNamed) {
  TraceBuilder builder(kStart, 1);
  for (int i = 0; i < 1000; ++i)
    builder.RecordBadSample({"file " + std::to_string(i), "truncated"});
  const RunTrace trace = builder.Finish(kStart, EndReason::kFailed, "worker 3: truncated");
  EXPECT_EQ(trace.bad_sample_count, 1000);
  EXPECT_EQ(trace.bad_samples.size(), 100u);
  EXPECT_EQ(trace.bad_samples.back().item, "file 99");
  EXPECT_EQ(trace.failure, "worker 3: truncated");
}

}  // namespace
}  // namespace pipesim::trace
