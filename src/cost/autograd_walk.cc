#include "cost/autograd_walk.h"

#include <algorithm>
#include <array>
#include <functional>
#include <stdexcept>
#include <utility>
#include <vector>

namespace pipesim::cost {
namespace {

using spec::Layer;
using spec::LayerKind;
using spec::Shape;

constexpr double kFp32Bytes = 4, kBf16Bytes = 2, kInt64Bytes = 8, kMaskBytes = 1;

/// An activation of one batch.
struct Activation {
  int block = -1;
  double elements = 0, element_bytes = kFp32Bytes;
  bool tracked = false;  ///< has a gradient
  double Bytes() const { return elements * element_bytes; }
};

/// A function of the autograd graph: `run` takes the block of its output's gradient and returns that
/// of its input's, or -1 where the input has none; then what was kept is given back.
struct Node {
  std::function<int(int gradient)> run;
  std::vector<int> kept;
};
using Graph = std::vector<Node>;

/// The batch as the first layer takes it: bytes are cast and normalised, tokens brought within the
/// vocabulary (engine/torch/training_step.cc).
Activation PreparedInput(const spec::Experiment& experiment, DeviceHeap& heap) {
  const spec::Dataset& dataset = experiment.dataset;
  const double elements = static_cast<double>(spec::Elements(dataset.shape)) *
                          static_cast<double>(experiment.loader.batch_size);
  const auto& layers = experiment.model.layers;
  const bool tokens = !layers.empty() && layers.front().kind == LayerKind::kEmbedding;
  const double element_bytes = tokens ? kInt64Bytes : kFp32Bytes;
  const bool casts = tokens ? dataset.dtype != spec::DType::kInt64 : dataset.dtype != spec::DType::kFloat32;
  const bool twice = tokens || dataset.dtype == spec::DType::kUint8;  // the cast, then arithmetic on it
  const int cast = casts ? heap.New(elements * element_bytes, kActivations) : -1;
  Activation x{-1, elements, element_bytes, false};
  if (twice || !casts) {
    x.block = heap.New(twice ? elements * element_bytes : 0, kActivations);
    if (casts) heap.Release(cast);
  } else {
    x.block = cast;
  }
  return x;
}

}  // namespace

class AutogradWalk::Walker {
 public:
  Walker(const spec::Experiment& experiment, bool copies_convolutions, DeviceHeap& heap)
      : batch_(static_cast<double>(experiment.loader.batch_size)),
        bf16_(experiment.training.precision == spec::Precision::kBf16),
        optimizer_(experiment.training.optimizer),
        copies_convolutions_(copies_convolutions),
        heap_(heap) {}

  /// The layers in order; takes over the hold on `x`.
  std::pair<Activation, Graph> Forward(const std::vector<Layer>& layers, Activation x, Shape shape) {
    Graph graph;
    for (const Layer& layer : layers) {
      Shape out = spec::OutputOf(layer, shape);
      x = layer.kind == LayerKind::kResidual ? Residual(layer, x, shape, graph)
                                             : Apply(layer, x, shape, out, graph);
      shape = std::move(out);
    }
    return {x, std::move(graph)};
  }

  /// Runs the graph backwards from its output's gradient; returns its input's.
  int Backward(Graph& graph, int gradient) {
    for (auto node = graph.rbegin(); node != graph.rend(); ++node) {
      if (gradient < 0) throw std::logic_error("a gradient is missing");
      gradient = node->run(gradient);
      for (const int block : node->kept) heap_.Release(block);
    }
    return gradient;
  }

  /// Mean cross entropy of the scores; takes over the hold on them.
  void Loss(Activation scores, Graph& graph) {
    scores = InFp32(scores, graph);
    const int log_softmax = heap_.New(scores.elements * kFp32Bytes, kActivations);
    AddGradientNode(graph, scores, {log_softmax});
    heap_.Release(scores.block);
  }

  bool multiplies() const { return multiplies_; }
  /// The optimizer's copy of all parameters for its square roots (_foreach_sqrt).
  void Update() {
    if (optimizer_ == spec::Optimizer::kAdam) heap_.Touch(parameter_bytes_, kState);
    for (const int gradient : gradients_) heap_.Release(gradient);
    gradients_.clear();
  }
  /// Parameters exist before the first step.
  void AddParameters(const std::vector<Layer>& layers, Shape shape) {
    for (const Layer& layer : layers) {
      if (layer.kind == LayerKind::kResidual) {
        AddParameters(layer.body, shape);
        AddParameters(layer.shortcut, shape);
      } else {
        for (const double elements : ParametersOf(layer, shape)) AddParameter(elements);
        if (layer.kind == LayerKind::kBatchNorm2d)  // running mean and variance, a counter
          for (const double bytes : {4.0 * Front(shape), 4.0 * Front(shape), 8.0})
            heap_.New(bytes, kParameters);
      }
      shape = spec::OutputOf(layer, shape);
    }
  }

