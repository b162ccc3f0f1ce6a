// The optimized parts of virtual time, each against a simple implementation.
#include <rapidcheck/gtest.h>

#include <chrono>
#include <map>
#include <thread>

#include "base/drawn.h"
#include "engine/sample_draws.h"
#include "engine/virtual_time/time_tree.h"
#include "pipeline.h"

namespace pipesim::engine {
namespace {

// Without spans of single batches, what a worker does sample after sample is recorded at once.
TEST(Spans, LeaveTheTotalsAsTheyAreWhetherTheyAreKeptOrNot) {
  spec::Experiment experiment = Stages(3, 0s, 3ms, 200);
  experiment.loader.batch_size = 8;
  for (const auto kind : {spec::PrepareKind::kWait, spec::PrepareKind::kBurn}) {
    experiment.prepare = {.kind = kind, .cost = Fixed(2ms)};
    const cost::Pipeline pipeline = cost::Stated(experiment);
    const trace::RunTrace few = Predict(experiment, pipeline);
    const trace::RunTrace all = Predict(experiment, pipeline, WithSpans());
    ASSERT_EQ(few.threads.size(), all.threads.size());
    for (const trace::ThreadTotals& one : few.threads) {
      const auto same = std::find_if(
          all.threads.begin(), all.threads.end(),
          [&](const auto& other) { return other.role == one.role && other.index == one.index; });
      ASSERT_NE(same, all.threads.end());
      for (std::size_t state = 0; state < trace::kStateCount; ++state) {
        EXPECT_EQ(TimesPerBucket(all, *same, static_cast<State>(state)),
                  TimesPerBucket(few, one, static_cast<State>(state)));
      }
    }
    EXPECT_GT(TotalIn(few, Role::kWorker, State::kPrepare), Duration::zero());
  }
}

RC_GTEST_PROP(TimeTree, GivesTheEarliestAndOfEqualsTheLowestActor, ()) {
  const auto actors = *rc::gen::inRange(1, 70);
  virtual_time::TimeTree tree(actors);
  std::map<std::int64_t, std::int64_t> pending;  // actor -> time
  for (int turn = 0; turn < 300; ++turn) {
    const auto actor = *rc::gen::inRange<std::int64_t>(0, actors);
    if (!pending.contains(actor)) {
      const auto time = *rc::gen::inRange<std::int64_t>(0, 20);
      tree.Push(time, actor);
      pending[actor] = time;
    } else {
      const auto first = std::min_element(pending.begin(), pending.end(),
                                          [](auto a, auto b) { return a.second < b.second; });
      const auto popped = tree.Pop();
      RC_ASSERT(popped.actor == first->first);
      RC_ASSERT(popped.time == first->second);
      pending.erase(first);
    }
    RC_ASSERT(tree.size() == pending.size());
  }
}

TEST(SampleDraws, AreTheKeyedDrawsCachedOrNot) {
  // Some of them beyond 2^32 ns.
  const base::Drawn<Duration> cost{
      {.kind = base::DistributionKind::kLognormal, .mean = 2e9, .stdev = 3e9, .values = {}}};
  const SampleDraws kept(cost.in_units, 5, base::Stage::kPrepare, 1000, true);
  const SampleDraws drawn(cost.in_units, 5, base::Stage::kPrepare, 1000, false);
  std::int64_t longest = 0;
  for (int epoch = 0; epoch < 2; ++epoch) {
    for (std::int64_t sample = 0; sample < 1000; ++sample) {
      const auto key = static_cast<std::uint64_t>(sample);
      const Duration expected = cost.Draw(base::KeyedStream(5, base::Stage::kPrepare, key));
      ASSERT_EQ(kept(sample), expected.count());
      ASSERT_EQ(drawn(sample), expected.count());
      longest = std::max(longest, expected.count());
    }
  }
  EXPECT_GT(longest, std::int64_t{UINT32_MAX});
}

TEST(VirtualExecutor, DoesNotDependOnEarlierRuns) {
  auto experiment = Stages(2, 0s, 1ms, 300);
  experiment.prepare.cost = Exponential(1ms);
  auto other = experiment;
  other.run.seed = 2;
  other.prepare.cost = Exponential(3ms);
  const auto executor = MakeVirtualExecutor();
  const auto end = [&](const spec::Experiment& of) {
    return executor->Run(of, cost::Stated(of), {}).end - Instant{};
  };
  const Duration alone = end(experiment);
  EXPECT_NE(end(other), alone);
  EXPECT_EQ(end(experiment), alone);
}

// Virtual time until the monitor looks again, 100 ms, is a minute of computing here.
TEST(VirtualExecutor, StopsSoonWhereverVirtualTimeStands) {
  auto experiment = Stages(1, 0s, 0s, 0);
  experiment.run.steps = 1'000'000'000'000;
  experiment.loader.batch_size = 1;
  experiment.prepare.cost = Exponential(2ns);
  experiment.device.step_base = Fixed(1ns);
  base::StopFlag stop;
  RunControl control;
  control.stop = &stop;
  std::thread later([&] {
    std::this_thread::sleep_for(100ms);
    stop.Set();
  });
  const auto begin = std::chrono::steady_clock::now();
  const trace::RunTrace trace = Predict(experiment, cost::Stated(experiment), control);
  const auto took = std::chrono::steady_clock::now() - begin;
  later.join();
  EXPECT_EQ(trace.end_reason, trace::EndReason::kInterrupted);
  EXPECT_LT(took, 10s);
}

}  // namespace
}  // namespace pipesim::engine
