#include "support.h"

#include <dlfcn.h>

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace pipesim::engine {

using spec::Layer;
using spec::LayerKind;

const TorchPlugin& Plugin() {
  static const TorchPlugin* const plugin = [] {
    void* library = dlopen(PIPESIM_TORCH_PLUGIN, RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) throw std::runtime_error(dlerror());
    using Entry = const TorchPlugin* (*)();
    return reinterpret_cast<Entry>(dlsym(library, kTorchPluginSymbol))();
  }();
  return *plugin;
}

spec::Experiment SmallExperiment(std::vector<Layer> layers) {
  spec::Experiment experiment;
  experiment.dataset.shape = {3, 8, 8};
  experiment.dataset.dtype = spec::DType::kUint8;
  experiment.dataset.classes = 4;
  experiment.loader.batch_size = 32;
  experiment.model.name = "small";
  experiment.model.layers = std::move(layers);
  experiment.training.learning_rate = 0.1;
  experiment.device.kind = spec::DeviceKind::kCpu;
  return experiment;
}

Layer Plain(LayerKind kind) {
  Layer layer;
  layer.kind = kind;
  return layer;
}
Layer Flatten() { return Plain(LayerKind::kFlatten); }
Layer Relu() { return Plain(LayerKind::kRelu); }
Layer Linear(std::int64_t out) {
  Layer layer = Plain(LayerKind::kLinear);
  layer.out = out;
  return layer;
}
Layer Conv(std::int64_t out) {
  Layer layer = Plain(LayerKind::kConv2d);
  layer.out = out;
  layer.kernel = 3;
  layer.padding = 1;
  return layer;
}
std::vector<Layer> SmallMlp() { return {Flatten(), Linear(32), Relu(), Linear(4)}; }
std::vector<Layer> SmallCnn() {
  return {Conv(8), Plain(LayerKind::kBatchNorm2d), Relu(), Plain(LayerKind::kGlobalAvgPool),
          Linear(4)};
}

LearnableBatch::LearnableBatch(const spec::Experiment& experiment, std::int32_t samples) {
  const auto& dataset = experiment.dataset;
  const auto sample_bytes =
      static_cast<std::size_t>(spec::Elements(dataset.shape) * spec::SizeOf(dataset.dtype));
  for (std::int64_t i = 0; i < samples; ++i) {
    const std::int64_t label = i % dataset.classes;
    labels_.push_back(label);
    data_.insert(
        data_.end(), sample_bytes,
        static_cast<std::byte>(label * 255 / std::max<std::int64_t>(1, dataset.classes - 1)));
  }
  batch_.samples = samples;
  batch_.data = data_;
  batch_.labels = labels_;
}

Consumer::Consumer(const spec::Experiment& experiment, int compute_threads)
    : experiment_(experiment),
      trainer_(Plugin().make_trainer(experiment, clock_, compute_threads)) {}

double Consumer::Step(const Batch& batch) {
  const std::int64_t step = next_step_++;
  trainer_->Submit(batch, step, /*read_back=*/true, timer);
  return trainer_->WaitDone(step, timer, base::StopFlag()).value().loss.value();
}

std::pair<double, double> Consumer::Train(int steps) {
  const LearnableBatch batch(experiment_, static_cast<std::int32_t>(experiment_.loader.batch_size));
  const double first = Step(batch.batch());
  double last = first;
  for (int i = 1; i < steps; ++i) last = Step(batch.batch());
  return {first, last};
}

}  // namespace pipesim::engine
