#include "engine/device_timeline.h"

#include <gmock/gmock.h>

#include "engine/emulated_device.h"
#include "pipeline.h"

namespace pipesim::engine {
namespace {

Instant At(int ms) { return Instant(std::chrono::milliseconds(ms)); }

StepDone Step(Instant begin, Instant end) {
  StepDone step;
  step.begin = begin;
  step.end = end;
  return step;
}

struct Spans final : trace::SpanSink {
  void Record(const trace::Span& span) override { spans.push_back(span); }
  void Record(const trace::StepRecord&) override {}
  void Record(const trace::BatchRecord&) override {}
  Duration In(State state) const {
    Duration sum{};
    for (const auto& span : spans) sum += span.state == state ? span.end - span.begin : 0ns;
    return sum;
  }
  std::vector<trace::Span> spans;
};

TEST(DeviceTimeline, AGapIsAttributedToTheHostsState) {
  Spans sink;
  DeviceTimeline device(At(0), sink);
  device.HostWas(State::kStarved, At(0), At(7));
  device.HostWas(State::kTransfer, At(7), At(9));
  device.HostWas(State::kHost, At(9), At(10));
  device.Done(Step(At(10), At(30)), 0, 4, State::kCompute);
  device.HostWas(State::kCompute, At(10), At(30));
  device.HostWas(State::kSync, At(30), At(32));
  device.HostWas(State::kCollate, At(32), At(35));
  device.Done(Step(At(36), At(40)), 1, 4, State::kHost);
  device.Finish(At(41), State::kHost);

  EXPECT_EQ(sink.In(State::kDeviceStarved), 10ms);  // 7 starved, 3 collating at 0 workers
  EXPECT_EQ(sink.In(State::kDeviceTransfer), 2ms);
  EXPECT_EQ(sink.In(State::kDeviceSync), 2ms);
  EXPECT_EQ(sink.In(State::kDeviceLaunch), 3ms);  // 9-10, 35-36, 40-41
  EXPECT_EQ(sink.In(State::kBusy), 24ms);
  Instant reached = At(0);
  for (const auto& span : sink.spans) {
    EXPECT_EQ(span.begin, reached);
    reached = span.end;
  }
  EXPECT_EQ(reached, At(41));
}

TEST(DeviceTimeline, ACopyTakesPrecedenceOverTheHostsState) {
  Spans sink;
  DeviceTimeline device(At(0), sink);
  device.HostWas(State::kHost, At(0), At(2));
  StepDone step = Step(At(6), At(9));
  step.transfer_begin = At(1);
  step.transfer_end = At(5);
  device.Done(step, 0, 4, State::kCompute);
  EXPECT_EQ(sink.In(State::kDeviceTransfer), 4ms);
  EXPECT_EQ(sink.In(State::kDeviceLaunch), 2ms);
  EXPECT_EQ(sink.In(State::kTransfer), 4ms);  // the copy itself, beside the partition
}

TEST(EmulatedDevice, ServesStepsOneAfterAnother) {
  auto experiment = Small();
  experiment.device.step_base = Fixed(3ms);
  EmulatedDevice device(experiment, cost::Stated(experiment));
  const DeviceWork first = device.Launch(0, 4, At(0), At(0), At(0));
  const DeviceWork second = device.Launch(1, 4, At(1), At(1), At(1));
  const DeviceWork late = device.Launch(2, 4, At(10), At(10), At(10));
  EXPECT_EQ(first.end, At(3));
  EXPECT_EQ(second.begin, At(3));
  EXPECT_EQ(second.end, At(6));
  EXPECT_EQ(late.begin, At(10));
  EXPECT_EQ(device.FullStep(), 3ms);
}

TEST(EmulatedDevice, AStepEndsNoEarlierThanItsLastLaunch) {
  auto experiment = Small();
  experiment.device.step_base = Fixed(1ms);
  EmulatedDevice device(experiment, cost::Stated(experiment));
  const DeviceWork work = device.Launch(0, 4, At(0), At(0), At(5));
  EXPECT_EQ(work.end, At(5));
  EXPECT_EQ(work.begin, At(4));  // busy for its own 1 ms; the rest is waiting for launches
}

}  // namespace
}  // namespace pipesim::engine
