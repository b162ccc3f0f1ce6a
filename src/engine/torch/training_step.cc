#include "engine/torch/training_step.h"

#include <ATen/autocast_mode.h>

#include <cmath>
#include <stdexcept>

#include "engine/torch/model_builder.h"

namespace pipesim::engine {
namespace {

using torch::Tensor;

/// Enables autocast to bf16 during its lifetime. Clears the cache of cast weights after each step,
/// because the next step has new weights.
class Autocast {
 public:
  Autocast(torch::DeviceType device, bool on) : device_(device), on_(on) {
    if (!on_) return;
    at::autocast::set_autocast_dtype(device_, torch::kBFloat16);
    at::autocast::set_autocast_enabled(device_, true);
    at::autocast::increment_nesting();
  }
  ~Autocast() {
    if (!on_) return;
    if (at::autocast::decrement_nesting() == 0) at::autocast::clear_cache();
    at::autocast::set_autocast_enabled(device_, false);
  }
  Autocast(const Autocast&) = delete;
  Autocast& operator=(const Autocast&) = delete;

 private:
  torch::DeviceType device_;
  bool on_;
};

std::vector<Tensor> ZerosLike(const std::vector<Tensor>& tensors) {
  std::vector<Tensor> zeros;
  for (const Tensor& tensor : tensors) zeros.push_back(torch::zeros_like(tensor));
  return zeros;
}

}  // namespace

torch::ScalarType TorchType(spec::DType dtype) {
  switch (dtype) {
    case spec::DType::kUint8:
      return torch::kByte;
    case spec::DType::kFloat32:
      return torch::kFloat;
    case spec::DType::kFloat16:
      return torch::kHalf;
    case spec::DType::kBfloat16:
      return torch::kBFloat16;
    case spec::DType::kInt64:
      return torch::kLong;
  }
  throw std::logic_error("a dtype that is not in the list");
}

std::vector<std::int64_t> BatchShape(const spec::Dataset& dataset, std::int64_t samples) {
  std::vector<std::int64_t> shape = {samples};
  shape.insert(shape.end(), dataset.shape.begin(), dataset.shape.end());
  return shape;
}

TrainingStep::TrainingStep(const spec::Experiment& experiment, torch::Device device)
    : device_(device), training_(experiment.training) {
  const auto& layers = experiment.model.layers;
  if (!layers.empty() && layers.front().kind == spec::LayerKind::kEmbedding)
    vocabulary_ = layers.front().vocab;
  torch::manual_seed(experiment.run.seed);
  // cuDNN's convolutions use TF32 by default, matrix products do not.
  if (device.is_cuda())
    at::globalContext().setAllowTF32CuBLAS(training_.precision == spec::Precision::kTf32);
  model_ = BuildModel(experiment.model, experiment.dataset.shape, experiment.dataset.classes);
  model_->to(device);
  parameter_count_ = ParameterCount(*model_);
  parameters_ = model_->parameters();
  if (training_.optimizer != spec::Optimizer::kSgd) first_moment_ = ZerosLike(parameters_);
  if (training_.optimizer == spec::Optimizer::kAdam) second_moment_ = ZerosLike(parameters_);
}

Tensor TrainingStep::Prepared(const Tensor& batch) const {
  if (vocabulary_ > 0) return batch.to(torch::kLong).remainder(vocabulary_);
  const Tensor numbers = batch.to(torch::kFloat);
  // (x / 255 − 0.5) / 0.5 in two in-place passes.
  return batch.scalar_type() == torch::kByte ? numbers.mul(1 / 127.5).sub_(1) : numbers;
}

Tensor TrainingStep::Forward(const Tensor& batch, const Tensor& labels) {
  const Autocast autocast(device_.type(), training_.precision == spec::Precision::kBf16);
  const Tensor scores = model_->forward(Prepared(batch));
  return torch::nn::functional::cross_entropy(scores.to(torch::kFloat), labels);
}

void TrainingStep::Backward(const Tensor& loss) const { loss.backward(); }

// PyTorch's multi-tensor optimizers, its default on a GPU: a few launches for any number of
// parameters. torch::optim would launch kernels per parameter.
void TrainingStep::Update() {
  const torch::NoGradGuard no_grad;
  std::vector<Tensor> gradients;
  gradients.reserve(parameters_.size());
  for (const Tensor& parameter : parameters_) gradients.push_back(parameter.grad());
  const double rate = training_.learning_rate;
  switch (training_.optimizer) {
    case spec::Optimizer::kSgd:
      at::_foreach_add_(parameters_, gradients, -rate);
      break;
    case spec::Optimizer::kMomentum:
      at::_foreach_mul_(first_moment_, 0.9);
      at::_foreach_add_(first_moment_, gradients, 1);
      at::_foreach_add_(parameters_, first_moment_, -rate);
      break;
    case spec::Optimizer::kAdam:
      UpdateAdam(gradients);
      break;
  }
  for (Tensor& parameter : parameters_) parameter.mutable_grad().reset();
}

// Kingma and Ba, "Adam", ICLR 2015, with its defaults.
void TrainingStep::UpdateAdam(const std::vector<Tensor>& gradients) {
  constexpr double kBeta1 = 0.9, kBeta2 = 0.999, kEpsilon = 1e-8;
  ++updates_;
  const double correction1 = 1 - std::pow(kBeta1, updates_);
  const double correction2 = 1 - std::pow(kBeta2, updates_);
  at::_foreach_lerp_(first_moment_, gradients, 1 - kBeta1);
  at::_foreach_mul_(second_moment_, kBeta2);
  at::_foreach_addcmul_(second_moment_, gradients, gradients, 1 - kBeta2);
  std::vector<Tensor> scale = at::_foreach_sqrt(second_moment_);
  at::_foreach_div_(scale, std::sqrt(correction2));
  at::_foreach_add_(scale, kEpsilon);
  at::_foreach_addcdiv_(parameters_, first_moment_, scale, -training_.learning_rate / correction1);
}

}  // namespace pipesim::engine
