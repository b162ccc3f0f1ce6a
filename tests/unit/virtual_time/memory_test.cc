// The memory that all threads share which copy or decode, against closed forms.
#include "pipeline.h"

namespace pipesim::engine {
namespace {

using base::BytesPerSecond;

/// Samples of 1 MB that are stored as they are, for `workers` and a free device.
spec::Experiment LargeSamples(int workers) {
  auto experiment = Stages(workers, 0s, 0s, 401);
  experiment.dataset.sample_bytes = {base::Distribution::Fixed(1e6)};
  experiment.dataset.shape = {1'000'000};
  experiment.dataset.samples = 8;
  experiment.prepare = {};
  return experiment;
}

/// On 4 cores.
cost::Pipeline OnMemory(const spec::Experiment& experiment, const cost::SharedMemory& memory) {
  cost::Pipeline pipeline = cost::Stated(experiment);
  pipeline.machine.cores = 4;
  pipeline.machine.memory = memory;
  return pipeline;
}

double SamplesPerSecond(const spec::Experiment& experiment, const cost::Pipeline& pipeline) {
  const auto trace = Predict(experiment, pipeline);
  const auto &first = trace.progress[200], &last = trace.progress.back();
  return static_cast<double>(last.steps - first.steps) / base::ToSeconds(last.at - first.at);
}

/// A sample that takes one thread `alone` to decode, writing all that time.
cost::Prepare Decoding(Duration alone, double bytes) {
  cost::Prepare prepare;
  prepare.kind = cost::Prepare::Kind::kCpu;
  prepare.cost = Fixed(alone);
  prepare.divisible = false;
  prepare.memory_bytes_per_s = bytes / base::ToSeconds(alone);
  return prepare;
}

TEST(Memory, IsSharedByThoseWhoCollateCopyHitsAndDecode) {
  // 2 workers whose whole work is one kind of copying at 1 GB/s, where two copy 1 GB/s together.
  const cost::SharedMemory memory{.alone = {1e9}, .together = {1e9}, .threads = 2};
  auto experiment = LargeSamples(2);
  cost::Pipeline collating = OnMemory(experiment, memory);
  collating.collate.bandwidth = BytesPerSecond{1e9};
  EXPECT_NEAR(SamplesPerSecond(experiment, collating), 1000, 1);
  cost::Pipeline decoding = OnMemory(experiment, memory);
  decoding.prepare = Decoding(1ms, 1e6);
  EXPECT_NEAR(SamplesPerSecond(experiment, decoding), 1000, 1);
  experiment.storage.kind = spec::StorageKind::kEmulated;
  experiment.storage.cache = {.policy = spec::CachePolicy::kLru,
                              .size = Bytes{100'000'000},
                              .warm = 1,
                              .hit_bandwidth = BytesPerSecond{1e9}};
  EXPECT_NEAR(SamplesPerSecond(experiment, OnMemory(experiment, memory)), 1000, 1);
}

class DecodingWorkers : public testing::TestWithParam<std::tuple<int, double>> {};

TEST_P(DecodingWorkers, TakeEvenlyLongerWithEachThatCopiesBesideThem) {
  // One thread decodes a sample of 1 MB in 2 ms: 0.5 GB/s each, 4 of them `together`.
  const auto [workers, together] = GetParam();
  const auto experiment = LargeSamples(workers);
  cost::Pipeline pipeline =
      OnMemory(experiment, {.alone = {0.5e9}, .together = {together}, .threads = 4});
  pipeline.prepare = Decoding(2ms, 1e6);
  const double each_s = 2e-3, of_four_s = 4 * 1e6 / together;
  const double expected = workers / (each_s + (of_four_s - each_s) * (workers - 1) / 3);
  EXPECT_NEAR(SamplesPerSecond(experiment, pipeline), expected, 1e-3 * expected);
}

INSTANTIATE_TEST_SUITE_P(On, DecodingWorkers,
                         testing::Combine(testing::Values(1, 2, 4),
                                          testing::Values(0.4e9, 0.8e9, 1.2e9, 2e9)));

/// 40 samples of 1 MB by two workers, each of which takes `alone` by itself.
trace::RunTrace TwoDecode(Duration alone, const cost::SharedMemory& memory) {
  auto experiment = LargeSamples(2);
  experiment.run.steps = 40;
  cost::Pipeline pipeline = OnMemory(experiment, memory);
  pipeline.prepare = Decoding(alone, 1e6);
  return Predict(experiment, pipeline);
}

TEST(Memory, OfTwoWhoDecodeStallsEachForWhatItLacks) {
  // Two workers write 0.5 GB/s each alone and 0.8 GB/s together: 2 ms of decoding take 2.5 ms each,
  // to the nanosecond, all of it on a core.
  const trace::RunTrace trace =
      TwoDecode(2ms, {.alone = {0.5e9}, .together = {0.8e9}, .threads = 2});
  EXPECT_EQ(trace.end - trace.begin, 20 * 2500us);
  EXPECT_EQ(TotalIn(trace, Role::kWorker, State::kContended), 0s);
}

TEST(Memory, OfASlowWriterIsHinderedLess) {
  // Copies at 1 GB/s take twice as long beside each other. Decoding at 0.25 GB/s hinders and is
  // hindered a quarter as much: two of them take 1 + 1/16 as long.
  const trace::RunTrace trace =
      TwoDecode(4ms, {.alone = {1e9}, .together = {1e9}, .threads = 2});
  EXPECT_EQ(trace.end - trace.begin, 20 * 4250us);
}

TEST(Memory, IsNoLimitForWorkThatStaysInCaches) {
  const auto experiment = LargeSamples(2);
  cost::Pipeline pipeline =
      OnMemory(experiment, {.alone = {0.5e9}, .together = {0.1e9}, .threads = 2});
  pipeline.prepare = Decoding(2ms, 1e6);
  pipeline.prepare.memory_bytes_per_s = 0;
  EXPECT_NEAR(SamplesPerSecond(experiment, pipeline), 1000, 1);
}

}  // namespace
}  // namespace pipesim::engine