 private:
  static double Count(std::int64_t n) { return static_cast<double>(n); }
  static double Front(const Shape& shape) { return Count(shape.front()); }

  /// Elements of each tensor of parameters.
  static std::vector<double> ParametersOf(const Layer& layer, const Shape& in) {
    const double out = Count(layer.out), width = in.empty() ? 0 : Count(in.back());
    std::vector<double> sizes;
    const auto with_bias = [&](double weight, double bias) {
      sizes.push_back(weight);
      if (layer.bias) sizes.push_back(bias);
    };
    switch (layer.kind) {
      case LayerKind::kLinear:
        with_bias(width * out, out);
        break;
      case LayerKind::kConv2d:
        with_bias(Front(in) / Count(layer.groups) * out * Count(layer.kernel * layer.kernel), out);
        break;
      case LayerKind::kBatchNorm2d:
        return {Front(in), Front(in)};
      case LayerKind::kLayerNorm:
        return {width, width};
      case LayerKind::kEmbedding:
        return {Count(layer.vocab) * out};
      case LayerKind::kPositional:
        return {Count(spec::Elements(in))};
      case LayerKind::kAttention:
        with_bias(3 * width * width, 3 * width);
        with_bias(width * width, width);
        break;
      default:
        break;
    }
    return sizes;
  }

  void AddParameter(double elements) {
    parameter_bytes_ += elements * kFp32Bytes;
    heap_.New(elements * kFp32Bytes, kParameters);
    const int copies = optimizer_ == spec::Optimizer::kSgd ? 0 : optimizer_ == spec::Optimizer::kAdam ? 2 : 1;
    for (int i = 0; i < copies; ++i) heap_.New(elements * kFp32Bytes, kState);
  }

  void AddGradients(const std::vector<double>& parameters) {
    for (const double elements : parameters)
      gradients_.push_back(heap_.New(elements * kFp32Bytes, kGradients));
  }

  Activation NewActivation(double elements, double element_bytes) {
    return {heap_.New(elements * element_bytes, kActivations), elements, element_bytes, true};
  }

  /// A node whose input's gradient is a new tensor of the input's size, made with `workspace`.
  void AddGradientNode(Graph& graph, const Activation& x, std::vector<int> kept,
                       std::vector<double> parameters = {}, double workspace = 0) {
    graph.push_back({[this, x, parameters = std::move(parameters), workspace](int gradient) {
                       const int own = x.tracked ? heap_.New(x.Bytes(), kActivations) : -1;
                       AddGradients(parameters);
                       heap_.Touch(workspace, kWorkspaces);
                       heap_.Release(gradient);
                       return own;
                     },
                     std::move(kept)});
  }

  /// `x` cast to another precision where it has another; takes over the hold on `x`.
  Activation Cast(const Activation& x, double element_bytes, Graph& graph) {
    if (x.element_bytes == element_bytes) return x;
    Activation cast = NewActivation(x.elements, element_bytes);
    cast.tracked = x.tracked;
    if (x.tracked) AddGradientNode(graph, x, {});
    heap_.Release(x.block);
    return cast;
  }
  Activation InFp32(const Activation& x, Graph& graph) { return Cast(x, kFp32Bytes, graph); }
  Activation ForProducts(const Activation& x, Graph& graph) {
    return bf16_ ? Cast(x, kBf16Bytes, graph) : x;
  }
  /// bf16 copies of weights, which autocast keeps until the backward pass is through with them.
  std::vector<int> WeightCopies(const std::vector<double>& parameters) {
    std::vector<int> copies;
    for (const double elements : parameters)
      if (bf16_) copies.push_back(heap_.New(elements * kBf16Bytes, kActivations));
    return copies;
  }

  /// A product with weights: keeps its input. Takes over the hold on `x`.
  Activation Product(Activation x, double elements_out, const std::vector<double>& parameters,
                     double workspace, Graph& graph) {
    x = ForProducts(x, graph);
    std::vector<int> kept = WeightCopies(parameters);
    const Activation out = NewActivation(elements_out, x.element_bytes);
    heap_.Touch(workspace, kWorkspaces);
    kept.push_back(x.block);  // the hold goes over to the graph
    AddGradientNode(graph, x, std::move(kept), parameters, workspace);
    return out;
  }

