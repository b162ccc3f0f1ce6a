#include "engine/torch/cpu_trainer.h"

#include <torch/torch.h>

#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "base/cpus.h"
#include "engine/torch/errors.h"
#include "engine/torch/threads.h"
#include "engine/torch/training_step.h"

namespace pipesim::engine {

namespace {

class CpuTrainer final : public Trainer {
 public:
  CpuTrainer(const spec::Experiment& experiment, const base::Clock& clock, int compute_threads)
      : clock_(clock),
        dataset_(experiment.dataset),
        threads_(compute_threads),
        step_(experiment, torch::kCPU),
        done_(static_cast<std::size_t>(experiment.device.in_flight), {-1, {}}) {}

  TrainerInfo info() const override {
    TrainerInfo info;
    info.device = "cpu";
    info.device_name = base::CpuModelName();
    info.compute_threads = threads_.effective();
    info.parameters = step_.parameters();
    return info;
  }

  void Submit(const Batch& batch, std::int64_t step, bool read_back, StateTimer& timer) override {
    Translated("cpu", FreeHostMemory, [&] { Train(batch, step, read_back, timer); });
  }

  std::optional<StepDone> WaitDone(std::int64_t step, StateTimer&, const base::StopFlag&) override {
    const auto& [number, done] = Kept(step);
    if (number != step) throw std::logic_error("step " + std::to_string(step) + " is not kept");
    return done;
  }

 private:
  void Train(const Batch& batch, std::int64_t step, bool read_back, StateTimer& timer) {
    timer.Enter(trace::State::kHost);
    threads_.Apply();
    const auto data = torch::from_blob(batch.data.data(), BatchShape(dataset_, batch.samples),
                                       TorchType(dataset_.dtype));
    const auto labels = torch::from_blob(batch.labels.data(), {batch.samples}, torch::kLong);
    StepDone done;
    done.begin = clock_.Now();
    timer.Enter(trace::State::kForward);
    torch::Tensor loss = step_.Forward(data, labels);
    timer.Enter(trace::State::kBackward);
    step_.Backward(loss);
    loss = loss.detach();  // the activations go now, not with the next step
    timer.Enter(trace::State::kOptimizer);
    step_.Update();
    done.end = clock_.Now();
    if (read_back) {
      timer.Enter(trace::State::kSync);
      done.loss = loss.item<double>();
    }
    Kept(step) = {step, done};
  }

  std::pair<std::int64_t, StepDone>& Kept(std::int64_t step) {
    return done_[static_cast<std::size_t>(step) % done_.size()];
  }

  const base::Clock& clock_;
  spec::Dataset dataset_;
  ComputeThreads threads_;
  TrainingStep step_;
  std::vector<std::pair<std::int64_t, StepDone>> done_;  ///< of the last in_flight steps
};

}  // namespace

std::unique_ptr<Trainer> MakeCpuTrainer(const spec::Experiment& experiment,
                                        const base::Clock& clock, int compute_threads) {
  return Translated("cpu", FreeHostMemory, [&] {
    return std::unique_ptr<Trainer>(
        std::make_unique<CpuTrainer>(experiment, clock, compute_threads));
  });
}

}  // namespace pipesim::engine
