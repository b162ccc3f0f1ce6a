// Probes: their blocks in a made-up time. On real threads: probing_run_test.cc.
#include "engine/threaded/probing.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "pipeline.h"
#include "probe_pairs.h"

namespace pipesim::engine {
namespace {

using threaded::CanProbe;
using threaded::ProbeSeat;
using threaded::ProbeShape;
using threaded::RunProbes;
using trace::ProbeKind;

/// A consumer in virtual time: a batch takes the slower of loading and training. Settings scale the
/// loading by the workers in use; on other compute threads a step takes `train_on_others`, and the
/// first step after each change `first_step`.
class MadeUpSeat final : public ProbeSeat {
 public:
  MadeUpSeat(Duration load, Duration train, int workers)
      : load_(load), train_(train), all_(workers), workers_(workers) {}

  std::optional<std::int64_t> Train() override {
    const Duration step = on_others_ ? train_on_others : train_;
    return Pass(std::max(Load(), step) + std::exchange(pending_, Duration{}));
  }
  bool BeginFreeData() override { return parked_ = true; }
  std::optional<std::int64_t> TrainAgain() override { return Pass(train_); }
  void EndFreeData() override { parked_ = false; }
  std::optional<std::int64_t> Drop() override { return Pass(Load()); }
  void Use(const LiveSetting& setting) override { Change(setting.workers, setting.compute_threads > 0); }
  void UseOwn() override { Change(all_, false); }
  std::int64_t Stock() const override { return 0; }
  bool Starved() const override { return false; }
  Instant Now() const override { return now_; }

  bool on_other_threads() const { return on_others_; }
  bool parked() const { return parked_; }
  int workers() const { return workers_; }
  std::int64_t left = INT64_MAX;  ///< batches until the run is ending
  Duration train_on_others{}, first_step{};

 private:
  void Change(int workers, bool on_others) {
    workers_ = workers;
    on_others_ = on_others;
    pending_ = first_step;
  }
  Duration Load() const { return load_ * all_ / workers_; }
  std::optional<std::int64_t> Pass(Duration time) {
    if (left-- <= 0) return std::nullopt;
    now_ += time;
    return 8;
  }

  Duration load_, train_;
  int all_, workers_;
  bool parked_ = false, on_others_ = false;
  Duration pending_{};
  Instant now_{};
};

/// One worker and its queue in virtual time; other compute threads train in `train_on_others`. A step that begins before
/// the queue is full takes `beside_loading` longer.
class QueueSeat final : public ProbeSeat {
 public:
  QueueSeat(Duration load, Duration train, Duration train_on_others, double room)
      : load_(load), train_(train), train_on_others_(train_on_others), room_(room), stock_(room) {}

  std::optional<std::int64_t> Train() override {
    const Duration longer = stock_ < room_ ? beside_loading : Duration{};
    Take();
    Advance((on_others_ ? train_on_others_ : train_) + longer);
    return 8;
  }
  /// A worker that is parked has filled the queue before.
  bool BeginFreeData() override {
    stock_ = room_;
    return true;
  }
  std::optional<std::int64_t> TrainAgain() override {
    now_ += train_;
    return 8;
  }
  void EndFreeData() override {}
  std::optional<std::int64_t> Drop() override {
    Take();
    return 8;
  }
  void Use(const LiveSetting&) override { on_others_ = true; }
  void UseOwn() override { on_others_ = false; }
  std::int64_t Stock() const override { return std::llround(8 * stock_); }
  bool Starved() const override { return starved_; }
  Instant Now() const override { return now_; }

  Duration beside_loading{};

 private:
  void Take() {
    starved_ = stock_ < 1;
    if (starved_) Advance(load_ * (1 - stock_));
    stock_ -= 1;
  }
  template <class Time>
  void Advance(Time time) {
    now_ += std::chrono::duration_cast<Duration>(time);
    stock_ = std::min(room_, stock_ + base::ToSeconds(std::chrono::duration_cast<Duration>(time)) /
                                          base::ToSeconds(load_));
  }

