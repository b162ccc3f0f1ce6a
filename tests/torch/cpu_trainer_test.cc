// The training step on the CPU: learning, recorded states, error messages.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <stdexcept>

#include "base/error.h"
#include "support.h"

namespace pipesim::engine {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using trace::State;

TEST(CpuTrainer, LearnsLabelsEncodedInThePixels) {
  for (const auto& layers : {SmallMlp(), SmallCnn()}) {
    const auto [first, last] = Consumer(SmallExperiment(layers)).Train(100);
    EXPECT_LT(last, first / 2);
  }
}

TEST(CpuTrainer, LearnsWithEachOptimizer) {
  using spec::Optimizer;
  for (const auto& [optimizer, rate] :
       {std::pair(Optimizer::kSgd, 0.1), {Optimizer::kMomentum, 0.02}, {Optimizer::kAdam, 0.01}}) {
    auto experiment = SmallExperiment(SmallMlp());
    experiment.training.optimizer = optimizer;
    experiment.training.learning_rate = rate;
    const auto [first, last] = Consumer(experiment).Train(60);
    EXPECT_LT(last, first / 2) << "optimizer " << static_cast<int>(optimizer);
  }
}

TEST(CpuTrainer, TheFirstAdamStepMovesEveryWeightByTheLearningRate) {
  // The first step is rate × g / (|g| + 1e-8) for any gradient (Kingma and Ba, section 2.1). With a
  // constant input 1 and scores [w0, w1] + biases, it moves all four parameters by the rate towards
  // label 0, so the score gap grows by 4 × rate.
  auto experiment = SmallExperiment({Flatten(), Linear(2)});
  experiment.dataset.shape = {1};
  experiment.dataset.classes = 1;  // all labels 0
  experiment.training.optimizer = spec::Optimizer::kAdam;
  experiment.training.learning_rate = 0.25;
  experiment.dataset.dtype = spec::DType::kFloat32;
  Consumer consumer(experiment);
  std::vector<float> ones(32, 1.0F);
  std::vector<std::int64_t> zeros(32, 0);
  Batch batch;
  batch.samples = 32;
  batch.data = std::as_writable_bytes(std::span(ones));
  batch.labels = zeros;
  const auto gap = [](double loss) { return -std::log(std::exp(loss) - 1); };  // score 0 − score 1
  const double before = gap(consumer.Step(batch));
  const double after = gap(consumer.Step(batch));
  EXPECT_NEAR(after - before, 4 * 0.25, 1e-4);
}

TEST(CpuTrainer, TheSameSeedGivesTheSameLosses) {
  const auto experiment = SmallExperiment(SmallMlp());
  EXPECT_EQ(Consumer(experiment).Train(3), Consumer(experiment).Train(3));
  auto other = experiment;
  other.run.seed = 2;
  EXPECT_NE(Consumer(experiment).Train(1), Consumer(other).Train(1));
}

TEST(CpuTrainer, BytesAreNormalisedToMinusOneToOne) {
  auto as_bytes = SmallExperiment(SmallMlp());
  auto as_floats = as_bytes;
  as_floats.dataset.dtype = spec::DType::kFloat32;
  // 255 is 1.0 and 0 is −1.0 by (x / 255 − 0.5) / 0.5; classes 0 and 1 only have these two values.
  as_bytes.dataset.classes = as_floats.dataset.classes = 2;
  const LearnableBatch bytes(as_bytes, 2);
  std::vector<float> floats(2 * 3 * 8 * 8, -1.0F);
  std::fill(floats.begin() + 3 * 8 * 8, floats.end(), 1.0F);
  Batch batch = bytes.batch();
  batch.data = std::as_writable_bytes(std::span(floats));
  EXPECT_NEAR(Consumer(as_bytes).Step(bytes.batch()), Consumer(as_floats).Step(batch), 1e-5);
}

TEST(CpuTrainer, Bf16IsCloseToFp32) {
  auto experiment = SmallExperiment(SmallMlp());
  const double fp32 = Consumer(experiment).Train(1).first;
  experiment.training.precision = spec::Precision::kBf16;
  const auto [first, last] = Consumer(experiment).Train(60);
  EXPECT_NEAR(first, fp32, 0.02 * fp32);  // 8 bits of mantissa
  EXPECT_NE(first, fp32);                 // but not identical
  EXPECT_LT(last, first / 2);
}

TEST(CpuTrainer, APartialBatchTrainsOnlyItsSamples) {
  const auto experiment = SmallExperiment(SmallMlp());
  // 4 samples, one of each class: the same mean loss as 32 samples that repeat them.
  const LearnableBatch partial(experiment, 4), full(experiment, 32);
  EXPECT_NEAR(Consumer(experiment).Step(partial.batch()), Consumer(experiment).Step(full.batch()),
              1e-5);
}

TEST(CpuTrainer, EntersHostForwardBackwardOptimizerAndSyncWhenReadingBack) {
  Consumer consumer(SmallExperiment(SmallMlp()));
  const LearnableBatch batch(SmallExperiment(SmallMlp()), 32);
  consumer.trainer().Submit(batch.batch(), 0, /*read_back=*/false, consumer.timer);
  EXPECT_THAT(consumer.timer.states,
              ElementsAre(State::kHost, State::kForward, State::kBackward, State::kOptimizer));
  consumer.timer.states.clear();
  consumer.trainer().Submit(batch.batch(), 1, /*read_back=*/true, consumer.timer);
  EXPECT_THAT(consumer.timer.states, ElementsAre(State::kHost, State::kForward, State::kBackward,
                                                 State::kOptimizer, State::kSync));
}

TEST(CpuTrainer, AStepEndsBeforeTheNextSubmitAndKeepsItsLoss) {
  Consumer consumer(SmallExperiment(SmallMlp()));
  const LearnableBatch batch(SmallExperiment(SmallMlp()), 32);
  const base::Instant before = consumer.clock().Now();
  consumer.trainer().Submit(batch.batch(), 0, /*read_back=*/true, consumer.timer);
  const base::Instant between = consumer.clock().Now();
  consumer.trainer().Submit(batch.batch(), 1, /*read_back=*/false, consumer.timer);
  const base::StopFlag stop;
  const StepDone first = consumer.trainer().WaitDone(0, consumer.timer, stop).value();
  const StepDone second = consumer.trainer().WaitDone(1, consumer.timer, stop).value();
  EXPECT_LE(before, first.begin);
  EXPECT_LT(first.begin, first.end);
  EXPECT_LE(first.end, between);
  EXPECT_LE(between, second.begin);
  EXPECT_TRUE(std::isfinite(first.loss.value()));
  EXPECT_EQ(second.loss, std::nullopt);
  EXPECT_EQ(first.transfer_begin, std::nullopt);  // nothing is copied
}

TEST(CpuTrainer, LibTorchUsesTheComputeThreads) {
  const auto experiment = SmallExperiment(SmallMlp());
  EXPECT_EQ(Consumer(experiment, 1).trainer().info().compute_threads, 1);
  EXPECT_EQ(Consumer(experiment, 2).trainer().info().compute_threads, 2);
  EXPECT_EQ(Consumer(experiment, 1).trainer().info().compute_threads, 1);
}

TEST(CpuTrainer, ComputeThreadsChangeBetweenStepsAndGoBack) {
  const auto experiment = SmallExperiment(SmallMlp());
  Consumer consumer(experiment, 2);
  const double first = consumer.Train(20).first;
  consumer.trainer().UseComputeThreads(1);
  EXPECT_EQ(consumer.trainer().info().compute_threads, 1);
  EXPECT_LT(consumer.Train(20).first, first);  // it learns on
  consumer.trainer().UseComputeThreads(2);
  EXPECT_EQ(consumer.trainer().info().compute_threads, 2);
  EXPECT_LT(consumer.Train(60).second, first / 2);
}

TEST(CpuTrainer, AStepAloneIsAlsoTimedOnOneThreadAndTheThreadsStay) {
  Consumer consumer(SmallExperiment(SmallMlp()), 2);
  consumer.Train(5);
  const auto alone = consumer.trainer().MeasureStepAlone();
  ASSERT_TRUE(alone && alone->on_one_thread);
  EXPECT_EQ(consumer.trainer().info().compute_threads, 2);
  // A run may go on to try settings.
  consumer.Train(5);
  EXPECT_EQ(consumer.trainer().info().compute_threads, 2);
}

TEST(CpuTrainer, ALayerThatDoesNotFitIsNamed) {
  try {
    Consumer consumer(SmallExperiment({Flatten(), Conv(8), Linear(4)}));
    FAIL() << "a conv2d behind a flatten was built";
  } catch (const std::invalid_argument& error) {
    EXPECT_THAT(error.what(), HasSubstr("conv2d"));
  }
}

TEST(CpuTrainer, AModelWithFewerScoresThanClassesIsRefused) {
  EXPECT_THROW(Consumer(SmallExperiment({Flatten(), Linear(3)})), std::invalid_argument);
}

TEST(CpuTrainer, AModelThatDoesNotFitReportsRequestedAndFreeMemory) {
  // 192 × 2 × 10^11 weights of 4 bytes: more than the 2^47 bytes that an x86-64 process can
  // address.
  try {
    Consumer consumer(SmallExperiment({Flatten(), Linear(200'000'000'000)}));
    FAIL() << "140 TiB were allocated";
  } catch (const OutOfMemory& error) {
    EXPECT_THAT(error.what(), HasSubstr("asked for 139.70 TiB"));  // 1.536e14 / 2^40
    EXPECT_THAT(error.what(), HasSubstr("free"));
  }
}

TEST(CpuTrainer, AFailureInsideLibTorchIsOneLineWithoutABacktrace) {
  auto experiment = SmallExperiment(SmallMlp());
  Consumer consumer(experiment);
  const LearnableBatch batch(experiment, 2);
  std::vector<std::int64_t> beyond = {0, 4};  // 4 classes: 0..3
  Batch bad = batch.batch();
  bad.labels = beyond;
  try {
    consumer.Step(bad);
    FAIL() << "a label beyond the classes was trained on";
  } catch (const std::runtime_error& error) {
    EXPECT_THAT(error.what(), HasSubstr("Target 4 is out of bounds"));
    EXPECT_THAT(error.what(), testing::Not(HasSubstr("\n")));
  }
}

}  // namespace
}  // namespace pipesim::engine
