// Real reads: CPU time, waiting and contention.
#include <gtest/gtest.h>

#include "engine/threaded/burn.h"
#include "pipeline.h"

namespace pipesim::engine::threaded {
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

TEST(RealReads, WithoutASleepCountLostTimeAsContention) {
  // Six threads on fewer cores, one batch each, out of the page cache: state read holds their CPU
  // time and little more. Of some of them: the kernel may put a thread to sleep in any read, behind
  // another's page fault say, and then all of that read counts as waiting for the device.
  const trace::RunTrace trace = Reading(6, [](std::int64_t) { BurnFor(5ms); });
  int kept_to_their_cpu_time = 0;
  for (const trace::ThreadTotals& thread : trace.threads) {
    if (thread.role != Role::kWorker) continue;
    const Duration read = trace::TimeIn(trace, thread, State::kRead, trace.begin, trace.end);
    EXPECT_GE(read, 0.99 * 4 * 5ms);
    if (read <= 1.1 * 4 * 5ms) ++kept_to_their_cpu_time;
  }
  EXPECT_GE(kept_to_their_cpu_time, 2);  // none or one, where contention counted as reading
}

TEST(RealReads, WithASleepCountAsWaitingForTheDevice) {
  const trace::RunTrace trace = Reading(1, [](std::int64_t) { std::this_thread::sleep_for(2ms); });
  EXPECT_GE(TotalIn(trace, Role::kWorker, State::kRead), 24 * 2ms);
  for (const trace::Sampled& batch : ReadCpu(trace).kept) EXPECT_LT(batch.value, 4 * 1e6);
}

}  // namespace
}  // namespace pipesim::engine::threaded
