// What the tests of the LibTorch plugin share: the opened plugin, small experiments, batches whose
// label can be learnt, and a consumer that writes down the states it entered.
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

/// Opened once a process, as the program does it.
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

/// A batch in memory of its own. Every byte of a sample is its label's share of 255, so any model
/// that looks at the data can tell the class.
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

/// One trainer and the consumer's calls to it.
class Consumer {
 public:
  explicit Consumer(const spec::Experiment& experiment, int compute_threads = 1);
  /// Submits the next step, reads its loss back and waits for it.
  double Step(const Batch& batch);
  /// `steps` steps on full batches: the first and the last loss.
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