  /// Operands in channels-last order: of a convolution, a gradient, and weights.
  double ConvolutionWorkspace(double in, double out, const std::vector<double>& parameters) const {
    if (!copies_convolutions_) return 0;
    return (in + out + parameters.front()) * (bf16_ ? kBf16Bytes : kFp32Bytes);
  }

  /// One layer; takes over the hold on `x`. Which tensors a function keeps: PyTorch,
  /// tools/autograd/derivatives.yaml.
  Activation Apply(const Layer& layer, Activation x, const Shape& in, const Shape& out,
                   Graph& graph) {
    const double out_elements = Count(spec::Elements(out)) * batch_;
    const std::vector<double> parameters = ParametersOf(layer, in);
    switch (layer.kind) {
      case LayerKind::kFlatten:
        return x;  // a view
      case LayerKind::kLinear:
        multiplies_ = true;
        return Product(x, out_elements, parameters, 0, graph);
      case LayerKind::kConv2d:
        return Product(x, out_elements, parameters,
                       ConvolutionWorkspace(x.elements, out_elements, parameters), graph);
      case LayerKind::kBatchNorm2d:
        return KeepsInput(x, out_elements, parameters, 2 * Front(in), graph);
      case LayerKind::kLayerNorm:
        return KeepsInput(InFp32(x, graph), out_elements, parameters, 2 * x.elements / Count(in.back()),
                          graph);
      case LayerKind::kGelu:
      case LayerKind::kAvgPool2d:
        return KeepsInput(x, out_elements, {}, 0, graph);
      case LayerKind::kMaxPool2d:  // and the positions of the maxima
        return KeepsInput(x, out_elements, {}, out_elements * kInt64Bytes / kFp32Bytes, graph);
      case LayerKind::kRelu:
        return Relu(x, graph);
      case LayerKind::kDropout:
        return Dropout(x, graph);
      case LayerKind::kGlobalAvgPool:
      case LayerKind::kMean:
        return Mean(x, out_elements, graph);
      case LayerKind::kEmbedding:
        return Embedding(x, out_elements, parameters, graph);
      case LayerKind::kPositional:
        return Positional(x, parameters, graph);
      case LayerKind::kAttention:
        return Attention(layer, x, in, parameters, graph);
      case LayerKind::kResidual:
        break;
    }
    throw std::logic_error("a residual is not one function");
  }

  /// `statistics`: fp32 values that are kept, too.
  Activation KeepsInput(const Activation& x, double out_elements, std::vector<double> parameters,
                        double statistics, Graph& graph) {
    Activation out = NewActivation(out_elements, x.element_bytes);
    out.tracked = x.tracked || !parameters.empty();
    std::vector<int> kept{x.block};
    if (statistics > 0) kept.push_back(heap_.New(statistics * kFp32Bytes, kActivations));
    if (out.tracked)
      AddGradientNode(graph, x, std::move(kept), std::move(parameters));
    else
      for (const int block : kept) heap_.Release(block);
    return out;
  }

  Activation Relu(const Activation& x, Graph& graph) {
    Activation out = NewActivation(x.elements, x.element_bytes);
    out.tracked = x.tracked;
    if (x.tracked) AddGradientNode(graph, x, {heap_.Hold(out.block)});
    heap_.Release(x.block);
    return out;
  }

  Activation Dropout(const Activation& x, Graph& graph) {
    Activation out = NewActivation(x.elements, x.element_bytes);
    out.tracked = x.tracked;
    const int mask = heap_.New(x.elements * kMaskBytes, kActivations);
    if (x.tracked)
      AddGradientNode(graph, x, {mask});
    else
      heap_.Release(mask);
    heap_.Release(x.block);
    return out;
  }

  Activation Mean(const Activation& x, double out_elements, Graph& graph) {
    Activation out = NewActivation(out_elements, x.element_bytes);
    out.tracked = x.tracked;
    if (x.tracked) AddGradientNode(graph, x, {});
    heap_.Release(x.block);
    return out;
  }

  Activation Embedding(const Activation& x, double out_elements, std::vector<double> parameters,
                       Graph& graph) {
    AddGradientNode(graph, x, {x.block}, std::move(parameters));
    return NewActivation(out_elements, kFp32Bytes);
  }

  /// The gradient of a sum is passed on as it is.
  Activation Positional(const Activation& x, std::vector<double> parameters, Graph& graph) {
    const Activation out = NewActivation(x.elements, kFp32Bytes);
    graph.push_back({[this, tracked = x.tracked, parameters = std::move(parameters)](int gradient) {
                       AddGradients(parameters);
                       if (tracked) return gradient;
                       heap_.Release(gradient);
                       return -1;
                     },
                     {}});
    heap_.Release(x.block);
    return out;
  }

