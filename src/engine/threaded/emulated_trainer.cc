#include <deque>

#include "engine/emulated_device.h"
#include "engine/threaded/burn.h"
#include "engine/threaded/thread_timer.h"
#include "engine/threaded/threaded_executor.h"

namespace pipesim::engine {
namespace threaded {
namespace {

using base::Instant;
using trace::State;

class EmulatedTrainer final : public Trainer {
 public:
  EmulatedTrainer(const spec::Experiment& experiment, const cost::Pipeline& pipeline,
                  const base::Clock& clock)
      : step_(pipeline.step),
        sample_bytes_(pipeline.samples.prepared),
        clock_(clock),
        device_(experiment, pipeline) {}

  TrainerInfo info() const override {
    TrainerInfo info{.device = spec::DeviceId::Emulated(),
                     .device_name = "emulated",
                     .asynchronous = true,
                     .device_memory = std::nullopt};
    if (!step_.device_name.empty()) info.device_name = step_.device_name;
    info.device_memory = step_.device_memory;
    return info;
  }

  void Submit(const Batch& batch, std::int64_t step, bool read_back, StateTimer& timer) override {
    const base::Bytes bytes = sample_bytes_ * static_cast<std::int64_t>(batch.samples);
    timer.Enter(State::kTransfer);
    const DeviceCopy copy = device_.Copy(timer.scheduled(), bytes);
    if (copy.host_waits) SleepUntil(clock_, timer, copy.end, never_);

    timer.Enter(State::kHost);
    const Instant launch_begin = timer.scheduled();
    // Launching is real work of the host: it takes a core, as a framework's own would.
    const Instant burn_begin = clock_.Now();
    launcher_.Burn(device_.LaunchTime(), never_);
    const Instant launch_end = launch_begin + (clock_.Now() - burn_begin);
    const DeviceWork work = device_.Launch(step, batch.samples, copy.end, launch_begin, launch_end);
    StepDone done{.begin = work.begin,
                  .end = work.end,
                  .transfer_begin = std::nullopt,
                  .transfer_end = std::nullopt,
                  .loss = std::nullopt};
    if (copy.begin < copy.end) {
      done.transfer_begin = copy.begin;
      done.transfer_end = copy.end;
    }
    submitted_.push_back(done);
    if (!read_back) return;
    timer.Enter(State::kSync);
    SleepUntil(clock_, timer, work.end, never_);
  }

  std::optional<StepDone> WaitDone(std::int64_t, StateTimer& timer,
                                   const base::StopFlag& stop) override {
    const StepDone done = submitted_.front();
    if (!SleepUntil(clock_, timer, done.end, stop)) return std::nullopt;
    submitted_.pop_front();
    return done;
  }

  std::optional<StepAlone> MeasureStepAlone() override {
    return StepAlone{device_.FullStep(), std::nullopt, std::nullopt};
  }

 private:
  const cost::Step step_;
  const base::Bytes sample_bytes_;
  const base::Clock& clock_;
  EmulatedDevice device_;
  Burner launcher_;
  std::deque<StepDone> submitted_;
  const base::StopFlag never_;
};

}  // namespace
}  // namespace threaded

std::unique_ptr<Trainer> MakeEmulatedTrainer(const spec::Experiment& experiment,
                                             const cost::Pipeline& pipeline,
                                             const base::Clock& clock) {
  return std::make_unique<threaded::EmulatedTrainer>(experiment, pipeline, clock);
}

}  // namespace pipesim::engine
