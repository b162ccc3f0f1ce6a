#include "engine/torch/model_builder.h"

#include <stdexcept>
#include <string>
#include <utility>

namespace pipesim::engine {
namespace {

using spec::Layer;
using spec::LayerKind;
using spec::Shape;
using torch::Tensor;

class GlobalAvgPoolImpl : public torch::nn::Module {
 public:
  Tensor forward(const Tensor& x) { return x.mean({2, 3}); }
};
TORCH_MODULE(GlobalAvgPool);

/// Mean over the tokens.
class TokenMeanImpl : public torch::nn::Module {
 public:
  Tensor forward(const Tensor& x) { return x.mean(1); }
};
TORCH_MODULE(TokenMean);

/// A learned position embedding per token. Initial values N(0, 0.02²) as in BERT (Devlin et al.,
/// 2019).
class PositionalImpl : public torch::nn::Module {
 public:
  explicit PositionalImpl(const Shape& input)
      : position_(register_parameter("position", torch::randn(input) * 0.02)) {}
  Tensor forward(const Tensor& x) { return x + position_; }

 private:
  Tensor position_;
};
TORCH_MODULE(Positional);

/// Multi-head self-attention: one projection to queries, keys and values, one for the output.
class AttentionImpl : public torch::nn::Module {
 public:
  AttentionImpl(std::int64_t width, std::int64_t heads, bool bias)
      : heads_(heads),
        in_(register_module(
            "in", torch::nn::Linear(torch::nn::LinearOptions(width, 3 * width).bias(bias)))),
        out_(register_module(
            "out", torch::nn::Linear(torch::nn::LinearOptions(width, width).bias(bias)))) {}

  Tensor forward(const Tensor& x) {
    const std::int64_t samples = x.size(0), tokens = x.size(1), width = x.size(2);
    const Tensor projected =
        in_(x).view({samples, tokens, 3, heads_, width / heads_}).permute({2, 0, 3, 1, 4});
    const Tensor mixed = at::scaled_dot_product_attention(projected[0], projected[1], projected[2]);
    return out_(mixed.transpose(1, 2).reshape({samples, tokens, width}));
  }

 private:
  std::int64_t heads_;
  torch::nn::Linear in_, out_;
};
TORCH_MODULE(Attention);

class ResidualImpl : public torch::nn::Module {
 public:
  /// An empty `shortcut` is the identity.
  ResidualImpl(torch::nn::Sequential body, torch::nn::Sequential shortcut)
      : body_(register_module("body", std::move(body))),
        shortcut_(register_module("shortcut", std::move(shortcut))) {}
  Tensor forward(const Tensor& x) {
    return body_->forward(x) + (shortcut_->is_empty() ? x : shortcut_->forward(x));
  }

 private:
  torch::nn::Sequential body_, shortcut_;
};
TORCH_MODULE(Residual);

torch::nn::Sequential Build(const std::vector<Layer>& layers, Shape shape);

void Append(torch::nn::Sequential& to, const Layer& layer, const Shape& in) {
  namespace nn = torch::nn;
  switch (layer.kind) {
    case LayerKind::kFlatten:
      return to->push_back(nn::Flatten());
    case LayerKind::kLinear:
      return to->push_back(nn::Linear(nn::LinearOptions(in.back(), layer.out).bias(layer.bias)));
    case LayerKind::kConv2d:
      return to->push_back(nn::Conv2d(nn::Conv2dOptions(in.front(), layer.out, layer.kernel)
                                          .stride(layer.stride)
                                          .padding(layer.padding)
                                          .groups(layer.groups)
                                          .bias(layer.bias)));
    case LayerKind::kBatchNorm2d:
      return to->push_back(nn::BatchNorm2d(in.front()));
    case LayerKind::kLayerNorm:
      return to->push_back(nn::LayerNorm(nn::LayerNormOptions({in.back()})));
    case LayerKind::kRelu:
      return to->push_back(nn::ReLU());
    case LayerKind::kGelu:
      return to->push_back(nn::GELU());
    case LayerKind::kMaxPool2d:
      return to->push_back(nn::MaxPool2d(
          nn::MaxPool2dOptions(layer.kernel).stride(layer.stride).padding(layer.padding)));
    case LayerKind::kAvgPool2d:
      return to->push_back(nn::AvgPool2d(
          nn::AvgPool2dOptions(layer.kernel).stride(layer.stride).padding(layer.padding)));
    case LayerKind::kGlobalAvgPool:
      return to->push_back(GlobalAvgPool());
    case LayerKind::kDropout:
      return to->push_back(nn::Dropout(layer.p));
    case LayerKind::kEmbedding:
      return to->push_back(nn::Embedding(layer.vocab, layer.out));
    case LayerKind::kPositional:
      return to->push_back(Positional(in));
    case LayerKind::kAttention:
      return to->push_back(Attention(in.back(), layer.heads, layer.bias));
    case LayerKind::kMean:
      return to->push_back(TokenMean());
    case LayerKind::kResidual:
      return to->push_back(Residual(Build(layer.body, in), Build(layer.shortcut, in)));
  }
  throw std::logic_error("a layer kind that is not in the list");
}

torch::nn::Sequential Build(const std::vector<Layer>& layers, Shape shape) {
  torch::nn::Sequential built;
  for (const Layer& layer : layers) {
    Append(built, layer, shape);
    shape = spec::OutputOf(layer, shape);
  }
  return built;
}

}  // namespace

torch::nn::Sequential BuildModel(const spec::Model& model, const Shape& input,
                                 std::int64_t classes) {
  const auto costs = spec::CostsOf(model, input);  // checks every layer against its input
  const Shape output = costs.empty() ? input : costs.back().out;
  if (output.size() != 1 || output.front() < classes)
    throw std::invalid_argument("model " + model.name + " ends in " + spec::ToText(output) +
                                ", not one score for each of " + std::to_string(classes) +
                                " classes");
  torch::nn::Sequential built = Build(model.layers, input);
  built->train();
  return built;
}

std::int64_t ParameterCount(const torch::nn::Module& module) {
  std::int64_t count = 0;
  for (const Tensor& parameter : module.parameters()) count += parameter.numel();
  return count;
}

}  // namespace pipesim::engine
