// The Chrome trace of hand-made spans, and that its checker finds what is wrong.
#include "report/chrome_trace.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "examples.h"
#include "support/chrome_trace.h"
#include "trace/builder.h"

namespace pipesim::tests {
namespace {

using base::Duration;
using base::Instant;
using nlohmann::json;
using report::Document;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using trace::Role;
using trace::Span;
using trace::State;

constexpr Instant kBegin = Instant(std::chrono::seconds(5));
Instant AtUs(double us) { return kBegin + Duration(std::llround(us * 1e3)); }

Span SpanOf(Role role, State state, double from_us, double to_us, std::int64_t batch = -1) {
  Span span;
  span.begin = AtUs(from_us);
  span.end = AtUs(to_us);
  span.role = role;
  span.state = state;
  span.batch = batch;
  span.samples = 8;
  return span;
}

/// A worker makes `batches` batches, 30 us each, that a consumer trains on and a device computes.
trace::RunTrace TraceOf(std::int64_t batches) {
  trace::TraceBuilder builder(kBegin, 1, {.keep_spans = true});
  for (std::int64_t batch = 0; batch < batches; ++batch) {
    const double at = 30.0 * static_cast<double>(batch);
    builder.Record(SpanOf(Role::kWorker, State::kRead, at, at + 10.5, batch));
    builder.Record(SpanOf(Role::kWorker, State::kPrepare, at + 10.5, at + 25, batch));
    builder.Record(SpanOf(Role::kWorker, State::kCollate, at + 25, at + 30, batch));
    builder.Record(SpanOf(Role::kConsumer, State::kStarved, at + 0.0, at + 30, batch));
    builder.Record(SpanOf(Role::kDevice, State::kTransfer, at + 30, at + 36, batch));
    builder.Record(SpanOf(Role::kDevice, State::kBusy, at + 33, at + 50, batch));
    builder.Record(trace::StepRecord{.step = batch,
                                     .batch = batch,
                                     .epoch = 0,
                                     .samples = 8,
                                     .occupancy = 1,
                                     .taken = AtUs(at + 30),
                                     .done = AtUs(at + 30),
                                     .starved = {},
                                     .loss = {},
                                     .loaded = 0});
  }
  const double end = 30.0 * static_cast<double>(batches);
  builder.Record(SpanOf(Role::kConsumer, State::kHost, end, end + 4, batches - 1));
  return builder.Finish(AtUs(end + 30), trace::EndReason::kSteps, "");
}

json Written(const trace::RunTrace& trace) {
  std::string text;
  report::WriteChromeTrace(trace, report::ToJson(IoBound()),
                           [&](std::string_view piece) { text += piece; });
  return json::parse(text);
}

std::vector<std::string> Problems(const json& trace) { return TraceCheck(trace).problems(); }

std::vector<json> EventsOf(const json& trace, const std::string& phase, const std::string& name) {
  std::vector<json> events;
  for (const json& event : trace["traceEvents"])
    if (event["ph"] == phase && event["name"] == name) events.push_back(event);
  return events;
}

TEST(ChromeTrace, NestsStatesInBatchesAndKeepsNanoseconds) {
  const json trace = Written(TraceOf(2));
  EXPECT_THAT(Problems(trace), IsEmpty());
  const auto reads = EventsOf(trace, "X", "read");
  ASSERT_EQ(reads.size(), 2u);
  EXPECT_EQ(reads[1]["ts"], 30.0);
  EXPECT_EQ(reads[1]["dur"], 10.5);
  EXPECT_EQ(reads[1]["args"]["batch"], 1);
  EXPECT_EQ(EventsOf(trace, "X", "batch 1").size(), 2u) << "the worker's and the consumer's";
  EXPECT_TRUE(trace["otherData"]["left_out"].is_null());
}

TEST(ChromeTrace, LeadsFromTheWorkerToTheStep) {
  const json trace = Written(TraceOf(1));
  ASSERT_EQ(EventsOf(trace, "s", "batch").size(), 1u);
  EXPECT_EQ(EventsOf(trace, "s", "batch")[0]["ts"], 25.0);
  EXPECT_EQ(EventsOf(trace, "f", "batch")[0]["ts"], 30.0);
}

TEST(ChromeTrace, CountsWhatNvmlReadAndNothingElse) {
  trace::RunTrace trace = TraceOf(1);
  trace.resources.resize(2);
  trace.resources[0].at = AtUs(0);
  trace.resources[0].gpu = {.utilization = {}, .memory_used = {}, .power_w = 412.5, .sm_clock_mhz = 1755,
                            .memory_clock_mhz = {}};
  trace.resources[1].at = AtUs(10);  // not readable then
  const json written = Written(trace);
  EXPECT_THAT(Problems(written), IsEmpty());
  const auto power = EventsOf(written, "C", "GPU power");
  ASSERT_EQ(power.size(), 1u);
  EXPECT_EQ(power[0]["args"], json({{"W", 412.5}}));
  EXPECT_EQ(EventsOf(written, "C", "GPU SM clock").size(), 1u);
  EXPECT_THAT(EventsOf(written, "C", "GPU memory clock"), IsEmpty());
  EXPECT_THAT(EventsOf(written, "C", "GPU utilization (NVML)"), IsEmpty());
}

TEST(ChromeTrace, SaysWhichBatchesAreLeftOut) {
  const trace::RunTrace trace = TraceOf(3 * trace::kSpanBatches);
  const json written = Written(trace);
  EXPECT_THAT(Problems(written), IsEmpty());
  EXPECT_THAT(report::SpansLeftOut(trace), HasSubstr("batches 2000 to 3999 are left out"));
  EXPECT_EQ(written["otherData"]["left_out"], report::SpansLeftOut(trace));
  EXPECT_EQ(EventsOf(written, "X", "spans of batches 2000 to 3999 left out").size(), 1u);
  EXPECT_EQ(EventsOf(written, "X", "read").size(), 2u * trace::kSpanBatches);
}

TEST(ChromeTrace, OfARunWithoutSpansHasItsFrameOnly) {
  trace::RunTrace nothing;
  EXPECT_THAT(Problems(Written(nothing)), IsEmpty());
}

// ---- the checker

TEST(TraceCheck, FindsWhatIsWrong) {
  const json good = Written(TraceOf(2));
  const auto changed = [&](const std::string& phase, const std::string& name, const auto& change) {
    json trace = good;
    for (json& event : trace["traceEvents"])
      if (event["ph"] == phase && event["name"] == name) {
        change(event);
        break;
      }
    return Problems(trace);
  };
  EXPECT_THAT(changed("X", "read", [](json& event) { event["dur"] = 11.0; }),
              Contains(HasSubstr("overlap")));
  EXPECT_THAT(changed("X", "read", [](json& event) { event.erase("ts"); }),
              Contains(HasSubstr("without a number ts")));
  EXPECT_THAT(changed("X", "read", [](json& event) { event["dur"] = -1; }),
              Contains(HasSubstr("without a number dur")));
  EXPECT_THAT(changed("f", "batch", [](json& event) { event["id"] = 77; }),
              Contains(HasSubstr("has not one start and one end")));
  EXPECT_THAT(changed("f", "batch", [](json& event) { event["ts"] = 1.0; }),
              Contains(HasSubstr("ends before it starts")));
  EXPECT_THAT(changed("f", "batch", [](json& event) { event["ts"] = 1e6; }),
              Contains(HasSubstr("lies in no slice")));
  EXPECT_THAT(changed("C", "queue", [](json& event) { event["args"]["batches"] = "1"; }),
              Contains(HasSubstr("a counter without numbers")));
  EXPECT_THAT(changed("M", "thread_name", [](json& event) { event["tid"] = 99; }),
              Contains(HasSubstr("a row without a name")));
  EXPECT_THAT(changed("M", "process_name", [](json& event) { event["pid"] = 99; }),
              Contains(HasSubstr("a process without a name")));
  EXPECT_THAT(changed("X", "read", [](json& event) { event["ph"] = "Z"; }),
              Contains(HasSubstr("an unknown phase")));
  EXPECT_THAT(Problems(json::array()), ElementsAre("no array traceEvents"));
}

}  // namespace
}  // namespace pipesim::tests
