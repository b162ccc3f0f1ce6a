// A model as a list of layers, as written in models/*.yaml. LibTorch builds it, the roofline counts
// it. Knows shapes, parameters, FLOPs and bytes; runs nothing.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/units.h"

namespace pipesim::spec {

/// Without the batch dimension: {3, 224, 224}, {784}, {128} (tokens).
using Shape = std::vector<std::int64_t>;
std::int64_t Elements(const Shape& shape);
std::string ToText(const Shape& shape);  ///< "3x224x224"

enum class DType { kUint8, kFloat32, kFloat16, kBfloat16, kInt64 };
std::int64_t SizeOf(DType dtype);  ///< bytes of one element

enum class LayerKind {
  kFlatten,
  kLinear,  // out, bias
  kConv2d,  // out, kernel, stride, padding, groups, bias
  kBatchNorm2d,
  kLayerNorm,
  kRelu,
  kGelu,
  kMaxPool2d,      // kernel, stride, padding
  kAvgPool2d,      // kernel, stride, padding
  kGlobalAvgPool,  // CxHxW -> C
  kDropout,        // p
  kEmbedding,      // vocab, out: T tokens -> T x out
  kPositional,     // adds a learned position: T x D -> T x D
  kAttention,      // heads: multi-head self-attention T x D -> T x D
  kMean,           // T x D -> D
  kResidual,       // body, shortcut (empty = identity): body(x) + shortcut(x)
};

/// One layer. Only the fields listed for its kind above are set; spec rejects others.
struct Layer {
  LayerKind kind = LayerKind::kFlatten;
  std::int64_t out = 0;  ///< linear: 0 means as many as classes, not known yet
  std::int64_t kernel = 0, stride = 1, padding = 0, groups = 1;
  std::int64_t vocab = 0, heads = 0;
  double p = 0;
  bool bias = true;
  std::vector<Layer> body{}, shortcut{};
  bool operator==(const Layer&) const = default;
};

/// Cost of one layer for one sample. Composite layers are flattened into their parts.
struct LayerCost {
  std::string name;  ///< "conv2d 64 7x7/2", for tables
  Shape in, out;
  std::int64_t parameters = 0;
  double forward_flops = 0;       ///< a multiply-add counts as two
  std::int64_t elements_in = 0;   ///< activation elements read in the forward pass
  std::int64_t elements_out = 0;  ///< activation elements written, kept for the backward pass
  bool convolution = false;       ///< cuDNN's, which use TF32 by default
  int forward_launches = 0;       ///< kernels launched by the forward pass in eager mode
};

struct Model {
  std::string name{};
  std::string reference{};    ///< `model.name`: a name or a file; empty: layers given inline
  std::string source{};       ///< where the architecture was published
  std::vector<Layer> layers;  ///< `repeat` is expanded when read; a final linear gives `classes`
  bool operator==(const Model&) const = default;
};

/// The cost of each layer for samples of shape `input`. Throws std::invalid_argument naming the
/// layer (index and kind) whose input shape does not fit.
std::vector<LayerCost> CostsOf(const Model& model, const Shape& input);
/// Of one layer of a model whose costs were found. Throws std::invalid_argument.
Shape OutputOf(const Layer& layer, const Shape& input);

}  // namespace pipesim::spec
