#include "spec/keys.h"

#include <algorithm>
#include <array>
#include <span>

#include "spec/cpu_list.h"
#include "spec/drawn_text.h"
#include "spec/model_layers.h"
#include "spec/units_text.h"
#include "spec/words.h"
#include "spec/yaml_tree.h"

namespace pipesim::spec {
namespace {

using Text = std::optional<std::string>;

struct KeyRule {
  Key key;
  Text (*text)(const Experiment&);  ///< nullptr: a short form, whose parts have keys of their own
};

std::string YesNo(bool value) { return value ? "true" : "false"; }
std::string Number(std::int64_t value) { return std::to_string(value); }

template <class T>
std::string OrWord(const std::optional<T>& value, std::string_view absent) {
  if (!value) return std::string(absent);
  if constexpr (std::is_integral_v<T>) {
    return std::to_string(*value);
  } else if constexpr (std::is_floating_point_v<T>) {
    return NumberText(*value);
  } else {
    return ToText(*value);
  }
}

std::string SizesText(const Shape& shape) {
  std::string text = "[";
  for (const std::int64_t size : shape) {
    if (text.size() > 1) text += ", ";
    text += std::to_string(size);
  }
  return text + "]";
}

/// A text only where `says` holds.
Text If(bool says, std::string text) {
  if (!says) return std::nullopt;
  return text;
}

bool Emulated(const Experiment& e) { return e.storage.kind == StorageKind::kEmulated; }
bool Files(const Experiment& e) { return e.storage.kind == StorageKind::kFiles; }
bool HasWorkers(const Experiment& e) { return e.loader.workers > 0; }
bool HasCost(const Experiment& e) {
  return e.prepare.kind == PrepareKind::kBurn || e.prepare.kind == PrepareKind::kWait;
}
/// What the folder of real samples is yet to tell.
Text FromData(const Experiment& e, std::int64_t value) {
  return Files(e) && value == 0 ? "auto" : Number(value);
}

constexpr std::array<KeyRule, 7> kDataKeys{{
    {{"version", "count", "1", "version of this format"},
     [](const Experiment& e) -> Text { return Number(e.version); }},
    {{"name", "text", "the file's name", "name of the experiment, for reports"},
     [](const Experiment& e) -> Text { return QuoteYaml(e.name); }},
    {{"dataset.samples", "count", "the model's", "samples of one epoch"},
     [](const Experiment& e) -> Text { return FromData(e, e.dataset.samples); }},
    {{"dataset.sample_bytes", "bytes or distribution", "the model's",
      "what storage delivers for one sample"},
     [](const Experiment& e) -> Text {
       return Files(e) && e.dataset.sample_bytes.IsZero() ? "auto" : ToText(e.dataset.sample_bytes);
     }},
    {{"dataset.shape", "sizes", "the model's", "what prepare makes of a sample, [C, H, W]"},
     [](const Experiment& e) -> Text { return SizesText(e.dataset.shape); }},
    {{"dataset.dtype", "uint8|float32|float16|bfloat16|int64", "the model's",
      "type of one element on its way to the device"},
     [](const Experiment& e) -> Text { return WordOf(kDTypes, e.dataset.dtype); }},
    {{"dataset.classes", "count", "the model's", "classes of the labels"},
     [](const Experiment& e) -> Text { return FromData(e, e.dataset.classes); }},
}};

constexpr std::array<KeyRule, 19> kStorageKeys{{
    {{"storage", "preset|none|map", "the model's",
      "where samples come from; a preset or its parts"},
     nullptr},
    {{"storage.kind", "none|emulated|files", "emulated", "none: the data is in memory"},
     [](const Experiment& e) -> Text { return WordOf(kStorageKinds, e.storage.kind); }},
    {{"storage.preset", "preset", "none",
      "figures to start from: configs/storage/*.yaml or a file"},
     [](const Experiment& e) -> Text {
       return If(Emulated(e) && !e.storage.preset.empty(), QuoteYaml(e.storage.preset));
     }},
    {{"storage.latency", "duration or distribution", "0", "of each read"},
     [](const Experiment& e) -> Text { return If(Emulated(e), ToText(e.storage.latency)); }},
    {{"storage.bandwidth", "rate", "unlimited", "of all readers together"},
     [](const Experiment& e) -> Text {
       return If(Emulated(e), OrWord(e.storage.bandwidth, "unlimited"));
     }},
    {{"storage.iops", "count per second", "unlimited", "reads per second of all readers together"},
     [](const Experiment& e) -> Text {
       return If(Emulated(e), OrWord(e.storage.iops_per_s, "unlimited"));
     }},
    {{"storage.queue_depth", "count", "unlimited", "reads in their latency at once"},
     [](const Experiment& e) -> Text {
       return If(Emulated(e), OrWord(e.storage.queue_depth, "unlimited"));
     }},
    {{"storage.open_cost", "duration or distribution", "0", "of opening each sample's file"},
     [](const Experiment& e) -> Text { return If(Emulated(e), ToText(e.storage.open_cost)); }},
    {{"storage.cache", "as_is|cold|warm or map", "as_is",
      "files: the page cache at the start; emulated: size, policy, warm, hit_bandwidth"},
     [](const Experiment& e) -> Text {
       return If(Files(e), WordOf(kFileCacheStates, e.storage.file_cache));
     }},
    {{"storage.cache.policy", "none|lru|random", "lru with a size, else none",
      "what the cache gives up for a new sample"},
     [](const Experiment& e) -> Text {
       return If(Emulated(e), WordOf(kCachePolicies, e.storage.cache.policy));
     }},
    {{"storage.cache.size", "bytes", "0", "room in the cache"},
     [](const Experiment& e) -> Text { return If(Emulated(e), ToText(e.storage.cache.size)); }},
    {{"storage.cache.warm", "share", "0", "share of the cache that is full at the start"},
     [](const Experiment& e) -> Text { return If(Emulated(e), NumberText(e.storage.cache.warm)); }},
    {{"storage.cache.hit_bandwidth", "rate", "unlimited", "of reads that hit"},
     [](const Experiment& e) -> Text {
       return If(Emulated(e), OrWord(e.storage.cache.hit_bandwidth, "unlimited"));
     }},
    {{"storage.path", "folder", "required for files", "real JPEG files, one subfolder a class"},
     [](const Experiment& e) -> Text { return If(Files(e), QuoteYaml(e.storage.path.string())); }},
    {{"storage.direct", "true|false", "false", "files: read past the page cache"},
     [](const Experiment& e) -> Text { return If(Files(e), YesNo(e.storage.direct)); }},
    {{"storage.on_error", "fail|skip", "fail", "files: what a bad file does to the run"},
     [](const Experiment& e) -> Text {
       return If(Files(e), WordOf(kOnBadFile, e.storage.on_bad_file));
     }},
    {{"prepare", "duration|none|decode|map", "the model's", "short for prepare.cost or .kind"},
     nullptr},
    {{"prepare.kind", "none|burn|wait|decode", "the model's",
      "burn CPU time, wait without a core, or decode real JPEG files"},
     [](const Experiment& e) -> Text { return WordOf(kPrepareKinds, e.prepare.kind); }},
    {{"prepare.cost", "duration or distribution", "the model's", "burn, wait: for one sample"},
     [](const Experiment& e) -> Text { return If(HasCost(e), ToText(e.prepare.cost)); }},
}};

constexpr std::array<KeyRule, 14> kLoaderKeys{{
    {{"loader.workers", "count", "0", "worker threads; 0: the trainer's thread loads"},
     [](const Experiment& e) -> Text { return Number(e.loader.workers); }},
    {{"loader.batch_size", "count", "64", "samples of a batch"},
     [](const Experiment& e) -> Text { return Number(e.loader.batch_size); }},
    {{"loader.prefetch_factor", "count", "2", "batches dealt ahead to each worker"},
     [](const Experiment& e) -> Text {
       return If(HasWorkers(e), Number(e.loader.prefetch_factor));
     }},
    {{"loader.shuffle", "true|false", "true", "a new order each epoch"},
     [](const Experiment& e) -> Text { return YesNo(e.loader.shuffle); }},
    {{"loader.drop_last", "true|false", "false", "leave out a partial last batch"},
     [](const Experiment& e) -> Text { return YesNo(e.loader.drop_last); }},
    {{"loader.in_order", "true|false", "true", "train batches in the order they were dealt"},
     [](const Experiment& e) -> Text { return YesNo(e.loader.in_order); }},
    {{"loader.persistent_workers", "true|false", "false", "keep workers from epoch to epoch"},
     [](const Experiment& e) -> Text {
       return If(HasWorkers(e), YesNo(e.loader.persistent_workers));
     }},
    {{"loader.pin_memory", "true|false", "false", "copy batches to page-locked memory"},
     [](const Experiment& e) -> Text { return YesNo(e.loader.pin_memory); }},
    {{"loader.timeout", "duration", "0", "longest wait for a batch; 0: for ever"},
     [](const Experiment& e) -> Text { return If(HasWorkers(e), ToText(e.loader.timeout)); }},
    {{"loader.dispatch", "round_robin|shared", "round_robin", "how batches are dealt to workers"},
     [](const Experiment& e) -> Text { return WordOf(kDispatches, e.loader.dispatch); }},
    {{"loader.queue", "tbb|lockfree|mutex", "tbb", "the queue between workers and trainer"},
     [](const Experiment& e) -> Text { return WordOf(kQueueKinds, e.loader.queue); }},
    {{"loader.queue_capacity", "count", "auto", "batches; auto: workers x prefetch_factor"},
     [](const Experiment& e) -> Text { return OrWord(e.loader.queue_capacity, "auto"); }},
    {{"loader.buffers", "recycled|fresh", "recycled", "fresh pays page faults for every batch"},
     [](const Experiment& e) -> Text { return WordOf(kBuffers, e.loader.buffers); }},
    {{"loader.worker_startup", "duration or distribution", "0", "what starting a worker takes"},
     [](const Experiment& e) -> Text { return ToText(e.loader.worker_startup); }},
}};

constexpr std::array<KeyRule, 6> kLimitKeys{{
    {{"limits.cpus", "count or list", "auto", "4: that many, cores first; 0-3,6: these"},
     [](const Experiment& e) -> Text { return CpusText(e.limits); }},
    {{"limits.compute_threads", "count", "auto", "LibTorch's threads in the trainer"},
     [](const Experiment& e) -> Text { return OrWord(e.limits.compute_threads, "auto"); }},
    {{"limits.worker_threads", "count", "1", "threads that share a worker's prepare"},
     [](const Experiment& e) -> Text { return Number(e.limits.worker_threads); }},
    {{"limits.omp_wait", "default|passive", "default", "OMP_WAIT_POLICY of the process"},
     [](const Experiment& e) -> Text { return WordOf(kOmpWaits, e.limits.omp_wait); }},
    {{"transfer.overlap", "true|false", "true", "copy the next batch while a step runs"},
     [](const Experiment& e) -> Text { return YesNo(e.transfer.overlap); }},
    {{"transfer.non_blocking", "true|false", "true", "the host goes on while a copy runs"},
     [](const Experiment& e) -> Text { return YesNo(e.transfer.non_blocking); }},
}};

constexpr std::array<KeyRule, 14> kStepKeys{{
    {{"model", "name|FILE.yaml|map", "mlp", "short for model.name"}, nullptr},
    {{"model.name", "name|FILE.yaml", "mlp", "models/*.yaml, or a file of your own"},
     [](const Experiment& e) -> Text {
       return QuoteYaml(e.model.reference.empty() ? e.model.name : e.model.reference);
     }},
    {{"model.layers", "list of layers", "the model file's", "layers in place of a model file"},
     [](const Experiment& e) -> Text {
       return If(e.model.reference.empty(), LayersText(e.model.layers));
     }},
    {{"model.precision", "fp32|bf16", "fp32", "of forward and backward"},
     [](const Experiment& e) -> Text { return WordOf(kPrecisions, e.training.precision); }},
    {{"model.optimizer", "sgd|momentum|adam", "sgd", "of the training step"},
     [](const Experiment& e) -> Text { return WordOf(kOptimizers, e.training.optimizer); }},
    {{"model.learning_rate", "number", "0.01", "of the optimizer"},
     [](const Experiment& e) -> Text { return NumberText(e.training.learning_rate); }},
    {{"model.sync_every", "count", "0", "read the loss back every n steps; 0: never"},
     [](const Experiment& e) -> Text { return Number(e.training.sync_every); }},
    {{"model.cuda_graph", "true|false", "false", "replay the step as one CUDA graph"},
     [](const Experiment& e) -> Text { return YesNo(e.training.cuda_graph); }},
    {{"device", "auto|cpu|cuda:N|emulated|preset|map", "auto", "short for device.name"}, nullptr},
    {{"device.name", "auto|cpu|cuda:N|emulated|preset", "auto", "auto: cuda:0 if there is one"},
     [](const Experiment& e) -> Text { return ToText(e.device.Id()); }},
    {{"device.in_flight", "count", "2", "steps submitted and not done, at most"},
     [](const Experiment& e) -> Text { return Number(e.device.in_flight); }},
    {{"device.emulated.preset", "preset", "rtx-4060",
      "a roofline's figures: configs/devices/*.yaml or a file"},
     [](const Experiment& e) -> Text {
       return If(e.device.preset.has_value(),
                 e.device.preset ? QuoteYaml(e.device.preset->name) : "");
     }},
    {{"device.emulated.base", "duration or distribution", "0", "a stated cost of each step ..."},
     [](const Experiment& e) -> Text {
       return If(e.device.step_base.has_value(),
                 e.device.step_base ? ToText(*e.device.step_base) : "");
     }},
    {{"device.emulated.per_sample", "duration or distribution", "0",
      "... and of each sample in it"},
     [](const Experiment& e) -> Text {
       return If(e.device.step_base.has_value(), ToText(e.device.step_per_sample));
     }},
}};

constexpr std::array<KeyRule, 11> kRunKeys{{
    {{"run.duration", "duration", "auto", "to measure, after warm-up; auto: until it is enough"},
     [](const Experiment& e) -> Text { return OrWord(e.run.duration, "auto"); }},
    {{"run.steps", "count", "none", "most steps, warm-up included"},
     [](const Experiment& e) -> Text { return OrWord(e.run.steps, "none"); }},
    {{"run.epochs", "count", "none", "most epochs, warm-up included"},
     [](const Experiment& e) -> Text { return OrWord(e.run.epochs, "none"); }},
    {{"run.warmup", "duration", "auto", "left out at the start; auto: MSER-5"},
     [](const Experiment& e) -> Text { return OrWord(e.run.warmup, "auto"); }},
    {{"run.seed", "count", "1", "of every random draw"},
     [](const Experiment& e) -> Text { return std::to_string(e.run.seed); }},
    {{"run.repeats", "count", "1", "runs; repeat r draws with seed + r"},
     [](const Experiment& e) -> Text { return Number(e.run.repeats); }},
    {{"run.accelerators", "count", "1", "predict: equal trainers that share storage and cores"},
     [](const Experiment& e) -> Text { return Number(e.run.accelerators); }},
    {{"run.min_duration", "duration", "10s", "duration auto: at least this long,"},
     [](const Experiment& e) -> Text { return ToText(e.run.min_duration); }},
    {{"run.min_steps", "count", "30", "at least these steps after warm-up,"},
     [](const Experiment& e) -> Text { return Number(e.run.min_steps); }},
    {{"run.max_noise", "share", "2%", "and an interval of at most this share of the mean;"},
     [](const Experiment& e) -> Text { return NumberText(e.run.max_noise); }},
    {{"run.max_duration", "duration", "60s", "or this long at most"},
     [](const Experiment& e) -> Text { return ToText(e.run.max_duration); }},
}};

const std::array<std::span<const KeyRule>, 6> AllRules() {
  return {kDataKeys, kStorageKeys, kLoaderKeys, kLimitKeys, kStepKeys, kRunKeys};
}

struct OtherName {
  std::string_view name, key;
};
/// What the same thing is called in PyTorch or on the command line.
constexpr std::array<OtherName, 17> kOtherNames{{{"num_workers", "loader.workers"},
                                                 {"n_workers", "loader.workers"},
                                                 {"batch", "loader.batch_size"},
                                                 {"prefetch", "loader.prefetch_factor"},
                                                 {"threads", "limits.compute_threads"},
                                                 {"num_threads", "limits.compute_threads"},
                                                 {"lr", "model.learning_rate"},
                                                 {"amp", "model.precision"},
                                                 {"data", "storage.path"},
                                                 {"num_classes", "dataset.classes"},
                                                 {"size", "dataset.sample_bytes"},
                                                 {"bw", "storage.bandwidth"},
                                                 {"throughput", "storage.bandwidth"},
                                                 {"disk", "storage"},
                                                 {"gpus", "run.accelerators"},
                                                 {"ranks", "run.accelerators"},
                                                 {"world_size", "run.accelerators"}}};

}  // namespace

const std::vector<Key>& Keys() {
  static const std::vector<Key> keys = [] {
    std::vector<Key> all;
    for (const auto& rules : AllRules()) {
      for (const KeyRule& rule : rules) all.push_back(rule.key);
    }
    return all;
  }();
  return keys;
}

std::optional<std::string> SettingText(const Experiment& experiment, std::string_view path) {
  for (const auto& rules : AllRules()) {
    for (const KeyRule& rule : rules) {
      if (rule.key.path == path && rule.text != nullptr) return rule.text(experiment);
    }
  }
  return std::nullopt;
}

std::map<std::string, Experiment::Setting> SettingsOf(const Experiment& experiment,
                                                      const Reading& reading) {
  std::map<std::string, Experiment::Setting> settings;
  for (const Key& key : Keys()) {
    const std::string path(key.path);
    if (auto text = SettingText(experiment, path)) {
      settings[path] = {std::move(*text), reading.OriginOf(path).value_or(Origin::kDefault)};
    }
  }
  return settings;
}

std::string MeantKey(std::string_view path, std::string_view key) {
  const std::string prefix = path.empty() ? "" : std::string(path) + ".";
  const auto shown = [&](std::string_view full) {
    return std::string(full.starts_with(prefix) ? full.substr(prefix.size()) : full);
  };
  for (const OtherName& other : kOtherNames) {
    if (other.name == key) return shown(other.key);
  }
  for (const Key& known : Keys()) {
    const std::size_t dot = known.path.rfind('.');
    if (dot != std::string_view::npos && known.path.substr(dot + 1) == key)
      return shown(known.path);
  }
  return "";
}

}  // namespace pipesim::spec
