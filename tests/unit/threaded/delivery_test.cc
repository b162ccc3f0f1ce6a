// What comes out of the loader: every sample once an epoch, in the promised order, for every
// setting.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>

#include "pipeline.h"

namespace pipesim::engine {
namespace {

struct Settings {
  spec::Experiment experiment;
  std::int64_t samples = 0, batch = 0, batches = 0, epochs = 0;
};

Settings AnySettings() {
  Settings any;
  any.samples = *rc::gen::inRange(1, 60);
  any.batch = *rc::gen::inRange(1, 9);
  any.epochs = *rc::gen::inRange(1, 4);
  spec::Experiment& experiment = any.experiment;
  experiment = FromSource(Small());
  experiment.dataset.samples = any.samples;
  experiment.run.epochs = any.epochs;
  experiment.run.seed = *rc::gen::inRange<std::uint64_t>(1, 1000);
  spec::Loader& loader = experiment.loader;
  loader.batch_size = any.batch;
  loader.workers = *rc::gen::inRange(0, 6);
  loader.prefetch_factor = *rc::gen::inRange(1, 4);
  loader.shuffle = *rc::gen::arbitrary<bool>();
  loader.in_order = *rc::gen::arbitrary<bool>();
  loader.drop_last = *rc::gen::arbitrary<bool>() && any.samples >= any.batch;
  loader.persistent_workers = *rc::gen::arbitrary<bool>();
  loader.pin_memory = *rc::gen::arbitrary<bool>();
  loader.dispatch = *rc::gen::element(spec::Dispatch::kRoundRobin, spec::Dispatch::kShared);
  loader.queue =
      *rc::gen::element(spec::QueueKind::kTbb, spec::QueueKind::kLockfree, spec::QueueKind::kMutex);
  loader.buffers = *rc::gen::element(spec::Buffers::kRecycled, spec::Buffers::kFresh);
  const auto capacity = *rc::gen::inRange<std::int64_t>(0, 5);
  if (capacity > 0) loader.queue_capacity = capacity;
  any.batches =
      loader.drop_last ? any.samples / any.batch : (any.samples + any.batch - 1) / any.batch;
  return any;
}

RC_GTEST_PROP(Delivery, EverySampleOncePerEpochInThePromisedOrder, ()) {
  const Settings any = AnySettings();
  // Some reads dawdle, so that workers overtake each other.
  const NumberedSource source(any.samples, [](std::int64_t sample) {
    if (sample % 7 == 3) std::this_thread::sleep_for(std::chrono::microseconds(200));
  });
  RecordingTrainer trainer;
  const auto trace = RunWith(any.experiment, trainer, &source);

  RC_ASSERT(trace.end_reason == EndReason::kEpochs);
  RC_ASSERT(trace.failure == "");
  RC_ASSERT(static_cast<std::int64_t>(trainer.seen.size()) == any.batches * any.epochs);
  RC_ASSERT(trace.steps == any.batches * any.epochs);
  std::map<std::int64_t, std::vector<Seen>> epochs;
  for (const Seen& seen : trainer.seen) epochs[seen.epoch].push_back(seen);
  RC_ASSERT(static_cast<std::int64_t>(epochs.size()) == any.epochs);
  for (const auto& [epoch, batches] : epochs) {
    std::vector<std::int64_t> samples, indices;
    for (const Seen& seen : batches) {
      indices.push_back(seen.index);
      RC_ASSERT(seen.number == epoch * any.batches + seen.index);
      for (std::size_t i = 0; i < seen.labels.size(); ++i) {
        samples.push_back(seen.labels[i]);
        for (std::size_t at = 0; at < 8; ++at) {  // 8 bytes a sample
          RC_ASSERT(seen.data[i * 8 + at] == static_cast<std::byte>(seen.labels[i]));
        }
      }
    }
    if (any.experiment.loader.in_order || any.experiment.loader.workers == 0) {
      RC_ASSERT(std::is_sorted(indices.begin(), indices.end()));
    }
    std::sort(indices.begin(), indices.end());
    RC_ASSERT(indices.front() == 0);
    RC_ASSERT(indices.back() == any.batches - 1);
    RC_ASSERT(std::adjacent_find(indices.begin(), indices.end()) == indices.end());
    std::sort(samples.begin(), samples.end());
    RC_ASSERT(std::adjacent_find(samples.begin(), samples.end()) == samples.end());
    RC_ASSERT(static_cast<std::int64_t>(samples.size()) ==
              (any.experiment.loader.drop_last ? any.batches * any.batch : any.samples));
  }
}

TEST(Delivery, TheOrderDependsOnTheSeedAlone) {
  const NumberedSource source(24);
  std::vector<std::vector<std::int64_t>> orders;
  for (const int workers : {0, 1, 3}) {
    auto experiment = FromSource(Small());
    experiment.loader.workers = workers;
    RecordingTrainer trainer;
    RunWith(experiment, trainer, &source);
    orders.emplace_back();
    for (const Seen& seen : trainer.seen) {
      orders.back().insert(orders.back().end(), seen.labels.begin(), seen.labels.end());
    }
  }
  EXPECT_EQ(orders[0], orders[1]);
  EXPECT_EQ(orders[0], orders[2]);
}

TEST(Delivery, GeneratedSamplesAreTheSameFromAnyWorker) {
  std::vector<std::vector<std::byte>> contents;
  for (const int workers : {0, 3}) {
    auto experiment = Small();
    experiment.loader.workers = workers;
    RecordingTrainer trainer;
    RunWith(experiment, trainer);
    contents.emplace_back();
    for (const Seen& seen : trainer.seen) {
      contents.back().insert(contents.back().end(), seen.data.begin(), seen.data.end());
    }
  }
  EXPECT_EQ(contents[0].size(), 24u * 8u);
  EXPECT_EQ(contents[0], contents[1]);
}

TEST(Delivery, TheCallingThreadIsTheConsumer) {
  auto experiment = Small();
  experiment.loader.workers = 2;
  RecordingTrainer trainer;
  RunWith(experiment, trainer);
  for (const Seen& seen : trainer.seen) EXPECT_EQ(seen.thread, std::this_thread::get_id());
}

TEST(Delivery, StepsEndTheRunExactlyAndMayCrossEpochs) {
  for (const int workers : {0, 2}) {
    auto experiment = Small();  // 6 batches an epoch
    experiment.loader.workers = workers;
    experiment.run.epochs.reset();
    experiment.run.steps = 15;
    const auto trace = RunEmulated(experiment);
    EXPECT_EQ(trace.end_reason, EndReason::kSteps);
    EXPECT_EQ(trace.steps, 15);
    EXPECT_EQ(trace.samples, 60);
    ASSERT_EQ(trace.epochs.size(), 3u);
    EXPECT_TRUE(trace.epochs[1].complete);
    EXPECT_FALSE(trace.epochs[2].complete);
  }
}

TEST(Delivery, NothingIsPrefetchedAcrossAnEpochBorder) {
  // The consumer holds the epoch's last batch; meanwhile no sample of the next epoch may be read.
  std::atomic<int> reads{0};
  const NumberedSource source(24, [&](std::int64_t) { ++reads; });
  auto experiment = FromSource(Small());
  experiment.loader.workers = 3;
  experiment.loader.persistent_workers = true;
  experiment.run.epochs = 2;
  int reads_at_border = 0;
  RecordingTrainer trainer([&](std::int64_t step) {
    if (step != 5) return;
    std::this_thread::sleep_for(20ms);
    reads_at_border = reads;
  });
  RunWith(experiment, trainer, &source);
  EXPECT_EQ(reads_at_border, 24);
  EXPECT_EQ(reads, 48);
}

TEST(Delivery, AtMostTheWindowIsMadeAhead) {
  std::atomic<int> reads{0};
  const NumberedSource source(400, [&](std::int64_t) { ++reads; });
  auto experiment = FromSource(Small());
  experiment.dataset.samples = 400;
  experiment.loader.workers = 2;
  experiment.loader.prefetch_factor = 3;
  int ahead = 0;
  RecordingTrainer trainer([&](std::int64_t step) {
    if (step != 10) return;
    std::this_thread::sleep_for(50ms);
    ahead = reads - 11 * 4;  // 11 batches of 4 were taken
  });
  RunWith(experiment, trainer, &source);
  EXPECT_EQ(ahead, 2 * 3 * 4);  // prefetch_factor × workers batches
}

TEST(Delivery, EveryBatchHasItsOwnSpansOfItsOwnWorker) {
  const NumberedSource source(24);  // 6 batches
  for (const int workers : {0, 2}) {
    auto experiment = FromSource(Small());
    experiment.loader.workers = workers;
    RecordingTrainer trainer;
    const auto trace = RunWith(experiment, trainer, &source, WithSpans());
    for (const State state : {State::kRead, State::kCollate}) {
      std::map<std::int64_t, std::set<int>> makers;
      for (const trace::Span& span : trace.first_spans) {
        if (span.state == state) makers[span.batch].insert(span.thread);
      }
      ASSERT_EQ(makers.size(), 6u) << workers << " workers";
      for (const auto& [batch, threads] : makers) {
        EXPECT_EQ(threads, std::set<int>{workers == 0 ? 0 : static_cast<int>(batch) % workers});
      }
    }
  }
}

TEST(Delivery, EffectiveValuesAreTold) {
  auto experiment = Small();
  experiment.loader.workers = 3;
  experiment.loader.queue_capacity = 4;
  const auto effective = RunEmulated(experiment).effective;
  EXPECT_EQ(effective.queue_capacity, 4);
  EXPECT_EQ(effective.max_occupancy, 6);  // in order: the reorder buffer takes the rest
  EXPECT_EQ(effective.device, spec::DeviceId::Emulated());
  EXPECT_TRUE(effective.device_asynchronous);
  EXPECT_GT(effective.cores, 0);
}

}  // namespace
}  // namespace pipesim::engine