  Duration load_, train_, train_on_others_;
  double room_, stock_;
  bool on_others_ = false, starved_ = false;
  Instant now_{};
};

constexpr ProbeShape kFourWorkers{.workers = 4, .prefetch_factor = 2, .in_flight = 2};

TEST(Probing, EachPairComparesTheRunAsItIsWithOneThingFree) {
  MadeUpSeat seat(4ms, 1ms, 4);
  const trace::Probes probes = RunProbes(seat, {.most_time = 2s, .setting = {}, .step_s = {}}, kFourWorkers);
  const trace::Probe* data = Find(probes, ProbeKind::kFreeData);
  const trace::Probe* training = Find(probes, ProbeKind::kFreeCompute);
  ASSERT_TRUE(data != nullptr && training != nullptr);
  // Nothing varies, so each is known after the fewest pairs that may be believed.
  EXPECT_EQ(data->pairs.size(), 5u);
  EXPECT_EQ(training->pairs.size(), 5u);
  for (const trace::ProbePair& pair : data->pairs) EXPECT_NEAR(GainOf(pair), 3, 1e-6);
  for (const trace::ProbePair& pair : training->pairs) EXPECT_NEAR(GainOf(pair), 0, 1e-6);
  EXPECT_LE(probes.time, Duration(2s));
  EXPECT_FALSE(seat.parked());
}

TEST(Probing, TheSettingIsTriedAndPutBack) {
  MadeUpSeat seat(4ms, 1ms, 4);
  const ProbePlan plan{.most_time = 4s,
                       .setting = LiveSetting{.change = "workers 4 to 2",
                                              .workers = 2,
                                              .prefetch_factor = 2},
                       .step_s = {}};
  const trace::Probes probes = RunProbes(seat, plan, kFourWorkers);
  const trace::Probe* setting = Find(probes, ProbeKind::kSetting);
  ASSERT_NE(setting, nullptr);
  EXPECT_EQ(setting->change, "workers 4 to 2");
  ASSERT_GE(setting->pairs.size(), 3u);
  for (const trace::ProbePair& pair : setting->pairs) EXPECT_NEAR(GainOf(pair), -0.5, 1e-6);
  EXPECT_EQ(seat.workers(), 4);
  EXPECT_LE(probes.time, Duration(4s));
}

constexpr ProbeShape kOneWorker{.workers = 1, .prefetch_factor = 2, .in_flight = 1};

LiveSetting OneThread(double expected_gain, const ProbeShape& shape) {
  return {.change = "compute threads 2 to 1",
          .workers = shape.workers,
          .prefetch_factor = shape.prefetch_factor,
          .compute_threads = 1,
          .expected_gain = expected_gain};
}

TEST(Probing, StepsUnderCollapseLeaveTimeForThreePairs) {
  // 100 ms a step on the run's threads, 5 ms on one: a second holds ten steps as they are.
  MadeUpSeat seat(4ms, 100ms, 1);
  seat.train_on_others = 5ms;
  seat.first_step = 20ms;  // the pool's, which does not count
  const ProbePlan plan{
      .most_time = 1s, .setting = OneThread(27, kOneWorker), .step_s = 0.1};
  const trace::Probes probes = RunProbes(seat, plan, kOneWorker);
  const trace::Probe* setting = Find(probes, ProbeKind::kSetting);
  ASSERT_NE(setting, nullptr);
  ASSERT_GE(setting->pairs.size(), 3u);
  for (const trace::ProbePair& pair : setting->pairs) {
    EXPECT_NEAR(GainOf(pair), 19, 1e-6);
    EXPECT_GE(pair.changed.time, Duration(20ms));
  }
  EXPECT_FALSE(seat.on_other_threads());
  EXPECT_LE(probes.time, Duration(1s) + Duration(120ms));  // the step that was begun ends
}

TEST(Probing, OneStepIsABlockWhereTrainingDoesNotWaitForTheWorkers) {
  // 4 workers, 120 ms a step on the run's threads, 8 ms on one: a second holds eight steps, two cycles of the workers.
  const auto pairs = [](bool waits) {
    MadeUpSeat seat(1ms, 120ms, 4);
    seat.train_on_others = 8ms;
    ProbeShape shape{.workers = 4, .prefetch_factor = 2, .in_flight = 1, .waits = waits};
    LiveSetting one = OneThread(14, shape);
    one.waits = waits;
    const trace::Probes probes = RunProbes(seat, {.most_time = 1s, .setting = one, .step_s = 0.12}, shape);
    const trace::Probe* setting = Find(probes, ProbeKind::kSetting);
    if (setting == nullptr) return std::size_t{0};
    for (const trace::ProbePair& pair : setting->pairs) EXPECT_NEAR(GainOf(pair), 14, 1e-6);
    return setting->pairs.size();
  };
  EXPECT_GE(pairs(false), 3u);
  EXPECT_EQ(pairs(true), 0u);
}

TEST(Probing, APromiseThatIsFarOffCostsNoMoreTime) {
  // Promised to be 20 times as fast, and 10 times slower.
  MadeUpSeat seat(1ms, 20ms, 1);
  seat.train_on_others = 200ms;
  const ProbePlan plan{.most_time = 1s, .setting = OneThread(19, kOneWorker), .step_s = 0.02};
  const trace::Probes probes = RunProbes(seat, plan, kOneWorker);
  EXPECT_FALSE(seat.on_other_threads());
  EXPECT_LE(probes.time, Duration(1s) + Duration(200ms));
}

TEST(Probing, WhatTheStockGivesIsNoGain) {
  // Training goes from 5 ms to 1 ms a batch, loading takes 2 ms: 1.5 lasts. The 33 batches in stock
  // would feed it at 1 ms a batch for longer than a block.
  constexpr ProbeShape kDeep{.workers = 1, .prefetch_factor = 33, .in_flight = 1};
  QueueSeat seat(2ms, 5ms, 1ms, 33);
  const ProbePlan plan{.most_time = 2s, .setting = OneThread(1.5, kDeep), .step_s = 0.005};
  const trace::Probes probes = RunProbes(seat, plan, kDeep);
  const trace::Probe* setting = Find(probes, ProbeKind::kSetting);
  ASSERT_NE(setting, nullptr);
  ASSERT_GE(setting->pairs.size(), 3u);
  for (const trace::ProbePair& pair : setting->pairs) EXPECT_NEAR(GainOf(pair), 1.5, 0.15);
}

TEST(Probing, NoBlockIsBegunThatDoesNotFit) {
  // 20 steps of 50 ms: not even three pairs of whole cycles.
  MadeUpSeat slow(50ms, 50ms, 4);
  const trace::Probes none = RunProbes(slow, {.most_time = 1s, .setting = {}, .step_s = {}}, kFourWorkers);
  EXPECT_TRUE(none.each.empty());
  EXPECT_LE(none.time, Duration(1s));
  // Free compute also has to drain a window; free data fits where that does not.
  MadeUpSeat short_of_time(10ms, 10ms, 4);
  const trace::Probes some =
      RunProbes(short_of_time, {.most_time = 700ms, .setting = {}, .step_s = {}}, kFourWorkers);
  EXPECT_NE(Find(some, ProbeKind::kFreeData), nullptr);
  EXPECT_EQ(Find(some, ProbeKind::kFreeCompute), nullptr);
  EXPECT_LE(some.time, Duration(700ms));
}

TEST(Probing, TheStockOfParkedWorkersIsNoRateOfTheRunAsItIs) {
  // A worker makes a batch in 50 ms, a step takes 5: after free data two batches are in stock.
  QueueSeat seat(50ms, 5ms, 5ms, 2);
  const trace::Probes probes = RunProbes(seat, {.most_time = 4s, .setting = {}, .step_s = 0.05}, kOneWorker);
  const trace::Probe* data = Find(probes, ProbeKind::kFreeData);
  ASSERT_NE(data, nullptr);
  ASSERT_GE(data->pairs.size(), 3u);
  for (const trace::ProbePair& pair : data->pairs) EXPECT_NEAR(GainOf(pair), 9, 0.5);
}

TEST(Probing, WorkersThatRefillTheirQueueAreNotTheRunAsItIs) {
  // Loading takes 4 ms, a step 5 and beside loading 7: dropping batches empties a queue of 4, which takes ten steps to fill.
  constexpr ProbeShape kBusy{.workers = 1, .prefetch_factor = 16, .in_flight = 1, .waits = false};
  QueueSeat seat(4ms, 5ms, 5ms, 4);
  seat.beside_loading = 2ms;
  const trace::Probes probes = RunProbes(seat, {.most_time = 20s, .setting = {}, .step_s = 0.005}, kBusy);
  const trace::Probe* data = Find(probes, ProbeKind::kFreeData);
  ASSERT_NE(data, nullptr);
  ASSERT_NE(Find(probes, ProbeKind::kFreeCompute), nullptr);
  ASSERT_GE(data->pairs.size(), 3u);
  for (const trace::ProbePair& pair : data->pairs) EXPECT_NEAR(GainOf(pair), 0, 0.005);
}

TEST(Probing, AnEndingRunKeepsWholePairs) {
  MadeUpSeat seat(4ms, 1ms, 4);
  seat.left = 400;
  const trace::Probes probes = RunProbes(seat, {.most_time = 60s, .setting = {}, .step_s = {}}, kFourWorkers);
  EXPECT_FALSE(seat.parked());
  for (const trace::Probe& probe : probes.each) EXPECT_FALSE(probe.pairs.empty());
}

TEST(Probing, NeedsStepsEnoughForItsShareOfTheRun) {
  // 4 to settle, three blocks of 4, and 8 + 4 after the change back are 28 steps: a fifth of 140.
  EXPECT_FALSE(CanProbe(139, 10s, kFourWorkers));
  EXPECT_TRUE(CanProbe(141, 10s, kFourWorkers));
  // Where training does not wait: 2, three blocks of 1, and 2 after the change back.
  ProbeShape busy = kFourWorkers;
  busy.waits = false;
  EXPECT_FALSE(CanProbe(34, 10s, busy));
  EXPECT_TRUE(CanProbe(36, 10s, busy));
  // Nor do they take more than 10 s.
  EXPECT_FALSE(CanProbe(140, 60s, kFourWorkers));
}

}  // namespace
}  // namespace pipesim::engine
