#include <gtest/gtest.h>

#include "base/cpus.h"
#include "pipeline.h"

namespace pipesim::engine {
namespace {

/// Batches of four samples of `sample_bytes`.
trace::RunTrace RunOf(std::int64_t sample_bytes) {
  spec::Experiment experiment = Small();
  experiment.dataset.shape = {sample_bytes};
  experiment.loader.workers = 1;
  return RunEmulated(experiment);
}

TEST(Copying, OfLargeBatchesIsMeasuredOnAllCores) {
  const std::optional<double> speedup = RunOf(3 << 20).effective.copying_speedup;
  const double cores = base::ReadCpuAllowance().Cores();
  ASSERT_EQ(speedup.has_value(), cores >= 2);
  if (!speedup) return;
  EXPECT_GT(*speedup, 0.5);
  EXPECT_LT(*speedup, 2 * cores);
}

TEST(BurnHandover, IsMeasuredWhereWorkersBurn) {
  spec::Experiment experiment = Small();
  experiment.prepare = {};
  EXPECT_FALSE(RunEmulated(experiment).effective.burn_handover);
  experiment.prepare = {.kind = spec::PrepareKind::kBurn, .cost = Fixed(20us)};
  const auto handover = RunEmulated(experiment).effective.burn_handover;
  ASSERT_EQ(handover.has_value(), base::ReadCpuAllowance().Cores() >= 2);
  EXPECT_GT(handover.value_or(1us), 0us);
}

TEST(Copying, OfBatchesThatStayInCachesIsNot) {
  EXPECT_FALSE(RunOf(100 << 10).effective.copying_speedup);
}

}  // namespace
}  // namespace pipesim::engine
