#include "engine/torch/bench_loops.h"
#include "engine/torch/training_step.h"

namespace pipesim::engine {

// The same step as in a run, on one batch that stays on the device.
std::unique_ptr<BenchLoop> MakeStepLoop(const BenchRequest& request) {
  const torch::Device device = TorchDeviceOf(request.device);
  const spec::Dataset& dataset = request.experiment.dataset;
  auto step = std::make_shared<TrainingStep>(request.experiment, device);
  const torch::Tensor data = torch::rand(BatchShape(dataset, request.size))
                                 .mul_(255)
                                 .to(TorchType(dataset.dtype))
                                 .to(device);
  const torch::Tensor labels = torch::zeros({request.size}, torch::TensorOptions(torch::kLong).device(device));
  return Timed(request, [step, data, labels](std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i) {
      step->Backward(step->Forward(data, labels));
      step->Update();
    }
  });
}

}  // namespace pipesim::engine