  /// Fused attention keeps the projection, of which queries, keys and values are views, its result
  /// and a sum for each row of scores.
  Activation Attention(const Layer& layer, Activation x, const Shape& in,
                       const std::vector<double>& parameters, Graph& graph) {
    multiplies_ = true;
    const double elements = x.elements;
    const std::size_t each = layer.bias ? 2 : 1;
    const auto half = parameters.begin() + static_cast<std::ptrdiff_t>(each);
    const Activation projected =
        Product(x, 3 * elements, {parameters.begin(), half}, 0, graph);
    const Activation heads = NewActivation(elements, projected.element_bytes);
    const int rows = heap_.New(Count(layer.heads) * elements / Count(in.back()) * kFp32Bytes, kActivations);
    graph.push_back({[this, heads, projected](int gradient) { return AttentionBackward(gradient, heads, projected); },
                     {projected.block, heap_.Hold(heads.block), rows}});
    return Product(heads, elements, {half, parameters.end()}, 0, graph);
  }

  /// Gradients of queries, keys and values; each is put into a whole projection of zeros
  /// (select_backward), and these are added up.
  int AttentionBackward(int gradient, const Activation& heads, const Activation& projected) {
    std::array<int, 3> views{};
    for (int& view : views) view = heap_.New(heads.Bytes(), kActivations);
    heap_.Release(gradient);
    const int sum = heap_.New(projected.Bytes(), kActivations);
    for (const int view : views) {
      if (view != views.front()) heap_.Touch(projected.Bytes(), kActivations);
      heap_.Release(view);
    }
    return sum;
  }

  /// body(x) + shortcut(x); takes over the hold on `x`.
  Activation Residual(const Layer& layer, const Activation& x, const Shape& shape, Graph& graph) {
    Activation held = x;
    heap_.Hold(held.block);
    auto [body, body_graph] = Forward(layer.body, held, shape);
    heap_.Hold(held.block);
    auto [shortcut, shortcut_graph] = Forward(layer.shortcut, held, shape);
    Activation sum = NewActivation(body.elements, std::max(body.element_bytes, shortcut.element_bytes));
    sum.tracked = body.tracked || shortcut.tracked;
    heap_.Release(body.block);
    heap_.Release(shortcut.block);
    heap_.Release(x.block);
    graph.push_back({[this, x, first = std::move(body_graph), second = std::move(shortcut_graph)](
                         int gradient) mutable { return ResidualBackward(x, first, second, gradient); },
                     {}});
    return sum;
  }

  /// Both branches take the sum's gradient; their own are added in place.
  int ResidualBackward(const Activation& x, Graph& body, Graph& shortcut, int gradient) {
    heap_.Hold(gradient);
    const int first = Backward(body, gradient), second = Backward(shortcut, gradient);
    const bool both = first >= 0 && second >= 0;
    if (first >= 0 && (both || !x.tracked)) heap_.Release(first);
    if (second >= 0 && !x.tracked) heap_.Release(second);
    if (!x.tracked) return -1;
    return second >= 0 ? second : first;
  }

  const double batch_;
  const bool bf16_;
  const spec::Optimizer optimizer_;
  const bool copies_convolutions_;
  DeviceHeap& heap_;
  std::vector<int> gradients_;
  double parameter_bytes_ = 0;
  bool multiplies_ = false;
};

AutogradWalk::AutogradWalk(const spec::Experiment& experiment, bool copies_convolutions,
                           DeviceHeap& heap)
    : walker_(std::make_unique<Walker>(experiment, copies_convolutions, heap)),
      experiment_(experiment),
      heap_(heap) {
  walker_->AddParameters(experiment.model.layers, experiment.dataset.shape);
}

AutogradWalk::~AutogradWalk() = default;

void AutogradWalk::Step() {
  auto [scores, graph] = walker_->Forward(experiment_.model.layers, PreparedInput(experiment_, heap_),
                                          experiment_.dataset.shape);
  const bool trains = scores.tracked;
  walker_->Loss(scores, graph);
  if (trains) {
    const int left = walker_->Backward(graph, heap_.New(kFp32Bytes, kActivations));
    if (left >= 0) heap_.Release(left);
  }
  walker_->Update();
}

bool AutogradWalk::multiplies() const { return walker_->multiplies(); }

}  // namespace pipesim::cost
