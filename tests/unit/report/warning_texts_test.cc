// Each warning in words, letter by letter: users grep for them.
#include "report/warning_texts.h"

#include <gtest/gtest.h>

namespace pipesim::report {
namespace {

namespace warnings = measure::warnings;
using trace::EndReason;

TEST(WarningText, IsAWarningsOwnWhereItHasNoFacts) {
  EXPECT_EQ(WarningText({"step-estimated", "The step is estimated."}), "The step is estimated.");
}

TEST(WarningText, LeavesLibTorchsOwnWordsAsTheyAre) {
  EXPECT_EQ(WarningText(warnings::LibraryWarned{"The CUDA Graph is empty."}),
            "LibTorch warned: The CUDA Graph is empty.");
}

TEST(WarningText, SaysWhyNothingWasMeasured) {
  EXPECT_EQ(WarningText(warnings::NothingMeasured{.ran_s = 0.25, .warmup_s = {}}),
            "Nothing was measured: no step was finished in 250 ms.");
  EXPECT_EQ(WarningText(warnings::NothingMeasured{.ran_s = 2, .warmup_s = 3600}),
            "Nothing was measured: no step was finished after the warm-up of 3.6e+03 s in 2 s.");
}

TEST(WarningText, SaysWhatTheThroughputCountsWhereStockChanges) {
  EXPECT_EQ(WarningText(warnings::Stock{.delivered_per_s = 512, .loaded_per_s = 86.5}),
            "Training took 512 samples/s meanwhile and 86.5 were loaded: the rest came from stock. "
            "The throughput counts what was loaded, which lasts.");
}

TEST(WarningText, SaysHowWideTheIntervalStillIs) {
  EXPECT_EQ(WarningText(warnings::MaxDuration{60, 0.02, 0.034, 1200, 170}),
            "60 s passed before the interval was within 2.0 % (it is 3.4 %). --steps 1200 "
            "(3 min) would do.");
  EXPECT_EQ(WarningText(warnings::MaxDuration{60, 0.1, {}, {}}),
            "60 s passed before the interval was within 10 %.");
}

TEST(WarningText, NamesWhatTheMachineTookAway) {
  EXPECT_EQ(WarningText(warnings::ForeignCpu{2.34, 8}),
            "Other programs used 2.3 of the 8 allowed processors while this ran; figures that "
            "depend on the CPU are worse than they would be alone.");
  EXPECT_EQ(WarningText(warnings::Throttled{0.2, 1.5}),
            "The container's CPU quota stopped threads for 20 % of the time (1.5 cores allowed). "
            "Fewer workers or threads, or a larger quota, help.");
  EXPECT_EQ(
      WarningText(warnings::Swap{1}),
      "1 memory page came back from disk or swap while this was measured, too few to matter.");
  EXPECT_EQ(WarningText(warnings::Swap{1999.6}),
            "2,000 memory pages came back from disk or swap while this was measured: memory is "
            "short. A smaller --batch, --prefetch or fewer --workers need less.");
  EXPECT_EQ(WarningText(warnings::Stalled{3, 0.5}),
            "The whole program stood still for 3 s, from 500 ms after its start on (stopped, or "
            "the machine suspended). The rate counts that time, and what is emulated went on "
            "meanwhile: run it again.");
}

TEST(WarningText, NamesWhichEpochsTheCacheServed) {
  warnings::MixedCache mixed{.kinds = {{{0, 0}, 0, 6400}, {{1, 2}, 0.91, 32000}}, .judged = {1, 2}};
  EXPECT_EQ(WarningText(mixed),
            "Epochs found the cache in different states: epoch 0 (0 % hits): 6400 samples/s; "
            "epochs 1 to 2 (91 % hits): 32000 samples/s. Only epochs 1 to 2 are measured and "
            "judged; --epochs 1 measures what came before.");
  mixed.kinds = {
      {{0, 0}, 0, 1}, {{1, 1}, 0.2, 2}, {{2, 2}, 0.4, 3}, {{3, 3}, 0.6, 4}, {{4, 4}, 0.8, 5}};
  mixed.judged = {4, 4};
  EXPECT_EQ(WarningText(mixed),
            "Epochs found the cache in different states: epoch 0 (0 % hits): 1 samples/s; epoch 1 "
            "(20 % hits): 2 samples/s; epoch 2 (40 % hits): 3 samples/s; ...; epoch 4 (80 % hits): "
            "5 samples/s. Only epoch 4 is measured and judged; --epochs 4 measures what came "
            "before.");
  EXPECT_EQ(WarningText(warnings::ColdCache{}),
            "Only the first epoch was measured, in which the cache fills; later ones may hit more. "
            "--set storage.cache.warm=1 begins with a full cache.");
}

TEST(WarningText, SaysWhatThePageCacheHeld) {
  EXPECT_EQ(WarningText(warnings::PageCache{.asked_cold = true, .cached_fraction = 0.3}),
            "30 % of the files' bytes stayed in the page cache though a cold one was asked for: "
            "another program holds them. --set storage.direct=true reads past it.");
  EXPECT_EQ(WarningText(warnings::PageCache{.asked_cold = false, .cached_fraction = 0.3}),
            "Only 30 % of the files' bytes were in the page cache when the run began, though all "
            "were read before: memory has no room for them.");
}

TEST(WarningText, SaysHowTheRateChanged) {
  EXPECT_EQ(WarningText(warnings::Drift{-0.123, 4.2}),
            "The rate fell by 12 % from the first half of the measurement to the second: it had "
            "not settled. A longer warm-up may help: --set run.warmup=5s.");
  EXPECT_EQ(WarningText(warnings::Drift{0.06, 0.2}),
            "The rate rose by 6.0 % from the first half of the measurement to the second: it had "
            "not settled. A longer warm-up may help: --set run.warmup=1s.");
}

TEST(WarningText, NamesProbesThatSayNothing) {
  EXPECT_EQ(WarningText(warnings::ProbesLeftOut{{"free data", "free compute"}, 0.152}),
            "Tried and left out: free data, free compute. The run went 15 % faster beside them than while it was "
            "measured.");
  EXPECT_EQ(WarningText(warnings::ProbesLeftOut{{"workers 2 to 4"}, -0.3}),
            "Tried and left out: workers 2 to 4. The run went 30 % slower beside it than while it was measured.");
}

TEST(WarningText, CountsTheFastStepsOfABurst) {
  EXPECT_EQ(WarningText(warnings::Bursts{4}),
            "Steps come in bursts of 4 (one slow, three fast). Workers finish together; this is "
            "starvation, not noise.");
  EXPECT_EQ(WarningText(warnings::Bursts{16}),
            "Steps come in bursts of 16 (one slow, 15 fast). Workers finish together; this is "
            "starvation, not noise.");
}

TEST(WarningText, NamesSamplesThatAreMissing) {
  EXPECT_EQ(WarningText(warnings::PartialBatch{24, 64}),
            "The last batch of an epoch holds 24 of 64 samples; rates count its true size. --set "
            "loader.drop_last=true leaves it out.");
  EXPECT_EQ(WarningText(warnings::BadSamples{3, trace::DataFault{"cat/7.jpg", "truncated"}}),
            "3 samples could not be used and were left out. The first: cat/7.jpg (truncated).");
  EXPECT_EQ(WarningText(warnings::BadSamples{1, {}}),
            "1 sample could not be used and was left out.");
}

TEST(WarningText, CountsFilesAndNotTheirEpochs) {
  std::vector<trace::DataFault> met;
  for (int epoch = 0; epoch < 17; ++epoch)
    for (const char* file : {"a.jpg", "b.jpg", "c.jpg"}) met.push_back({file, "truncated"});
  EXPECT_EQ(
      BadSamplesText({51, met.front()}, met),
      "3 samples could not be used and were left out, 51 times in all epochs. The first: a.jpg "
      "(truncated).");
  met.resize(1);
  EXPECT_EQ(BadSamplesText({2, {}}, met),
            "At least 1 sample could not be used and was left out, 2 times in all epochs.");
  EXPECT_EQ(BadSamplesText({1, {}}, met), "1 sample could not be used and was left out.");
}

TEST(WarningText, SaysWhichTimesAreNotWhatTheySeem) {
  EXPECT_EQ(WarningText(warnings::LateWakeups{0.05, 12.34e-6}),
            "Emulated waits ended late by 5.0 % of their time (12.3 us in all): the machine is "
            "slow to wake sleeping threads, and waits that follow one another make up for it only "
            "in part.");
  EXPECT_EQ(WarningText(warnings::UnseenContention{1.5, 0.83}),
            "The kernel counted 1.5 s in which workers waited for a core, the states show 830 ms: "
            "part of their read, prepare and collate is really contention.");
  EXPECT_EQ(WarningText(warnings::LaunchUnmeasured{spec::DeviceId::Cuda(0)}),
            "The step could not be replayed alone on cuda:0, so its busy time includes gaps in "
            "which it waits for the host to launch, and utilization is not known.");
}

}  // namespace
}  // namespace pipesim::report
