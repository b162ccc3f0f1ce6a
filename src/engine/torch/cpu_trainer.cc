#include "engine/torch/cpu_trainer.h"

#include <torch/torch.h>

#include <algorithm>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "base/cpus.h"
#include "base/stats.h"
#include "engine/torch/errors.h"
#include "engine/torch/threads.h"
#include "engine/torch/training_step.h"

namespace pipesim::engine {

namespace {

/// Total time spent repeating steps for one figure, and the longest step that is repeated.
constexpr double kMeasure_s = 0.2, kLongest_s = 0.5;

class CpuTrainer final : public Trainer {
 public:
  CpuTrainer(const spec::Experiment& experiment, const base::Clock& clock, int compute_threads)
      : clock_(clock),
        dataset_(experiment.dataset),
        batch_size_(experiment.loader.batch_size),
        threads_(compute_threads),
        step_(experiment, torch::kCPU),
        done_(static_cast<std::size_t>(experiment.device.in_flight), {-1, {}}) {}

  TrainerInfo info() const override {
    TrainerInfo info;
    info.device = spec::DeviceId::Cpu();
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

  std::optional<StepAlone> MeasureStepAlone() override {
    const double step_s = base::ToSeconds(last_);
    if (step_s <= 0 || step_s > kLongest_s) return std::nullopt;
    StepAlone alone;
    const base::Duration cpu_begin = base::ProcessCpuTime();
    int steps = 0;
    alone.time = TimeSteps(step_s, [this] { return clock_.Now().time_since_epoch(); }, &steps);
    alone.cpu = (base::ProcessCpuTime() - cpu_begin) / steps;
    // No longer than all threads' CPU time together, which holds the work and their spinning.
    const double one_s = std::min(base::ToSeconds(alone.time) * threads_.effective(),
                                  base::ToSeconds(*alone.cpu));
    if (threads_.effective() > 1 && one_s <= kLongest_s) {
      const ComputeThreads one(1);
      // One thread's CPU time leaves out its waiting for a core that another program has.
      alone.on_one_thread = TimeSteps(one_s, base::ThreadCpuTime, &steps);
    }
    return alone;
  }

 private:
  /// Median time of a full step by `now`, expected to take `expected_s`, after one untimed step. The
  /// median hides disturbances by other programs. `steps`: all that were made.
  template <class Now>  // Now: () -> Duration
  base::Duration TimeSteps(double expected_s, Now now, int* steps) {
    const auto data =
        torch::rand(BatchShape(dataset_, batch_size_)).mul_(255).to(TorchType(dataset_.dtype));
    const auto labels = torch::zeros({batch_size_}, torch::kLong);
    const auto step = [&] {
      step_.Backward(step_.Forward(data, labels));
      step_.Update();
    };
    step();
    const int times = std::clamp(static_cast<int>(kMeasure_s / expected_s), 1, 200);
    std::vector<double> took_s;
    for (int i = 0; i < times; ++i) {
      const base::Duration begin = now();
      step();
      took_s.push_back(base::ToSeconds(now() - begin));
    }
    *steps = times + 1;
    return base::FromSeconds(base::Quantile(std::move(took_s), 0.5).value());
  }

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
    loss = loss.detach();  // frees the activations now, not in the next step
    timer.Enter(trace::State::kOptimizer);
    step_.Update();
    done.end = clock_.Now();
    last_ = done.end - done.begin;
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
  std::int64_t batch_size_;
  ComputeThreads threads_;
  TrainingStep step_;
  base::Duration last_{};  ///< time of the last step
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
