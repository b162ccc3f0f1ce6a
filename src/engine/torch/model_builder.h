// Builds a LibTorch module from a list of layers. Trains nothing.
#pragma once

#include <torch/torch.h>

#include <cstdint>

#include "spec/model.h"

namespace pipesim::engine {

/// The model for batches of samples of shape `input`, on the CPU, in training mode, with LibTorch's
/// default initial weights from its default generator (seed it first). Throws std::invalid_argument
/// naming the layer whose input does not fit, or when the output is not a list of at least
/// `classes` scores.
torch::nn::Sequential BuildModel(const spec::Model& model, const spec::Shape& input,
                                 std::int64_t classes);

/// Trainable values in the module, without running statistics.
std::int64_t ParameterCount(const torch::nn::Module& module);

}  // namespace pipesim::engine
