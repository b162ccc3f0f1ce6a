// How `bench` times a loop, and which sizes it leaves out.
#include "calibrate/bench.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/stats.h"
#include "engine/bench_loop.h"
#include "engine/trainer.h"

namespace pipesim::calibrate {
namespace {

using cost::Operation;
using testing::HasSubstr;

/// Its operations take `each_s`; the first one `first_s` more.
class FakeLoop final : public engine::BenchLoop {
 public:
  explicit FakeLoop(double each_s, double first_s = 0) : each_s_(each_s), first_s_(first_s) {}
  cost::OperationTime Run(std::int64_t count) override {
    runs.push_back(count);
    const double done_s = each_s_ * static_cast<double>(count) + first_s_;
    first_s_ = 0;
    return {done_s / 10, done_s};
  }
  std::vector<std::int64_t> runs;

 private:
  double each_s_, first_s_;
};

TEST(TimeLoop, LeavesOutTheFirstOperationAndRepeatsTenMilliseconds) {
  FakeLoop loop(1e-5, /*first_s=*/3);
  const BenchTime time = TimeLoop(loop, std::nullopt, 0.5, nullptr);
  EXPECT_NEAR(time.median_s, 1e-5, 1e-12);
  EXPECT_NEAR(time.enqueue_s, 1e-6, 1e-12);
  EXPECT_EQ(time.operations, 1000);
  EXPECT_EQ(time.repeats, 6);  // all alike: the fewest that have an interval
  EXPECT_NEAR(time.low_s.value(), 1e-5, 1e-12);
}

TEST(TimeLoop, TakesTheIterationsThatWereAskedFor) {
  FakeLoop loop(1e-6);
  EXPECT_EQ(TimeLoop(loop, 100'000, 0.5, nullptr).operations, 100'000);
  EXPECT_EQ(loop.runs.back(), 100'000);
}

TEST(TimeLoop, OfALongOperationIsDoneOnceWithoutAnInterval) {
  FakeLoop loop(11);
  const BenchTime time = TimeLoop(loop, std::nullopt, 0.5, nullptr);
  EXPECT_EQ(time.repeats, 1);
  EXPECT_EQ(time.low_s, std::nullopt);
}

/// A clock that only the fake loops move.
class FakeClock final : public base::Clock {
 public:
  base::Instant Now() const override { return now; }
  bool SleepUntil(base::Instant, const base::StopFlag&) const override { return true; }
  base::Instant now{};
};

TEST(TimeLoop, RunsALongOperationTwice) {
  FakeLoop loop(11, /*first_s=*/3);
  EXPECT_NEAR(TimeLoop(loop, std::nullopt, 0.5, nullptr).median_s, 11, 1e-9);
  EXPECT_EQ(loop.runs.size(), 2U);
}

/// Cubic: 1 us at 1, 1 s at 100, a thousandth of it on a GPU, whose launch takes 5 us; sizes above 500 do not fit.
class Bench : public testing::Test {
 protected:
  BenchResult Run() {
    control.clock = &clock;
    control.make = [this](const engine::BenchRequest& request) -> std::unique_ptr<engine::BenchLoop> {
      made.push_back(request);
      if (request.size > largest) throw engine::OutOfMemory("out of memory on cpu");
      class Cubic final : public engine::BenchLoop {
       public:
        Cubic(FakeClock& clock, double each_s) : clock_(clock), each_s_(each_s) {}
        cost::OperationTime Run(std::int64_t count) override {
          const double all_s = each_s_ * static_cast<double>(count);
          clock_.now += base::FromSeconds(all_s);
          return {all_s, all_s};
        }

       private:
        FakeClock& clock_;
        double each_s_;
      };
      const auto n = static_cast<double>(request.size);
      const double cpu_s = 1e-6 * n * n * n;
      return std::make_unique<Cubic>(clock, request.device.IsCpu() ? call_s + cpu_s : 5e-6 + cpu_s / 1000);
    };
    return RunBench(plan, control);
  }
  BenchPlan OnCpu(std::vector<std::int64_t> sizes) {
    BenchPlan out;
    out.kind = FindBench("matmul");
    out.sizes = std::move(sizes);
    out.experiment.device.kind = spec::DeviceKind::kCpu;
    return out;
  }
  std::int64_t largest = 500;
  double call_s = 0;  ///< of each operation on the CPU, whatever its size
  FakeClock clock;
  BenchControl control;
  BenchPlan plan;
  std::vector<engine::BenchRequest> made;
};

TEST_F(Bench, WithoutAGpuTimesTheCpuHalf) {
  plan = OnCpu({1, 10});
  const BenchResult result = Run();
  ASSERT_EQ(result.series.size(), 1U);
  EXPECT_EQ(result.series[0].way.name, "cpu");
  EXPECT_NEAR(result.series[0].points[1].time->median_s, 1e-3, 1e-9);
}

TEST_F(Bench, LeavesOutWhatTheTimeLimitDoesNotReach) {
  plan = OnCpu({1, 100, 200, 300});
  plan.max_time = std::chrono::seconds(10);
  const BenchResult result = Run();
  EXPECT_TRUE(result.series[0].points[1].time.has_value());
  EXPECT_FALSE(result.series[0].points[3].time.has_value());
  EXPECT_THAT(result.series[0].points[3].why_not, HasSubstr("--max-time"));
  EXPECT_TRUE(result.out_of_time);
}

TEST_F(Bench, TheCpuIsLeftOutWhereItWouldTakeTooLongAndTheGpuGoesOn) {
  plan = OnCpu({10, 100, 200, 400, 500});
  plan.experiment.device.kind = spec::DeviceKind::kCuda;
  plan.max_time = std::chrono::seconds(20);
  const BenchResult result = Run();
  const auto &cpu = result.series[0].points, &gpu = result.series[1].points;
  for (const BenchPoint& point : gpu) EXPECT_TRUE(point.time.has_value()) << point.size;
  EXPECT_TRUE(cpu[1].time.has_value());
  EXPECT_FALSE(cpu[4].time.has_value());
  EXPECT_THAT(cpu[4].why_not, HasSubstr("--max-time"));
  EXPECT_NEAR(cpu[4].estimated_s.value(), 125, 1e-6);  // 500^3 us, by the work of the largest that was run
  EXPECT_TRUE(result.out_of_time);
  EXPECT_LE(result.wall_s, 20);
}

/// 21,000 rows alone: 9,261,000 s by the clock of this test, and no smaller size to learn that from.
TEST_F(Bench, OneSizeThatIsTooLongIsEstimatedFromTrials) {
  largest = 21'000;
  plan = OnCpu({21'000});
  plan.experiment.device.kind = spec::DeviceKind::kCuda;
  plan.max_time = std::chrono::hours(10);
  const BenchResult result = Run();
  EXPECT_TRUE(result.series[1].points[0].time.has_value());
  EXPECT_FALSE(result.series[0].points[0].time.has_value());
  EXPECT_NEAR(result.series[0].points[0].estimated_s.value(), 9'261'000, 1);
  EXPECT_LT(result.wall_s, 36'000);
}

TEST_F(Bench, ACallThatCostsMoreThanItsWorkIsNotTakenForWork) {
  call_s = 1e-3;  // at size 1 a thousand times the work; at size 300 a 27,000th
  plan = OnCpu({1, 300});
  plan.max_time = std::chrono::seconds(60);
  EXPECT_TRUE(Run().series[0].points[1].time.has_value());
}

TEST_F(Bench, ASizeThatDoesNotFitIsLeftOutWithTheReason) {
  plan = OnCpu({1, 501});
  const BenchResult result = Run();
  EXPECT_TRUE(result.series[0].points[0].time.has_value());
  EXPECT_THAT(result.series[0].points[1].why_not, HasSubstr("out of memory"));
  EXPECT_FALSE(result.out_of_time);
}

TEST_F(Bench, APresetPredictsTheGpusHalfWithoutALoop) {
  plan = OnCpu({1, 1000});
  plan.experiment.device.kind = spec::DeviceKind::kEmulated;
  spec::DevicePreset& preset = plan.experiment.device.preset.emplace();
  preset.fp32_flops_per_s = 1e12;
  preset.memory_bandwidth.per_s = 1e11;
  preset.launch = std::chrono::microseconds(5);
  preset.efficiency = preset.product_efficiency = 0.5;
  const BenchResult result = Run();
  ASSERT_EQ(result.series.size(), 2U);
  EXPECT_FALSE(result.series[0].predicted);
  EXPECT_TRUE(result.series[1].predicted);
  for (const engine::BenchRequest& request : made) EXPECT_TRUE(request.device.IsCpu());
  // Launching takes longer than 2 FLOPs; 2e9 FLOPs at half of 1e12 a second take 4 ms.
  EXPECT_GT(result.series[1].points[0].time->median_s, 5e-6);
  EXPECT_LT(result.series[1].points[0].time->median_s, 20e-6);
  EXPECT_NEAR(result.series[1].points[1].time->median_s, 4e-3, 1e-9);
  EXPECT_EQ(result.series[1].points[1].time->repeats, 0);
}

TEST_F(Bench, TwoGpusAtOnceNeedTwo) {
  plan = OnCpu({10});
  plan.kind = FindBench("concurrent");
  plan.experiment.device.kind = spec::DeviceKind::kCuda;
  plan.gpus = 1;
  EXPECT_EQ(Run().series.size(), 3U);
  plan.gpus = 2;
  made.clear();
  EXPECT_EQ(Run().series.size(), 4U);
  EXPECT_TRUE(std::any_of(made.begin(), made.end(), [](const engine::BenchRequest& request) {
    return request.second == spec::DeviceId::Cuda(1);
  }));
}

TEST_F(Bench, AStopLeavesOutTheRest) {
  base::StopFlag stop;
  stop.Set();
  control.stop = &stop;
  plan = OnCpu({1, 2});
  const BenchResult result = Run();
  EXPECT_TRUE(result.interrupted);
  EXPECT_FALSE(result.series[0].points[1].time.has_value());
}

}  // namespace
}  // namespace pipesim::calibrate
