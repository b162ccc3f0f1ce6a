// The circle closes: a run's measurement, fitted, runs again as it ran.
#include "measure/fit.h"

#include "pipeline.h"

namespace pipesim::engine {
namespace {

/// `workers` that read real files and decode them, and a CPU that trains; batches of 8.
spec::Experiment RealFiles(int workers) {
  auto experiment = Stages(workers, 0s, 0s, 600);
  experiment.dataset.sample_bytes = {base::Distribution::Fixed(1000)};
  experiment.loader.batch_size = 8;
  experiment.storage.kind = spec::StorageKind::kFiles;
  experiment.prepare = {.kind = spec::PrepareKind::kDecode, .cost = {}};
  experiment.device = {};
  experiment.device.kind = spec::DeviceKind::kCpu;
  return experiment;
}

/// What that costs on `cores` cores; the experiment states none of it.
cost::Pipeline Costs(const spec::Experiment& experiment, double cores) {
  cost::Pipeline pipeline = cost::Stated(experiment);
  pipeline.machine.cores = cores;
  pipeline.storage.present = true;
  pipeline.storage.latency = Exponential(200us);
  pipeline.storage.read_cpu = 20us;
  pipeline.prepare.kind = cost::Prepare::Kind::kCpu;
  pipeline.prepare.divisible = false;
  pipeline.prepare.cost = Exponential(400us);
  pipeline.collate.batch = 100us;
  pipeline.host.step = 150us;
  pipeline.step = CpuStep(1200us, 2);
  return pipeline;
}

class FittedRun : public testing::TestWithParam<std::tuple<int, double>> {};

TEST_P(FittedRun, RunsAsTheOneThatWasMeasured) {
  const auto [workers, cores] = GetParam();
  const spec::Experiment experiment = RealFiles(workers);
  const auto measured = [&](const cost::Pipeline& pipeline) {
    const trace::RunTrace trace = Predict(experiment, pipeline);
    auto measurement = measure::Measure(trace, experiment, pipeline);
    return std::pair(measure::Fit(trace, measurement, experiment, cost::Stated(experiment)),
                     *measurement.result.samples_per_s);
  };
  const auto [fitted, rate] = measured(Costs(experiment, cores));
  EXPECT_NEAR(measured(fitted).second / rate, 1, 0.02);
}

INSTANTIATE_TEST_SUITE_P(On, FittedRun,
                         testing::Combine(testing::Values(0, 1, 3, 8), testing::Values(1.5, 8.0)));

}  // namespace
}  // namespace pipesim::engine
