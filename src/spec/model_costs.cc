// Cost of each layer: shapes, parameters, FLOPs, activation elements, launches.
//
// Sources. Parameters: PyTorch's modules (torch.nn documentation). FLOPs of convolutions and matrix
// products: 2 x multiply-accumulates without bias adds, as in torchvision's published figures. Per
// element: normalisation 7 (mean 1, variance 2, normalise 2, scale and shift 2), softmax 5 (max,
// subtract, exp, sum, divide), GELU 8. The per-element figures hardly matter: those layers are
// memory-bound on every device.
#include <cmath>
#include <stdexcept>

#include "spec/model.h"
#include "spec/model_layers.h"

namespace pipesim::spec {
namespace {

/// Keep products of sizes within 64 bits; far above any real model.
constexpr std::int64_t kMostElements = std::int64_t{1} << 40;
constexpr double kMostParameters = 1e15;
constexpr double kFlopsPerMac = 2;

using Costs = std::vector<LayerCost>;

Shape Walk(const std::vector<Layer>& layers, Shape shape, const std::string& where, Costs& costs);

[[noreturn]] void DoesNotFit(const std::string& why) { throw std::invalid_argument(why); }

void NeedRank(const Shape& in, std::size_t rank, const char* form) {
  if (in.size() != rank) {
    DoesNotFit("takes " + std::string(form) + ", not " + (in.empty() ? "a scalar" : ToText(in)));
  }
}

std::int64_t CheckedElements(const Shape& shape) {
  double product = 1;
  for (const std::int64_t size : shape) product *= static_cast<double>(size);
  if (!(product <= static_cast<double>(kMostElements))) {
    DoesNotFit("produces " + ToText(shape) + ", which is too large");
  }
  return Elements(shape);
}

/// Output size of a sliding window, as torch.nn.Conv2d states it (dilation 1, rounded down).
std::int64_t Windows(std::int64_t in, const Layer& layer) {
  const std::int64_t room = in + 2 * layer.padding - layer.kernel;
  if (room < 0) {
    DoesNotFit("has a " + std::to_string(layer.kernel) + "-wide window and only " +
               std::to_string(in + 2 * layer.padding) + " elements to slide it over");
  }
  return room / layer.stride + 1;
}

/// A layer that reads its input and writes its output once, in one kernel.
LayerCost OneKernel(const Shape& in, Shape out) {
  LayerCost cost;
  cost.in = in;
  cost.out = std::move(out);
  cost.elements_in = CheckedElements(cost.in);
  cost.elements_out = CheckedElements(cost.out);
  cost.forward_launches = 1;
  return cost;
}

LayerCost Elementwise(const Shape& in, double flops_per_element) {
  LayerCost cost = OneKernel(in, in);
  cost.forward_flops = flops_per_element * static_cast<double>(cost.elements_out);
  return cost;
}

LayerCost FlattenCost(const Shape& in) {
  LayerCost cost = OneKernel(in, {CheckedElements(in)});
  cost.elements_in = cost.elements_out = 0;  // a view: nothing moves
  cost.forward_launches = 0;
  return cost;
}

LayerCost LinearCost(const Layer& layer, const Shape& in) {
  if (in.empty()) NeedRank(in, 1, "D or TxD");
  if (layer.out <= 0) DoesNotFit("has as many outputs as classes, which are not known yet");
  Shape out = in;
  out.back() = layer.out;
  LayerCost cost = OneKernel(in, out);
  cost.parameters = in.back() * layer.out + (layer.bias ? layer.out : 0);
  cost.forward_flops =
      kFlopsPerMac * static_cast<double>(cost.elements_in) * static_cast<double>(layer.out);
  return cost;
}

LayerCost Conv2dCost(const Layer& layer, const Shape& in) {
  NeedRank(in, 3, "CxHxW");
  if (in[0] % layer.groups != 0 || layer.out % layer.groups != 0) {
    DoesNotFit("has " + std::to_string(layer.groups) + " groups, which do not divide its " +
               std::to_string(in[0]) + " input and " + std::to_string(layer.out) +
               " output channels");
  }
  LayerCost cost = OneKernel(in, {layer.out, Windows(in[1], layer), Windows(in[2], layer)});
  cost.convolution = true;
  const std::int64_t taps = in[0] / layer.groups * layer.kernel * layer.kernel;
  cost.parameters = taps * layer.out + (layer.bias ? layer.out : 0);
  cost.forward_flops =
      kFlopsPerMac * static_cast<double>(cost.elements_out) * static_cast<double>(taps);
  cost.forward_launches = layer.bias ? 2 : 1;  // cuDNN's convolution, then the bias
  return cost;
}

LayerCost PoolCost(const Layer& layer, const Shape& in) {
  NeedRank(in, 3, "CxHxW");
  if (2 * layer.padding > layer.kernel) DoesNotFit("has padding over half its kernel");
  LayerCost cost = OneKernel(in, {in[0], Windows(in[1], layer), Windows(in[2], layer)});
  cost.forward_flops =
      static_cast<double>(cost.elements_out) * static_cast<double>(layer.kernel * layer.kernel);
  return cost;
}

LayerCost NormCost(const Layer& layer, const Shape& in) {
  const bool batch = layer.kind == LayerKind::kBatchNorm2d;
  if (batch) NeedRank(in, 3, "CxHxW");
  if (in.empty()) NeedRank(in, 1, "D or TxD");
  LayerCost cost = Elementwise(in, 7);
  cost.parameters = 2 * (batch ? in.front() : in.back());
  return cost;
}

/// Reduces all but `keep` of the input's sizes to their mean.
LayerCost MeanCost(const Shape& in, std::size_t rank, const char* form, std::size_t keep) {
  NeedRank(in, rank, form);
  LayerCost cost = OneKernel(in, {in[keep]});
  cost.forward_flops = static_cast<double>(cost.elements_in);
  return cost;
}

LayerCost EmbeddingCost(const Layer& layer, const Shape& in) {
  NeedRank(in, 1, "T tokens");
  LayerCost cost = OneKernel(in, {in[0], layer.out});
  cost.elements_in = cost.elements_out;  // the rows it looks up
  cost.parameters = layer.vocab * layer.out;
  return cost;
}

LayerCost PositionalCost(const Shape& in) {
  NeedRank(in, 2, "TxD");
  LayerCost cost = Elementwise(in, 1);
  cost.parameters = cost.elements_in;
  return cost;
}

/// Q, K, V and output projections (4 D^2 + 4 D parameters, torch.nn.MultiheadAttention), and two
/// products of T x T x D with a softmax over heads x T x T between them.
LayerCost AttentionCost(const Layer& layer, const Shape& in) {
  NeedRank(in, 2, "TxD");
  const std::int64_t d = in[1];
  if (d % layer.heads != 0) {
    DoesNotFit("has " + std::to_string(layer.heads) + " heads, which do not divide " +
               std::to_string(d));
  }
  LayerCost cost = OneKernel(in, in);
  const auto tokens = static_cast<double>(in[0]);
  const auto width = static_cast<double>(d);
  cost.parameters = 4 * d * d + 4 * d;
  cost.forward_flops = kFlopsPerMac * (4 * tokens * width * width + 2 * tokens * tokens * width) +
                       5 * static_cast<double>(layer.heads) * tokens * tokens;
  cost.elements_in = 5 * Elements(in);   // x; q, k, v; the heads' result
  cost.elements_out = 5 * Elements(in);  // q, k, v; the heads' result; the output
  cost.forward_launches = 4;  // projection, fused attention, copy of its transpose, output
  return cost;
}

LayerCost PlainCost(const Layer& layer, const Shape& in) {
  switch (layer.kind) {
    case LayerKind::kFlatten:
      return FlattenCost(in);
    case LayerKind::kLinear:
      return LinearCost(layer, in);
    case LayerKind::kConv2d:
      return Conv2dCost(layer, in);
    case LayerKind::kBatchNorm2d:
    case LayerKind::kLayerNorm:
      return NormCost(layer, in);
    case LayerKind::kRelu:
      return Elementwise(in, 1);
    case LayerKind::kGelu:
      return Elementwise(in, 8);
    case LayerKind::kMaxPool2d:
    case LayerKind::kAvgPool2d:
      return PoolCost(layer, in);
    case LayerKind::kGlobalAvgPool:
      return MeanCost(in, 3, "CxHxW", 0);
    case LayerKind::kDropout:
      return Elementwise(in, 2);
    case LayerKind::kEmbedding:
      return EmbeddingCost(layer, in);
    case LayerKind::kPositional:
      return PositionalCost(in);
    case LayerKind::kAttention:
      return AttentionCost(layer, in);
    case LayerKind::kMean:
      return MeanCost(in, 2, "TxD", 1);
    case LayerKind::kResidual:
      break;
  }
  throw std::logic_error("a residual is not a plain layer");
}

Shape WalkResidual(const Layer& layer, const Shape& in, const std::string& where, Costs& costs) {
  const Shape body = Walk(layer.body, in, where + ", body layer ", costs);
  const Shape shortcut = Walk(layer.shortcut, in, where + ", shortcut layer ", costs);
  if (body != shortcut) {
    throw std::invalid_argument(where + ": its body produces " + ToText(body) +
                                " and its shortcut " + ToText(shortcut) +
                                "; they must match to be added");
  }
  LayerCost add = OneKernel(body, body);
  add.name = "add";
  add.forward_flops = static_cast<double>(add.elements_out);
  add.elements_in *= 2;
  costs.push_back(std::move(add));
  return body;
}

Shape Walk(const std::vector<Layer>& layers, Shape shape, const std::string& where, Costs& costs) {
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const Layer& layer = layers[i];
    const auto here = [&] {
      return where + std::to_string(i + 1) + " (" + DescribeLayer(layer) + ")";
    };
    if (layer.kind == LayerKind::kResidual) {
      shape = WalkResidual(layer, shape, here(), costs);
      continue;
    }
    try {
      costs.push_back(PlainCost(layer, shape));
      costs.back().name = DescribeLayer(layer);
    } catch (const std::invalid_argument& error) {
      throw std::invalid_argument(here() + " " + error.what());
    }
    shape = costs.back().out;
  }
  return shape;
}

}  // namespace

Shape OutputOf(const Layer& layer, const Shape& input) {
  if (layer.kind != LayerKind::kResidual) return PlainCost(layer, input).out;
  Shape output = input;
  for (const Layer& part : layer.body) output = OutputOf(part, output);
  return output;
}

std::vector<LayerCost> CostsOf(const Model& model, const Shape& input) {
  Costs costs;
  Walk(model.layers, input, "layer ", costs);
  double parameters = 0;
  for (const LayerCost& cost : costs) parameters += static_cast<double>(cost.parameters);
  if (parameters > kMostParameters)
    throw std::invalid_argument("the model has over 1e15 parameters");
  return costs;
}

}  // namespace pipesim::spec
