// Shared by the tests of the LibTorch plugin: the loaded plugin, small experiments, batches with
// learnable labels, and a consumer that records the states it entered.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "engine/batch_memory.h"
#include "engine/torch/plugin.h"
#include "engine/trainer.h"
#include "spec/experiment.h"
#include "spec/model.h"

namespace pipesim::engine {

/// Loaded once per process, as in the program.
const TorchPlugin& Plugin();

/// 3x8x8 bytes, 4 classes, batches of 32, on the CPU.
spec::Experiment SmallExperiment(std::vector<spec::Layer> layers);

// Layers by name, for models that read like their YAML.
spec::Layer Flatten();
spec::Layer Linear(std::int64_t out);
spec::Layer Conv(std::int64_t out);  ///< 3x3, padding 1
spec::Layer Relu();
spec::Layer Plain(spec::LayerKind kind);
std::vector<spec::Layer> SmallMlp();
std::vector<spec::Layer> SmallCnn();

/// A batch with its own memory. Every byte of a sample encodes its label as a share of 255, so any
/// model that uses the data can learn it.
class LearnableBatch {
 public:
  LearnableBatch(const spec::Experiment& experiment, std::int32_t samples);
  const Batch& batch() const { return batch_; }

 private:
  std::vector<std::byte> data_;
  std::vector<std::int64_t> labels_;
  Batch batch_;
};

class StatesEntered final : public StateTimer {
 public:
  void Enter(trace::State state) override { states.push_back(state); }
  base::Instant scheduled() const override { return {}; }
  void WaitedUntil(base::Instant) override {}
  std::vector<trace::State> states;
};

/// Drives one trainer as the consumer does.
class Consumer {
 public:
  explicit Consumer(const spec::Experiment& experiment, int compute_threads = 1);
  /// Submits the next step, reads its loss back and waits for it.
  double Step(const Batch& batch);
  /// Trains `steps` full batches; returns the first and the last loss.
  std::pair<double, double> Train(int steps);

  Trainer& trainer() { return *trainer_; }
  const base::Clock& clock() const { return clock_; }
  StatesEntered timer;

 private:
  base::SystemClock clock_;
  spec::Experiment experiment_;
  std::unique_ptr<Trainer> trainer_;
  std::int64_t next_step_ = 0;
};

}  // namespace pipesim::engine
