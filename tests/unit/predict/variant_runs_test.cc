// The runs of what-ifs that points of a sweep share: found again, a bounded number of them, and no
// answer changes.
#include "predict/variant_runs.h"

#include <gmock/gmock.h>

#include "experiments.h"
#include "predict/judge.h"
#include "predict/virtual_predictor.h"

namespace pipesim::predict {
namespace {

VariantRun RunOfSteps(std::int64_t steps) {
  VariantRun run;
  run.experiment.run.steps = steps;
  return run;
}

TEST(VariantRuns, FindsWhatIsEqualInEveryPart) {
  VariantRuns runs;
  runs.Keep(RunOfSteps(200), {.samples_per_s = 7});
  ASSERT_TRUE(runs.Find(RunOfSteps(200)));
  EXPECT_EQ(runs.Find(RunOfSteps(200))->samples_per_s, 7);
  EXPECT_FALSE(runs.Find(RunOfSteps(201)));
  VariantRun other = RunOfSteps(200);
  other.experiment.loader.in_order = false;
  EXPECT_FALSE(runs.Find(other));
  other = RunOfSteps(200);
  other.pipeline.prepare.cost = spec::Drawn<spec::Duration>{base::Distribution{.mean = 5}};
  EXPECT_FALSE(runs.Find(other));
  other = RunOfSteps(200);
  other.start = 3;
  EXPECT_FALSE(runs.Find(other));
}

TEST(VariantRuns, KeepsTheLastThatWereAskedFor) {
  VariantRuns runs(4);
  for (int steps = 1; steps <= 12; ++steps) {
    runs.Keep(RunOfSteps(steps), {});
    EXPECT_TRUE(runs.Find(RunOfSteps(1))) << "asked for each time; after " << steps;
  }
  EXPECT_TRUE(runs.Find(RunOfSteps(12)));
  EXPECT_FALSE(runs.Find(RunOfSteps(2)));
}

constexpr const char* kDrawn =
    "storage: none\nprepare: {kind: wait, cost: {distribution: exponential, mean: 1ms}}\n"
    "loader: {workers: 1, batch_size: 8}\ndevice: {emulated: {base: 2ms}}\nrun: {steps: 2000}\n";

TEST(VariantRuns, AnotherPredictorAnswersFromThemAsFromItsOwn) {
  const Basis basis = FreeMachine();
  const spec::Experiment experiment = Read(kDrawn);
  const auto measurement = PredictRates(experiment, basis, nullptr).measurement;
  const cost::Pipeline pipeline = Resolve(experiment, basis).pipeline;
  diagnose::Variant more = diagnose::VariantOf(experiment, pipeline);
  more.settings.loader.workers = 4;
  VariantRuns runs;
  const auto answer = [&](VariantRuns* from, std::int64_t& events) {
    Shared shared{.runs = from};
    engine::VirtualExecutor& executor = *shared.executor;
    const auto predict = PredictInVirtualTime(experiment, pipeline, measurement, nullptr, std::move(shared));
    const double rate = predict(more);
    events = executor.Events();
    return rate;
  };
  std::int64_t alone = 0, first = 0, second = 0;
  const double rate = answer(nullptr, alone);
  EXPECT_EQ(answer(&runs, first), rate);
  EXPECT_EQ(answer(&runs, second), rate);
  EXPECT_EQ(first, alone);
  EXPECT_LT(second, first);
}

TEST(VariantRuns, PointsThatShareThemAreJudgedAsAlone) {
  const Basis basis = FreeMachine();
  const auto executor = engine::MakeVirtualExecutor();
  VariantRuns shared;
  for (const char* prefetch : {"1", "2"})
    for (const char* workers : {"1", "2", "4"}) {
      const spec::Experiment point = Read(kDrawn, {{"loader.workers", workers, "--workers"},
                                                   {"loader.prefetch_factor", prefetch, "--prefetch"}});
      VariantRuns own;
      const auto alone = JudgeOn(*engine::MakeVirtualExecutor(), own, point, basis, nullptr);
      const auto among = JudgeOn(*executor, shared, point, basis, nullptr);
      EXPECT_EQ(among.measurement.result.samples_per_s, alone.measurement.result.samples_per_s);
      EXPECT_EQ(among.judgement, alone.judgement) << workers << " workers, prefetch " << prefetch;
    }
}

}  // namespace
}  // namespace pipesim::predict
