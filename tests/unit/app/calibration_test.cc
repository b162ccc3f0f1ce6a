#include "calibrate/calibration.h"

#include <gtest/gtest.h>

namespace pipesim::calibrate {
namespace {

using base::Duration;
using std::chrono::microseconds;

spec::ProfileStep Step(std::int64_t batch, Duration time) {
  return {.model = "mlp",
          .shape = {1, 28, 28},
          .device = spec::DeviceId::Cpu(),
          .batch = batch,
          .time = {time, 0.1, "measured"}};
}

TEST(MergedProfile, KeepsWhatWasNotMeasuredAgain) {
  spec::MachineProfile older, newer;
  older.figures.wake_up = {microseconds(10), std::nullopt, "older"};
  older.figures.worker_startup = {microseconds(20), std::nullopt, "older"};
  older.steps = {Step(1, microseconds(100)), Step(2, microseconds(200))};
  older.gpu = "a GPU";
  newer.figures.wake_up = {microseconds(11), std::nullopt, "newer"};
  newer.steps = {Step(2, microseconds(210)), Step(4, microseconds(400))};
  newer.date = "2026-02-03";
  spec::ProfileStep sleeping = Step(8, microseconds(800));
  older.steps.push_back(sleeping);
  sleeping.omp_wait = spec::OmpWait::kPassive;  // another step than the one that spins
  newer.steps.push_back(sleeping);
  spec::ProfileStep paused = Step(4, microseconds(400));
  paused.after_pause = microseconds(10);  // another step than the one that follows at once
  older.steps.push_back(paused);
  const spec::MachineProfile merged = Merged(older, newer);
  EXPECT_EQ(merged.figures.wake_up->how, "newer");
  EXPECT_EQ(merged.figures.worker_startup->how, "older");
  EXPECT_FALSE(merged.figures.burn_handover);
  ASSERT_EQ(merged.steps.size(), 6u);
  for (const spec::ProfileStep& step : merged.steps)
    EXPECT_EQ(step.time.value, microseconds(step.batch == 2 ? 210 : 100 * step.batch));
  EXPECT_EQ(merged.gpu, "a GPU");
  EXPECT_EQ(merged.date, "2026-02-03");
}

}  // namespace
}  // namespace pipesim::calibrate
