// Unit tests of the engine's small threaded parts.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <thread>

#include "engine/threaded/batch_queue.h"
#include "engine/threaded/burn.h"
#include "engine/threaded/span_rings.h"
#include "engine/threaded/thread_timer.h"
#include "pipeline.h"

namespace pipesim::engine::threaded {
namespace {

class EachQueue : public testing::TestWithParam<spec::QueueKind> {};
std::string NameOf(const testing::TestParamInfo<spec::QueueKind>& queue) {
  const char* const names[] = {"Tbb", "Lockfree", "Mutex"};
  return names[static_cast<int>(queue.param)];
}
INSTANTIATE_TEST_SUITE_P(Kinds, EachQueue,
                         testing::Values(spec::QueueKind::kTbb, spec::QueueKind::kLockfree,
                                         spec::QueueKind::kMutex),
                         NameOf);

TEST_P(EachQueue, HoldsExactlyItsCapacity) {
  const auto queue = MakeBatchQueue(GetParam(), 2);
  EXPECT_TRUE(queue->TryPush(7));
  EXPECT_TRUE(queue->TryPush(8));
  EXPECT_FALSE(queue->TryPush(9));
  EXPECT_EQ(queue->size(), 2);
  int slot = 0;
  ASSERT_TRUE(queue->TryPop(slot));
  EXPECT_EQ(slot, 7);
  EXPECT_TRUE(queue->TryPush(9));
  ASSERT_TRUE(queue->Pop(slot));
  EXPECT_EQ(slot, 8);
}

TEST_P(EachQueue, DeliversEverythingOnceFromManyProducers) {
  constexpr int kProducers = 3, kEach = 2000;
  const auto queue = MakeBatchQueue(GetParam(), 2);
  std::vector<std::thread> producers;
  for (int producer = 0; producer < kProducers; ++producer) {
    producers.emplace_back([&, producer] {
      for (int i = 0; i < kEach; ++i) ASSERT_TRUE(queue->Push(producer * kEach + i));
    });
  }
  std::vector<int> last(kProducers, -1), count(kProducers, 0);
  for (int i = 0; i < kProducers * kEach; ++i) {
    int slot = 0;
    ASSERT_TRUE(queue->Pop(slot));
    const auto producer = static_cast<std::size_t>(slot / kEach);
    EXPECT_LT(last[producer], slot);  // first in, first out
    last[producer] = slot;
    ++count[producer];
  }
  for (auto& thread : producers) thread.join();
  EXPECT_EQ(count, std::vector<int>(kProducers, kEach));
  int slot = 0;
  EXPECT_FALSE(queue->TryPop(slot));
}

TEST_P(EachQueue, AbortReleasesAllWaitingThreads) {
  const auto queue = MakeBatchQueue(GetParam(), 1);
  const auto empty = MakeBatchQueue(GetParam(), 1);
  ASSERT_TRUE(queue->TryPush(0));
  std::atomic<int> released{0};
  std::vector<std::thread> waiting;
  for (int i = 0; i < 3; ++i) {
    waiting.emplace_back([&] { released += queue->Push(1) ? 0 : 1; });
  }
  waiting.emplace_back([&] {
    int slot = 0;
    released += empty->Pop(slot) ? 0 : 1;
  });
  while (released < 4) {
    queue->Abort();
    empty->Abort();
    std::this_thread::sleep_for(1ms);
  }
  for (auto& thread : waiting) thread.join();
  int slot = 0;
  EXPECT_FALSE(queue->Push(2));
  EXPECT_FALSE(empty->Pop(slot));
}

TEST_P(EachQueue, AnAbortedQueueReturnsOnlyItsRemainingItems) {
  const auto queue = MakeBatchQueue(GetParam(), 3);
  ASSERT_TRUE(queue->TryPush(7));
  queue->Abort();
  int slot = -1;
  EXPECT_TRUE(queue->TryPop(slot));
  EXPECT_EQ(slot, 7);
  slot = -1;
  for (int attempt = 0; attempt < 3; ++attempt) EXPECT_FALSE(queue->TryPop(slot));
  EXPECT_FALSE(queue->Pop(slot));
  EXPECT_EQ(slot, -1);
}

/// A hypervisor that takes the core away only adds.
double LeastOfThree(const std::function<double()>& measure_s) {
  return std::min({measure_s(), measure_s(), measure_s()});
}

TEST(Burner, BurnsItsCostInThreadCpuTimeToOnePercent) {
  Burner burner;
  const base::StopFlag never;
  burner.Burn(1ms, never);  // finds out how fast this core is
  const double burned_s = LeastOfThree([&] {
    const Duration before = base::ThreadCpuTime();
    for (int i = 0; i < 200; ++i) burner.Burn(250us, never);
    return base::ToSeconds(base::ThreadCpuTime() - before);
  });
  EXPECT_NEAR(burned_s, 0.050, 0.0005);
}

TEST(Burner, CostsBelowTheMinimumAddUp) {
  Burner burner;
  const base::StopFlag never;
  burner.Burn(1ms, never);
  const auto calls_s = [&](Duration cost) {
    const Duration before = base::ThreadCpuTime();
    for (int i = 0; i < 20000; ++i) burner.Burn(cost, never);
    return base::ToSeconds(base::ThreadCpuTime() - before);
  };
  // The 20 ms of the burns lie between the calls with and without what the calls cost by
  // themselves.
  const double more_s = LeastOfThree([&] {
    const double by_themselves_s = calls_s(0ns);
    const double burned_s = calls_s(1us);
    EXPECT_GE(burned_s, 0.0198);
    return burned_s - by_themselves_s;
  });
  EXPECT_LE(more_s, 0.0220);
}

TEST(Burner, LeavesWhenStopped) {
  Burner burner;
  base::StopFlag stop;
  stop.Set();
  const Duration before = base::ThreadCpuTime();
  burner.Burn(10s, stop);
  EXPECT_LT(base::ThreadCpuTime() - before, 1s);
}

TEST(SpanRings, AFullRingLosesNothing) {
  trace::TraceBuilder builder(Instant{}, 1);
  SpanRings rings(builder, 3, 8);  // tiny
  constexpr int kSpans = 5000;
  const auto record = [&](int thread) {
    for (int i = 0; i < kSpans; ++i) {
      rings.ring(thread).Record(trace::Span{.begin = Instant(i * 1us),
                                            .end = Instant((i + 1) * 1us),
                                            .thread = static_cast<std::uint16_t>(thread),
                                            .role = Role::kWorker,
                                            .state = State::kRead});
    }
  };
  std::thread one([&] { record(1); }), two([&] { record(2); });
  record(0);
  one.join();
  two.join();
  rings.Drain();
  const auto trace = builder.Finish(Instant(kSpans * 1us), EndReason::kSteps, {});
  EXPECT_EQ(TotalIn(trace, Role::kWorker, State::kRead), 3 * kSpans * 1us);
}

/// A manual clock; sleeps end `late` after their deadline.
class ManualClock final : public base::Clock {
 public:
  Instant Now() const override { return now; }
  bool SleepUntil(Instant when, const base::StopFlag&) const override {
    now = std::max(now, when + late);
    return true;
  }
  mutable Instant now{1s};
  Duration late{};
};

struct OneSink final : trace::SpanSink {
  void Record(const trace::Span& span) override { spans.push_back(span); }
  void Record(const trace::StepRecord&) override {}
  void Record(const trace::BatchRecord&) override {}
  std::vector<trace::Span> spans;
};

TEST(ThreadTimer, AChainOfSleepsKeepsItsScheduleDespiteLateWakeUps) {
  ManualClock clock;
  clock.late = 300us;
  OneSink sink;
  const base::StopFlag never;
  ThreadTimer timer(clock, sink, Role::kWorker, 0, State::kIdle, clock.Now());
  const Instant begin = clock.Now();
  for (int i = 0; i < 10; ++i) {
    timer.Enter(i % 2 == 0 ? State::kRead : State::kPrepare);
    timer.SleepUntil(timer.scheduled() + 1ms, never);
  }
  timer.Enter(State::kIdle);
  EXPECT_EQ(clock.Now(), begin + 10ms + 300us);
  EXPECT_EQ(timer.busy(State::kRead) + timer.busy(State::kPrepare) + timer.contended(),
            clock.Now() - begin);
}

TEST(ThreadTimer, AWaitForAnotherThreadRestartsTheSchedule) {
  ManualClock clock;
  clock.late = 300us;
  OneSink sink;
  const base::StopFlag never;
  ThreadTimer timer(clock, sink, Role::kWorker, 0, State::kRead, clock.Now());
  timer.SleepUntil(timer.scheduled() + 1ms, never);
  timer.Enter(State::kBlockedOnConsumer);
  timer.WaitedForOther();
  clock.now += 5ms;
  timer.Enter(State::kRead);
  EXPECT_EQ(timer.scheduled(), clock.Now());
}

TEST(ThreadTimer, RunQueueWaitDelaysWorkButLateWakeUpsDoNot) {
  ManualClock clock;
  OneSink sink;
  const base::StopFlag never;
  ThreadTimer timer(clock, sink, Role::kWorker, 0, State::kRead, clock.Now());
  clock.late = 20us;
  timer.SleepUntil(timer.scheduled() + 1ms, never);
  timer.EnterCpu(State::kCollate);
  timer.Enter(State::kRead);
  EXPECT_EQ(clock.Now() - timer.scheduled(), 20us);
  clock.late = 4ms;  // preempted
  timer.SleepUntil(timer.scheduled() + 1ms, never);
  timer.EnterCpu(State::kCollate);
  timer.Enter(State::kRead);
  EXPECT_EQ(clock.Now() - timer.scheduled(), ThreadTimer::kWakeLatency);
}

TEST(ThreadTimer, HostWorkOffACoreIsContendedUnlessADriverMaySleep) {
  const auto contended = [](bool cpu_trains) {
    ManualClock clock;
    OneSink sink;
    ThreadTimer timer(clock, sink, Role::kConsumer, 0, State::kStarved, clock.Now());
    if (cpu_trains) timer.HostIsCpuWork();
    timer.Enter(State::kHost);
    clock.now += 5s;  // of which this thread computes next to nothing
    timer.Enter(State::kStarved);
    return timer.contended();
  };
  EXPECT_GT(contended(true), 4s);
  EXPECT_EQ(contended(false), 0s);
}

TEST(ThreadTimer, SpansTileTheTimeAndLatenessIsContended) {
  ManualClock clock;
  clock.late = 100us;
  OneSink sink;
  const base::StopFlag never;
  ThreadTimer timer(clock, sink, Role::kWorker, 3, State::kStartup, clock.Now());
  clock.now += 2ms;
  timer.Enter(State::kRead);
  timer.SleepUntil(timer.scheduled() + 1ms, never);
  timer.Enter(State::kIdle);
  clock.now += 1ms;
  timer.Finish();
  ASSERT_EQ(sink.spans.size(), 3u);
  EXPECT_EQ(sink.spans[0].end, sink.spans[1].begin);
  EXPECT_EQ(sink.spans[1].end, sink.spans[2].begin);
  EXPECT_EQ(sink.spans[1].contended, 100us);
  EXPECT_EQ(sink.spans[2].contended, 0us);
}

TEST(ThreadTimer, AWaitForAFinishedDeviceIsNotLate) {
  ManualClock clock;
  OneSink sink;
  const base::StopFlag never;
  ThreadTimer timer(clock, sink, Role::kConsumer, 0, State::kCompute, clock.Now());
  timer.SleepUntil(clock.Now() - 500ms, never);
  clock.now += 1us;
  timer.Enter(State::kHost);
  EXPECT_EQ(timer.scheduled(), clock.Now());
  EXPECT_EQ(timer.contended(), 0us);
}

}  // namespace
}  // namespace pipesim::engine::threaded
