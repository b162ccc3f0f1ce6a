// Every order and dispatch against the reference simulator, to the nanosecond.
#include "reference.h"

#include "base/random.h"
#include "pipeline.h"

namespace pipesim::engine {
namespace {

struct Shape {
  int workers, prefetch;
  std::int64_t capacity;  ///< 0: the window
  int in_flight;
  bool pin, read_back;
};

std::vector<reference::Step> Steps(const trace::RunTrace& trace) {
  std::vector<reference::Step> steps;
  const auto ends = trace.series[static_cast<std::size_t>(trace::Series::kDeviceStep)].kept;
  for (const auto& checkpoint : trace.progress) {
    steps.push_back({.done_ns = checkpoint.at.time_since_epoch().count()});
  }
  // In the order in which the device worked on them.
  std::size_t step = 0;
  for (const trace::Span& span : trace.first_spans) {
    if (span.role != Role::kDevice || span.state != State::kBusy) continue;
    steps[step].batch = span.batch;
    steps[step++].device_end_ns = span.end.time_since_epoch().count();
  }
  EXPECT_EQ(step, steps.size());
  for (const trace::Span& span : trace.first_spans) {
    if (span.role != Role::kWorker || span.state != State::kPrepare) continue;
    for (auto& each : steps) {
      if (each.batch == span.batch) each.maker = span.thread;
    }
  }
  return steps;
}

void ExpectTheSame(const Shape& shape, bool shared, bool in_order) {
  constexpr std::int64_t kPinNs = 100'000'000;
  auto experiment = Stages(shape.workers, 0s, 0s, 0);
  experiment.prepare.cost = Exponential(1s);
  experiment.device.step_base = Exponential(Duration(1s) / shape.workers);
  experiment.device.in_flight = shape.in_flight;
  experiment.dataset.samples = 150;
  experiment.loader.shuffle = false;
  experiment.loader.prefetch_factor = shape.prefetch;
  experiment.loader.dispatch = shared ? spec::Dispatch::kShared : spec::Dispatch::kRoundRobin;
  experiment.loader.in_order = in_order;
  experiment.loader.pin_memory = shape.pin;
  if (shape.capacity > 0) experiment.loader.queue_capacity = shape.capacity;
  experiment.training.sync_every = shape.read_back ? 1 : 0;
  experiment.run.steps.reset();
  experiment.run.epochs = 3;
  cost::Pipeline pipeline = cost::Stated(experiment);
  pipeline.pin.bandwidth = base::BytesPerSecond{8e9 / kPinNs};  // 8 bytes in kPinNs

  const auto draw = [&](const base::Drawn<Duration>& cost, base::Stage stage, std::int64_t key) {
    return cost.Draw(base::KeyedStream(experiment.run.seed, stage, static_cast<std::uint64_t>(key)))
        .count();
  };
  const auto expected = reference::Simulate(
      {.workers = shape.workers,
       .prefetch = shape.prefetch,
       .shared = shared,
       .in_order = in_order,
       .capacity = shape.capacity > 0 ? shape.capacity : experiment.loader.Window(),
       .pin = shape.pin,
       .pin_ns = kPinNs,
       .in_flight = shape.in_flight,
       .read_back = shape.read_back,
       .batches = 150,
       .epochs = 3,
       .make_ns =
           [&](std::int64_t k) { return draw(experiment.prepare.cost, base::Stage::kPrepare, k); },
       .step_ns =
           [&](std::int64_t k) {
             return draw(*experiment.device.step_base, base::Stage::kStep, k);
           }});
  const auto found = Steps(Predict(experiment, pipeline, WithSpans()));
  ASSERT_EQ(found.size(), 450u);
  ASSERT_EQ(expected.size(), 450u);
  for (std::size_t k = 0; k < found.size(); ++k) {
    ASSERT_EQ(found[k].batch, expected[k].batch) << k;
    // Of several who rest, whoever looks first: at one and the same instant that is open.
    if (!shared) {
      ASSERT_EQ(found[k].maker, expected[k].maker) << k;
    }
    ASSERT_EQ(found[k].done_ns, expected[k].done_ns) << k;
    ASSERT_EQ(found[k].device_end_ns, expected[k].device_end_ns) << k;
  }
}

class Reference : public testing::TestWithParam<Shape> {};

TEST_P(Reference, RoundRobinInOrder) { ExpectTheSame(GetParam(), false, true); }
TEST_P(Reference, RoundRobinOutOfOrder) { ExpectTheSame(GetParam(), false, false); }
TEST_P(Reference, SharedInOrder) { ExpectTheSame(GetParam(), true, true); }
TEST_P(Reference, SharedOutOfOrder) { ExpectTheSame(GetParam(), true, false); }

INSTANTIATE_TEST_SUITE_P(
    AgreesOn, Reference,
    testing::Values(Shape{1, 1, 0, 1, false, false}, Shape{1, 2, 0, 2, false, true},
                    Shape{3, 1, 0, 2, false, false}, Shape{4, 2, 0, 2, false, false},
                    Shape{4, 2, 1, 1, false, true}, Shape{8, 3, 2, 3, false, false},
                    Shape{4, 2, 0, 2, true, false}, Shape{5, 3, 1, 2, true, true}));

}  // namespace
}  // namespace pipesim::engine
