// Runs of constant costs repeat themselves, and what repeats itself is skipped: the trace must be
// the same as without skipping, to the byte, and at every moment at which it is looked at.
#include "engine/virtual_time/recurrence.h"

#include <rapidcheck/gtest.h>

#include <algorithm>
#include <utility>

#include "any_case.h"
#include "measure/for_verdict.h"
#include "print_trace.h"

namespace pipesim::engine {
namespace {

/// The trace at the end and whenever it was looked at.
std::string EverythingOf(const Case& of, bool skip_periods) {
  std::string text;
  RunControl control;
  control.skip_periods = skip_periods;
  control.enough = [&](const trace::RunTrace& trace, Instant now) -> std::optional<EndReason> {
    text += fmt::format("at {}: {}\n", Ns(now), Print(trace));
    // The virtual engine leaves some ends to the caller.
    if (now > Instant(60s)) return EndReason::kMaxDuration;
    return std::nullopt;
  };
  return text + Print(Predict(of.experiment, of.pipeline, control));
}

/// Empty: none.
std::string FirstDifference(const std::string& a, const std::string& b) {
  if (a == b) return "";
  const auto at = static_cast<std::size_t>(
      std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first - a.begin());
  const std::size_t line = a.rfind('\n', at) + 1, before = at - std::min<std::size_t>(at, 60);
  return fmt::format("{} ...\n{}\nagainst\n{}", a.substr(line, 30), a.substr(before, 120),
                     b.substr(before, 120));
}

// A hash is cheap: whoever skips compares the notes, which have all of a queue.
TEST(AStateVisitor, NotesAQueueAndHashesItsSizeAndItsEnds) {
  const auto visited = [](StateVisitor visitor, std::vector<int> queue) {
    visitor.Each(queue, [&](int one) { visitor.Same(one); });
    return visitor;
  };
  const auto notes = [&](std::vector<int> queue) { return visited(StateVisitor(Moment{}), queue).TakeNotes(); };
  const auto hash = [&](std::vector<int> queue) { return visited(StateVisitor::Hashing(Moment{}), queue).hash(); };
  EXPECT_EQ(notes({}), std::vector<std::int64_t>{0});
  EXPECT_EQ(notes({7, 8, 9}), (std::vector<std::int64_t>{3, 7, 8, 9}));
  EXPECT_EQ(hash({7, 8, 9}), hash({7, 1, 9}));
  EXPECT_NE(hash({7, 8, 9}), hash({7, 8, 1}));
  EXPECT_NE(hash({7, 8, 9}), hash({1, 8, 9}));
  EXPECT_NE(hash({7, 9}), hash({7, 8, 9}));
  EXPECT_NE(hash({7}), hash({}));
}

RC_GTEST_PROP(SkippingPeriods, ChangesNothing, ()) {
  const Case any = AnyCase();
  RC_PRE(spec::BatchesPerEpoch(any.experiment) > 0);
  RC_ASSERT(FirstDifference(EverythingOf(any, true), EverythingOf(any, false)) == "");
}

// Where somebody asks for an end, every task of a worker is an event of its own; else a stretch of tasks
// is one, and their moments are looked up where a step or a sample asks.
/// The trace, with or without stretches.
std::string TraceOf(const Case& of, bool by_stretches) {
  RunControl control;
  if (!by_stretches) control.enough = [](const auto&, Instant) { return std::nullopt; };
  trace::RunTrace trace = Predict(of.experiment, of.pipeline, control);
  // They come in the order of their first spans, which does not matter.
  std::sort(trace.threads.begin(), trace.threads.end(), [](const auto& a, const auto& b) {
    return std::pair(a.role, a.index) < std::pair(b.role, b.index);
  });
  return Print(trace);
}

RC_GTEST_PROP(Stretches, ChangeNothing, ()) {
  const Case any = AnyCase();
  RC_PRE(spec::BatchesPerEpoch(any.experiment) > 0);
  RC_ASSERT(FirstDifference(TraceOf(any, true), TraceOf(any, false)) == "");
}

// All costs are whole milliseconds, so that tasks of a stretch end at the moments of other events, and
// at the run's end. Of equal times the lower thread comes first.
RC_GTEST_PROP(Stretches, ChangeNothingAtEqualMoments, ()) {
  Case any;
  auto& e = any.experiment = Stages(static_cast<int>(In(1, 4)), 1ms * In(1, 3), 1ms * In(1, 4), In(1, 60));
  e.loader.batch_size = In(2, 6);
  e.loader.prefetch_factor = static_cast<int>(In(1, 3));
  e.loader.dispatch = Yes() ? spec::Dispatch::kShared : spec::Dispatch::kRoundRobin;
  e.loader.in_order = Yes();
  if (Yes()) e.prepare.kind = spec::PrepareKind::kBurn;
  e.training.sync_every = In(0, 1);
  if (Yes()) {
    e.storage.kind = spec::StorageKind::kEmulated;
    e.storage.latency = Fixed(1ms * In(1, 3));
    e.storage.queue_depth = static_cast<int>(In(1, 3));
  }
  any.pipeline = cost::Stated(e);
  if (Yes()) any.pipeline.collate.batch = 1ms;
  RC_ASSERT(FirstDifference(TraceOf(any, true), TraceOf(any, false)) == "");
}

// Their effort decides how many changes are simulated at length.
RC_GTEST_PROP(Stretches, CountAsTheEventsThatTheySpare, ()) {
  const Case any = AnyCase();
  RC_PRE(spec::BatchesPerEpoch(any.experiment) > 0);
  const auto events = [&](bool by_stretches) {
    const auto executor = MakeVirtualExecutor();
    RunControl control;
    control.skip_periods = false;
    if (!by_stretches) control.enough = [](const auto&, Instant) { return std::nullopt; };
    executor->Run(any.experiment, any.pipeline, control);
    return executor->Events();
  };
  RC_ASSERT(events(true) == events(false));
}

/// What the throughput is found from (measure::SteadyWindow), whatever the buckets.
std::string RateOf(const trace::RunTrace& trace) {
  std::string text = fmt::format("{} steps until {}\n", trace.steps, Ns(trace.end));
  for (const auto& mark : trace.progress) text += Print(mark);
  for (const auto& other : trace.others)
    for (const auto& mark : other.kept) text += Print(mark);
  for (const auto& step : trace.series[static_cast<std::size_t>(trace::Series::kDeviceStep)].kept)
    text += fmt::format("{} {} {}\n", step.key, Ns(step.at), step.value);
  for (const Role role : {Role::kConsumer, Role::kWorker, Role::kDevice})
    for (const State state : {State::kStarved, State::kBlockedOnConsumer, State::kIdle, State::kBusy,
                              State::kDeviceStarved})
      text += fmt::format("{}\n", TotalIn(trace, role, state).count());
  return text;
}

RC_GTEST_PROP(OnlyTheRate, IsThatOfAWholeTrace, ()) {
  const Case any = AnyCase();
  RC_PRE(spec::BatchesPerEpoch(any.experiment) > 0);
  const auto rate = [&](bool only_rate) {
    RunControl control;
    control.only_rate = only_rate;
    return RateOf(Predict(any.experiment, any.pipeline, control));
  };
  RC_ASSERT(FirstDifference(rate(true), rate(false)) == "");
}

/// All of a measurement that a verdict or a point of a sweep reads.
std::string ForVerdict(const measure::Measurement& m) {
  const measure::Result& r = m.result;
  const measure::Consumer& c = m.consumer;
  const measure::Workers& w = m.workers;
  const measure::Demands& d = m.demands;
  const measure::Device device = m.device.value_or(measure::Device{});
  std::vector<std::optional<double>> figures{r.samples_per_s,
                                             r.steps_per_s,
                                             r.warmup_s,
                                             r.measured_s,
                                             r.accelerator_utilization,
                                             r.time_to_first_batch_s,
                                             static_cast<double>(r.steps),
                                             static_cast<double>(r.samples)};
  if (r.samples_per_s_interval)
    figures.insert(figures.end(), {r.samples_per_s_interval->low, r.samples_per_s_interval->high});
  if (r.step_time) figures.push_back(r.step_time->mean_s);
  for (const double seconds : {c.wall_s,
                               c.starved_s,
                               c.h2d_s,
                               c.host_s,
                               c.compute_s,
                               c.sync_s,
                               c.contended_s,
                               c.other_s,
                               device.wall_s,
                               device.busy_s,
                               device.starved_s,
                               device.transfer_s,
                               device.sync_s,
                               w.wall_s,
                               w.read_s,
                               w.prepare_s,
                               w.collate_s,
                               w.contended_s,
                               w.blocked_on_consumer_s,
                               w.blocked_on_order_s,
                               w.idle_s})
    figures.push_back(seconds);
  for (const auto& demand : {d.read_s, d.read_cpu_s, d.prepare_cpu_s, d.prepare_wait_s, d.collate_s,
                             d.pin_s, d.h2d_s, d.host_s, d.step_s, d.step_cpu_s, d.sync_s,
                             m.resources.cores_used, m.resources.trainer_contended_fraction})
    figures.push_back(demand);
  std::string text = fmt::format("{}\n", static_cast<int>(r.stopped_by));
  for (const auto& figure : figures)
    text += figure ? fmt::format("{}\n", *figure) : std::string("unknown\n");
  return text;
}

RC_GTEST_PROP(ForAVerdict, MeasuresAsForAReport, ()) {
  const Case any = AnyCase();
  RC_PRE(spec::BatchesPerEpoch(any.experiment) > 0);
  RunControl control;
  const std::string all = ForVerdict(measure::Measure(
      Predict(any.experiment, any.pipeline, control), any.experiment, any.pipeline));
  control.for_verdict = true;
  RC_ASSERT(FirstDifference(
                ForVerdict(measure::MeasureForVerdict(
                    Predict(any.experiment, any.pipeline, control), any.experiment, any.pipeline)),
                all) == "");
}

TEST(ForAVerdict, RecordsNoSeriesOfSteps) {
  RunControl control;
  control.for_verdict = true;
  const spec::Experiment experiment = Stages(4, 8ms, 3ms, 500);
  const trace::RunTrace trace = Predict(experiment, cost::Stated(experiment), control);
  for (const auto series : {trace::Series::kStepTime, trace::Series::kStarved,
                            trace::Series::kOccupancy, trace::Series::kLoss})
    EXPECT_EQ(trace.series[static_cast<std::size_t>(series)].seen, 0);
  EXPECT_GE(trace.series[static_cast<std::size_t>(trace::Series::kPrepareTime)].seen, 500);
}

// Then what the monitor would sample in between is known from the period.
RC_GTEST_PROP(SkippingPeriods, ChangesNothingWhereNobodyAsksForAnEnd, ()) {
  const Case any = AnyCase();
  RC_PRE(spec::BatchesPerEpoch(any.experiment) > 0);
  const auto everything = [&](bool skip_periods) {
    RunControl control;
    control.skip_periods = skip_periods;
    return Print(Predict(any.experiment, any.pipeline, control));
  };
  RC_ASSERT(FirstDifference(everything(true), everything(false)) == "");
}

// Long enough that reservoirs know before a skip which steps they will not keep.
TEST(SkippingPeriods, KeepsTheSameStepsOfLongRuns) {
  for (const int workers : {0, 3}) {
    for (const std::int64_t steps : {6'000, 30'000, 150'000}) {
      const auto everything = [&](bool skip_periods) {
        RunControl control;
        control.skip_periods = skip_periods;
        const spec::Experiment experiment = Stages(workers, 8ms, 3ms, steps);
        return Print(Predict(experiment, cost::Stated(experiment), control));
      };
      EXPECT_EQ(FirstDifference(everything(true), everything(false)), "") << workers << ", " << steps;
    }
  }
}

// W workers of w each and a step of g: a batch every max(g, w / W).
TEST(SkippingPeriods, MakesLongRunsShort) {
  constexpr std::int64_t kManySteps = 50'000'000;
  const trace::RunTrace trace = Predict(Stages(4, 8ms, 3ms, kManySteps));
  EXPECT_EQ(trace.steps, kManySteps);
  EXPECT_NEAR(base::ToSeconds(trace.end - trace.begin), kManySteps * 3e-3, 1);
  EXPECT_EQ(trace.series[static_cast<std::size_t>(trace::Series::kStepTime)].seen, kManySteps - 1);
}

// Without workers the consumer prepares each batch, and the device computes beside the next one.
TEST(SkippingPeriods, MakesLongRunsWithoutWorkersShort) {
  constexpr std::int64_t kManySteps = 50'000'000;
  const trace::RunTrace trace = Predict(Stages(0, 8ms, 3ms, kManySteps));
  EXPECT_EQ(trace.steps, kManySteps);
  EXPECT_NEAR(base::ToSeconds(trace.end - trace.begin), kManySteps * 8e-3, 1);
}

// A SATA disk: 20/11 ns a byte, reads paced at 500000/49 ns. Its clocks come round, too, whether it
// limits (10,240 B from 8 workers: 18.6 us each) or waits.
TEST(SkippingPeriods, RunsOfADiskRecur) {
  constexpr std::int64_t kManySteps = 20'000'000;
  for (const Duration prepare : {Duration(10us), Duration(1ms)}) {
    spec::Experiment experiment = Stages(8, prepare, 3us, kManySteps);
    experiment.dataset.sample_bytes = {base::Distribution::Fixed(10'240)};
    experiment.dataset.samples = 10 * kManySteps;
    experiment.storage.kind = spec::StorageKind::kEmulated;
    experiment.storage.latency = Fixed(100us);
    experiment.storage.bandwidth = base::BytesPerSecond{550e6};
    experiment.storage.iops_per_s = 98'000;
    experiment.storage.queue_depth = 32;
    const trace::RunTrace trace = Predict(experiment);
    EXPECT_EQ(trace.steps, kManySteps);
    const double read_s = std::max(10'240 / 550e6, 1 / 98e3);
    const double alone_s = 10'240 / 550e6 + 100e-6 + base::ToSeconds(prepare);
    EXPECT_NEAR(base::ToSeconds(trace.end - trace.begin) / kManySteps,
                std::max(read_s, alone_s / 8), 1e-9);
  }
}

/// Its cache begins with all samples.
spec::Experiment Cached(const base::Distribution& sample_bytes, std::int64_t steps) {
  spec::Experiment experiment = Stages(3, 1ms, 3us, steps);
  experiment.dataset.samples = 5000;
  experiment.dataset.sample_bytes = {sample_bytes};
  experiment.loader.batch_size = 7;
  experiment.storage.kind = spec::StorageKind::kEmulated;
  experiment.storage.cache = {.policy = spec::CachePolicy::kLru,
                              .size = {5000 * 1000},
                              .warm = 1,
                              .hit_bandwidth = base::BytesPerSecond{3e6}};
  return experiment;
}

TEST(SkippingPeriods, RunsWhoseEveryReadHitsRecur) {
  constexpr std::int64_t kManySteps = 20'000'000;
  const trace::RunTrace trace =
      Predict(Cached(base::Distribution::Fixed(1000), kManySteps));
  EXPECT_EQ(trace.steps, kManySteps);
  ASSERT_FALSE(trace.epochs.empty());
  EXPECT_EQ(trace.epochs.front().cache_hits, 5000);
}

// Sizes that are drawn, if all alike, are looked up in the cache.
TEST(SkippingPeriods, RunsWhoseEveryReadHitsAreTheSameWithALookUp) {
  const base::Distribution drawn{
      .kind = base::DistributionKind::kUniform, .low = 1000, .high = 1000};
  for (const std::int64_t steps : {100, 3000})
    EXPECT_EQ(FirstDifference(Print(Predict(Cached(base::Distribution::Fixed(1000), steps))),
                              Print(Predict(Cached(drawn, steps)))),
              "");
}

// Epochs of 10 batches are too short to repeat themselves inside.
TEST(SkippingPeriods, SkipsWholeEpochs) {
  constexpr std::int64_t kEpochs = 5'000'000;
  spec::Experiment experiment = Stages(4, 8ms, 3ms, 0);
  experiment.dataset.samples = 10;
  experiment.run.steps.reset();
  experiment.run.epochs = kEpochs;
  const trace::RunTrace trace = Predict(experiment);
  EXPECT_EQ(trace.steps, 10 * kEpochs);
  ASSERT_EQ(trace.epochs.size(), 4096u);
  EXPECT_TRUE(trace.epochs.back().complete);
  EXPECT_EQ(trace.epochs.back().epoch, 4095);
}

spec::Experiment EpochsOfOneBatch(std::int64_t epochs, bool persistent_workers) {
  spec::Experiment experiment = Stages(3, 8ms, 3ms, 0);
  experiment.dataset.samples = 1;
  experiment.loader.batch_size = 1;
  experiment.loader.persistent_workers = persistent_workers;
  experiment.loader.worker_startup = Fixed(3ms);
  experiment.run.steps.reset();
  experiment.run.epochs = epochs;
  return experiment;
}

TEST(SkippingPeriods, SkipsEpochsInWhichSomeWorkersHaveNoBatch) {
  EXPECT_EQ(Predict(EpochsOfOneBatch(5'000'000, false)).steps, 5'000'000);
}

// Workers that never have a batch wait from the first epoch on: no state comes back.
TEST(SkippingPeriods, LooksAtFewerAndFewerEpochsThatDoNotRepeatThemselves) {
  EXPECT_EQ(Predict(EpochsOfOneBatch(20'000, true)).steps, 20'000);
}

TEST(SkippingPeriods, FindsAPeriodAfterTheStart) {
  virtual_time::StateSearch search;
  const auto look = [&](std::int64_t step, std::uint64_t state) {
    const auto found = search.Look({.time = Duration(10 * step), .steps = step}, state);
    return found ? found->steps : 0;
  };
  // 1 2 3 4 5 6, and round again from 4 on.
  for (std::int64_t step = 1; step <= 6; ++step) EXPECT_EQ(look(step, static_cast<std::uint64_t>(step)), 0);
  EXPECT_EQ(look(7, 4), 3);
}

}  // namespace
}  // namespace pipesim::engine
