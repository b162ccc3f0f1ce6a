// Tuning on functions whose answer is known: what is run, in which order, and when it stops.
#include "advise/tune.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "advise/candidates.h"

namespace pipesim::advise {
namespace {

using testing::ElementsAre;

using Rate = std::function<double(const Configuration&)>;

/// Each worker makes 100 samples/s, the step takes up to 1,000.
double TenWorkersSuffice(const Configuration& c) {
  return std::min(100.0 * std::max(1, c.workers), 1000.0);
}

RunOutcome Ok(double rate) { return {.status = RunStatus::kOk, .samples_per_s = rate}; }

/// Tunes a machine of 16 cores that runs at `real`, from `base`, with the predictions `predicted`.
Tuned TuneOn(const Configuration& base, const Rate& real, const Rate& predicted,
             TuneRules rules = {}) {
  const TuneTools tools{[&](const Configuration& c) { return Ok(real(c)); },
                        [&](const Configuration& c) { return std::optional(predicted(c)); }};
  return Tune(base, Ok(real(base)), {.cores = 16}, tools, rules);
}

std::vector<Phase> PhasesOf(const Tuned& tuned) {
  std::vector<Phase> phases;
  for (const TuneStep& step : tuned.steps) phases.push_back(step.phase);
  return phases;
}

TEST(Tune, GoesStraightToTheBestOfARightPredictionAndConfirmsIt) {
  const Tuned tuned = TuneOn({.workers = 1}, TenWorkersSuffice, TenWorkersSuffice);
  EXPECT_EQ(tuned.best->workers, 10);
  EXPECT_EQ(tuned.samples_per_s, 1000);
  EXPECT_THAT(PhasesOf(tuned),
              ElementsAre(Phase::kBase, Phase::kTry, Phase::kConfirm, Phase::kShrink));
  EXPECT_EQ(tuned.end, TuneEnd::kNothingMoreToGain);
  // The window shrinks to one batch a worker: a function without variation needs no more.
  EXPECT_EQ(tuned.best->prefetch_factor, 1);
}

TEST(Tune, TheNextFastestIsConfirmedWhereTheFastestWasLucky) {
  // The first miss their prediction, so that twice the workers are tried; these are lucky once.
  constexpr int kMany = 16;
  int of_many = 0;
  const auto real = [&](const Configuration& c) {
    if (c.workers >= kMany) return of_many++ == 0 ? 700.0 : 100.0;
    return c.workers >= kMany / 2 ? 500.0 : 100.0;
  };
  const TuneTools tools{[&](const Configuration& c) { return Ok(real(c)); },
                        [](const Configuration& c) { return std::optional(TenWorkersSuffice(c)); }};
  const Tuned tuned = Tune({.workers = 1}, Ok(100), {.cores = 2 * kMany}, tools, {});
  EXPECT_LT(tuned.best->workers, kMany);
  EXPECT_EQ(tuned.samples_per_s, 500);
  EXPECT_EQ(std::ranges::count(PhasesOf(tuned), Phase::kConfirm), 2);
}

TEST(Tune, TheWindowShrinksNoFurtherThanTheSpaceAllows) {
  const TuneTools tools{[](const Configuration& c) { return Ok(TenWorkersSuffice(c)); },
                        [](const Configuration& c) { return std::optional(TenWorkersSuffice(c)); }};
  const TuneSpace space{.cores = 16, .fewest_prefetch = 2};
  const Tuned tuned = Tune({.workers = 1, .prefetch_factor = 4},
                           Ok(TenWorkersSuffice({.workers = 1})), space, tools, {});
  EXPECT_EQ(tuned.best->workers, 10);
  EXPECT_EQ(tuned.best->prefetch_factor, 2);
}

TEST(Tune, RunsOnceWhereNothingIsToGainOrToSave) {
  const auto flat = [](const Configuration&) { return 500.0; };
  const Tuned tuned = TuneOn({.workers = 0}, flat, flat);
  EXPECT_EQ(tuned.steps.size(), 1u);
  EXPECT_EQ(tuned.best->workers, 0);
  EXPECT_EQ(tuned.remaining_gain, 0);
}

TEST(Tune, AnOptimisticPredictionIsCorrectedByWhatWasMeasured) {
  // Predicted: no end to workers. Real: 4 of them fill the machine.
  const auto real = [](const Configuration& c) { return 100.0 * std::clamp(c.workers, 1, 4); };
  const auto predicted = [](const Configuration& c) { return 100.0 * std::max(1, c.workers); };
  const Tuned tuned = TuneOn({.workers = 1}, real, predicted);
  EXPECT_EQ(tuned.samples_per_s, 400);
  EXPECT_LE(tuned.best->workers, 6);
  EXPECT_LE(tuned.steps.size(), 8u);
}

TEST(Tune, TriesTwiceTheWorkersWherePredictionsMiss) {
  // Predicted: two workers are as good as any. Real: the second gains half of that, four the rest.
  const auto predicted = [](const Configuration& c) { return c.workers < 2 ? 100.0 : 200.0; };
  const auto real = [](const Configuration& c) {
    return c.workers < 2 ? 100.0 : c.workers < 4 ? 150.0 : 200.0;
  };
  const Tuned tuned = TuneOn({.workers = 1}, real, predicted);
  EXPECT_EQ(tuned.samples_per_s, 200);
  EXPECT_EQ(tuned.best->workers, 4);
  EXPECT_LE(tuned.steps.size(), 8u);
}

TEST(Tune, ShrinksNoFurtherThanAsked) {
  // 16 workers are the fastest, 1 % each.
  const auto rate = [](const Configuration& c) { return 84.0 + std::min(c.workers, 16); };
  for (const double within : {0.02, 0.05, 0.1}) {
    const Tuned tuned = TuneOn({.workers = 4}, rate, rate, {.within = within});
    EXPECT_GE(tuned.samples_per_s, (1 - within) * tuned.fastest_samples_per_s) << within;
    const double fewer = 84.0 + tuned.best->workers - 1;
    EXPECT_TRUE(tuned.best->workers == 0 || fewer < (1 - within) * tuned.fastest_samples_per_s)
        << within << ": " << tuned.best->workers;
  }
}

TEST(Tune, OutOfMemoryIsOneFailedStepAndSmallerWindowsFollow) {
  const auto predict = [](const Configuration& c) { return std::optional(TenWorkersSuffice(c)); };
  constexpr std::int64_t kFits = 12 * 64;
  const TuneTools tools{[](const Configuration& c) {
                          if (c.SamplesHeld() <= kFits) return Ok(TenWorkersSuffice(c));
                          return RunOutcome{.status = RunStatus::kOutOfMemory,
                                            .failure = "no room"};
                        },
                        predict};
  const Tuned tuned = Tune({.workers = 1}, Ok(100), {.cores = 16}, tools, {.most_runs = 8});
  ASSERT_GE(tuned.steps.size(), 3u);
  EXPECT_EQ(tuned.steps[1].outcome.failure, "no room");
  for (std::size_t i = 2; i < tuned.steps.size(); ++i)
    EXPECT_LT(tuned.steps[i].configuration.SamplesHeld(),
              tuned.steps[1].configuration.SamplesHeld());
  EXPECT_EQ(tuned.samples_per_s, 1000);
}

TEST(Tune, AFirstRunOutOfMemoryIsFollowedByWhatIsPredictedToFit) {
  const TuneTools tools{[](const Configuration& c) { return Ok(TenWorkersSuffice(c)); },
                        [](const Configuration& c) { return std::optional(TenWorkersSuffice(c)); }};
  const RunOutcome failed{.status = RunStatus::kOutOfMemory, .failure = "no room"};
  const Tuned tuned = Tune({.workers = 16, .prefetch_factor = 8}, failed, {.cores = 16}, tools, {});
  EXPECT_EQ(tuned.best->workers, 10);
}

TEST(Tune, AFirstRunThatFailsEndsIt) {
  const TuneTools tools{[](const Configuration&) -> RunOutcome { throw std::logic_error("runs"); },
                        [](const Configuration&) { return std::optional(1.0); }};
  const RunOutcome failed{.status = RunStatus::kFailed, .failure = "no such folder"};
  const Tuned tuned = Tune({}, failed, {.cores = 2}, tools, {});
  EXPECT_FALSE(tuned.best);
  EXPECT_EQ(tuned.end, TuneEnd::kNothingRan);
  EXPECT_EQ(tuned.steps.size(), 1u);
}

TEST(Tune, AnInterruptedRunEndsItWithWhatIsThere) {
  const TuneTools tools{[](const Configuration&) { return RunOutcome{RunStatus::kInterrupted}; },
                        [](const Configuration& c) { return std::optional(TenWorkersSuffice(c)); }};
  const Tuned tuned = Tune({.workers = 1}, Ok(100), {.cores = 16}, tools, {});
  EXPECT_EQ(tuned.end, TuneEnd::kInterrupted);
  EXPECT_EQ(tuned.steps.size(), 2u);
  EXPECT_EQ(tuned.best->workers, 1);
}

TEST(Tune, NeverRunsMoreThanItMay) {
  // Measured at random, predicted without end: there is always something to try.
  for (const int most : {1, 2, 3, 5, 8}) {
    int runs = 1;
    const TuneTools tools{
        [&](const Configuration&) { return Ok(100 + 10 * ++runs); },
        [](const Configuration& c) { return std::optional(1000.0 * (1 + c.workers)); }};
    const Tuned tuned = Tune({.workers = 1}, Ok(100), {.cores = 16}, tools, {.most_runs = most});
    EXPECT_LE(runs, most);
    EXPECT_EQ(tuned.steps.size(), static_cast<std::size_t>(runs));
    EXPECT_TRUE(tuned.best);
  }
}

TEST(Tune, AHintOfTheFirstRunIsTried) {
  const Configuration wanted{.workers = 7, .prefetch_factor = 3};
  const auto real = [&](const Configuration& c) { return c == wanted ? 300.0 : 100.0; };
  const TuneTools tools{[&](const Configuration& c) { return Ok(real(c)); },
                        [](const Configuration&) { return std::optional(100.0); }};
  RunOutcome first = Ok(100);
  first.hints = {{wanted, 290}};
  const Tuned tuned = Tune({.workers = 1}, first, {.cores = 8}, tools, {});
  EXPECT_EQ(tuned.best, wanted);
}

TEST(Tune, TheBatchChangesOnlyIfAllowed) {
  const auto rate = [](const Configuration& c) { return static_cast<double>(c.batch_size); };
  const TuneTools tools{[&](const Configuration& c) { return Ok(rate(c)); },
                        [&](const Configuration& c) { return std::optional(rate(c)); }};
  EXPECT_EQ(Tune({}, Ok(64), {.cores = 4}, tools, {}).best->batch_size, 64);
  EXPECT_GT(Tune({}, Ok(64), {.cores = 4, .batch = true}, tools, {}).best->batch_size, 64);
}

TEST(Fastest, FindsTheBestOfCoresSharedByWorkersAndThreads) {
  // 8 cores: workers at 100 each, training at 150 a thread, both slowed beyond 8 threads.
  const TuneSpace space{.cores = 8, .compute_threads = {1, 2, 3, 4, 5, 6, 7, 8}};
  const auto rate = [](const Configuration& c) {
    const double slow = std::min(1.0, 8.0 / (c.workers + c.compute_threads));
    return std::optional(slow * std::min(100.0 * c.workers, 150.0 * c.compute_threads));
  };
  const auto found = Fastest({.workers = 8, .compute_threads = 8}, space, rate);
  ASSERT_TRUE(found);
  double best = 0;
  for (int workers = 0; workers <= 32; ++workers)
    for (int threads = 1; threads <= 8; ++threads)
      best = std::max(best, *rate({.workers = workers, .compute_threads = threads}));
  EXPECT_GE(found->samples_per_s, 0.995 * best);
}

TEST(Fastest, LooksAtAllWorkersThatAreWorthIt) {
  const auto waits = [](const Configuration& c) {
    return std::optional(std::min(100.0 * std::max(1, c.workers), 2700.0));
  };
  EXPECT_EQ(Fastest({}, {.cores = 2, .most_workers = 64}, waits)->configuration.workers, 27);
}

TEST(Fastest, TriesSharedDispatchOnlyWhereTheWorkersAllowIt) {
  const auto shared_is_better = [](const Configuration& c) {
    return std::optional(c.dispatch == spec::Dispatch::kShared ? 2.0 : 1.0);
  };
  const Configuration start{.workers = 2};
  EXPECT_EQ(Fastest(start, {.cores = 4}, shared_is_better)->samples_per_s, 2.0);
  EXPECT_EQ(Fastest(start, {.cores = 4, .shared_dispatch = false}, shared_is_better)->samples_per_s,
            1.0);
}

TEST(Fastest, KeepsWorkersFromEpochToEpochWhereThatGains) {
  const auto kept_are_better = [](const Configuration& c) {
    return std::optional(std::min(4.0, c.workers + 1.0) * (c.persistent_workers ? 1.5 : 1.0));
  };
  const Configuration start{.workers = 1};
  const TuneSpace allowed{.cores = 4, .persistent_workers = true};
  const auto best = Fastest(start, allowed, kept_are_better);
  EXPECT_EQ(best->configuration, (Configuration{.workers = 3, .prefetch_factor = 2, .persistent_workers = true}));
  EXPECT_TRUE(Smallest(best->configuration, allowed, 5.9, kept_are_better).persistent_workers);
  EXPECT_FALSE(Smallest(best->configuration, allowed, 1, kept_are_better).persistent_workers);
  EXPECT_FALSE(Fastest(start, {.cores = 4}, kept_are_better)->configuration.persistent_workers);
}

TEST(Fastest, FindsMoreWorkersThatStayWhereNeitherGainsAlone) {
  const auto only_both = [](const Configuration& c) {
    return std::optional(c.workers > 2 && c.persistent_workers ? 5.0 : c.workers == 0 ? 2.0 : 1.0);
  };
  const auto best = Fastest({.workers = 1}, {.cores = 4, .persistent_workers = true}, only_both);
  EXPECT_EQ(best->configuration, (Configuration{.workers = 3, .prefetch_factor = 2, .persistent_workers = true}));
}

TEST(CountLadder, EndsWithTheMost) {
  EXPECT_THAT(CountLadder(0, 4), ElementsAre(0, 1, 2, 3, 4));
  EXPECT_THAT(CountLadder(1, 30), ElementsAre(1, 2, 3, 4, 5, 6, 7, 8, 12, 18, 27, 30));
  EXPECT_THAT(CountLadder(1, 1), ElementsAre(1));
}

}  // namespace
}  // namespace pipesim::advise
