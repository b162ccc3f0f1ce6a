// Real reads: CPU time, waiting and contention told apart.
#include <gtest/gtest.h>

#include "engine/threaded/burn.h"
#include "pipeline.h"

namespace pipesim::engine {
namespace {

void BurnFor(Duration cost) {
  Burner burner;
  burner.Burn(cost, base::StopFlag());
}

trace::RunTrace Reading(int workers, const std::function<void(std::int64_t)>& in_read) {
  auto experiment = FromSource(Small());
  experiment.loader.workers = workers;
  RecordingTrainer trainer;
  const NumberedSource source(24, in_read);
  return RunWith(experiment, trainer, &source);
}

const trace::Reservoir& ReadCpu(const trace::RunTrace& trace) {
  return trace.series[static_cast<std::size_t>(trace::Series::kReadCpuTime)];
}

TEST(RealReads, CountTheirCpuTime) {
  const trace::RunTrace trace = Reading(1, [](std::int64_t) { BurnFor(2ms); });
  ASSERT_EQ(ReadCpu(trace).kept.size(), 6u);
  for (const trace::Sampled& batch : ReadCpu(trace).kept) EXPECT_GE(batch.value, 4 * 2e6 * 0.99);
}

TEST(RealReads, ThatNeverSleptLoseTheirCoreToContention) {
  // Six threads on fewer cores, reading out of the page cache: state read holds their CPU time and
  // little more, whatever the rest of the machine does.
  const trace::RunTrace trace = Reading(6, [](std::int64_t) { BurnFor(5ms); });
  double cpu_s = 0;
  for (const trace::Sampled& batch : ReadCpu(trace).kept) cpu_s += batch.value * 1e-9;
  EXPECT_NEAR(base::ToSeconds(TotalIn(trace, Role::kWorker, State::kRead)), cpu_s, 0.1 * cpu_s);
}

TEST(RealReads, ThatSleptWaitedForTheDevice) {
  const trace::RunTrace trace = Reading(1, [](std::int64_t) { std::this_thread::sleep_for(2ms); });
  EXPECT_GE(TotalIn(trace, Role::kWorker, State::kRead), 24 * 2ms);
  for (const trace::Sampled& batch : ReadCpu(trace).kept) EXPECT_LT(batch.value, 4 * 1e6);
}

}  // namespace
}  // namespace pipesim::engine
