// Builds small experiments for the threaded engine in one line, with trainers and sample sources
// that remember or misbehave.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <thread>
#include <vector>

#include "engine/threaded/thread_timer.h"
#include "engine/threaded/threaded_executor.h"
#include "support/drawn.h"

namespace pipesim::engine {

using namespace std::chrono_literals;
using base::Bytes;
using base::Duration;
using base::Instant;
using tests::Fixed;
using trace::EndReason;
using trace::Role;
using trace::State;

inline base::Drawn<Bytes> FixedBytes(std::int64_t bytes) {
  return {base::Distribution::Fixed(static_cast<double>(bytes))};
}

/// 24 samples in batches of 4, no work at all, one epoch, an emulated device that takes no time.
inline spec::Experiment Small() {
  spec::Experiment experiment;
  experiment.dataset = {.samples = 24,
                        .sample_bytes = FixedBytes(64),
                        .shape = {8},
                        .dtype = spec::DType::kUint8,
                        .classes = 10};
  experiment.loader.batch_size = 4;
  experiment.device.kind = spec::DeviceKind::kEmulated;
  experiment.device.step_base = Fixed(0ns);
  experiment.run.epochs = 1;
  return experiment;
}

/// What a trainer saw of one batch.
struct Seen {
  std::int64_t number = 0, epoch = 0, index = 0;
  std::vector<std::int64_t> labels;
  std::vector<std::byte> data;
  std::thread::id thread;
};

/// A synchronous trainer that remembers every batch and may do something in each step.
class RecordingTrainer final : public Trainer {
 public:
  explicit RecordingTrainer(std::function<void(std::int64_t step)> in_step = {})
      : in_step_(std::move(in_step)) {}
  TrainerInfo info() const override {
    return {
        .device = spec::DeviceId::Cpu(), .device_name = "recording", .device_memory = std::nullopt};
  }
  void Submit(const Batch& batch, std::int64_t step, bool, StateTimer& timer) override {
    timer.Enter(State::kForward);
    const auto samples = static_cast<std::size_t>(batch.samples);
    seen.push_back({batch.number,
                    batch.epoch,
                    batch.index,
                    {batch.labels.begin(), batch.labels.begin() + batch.samples},
                    {batch.data.begin(), batch.data.end()},
                    std::this_thread::get_id()});
    seen.back().data.resize(samples * (batch.data.size() / batch.labels.size()));
    if (in_step_) in_step_(step);
  }
  std::optional<StepDone> WaitDone(std::int64_t, StateTimer&, const base::StopFlag&) override {
    return StepDone{};
  }
  std::vector<Seen> seen;

 private:
  std::function<void(std::int64_t)> in_step_;
};

/// Samples whose label and every byte are their own number; may misbehave on some.
class NumberedSource final : public SampleSource {
 public:
  explicit NumberedSource(std::int64_t samples,
                          std::function<void(std::int64_t sample)> in_read = {})
      : samples_(samples), in_read_(std::move(in_read)) {}
  std::int64_t size() const override { return samples_; }
  std::int64_t classes() const override { return samples_; }
  std::int64_t Label(std::int64_t sample) const override { return sample; }
  std::span<const std::byte> Read(std::int64_t sample,
                                  std::vector<std::byte>& buffer) const override {
    if (in_read_) in_read_(sample);
    buffer.assign(1, static_cast<std::byte>(sample));
    return buffer;
  }
  void Prepare(std::int64_t, std::span<const std::byte> raw,
               std::span<std::byte> out) const override {
    std::fill(out.begin(), out.end(), raw[0]);
  }

 private:
  std::int64_t samples_;
  std::function<void(std::int64_t)> in_read_;
};

inline spec::Experiment FromSource(spec::Experiment experiment) {
  experiment.storage.kind = spec::StorageKind::kFiles;
  experiment.prepare.kind = spec::PrepareKind::kDecode;
  return experiment;
}

/// Keeps the spans of single batches.
inline RunControl WithSpans() {
  RunControl control;
  control.keep_spans = true;
  return control;
}

inline trace::RunTrace RunWith(const spec::Experiment& experiment, Trainer& trainer,
                               const SampleSource* source = nullptr,
                               const RunControl& control = {}) {
  const base::SystemClock clock;
  const auto memory = MakeHostMemory();
  const auto pinned = experiment.loader.pin_memory ? MakeHostMemory() : nullptr;
  const auto executor = MakeThreadedExecutor({.clock = &clock,
                                              .trainer = &trainer,
                                              .memory = memory.get(),
                                              .pinned = pinned.get(),
                                              .source = source});
  return executor->Run(experiment, cost::Stated(experiment), control);
}

/// On the emulated device.
inline trace::RunTrace RunEmulated(const spec::Experiment& experiment,
                                   const RunControl& control = {}) {
  const base::SystemClock clock;
  const auto trainer = MakeEmulatedTrainer(experiment, cost::Stated(experiment), clock);
  return RunWith(experiment, *trainer, nullptr, control);
}

/// The part of a role's time in [from, to) that no recorded state owns; `without` is left out of
/// the sum, as if it had never been recorded.
inline double UnownedShare(const trace::RunTrace& trace, Role role, Instant from, Instant to,
                           std::optional<State> without = std::nullopt) {
  Duration owned{}, wall{};
  for (const trace::ThreadTotals& thread : trace.threads) {
    if (thread.role != role) continue;
    wall += to - from;
    for (int state = 0; state < trace::kStateCount; ++state) {
      if (without == static_cast<State>(state)) continue;
      owned += trace::TimeIn(trace, thread, static_cast<State>(state), from, to);
    }
  }
  return 1 - base::ToSeconds(owned) / base::ToSeconds(wall);
}

inline Duration TotalIn(const trace::RunTrace& trace, Role role, State state) {
  return trace::TimeIn(trace, role, state, trace.begin, trace.end);
}

}  // namespace pipesim::engine
