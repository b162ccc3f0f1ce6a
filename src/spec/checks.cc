#include "spec/checks.h"

#include <array>
#include <filesystem>
#include <limits>
#include <stdexcept>
#include <system_error>

#include "base/text.h"
#include "spec/model_layers.h"

namespace pipesim::spec {
namespace {

void CheckLoader(Reading& reading, const Experiment& experiment) {
  const Loader& loader = experiment.loader;
  if (loader.workers == 0) {
    for (const WorkerKey& key : WorkerKeys(loader)) {
      const std::string path = key.path();
      if (!key.on || !reading.SetByUser(path) || reading.IsInvalid(path)) continue;
      reading.Problem(reading.PlaceOf(path), path + " has no effect without workers",
                      "loader.workers: 1 or more, or leave it out");
    }
  }
  if (loader.workers > 0 && loader.queue_capacity && *loader.queue_capacity > loader.Window()) {
    reading.Warn(
        reading.PlaceOf("loader.queue_capacity"),
        "loader.queue_capacity is above workers x prefetch_factor, which is never exceeded",
        "auto");
  }
  const std::int64_t epoch = SamplesPerEpoch(experiment);
  if (epoch > 0 && epoch < loader.batch_size) {
    const std::string number = std::to_string(epoch), samples = number + (epoch == 1 ? " sample" : " samples");
    if (loader.drop_last) {
      reading.Problem(reading.PlaceOf("loader.drop_last"),
                      "loader.drop_last leaves no batch: an epoch has " + samples, "batch_size: " + number);
    } else {
      reading.Warn(reading.PlaceOf("loader.batch_size"),
                   "every batch is partial: an epoch has only " + samples);
    }
  }
}

/// Costs of one or many workers beside unknown ones of two would jump.
void CheckOtherNumbers(Reading& reading, const Loader& loader) {
  if (loader.of_many != HandOverOf{} && loader.of_many.workers == 0)
    reading.Problem(reading.PlaceOf("loader.of_many"), "loader.of_many needs the number of workers", "workers: 4");
  if (loader.share && loader.send && loader.serve && loader.receive && loader.receive_latency) return;
  for (const auto& [path, of] : {std::pair{"loader.of_one", &loader.of_one}, {"loader.of_many", &loader.of_many}}) {
    if (of->workers == 0) continue;
    reading.Problem(reading.PlaceOf(path), std::string(path) + " needs the costs with two workers, too",
                    "state loader.share, send, serve, receive and receive_latency");
  }
}

/// What only one kind of worker has.
void CheckLoaderKind(Reading& reading, const Experiment& experiment) {
  const Loader& loader = experiment.loader;
  const auto has_no_effect = [&](const char* path, const char* kind, const char* instead) {
    if (!reading.SetByUser(path)) return;
    reading.Warn(reading.PlaceOf(path),
                 std::string(path) + " has no effect on workers that are " + kind, instead);
  };
  if (loader.kind == LoaderKind::kThread) {
    for (const char* path :
         {"loader.start_method", "loader.share", "loader.send", "loader.serve", "loader.receive",
          "loader.receive_latency", "loader.receive_wait", "loader.of_one.share", "loader.of_many.workers",
          "loader.of_many.share", "loader.worker_memory", "loader.python_sample"})
      has_no_effect(path, "threads", "loader.kind: process");
    return;
  }
  CheckOtherNumbers(reading, loader);
  if (loader.buffers == Buffers::kRecycled)
    has_no_effect("loader.buffers", "processes", "leave it out: their batches are always fresh");
  if (loader.dispatch == Dispatch::kShared) {
    reading.Problem(reading.PlaceOf("loader.dispatch"),
                    "loader.dispatch shared needs workers that are threads; each of PyTorch's "
                    "worker processes has a queue of its own",
                    "round_robin");
  }
  if (loader.collate_into == CollateInto::kPinned) {
    reading.Problem(reading.PlaceOf("loader.collate_into"),
                    "loader.collate_into pinned needs workers that are threads; processes cannot "
                    "write the trainer's page-locked memory",
                    "pageable");
  }
}

/// Bounds sums that engines hold in 64 bits: bytes of all prefetched batches, time of one batch.
void CheckSizes(Reading& reading, const Experiment& experiment) {
  const Loader& loader = experiment.loader;
  const Dataset& dataset = experiment.dataset;
  constexpr double kMost = 4e18;  // below 2^62, so that a sum of two still fits
  const auto batch = static_cast<double>(loader.batch_size);
  const double sample_bytes = std::max(static_cast<double>(PreparedBytes(dataset).count),
                                       dataset.sample_bytes.in_units.Mean());
  const auto batches = static_cast<double>(std::max<std::int64_t>(loader.Window(), 1));
  if (batches * batch * sample_bytes > kMost) {
    reading.Problem(reading.PlaceOf("loader.batch_size"),
                    "the prefetched batches together exceed 4e18 bytes");
  }
  const auto mean = [](const Drawn<Duration>& cost) { return cost.in_units.Mean(); };
  const auto stated = [](const std::optional<Duration>& cost) {
    return static_cast<double>(cost.value_or(Duration::zero()).count());
  };
  const std::array<std::pair<const char*, double>, 8> costs_ns{
      {{"prepare.cost", mean(experiment.prepare.cost)},
       {"prepare.wait", mean(experiment.prepare.wait)},
       {"collate.sample", stated(experiment.collate.sample)},
       {"loader.python_sample", stated(loader.python_sample)},
       {"storage.latency", mean(experiment.storage.latency)},
       {"storage.open_cost", mean(experiment.storage.open_cost)},
       {"device.emulated.per_sample", mean(experiment.device.step_per_sample)},
       {"device.step.per_sample", mean(experiment.device.step.value_or(StepCost{}).per_sample)}}};
  for (const auto& [path, cost_ns] : costs_ns) {
    if (batch * cost_ns <= kMost) continue;
    reading.Problem(reading.PlaceOf(path),
                    std::string(path) + " over a whole batch is more than 100 years");
  }
}

/// Each worker of each accelerator is a thread, also in virtual time.
void CheckThreads(Reading& reading, const Experiment& experiment) {
  constexpr std::int64_t kMost = std::int64_t{1} << 16;
  const std::int64_t threads =
      std::int64_t{experiment.loader.workers} * experiment.run.accelerators;
  if (threads <= kMost) return;
  reading.Problem(reading.PlaceOf("run.accelerators"),
                  "all accelerators together have " + std::to_string(threads) +
                      " workers, more than " + std::to_string(kMost),
                  std::to_string(kMost / experiment.loader.workers));
}

void CheckCache(Reading& reading, const Experiment& experiment) {
  if (experiment.storage.cache.policy == CachePolicy::kNone) return;
  if (experiment.dataset.samples <= kMostSamplesBehindCache) return;
  const std::string most = std::to_string(kMostSamplesBehindCache);
  reading.Problem(reading.PlaceOf("dataset.samples"),
                  "an emulated cache supports at most " + most +
                      " samples; scaling samples and cache size down together keeps the hit rate",
                  most);
}

void CheckDecode(Reading& reading, const Experiment& experiment) {
  if (experiment.prepare.kind != PrepareKind::kDecode) return;
  if (experiment.storage.kind != StorageKind::kFiles) {
    reading.Problem(reading.PlaceOf("prepare.kind"),
                    "prepare.kind decode needs real files to decode",
                    "storage: {kind: files, path: DIR}");
    return;
  }
  const Shape& shape = experiment.dataset.shape;
  const DType dtype = experiment.dataset.dtype;
  const bool image = shape.size() == 3 && (shape[0] == 1 || shape[0] == 3);
  if (!shape.empty() && !image) {
    reading.Problem(
        reading.PlaceOf("dataset.shape"),
        "dataset.shape " + ToText(shape) + " is not an image; decode produces 3xHxW or 1xHxW",
        "[3, 224, 224]");
  }
  if (dtype != DType::kUint8 && dtype != DType::kFloat32) {
    reading.Problem(reading.PlaceOf("dataset.dtype"), "decode produces uint8 or float32", "uint8");
  }
}

void CheckTokens(Reading& reading, const Experiment& experiment) {
  if (experiment.model.layers.empty()) return;
  if (experiment.device.step_base || experiment.device.step) return;  // nothing computes the model
  const bool tokens = experiment.model.layers.front().kind == LayerKind::kEmbedding;
  const bool integers = experiment.dataset.dtype == DType::kInt64;
  if (tokens == integers) return;
  reading.Problem(reading.PlaceOf("dataset.dtype"),
                  tokens ? "the model begins with an embedding, which takes int64 tokens"
                         : "int64 tokens need a model that begins with an embedding",
                  tokens ? "int64" : "uint8");
}

void CheckRun(Reading& reading, const Run& run) {
  if (run.duration && run.duration->count() <= 0) {
    reading.Problem(reading.PlaceOf("run.duration"), "run.duration must be above 0", "10s");
  }
  if (run.max_noise <= 0) {
    reading.Problem(reading.PlaceOf("run.max_noise"), "run.max_noise must be above 0", "2%");
  }
  if (run.max_duration.count() <= 0 || run.max_duration < run.min_duration) {
    const char* path =
        reading.SetByUser("run.max_duration") ? "run.max_duration" : "run.min_duration";
    reading.Problem(reading.PlaceOf(path), "run.max_duration is below run.min_duration", "60s");
  }
  if (!run.duration) return;
  for (const char* path :
       {"run.min_duration", "run.min_steps", "run.max_noise", "run.max_duration"}) {
    if (reading.SetByUser(path)) {
      reading.Warn(reading.PlaceOf(path),
                   std::string(path) + " has no effect with a fixed run.duration",
                   "duration: auto");
    }
  }
}

/// Warns about settings that have no effect here.
void CheckMeaningless(Reading& reading, const Experiment& experiment) {
  const auto warn = [&](const char* path, const char* why, const char* instead) {
    reading.Warn(reading.PlaceOf(path), std::string(path) + why, instead);
  };
  if (experiment.device.kind == DeviceKind::kCpu) {
    if (experiment.loader.pin_memory) {
      warn("loader.pin_memory", " has no effect when training on the CPU", "false");
    }
    if (experiment.loader.collate_into == CollateInto::kPinned) {
      warn("loader.collate_into", " has no effect when training on the CPU", "pageable");
    }
    if (experiment.training.precision == Precision::kTf32) {
      warn("model.precision", " tf32 has no effect when training on the CPU", "fp32");
    }
    if (experiment.training.cuda_graph) {
      warn("model.cuda_graph", " has no effect when training on the CPU", "false");
    }
    if (reading.SetByUser("device.in_flight")) {
      warn("device.in_flight", " has no effect when training on the CPU, which has one step at a time", "leave it out");
    }
  }
  if (experiment.device.kind == DeviceKind::kEmulated && reading.SetByUser("limits.compute_threads")) {
    warn("limits.compute_threads", " has no effect on an emulated device, which needs no core", "leave it out");
  }
  if (experiment.loader.pin_bandwidth && !experiment.loader.pin_memory) {
    warn("loader.pin_bandwidth", " has no effect without loader.pin_memory", "pin_memory: true");
  }
  if (experiment.limits.worker_threads > 1 && experiment.prepare.kind != PrepareKind::kBurn) {
    warn("limits.worker_threads", " applies to prepare: burn only; other kinds use one thread",
         "1");
  }
  if (experiment.storage.direct && experiment.storage.file_cache == FileCacheState::kWarm) {
    warn("storage.cache", " warm has no effect on direct reads, which bypass the page cache",
         "as_is");
  }
}

void CheckCudaGraph(Reading& reading, const Training& training) {
  if (!training.cuda_graph || training.optimizer != Optimizer::kAdam) return;
  reading.Problem(reading.PlaceOf("model.cuda_graph"),
                  "model.cuda_graph would freeze the step count in adam's bias correction",
                  "optimizer: sgd or momentum");
}

}  // namespace

std::int64_t OutputsOf(const Model& model, const Shape& input) {
  const std::vector<LayerCost> costs = CostsOf(model, input);
  const Shape out = costs.empty() ? input : costs.back().out;
  if (out.size() != 1) {
    throw std::invalid_argument("the model ends in " + ToText(out) +
                                "; its last layer must give one number per class");
  }
  return out[0];
}

void FitModel(Reading& reading, const ModelInput& input, Experiment& experiment) {
  Dataset& dataset = experiment.dataset;
  if (!input.whole || dataset.shape.empty()) return;
  const bool sized_by_classes = UsesClasses(experiment.model.layers);
  const bool real_files = experiment.storage.kind == StorageKind::kFiles;
  if (reading.IsInvalid("dataset.classes")) return;
  if (sized_by_classes && dataset.classes == 0 && !real_files) {
    reading.Problem(reading.PlaceOf("dataset"),
                    "dataset.classes is not set, and the model needs it", "classes: 10");
    return;
  }
  Model sized = experiment.model;
  SetClasses(sized.layers, std::max<std::int64_t>(dataset.classes, 1));
  if (dataset.classes > 0) experiment.model = sized;
  try {
    const std::int64_t outputs = OutputsOf(sized, dataset.shape);
    if (dataset.classes == 0 && !real_files) dataset.classes = outputs;
    if (outputs < dataset.classes) {
      reading.Problem(reading.PlaceOf("dataset.classes"),
                      "the model gives " + std::to_string(outputs) + " outputs and the data has " +
                          std::to_string(dataset.classes) + " classes",
                      "linear: {out: classes}");
    }
  } catch (const std::invalid_argument& error) {
    // The message begins with the number of the outermost layer.
    const std::string what = error.what();
    std::size_t layer = 0;
    constexpr std::string_view kPrefix = "layer ";
    if (what.starts_with(kPrefix)) layer = std::stoul(what.substr(kPrefix.size()));
    const bool known = layer >= 1 && layer <= input.layer_places.size();
    reading.Problem(known ? input.layer_places[layer - 1] : reading.PlaceOf("model"),
                    "model " + experiment.model.name + " does not fit samples of " +
                        ToText(dataset.shape) + ": " + what,
                    "another dataset.shape or model");
  }
}

void CheckWhole(Reading& reading, const Experiment& experiment) {
  CheckLoader(reading, experiment);
  CheckLoaderKind(reading, experiment);
  CheckSizes(reading, experiment);
  CheckThreads(reading, experiment);
  CheckCache(reading, experiment);
  CheckDecode(reading, experiment);
  CheckTokens(reading, experiment);
  CheckRun(reading, experiment.run);
  CheckCudaGraph(reading, experiment.training);
  CheckMeaningless(reading, experiment);
}

void CheckForRun(Reading& reading, const Experiment& experiment) {
  const auto refuse = [&](const char* path, const char* why, const char* instead) {
    reading.Problem(reading.PlaceOf(path), why, instead);
  };
  if (experiment.run.accelerators > 1)
    refuse("run.accelerators", "a run has one accelerator; several can only be predicted",
           "pipesim predict, or accelerators: 1");
  if (experiment.run.barrier)
    refuse("run.barrier",
           "a run has one accelerator, with nobody to meet; a barrier can only be predicted",
           "pipesim predict, or barrier: false");
  if (experiment.storage.sharing == StorageSharing::kFair)
    refuse("storage.sharing", "a run serves reads in their order; fair sharing can only be predicted",
           "pipesim predict, or sharing: fifo");
  if (experiment.device.step)
    refuse("device.step", "a run trains the model; device.step can only be predicted",
           "pipesim predict, or device: {emulated: {base: 200us, per_sample: 5us}}");
  if (experiment.loader.pin_bandwidth)
    reading.Warn(reading.PlaceOf("loader.pin_bandwidth"),
                 "loader.pin_bandwidth has no effect on a run, whose pin thread copies", "auto");
}

void CheckFilesHere(Reading& reading, const Storage& storage) {
  std::error_code error;
  if (storage.kind != StorageKind::kFiles || storage.path.empty()) return;
  if (std::filesystem::is_directory(storage.path, error)) return;
  reading.Problem(reading.PlaceOf("storage.path"),
                  "there is no folder " + base::Printable(storage.path.string()),
                  "a folder of JPEG files, one subfolder per class");
}

}  // namespace pipesim::spec
