// What a run tries after its measured part, by the diagnosis of that part.
#include "app/probe_planning.h"

#include <gtest/gtest.h>

namespace pipesim::app {
namespace {

using diagnose::Verdict;
using diagnose::WhatIf;
using Set = std::vector<std::pair<std::string, std::string>>;

/// 4 workers, prefetch 2, two compute threads on the CPU; 10 s measured, steps of 20 ms.
struct Judged {
  Judged() {
    experiment.loader.workers = 4;
    experiment.loader.prefetch_factor = 2;
    experiment.limits.compute_threads = 2;
    experiment.device.kind = spec::DeviceKind::kCpu;
    measurement.effective.compute_threads = 2;
    measurement.result.samples_per_s = 3200;
    measurement.result.measured_s = 10;
    measurement.result.step_time.emplace().mean_s = 0.02;
    diagnosis.bottleneck = Verdict::kCpuContention;
  }
  WhatIf& Row(std::string change, Set set, double gain) {
    WhatIf& row = diagnosis.what_if.emplace_back();
    row.change = std::move(change);
    row.set = std::move(set);
    row.gain = gain;
    row.feasible_here = true;
    row.after.loader = experiment.loader;
    row.after.limits = experiment.limits;
    return row;
  }
  WhatIf& OneThread(double gain) {
    WhatIf& row = Row("compute threads 2 to 1", {{"limits.compute_threads", "1"}}, gain);
    row.after.limits.compute_threads = 1;
    return row;
  }
  void Recommend(const WhatIf& row) {
    diagnosis.recommendation = diagnose::Recommendation{.text = row.change, .set = row.set};
  }
  engine::ProbePlan Plan() const { return PlanProbes(experiment, measurement, diagnosis).value(); }

  spec::Experiment experiment;
  measure::Measurement measurement;
  diagnose::Diagnosis diagnosis;
};

TEST(ProbePlanning, TakesAFifthOfTheMeasuredTimeAndKnowsTheStep) {
  Judged run;
  EXPECT_EQ(run.Plan().most_time, base::Duration(std::chrono::seconds(2)));
  EXPECT_DOUBLE_EQ(run.Plan().step_s.value(), 0.02);
  run.measurement.result.measured_s = 100;
  EXPECT_EQ(run.Plan().most_time, base::Duration(std::chrono::seconds(10)));
  run.measurement.result.samples_per_s.reset();
  EXPECT_FALSE(PlanProbes(run.experiment, run.measurement, run.diagnosis));
}

TEST(ProbePlanning, TheRecommendedComputeThreadsAreTried) {
  Judged run;
  run.Recommend(run.OneThread(0.4));
  const auto setting = run.Plan().setting;
  ASSERT_TRUE(setting);
  EXPECT_EQ(setting->change, "compute threads 2 to 1");
  EXPECT_EQ(setting->compute_threads, 1);
  EXPECT_EQ(setting->workers, 4);
  EXPECT_EQ(setting->prefetch_factor, 2);
  EXPECT_DOUBLE_EQ(setting->expected_gain, 0.4);
}

TEST(ProbePlanning, ADeviceOfItsOwnHasNoComputeThreadsToTry) {
  Judged run;
  run.Recommend(run.OneThread(0.4));
  run.measurement.effective.device_asynchronous = true;
  EXPECT_FALSE(run.Plan().setting);
}

TEST(ProbePlanning, APairIsTriedAsAWholeWhereAllOfItIsLive) {
  Judged run;
  WhatIf& pair = run.Row("workers 4 to 2 and compute threads 2 to 1",
                         {{"loader.workers", "2"}, {"limits.compute_threads", "1"}}, 0.6);
  pair.after.loader.workers = 2;
  pair.after.limits.compute_threads = 1;
  run.Recommend(pair);
  const auto setting = run.Plan().setting;
  ASSERT_TRUE(setting);
  EXPECT_EQ(setting->workers, 2);
  EXPECT_EQ(setting->compute_threads, 1);
  // With a part that takes a run of its own it is not.
  run.diagnosis.what_if[0].set.emplace_back("limits.omp_wait", "passive");
  run.Recommend(run.diagnosis.what_if[0]);
  EXPECT_FALSE(run.Plan().setting);
}

TEST(ProbePlanning, WhereTheRecommendationIsNotLiveThePromiseOfTheBestLiveRowIsTried) {
  Judged run;
  run.Recommend(run.Row("omp_wait default to passive", {{"limits.omp_wait", "passive"}}, 9));
  run.OneThread(0.3);
  EXPECT_EQ(run.Plan().setting->change, "compute threads 2 to 1");
  run.diagnosis.what_if[1].gain = 0.02;  // no promise
  EXPECT_FALSE(run.Plan().setting);
}

TEST(ProbePlanning, WhereNothingIsDecidedTheBestLiveRowMayDecide) {
  Judged run;
  run.OneThread(-0.1);
  EXPECT_FALSE(run.Plan().setting);
  run.diagnosis.bottleneck = Verdict::kInconclusive;
  EXPECT_EQ(run.Plan().setting->change, "compute threads 2 to 1");
}

TEST(ProbePlanning, FewerComputeThreadsAreTriedWhereTheyLackedCores) {
  Judged run;
  run.diagnosis.bottleneck = Verdict::kComputeBound;
  run.OneThread(0);
  EXPECT_FALSE(run.Plan().setting);
  run.measurement.effective.step_on_one_thread = std::chrono::milliseconds(15);
  EXPECT_EQ(run.Plan().setting->compute_threads, 1);
}

TEST(ProbePlanning, WithoutWorkersTheyAreNotTried) {
  Judged run;
  run.experiment.loader.workers = 0;
  WhatIf& one = run.Row("workers 0 to 1", {{"loader.workers", "1"}}, 0.5);
  one.after.loader.workers = 1;
  run.Recommend(one);
  EXPECT_FALSE(run.Plan().setting);
  run.Recommend(run.OneThread(0.3));
  EXPECT_EQ(run.Plan().setting->compute_threads, 1);
}

}  // namespace
}  // namespace pipesim::app
