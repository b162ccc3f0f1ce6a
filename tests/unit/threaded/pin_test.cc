// The pin stage and worker_threads, on real threads.
#include <algorithm>
#include <atomic>

#include "pipeline.h"

namespace pipesim::engine {
namespace {

using namespace std::chrono_literals;

/// Counts allocations; can fail from some allocation on.
class CountingMemory final : public BatchMemory {
 public:
  explicit CountingMemory(int most = 1 << 30) : most_(most) {}
  std::byte* Allocate(base::Bytes size) override {
    if (allocated >= most_) throw std::bad_alloc();
    ++allocated;
    return host_->Allocate(size);
  }
  void Free(std::byte* data, base::Bytes size) noexcept override {
    ++freed;
    host_->Free(data, size);
  }
  bool pinned() const override { return true; }
  std::atomic<int> allocated{0}, freed{0};

 private:
  int most_;
  std::unique_ptr<BatchMemory> host_ = MakeHostMemory();
};

trace::RunTrace RunPinned(const spec::Experiment& experiment, Trainer& trainer, BatchMemory& pinned,
                          const SampleSource* source) {
  const base::SystemClock clock;
  const auto memory = MakeHostMemory();
  return MakeThreadedExecutor({.clock = &clock,
                               .trainer = &trainer,
                               .memory = memory.get(),
                               .pinned = &pinned,
                               .source = source})
      ->Run(experiment, cost::Stated(experiment), {});
}

spec::Experiment SmallWith(int workers) {
  spec::Experiment experiment = Small();
  experiment.loader.workers = workers;
  return experiment;
}

spec::Experiment TwoEpochs(int workers) {
  spec::Experiment experiment = FromSource(SmallWith(workers));
  experiment.loader.shuffle = false;
  experiment.run.epochs = 2;
  return experiment;
}

std::vector<std::int64_t> LabelsSeen(const RecordingTrainer& trainer) {
  std::vector<std::int64_t> labels;
  for (const auto& seen : trainer.seen) {
    labels.insert(labels.end(), seen.labels.begin(), seen.labels.end());
  }
  return labels;
}

class PinnedDelivery : public ::testing::TestWithParam<int> {};

TEST_P(PinnedDelivery, SamplesArriveUnchangedAndInOrderInPinnedMemory) {
  const spec::Experiment experiment = TwoEpochs(GetParam());
  const NumberedSource source(experiment.dataset.samples);
  RecordingTrainer trainer;
  CountingMemory pinned;
  const trace::RunTrace trace = RunPinned(experiment, trainer, pinned, &source);
  ASSERT_EQ(trace.end_reason, trace::EndReason::kEpochs) << trace.failure;
  std::vector<std::int64_t> expected;
  for (int epoch = 0; epoch < 2; ++epoch) {
    for (std::int64_t i = 0; i < experiment.dataset.samples; ++i) expected.push_back(i);
  }
  EXPECT_EQ(LabelsSeen(trainer), expected);
  for (const auto& seen : trainer.seen) {
    EXPECT_EQ(seen.data.front(), static_cast<std::byte>(seen.labels.front()));
  }
  EXPECT_GT(pinned.allocated, 0);
  EXPECT_EQ(pinned.allocated, pinned.freed);
  EXPECT_TRUE(trace.effective.pinned);
}

INSTANTIATE_TEST_SUITE_P(Workers, PinnedDelivery, ::testing::Values(0, 1, 3));

TEST(PinTest, ThePinThreadsTimeIsPartitionedCompletely) {
  spec::Experiment experiment = SmallWith(2);
  experiment.run.epochs.reset();
  experiment.run.steps = 200;
  const base::SystemClock clock;
  const auto trainer = MakeEmulatedTrainer(experiment, cost::Stated(experiment), clock);
  CountingMemory pinned;
  const trace::RunTrace trace = RunPinned(experiment, *trainer, pinned, nullptr);
  ASSERT_EQ(trace.end_reason, trace::EndReason::kSteps) << trace.failure;
  EXPECT_GT(TotalIn(trace, Role::kPin, State::kPin), Duration::zero());
  EXPECT_NEAR(UnownedShare(trace, Role::kPin, trace.begin, trace.end), 0, 0.005);
}

TEST(PinTest, PinnedMemoryIsRecycledEvenWithFreshWorkerBuffers) {
  spec::Experiment experiment = TwoEpochs(2);
  experiment.loader.buffers = spec::Buffers::kFresh;
  const NumberedSource source(experiment.dataset.samples);
  RecordingTrainer trainer;
  CountingMemory pinned;
  RunPinned(experiment, trainer, pinned, &source);
  const std::int64_t most =
      experiment.loader.Window() + std::max(experiment.device.in_flight, 1) + 1;
  EXPECT_LE(pinned.allocated, most);
}

TEST(PinTest, TheRunEndsWhenPinnedMemoryRunsOut) {
  for (const int workers : {0, 2}) {
    const spec::Experiment experiment = TwoEpochs(workers);
    const NumberedSource source(experiment.dataset.samples);
    RecordingTrainer trainer;
    CountingMemory pinned(0);
    const trace::RunTrace trace = RunPinned(experiment, trainer, pinned, &source);
    EXPECT_EQ(trace.end_reason, trace::EndReason::kOutOfMemory);
    EXPECT_THAT(trace.failure, ::testing::HasSubstr("not enough memory for a batch"));
  }
}

// cost / T in each of T threads: the worker's own wall time falls, the CPU time stays.
TEST(WorkerThreadsTest, TheWholeCostIsBurnedWithAnyNumberOfThreads) {
  for (const int threads : {1, 3}) {
    spec::Experiment experiment = SmallWith(1);
    experiment.prepare = {spec::PrepareKind::kBurn, Fixed(500us)};
    experiment.limits.worker_threads = threads;
    experiment.run.epochs.reset();
    experiment.run.steps = 20;
    const Duration before = base::ProcessCpuTime();
    const trace::RunTrace trace = RunEmulated(experiment);
    const Duration used = base::ProcessCpuTime() - before;
    ASSERT_EQ(trace.end_reason, trace::EndReason::kSteps) << trace.failure;
    const Duration asked = 20 * experiment.loader.batch_size * Duration(500us);
    EXPECT_GE(used, asked * 9 / 10) << threads << " threads";
  }
}

}  // namespace
}  // namespace pipesim::engine
