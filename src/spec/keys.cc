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
  Text (*text)(const Experiment&);  ///< nullptr: a short form; its parts have their own keys
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

/// `text` where `says` holds, else nothing.
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
/// "auto" until the folder of real samples has been counted.
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
    {{"dataset.sample_bytes", "bytes or distribution", "the model's", "bytes read per sample"},
     [](const Experiment& e) -> Text {
       return Files(e) && e.dataset.sample_bytes.IsZero() ? "auto" : ToText(e.dataset.sample_bytes);
     }},
    {{"dataset.shape", "sizes", "the model's", "shape of a prepared sample, [C, H, W]"},
     [](const Experiment& e) -> Text { return SizesText(e.dataset.shape); }},
    {{"dataset.dtype", "uint8|float32|float16|bfloat16|int64", "the model's",
      "element type of a prepared sample"},
     [](const Experiment& e) -> Text { return WordOf(kDTypes, e.dataset.dtype); }},
    {{"dataset.classes", "count", "the model's", "number of label classes"},
     [](const Experiment& e) -> Text { return FromData(e, e.dataset.classes); }},
}};

constexpr std::array<KeyRule, 19> kStorageKeys{{
    {{"storage", "preset|none|map", "the model's",
      "where samples come from: a preset or its parts"},
     nullptr},
    {{"storage.kind", "none|emulated|files", "emulated", "none: the data is in memory"},
     [](const Experiment& e) -> Text { return WordOf(kStorageKinds, e.storage.kind); }},
    {{"storage.preset", "preset", "none",
      "figures to start from: configs/storage/*.yaml or a file"},
     [](const Experiment& e) -> Text {
       return If(Emulated(e) && !e.storage.preset.empty(), QuoteYaml(e.storage.preset));
     }},
    {{"storage.latency", "duration or distribution", "0", "latency of each read"},
     [](const Experiment& e) -> Text { return If(Emulated(e), ToText(e.storage.latency)); }},
    {{"storage.bandwidth", "rate", "unlimited", "total over all readers"},
     [](const Experiment& e) -> Text {
       return If(Emulated(e), OrWord(e.storage.bandwidth, "unlimited"));
     }},
    {{"storage.iops", "count per second", "unlimited", "reads per second over all readers"},
     [](const Experiment& e) -> Text {
       return If(Emulated(e), OrWord(e.storage.iops_per_s, "unlimited"));
     }},
    {{"storage.queue_depth", "count", "unlimited", "maximum outstanding reads"},
     [](const Experiment& e) -> Text {
       return If(Emulated(e), OrWord(e.storage.queue_depth, "unlimited"));
     }},
    {{"storage.open_cost", "duration or distribution", "0", "cost of opening each sample's file"},
     [](const Experiment& e) -> Text { return If(Emulated(e), ToText(e.storage.open_cost)); }},
    {{"storage.cache", "as_is|cold|warm or map", "as_is",
      "files: the page cache at the start; emulated: size, policy, warm, hit_bandwidth"},
     [](const Experiment& e) -> Text {
       return If(Files(e), WordOf(kFileCacheStates, e.storage.file_cache));
     }},
    {{"storage.cache.policy", "none|lru|random", "lru with a size, else none", "eviction policy"},
     [](const Experiment& e) -> Text {
       return If(Emulated(e), WordOf(kCachePolicies, e.storage.cache.policy));
     }},
    {{"storage.cache.size", "bytes", "0", "cache capacity"},
     [](const Experiment& e) -> Text { return If(Emulated(e), ToText(e.storage.cache.size)); }},
    {{"storage.cache.warm", "share", "0", "share of the cache filled at the start"},
     [](const Experiment& e) -> Text { return If(Emulated(e), NumberText(e.storage.cache.warm)); }},
    {{"storage.cache.hit_bandwidth", "rate", "unlimited", "bandwidth of cache hits"},
     [](const Experiment& e) -> Text {
       return If(Emulated(e), OrWord(e.storage.cache.hit_bandwidth, "unlimited"));
     }},
    {{"storage.path", "folder", "required for files",
      "folder of JPEG files, one subfolder per class"},
     [](const Experiment& e) -> Text { return If(Files(e), QuoteYaml(e.storage.path.string())); }},
    {{"storage.direct", "true|false", "false", "files: bypass the page cache (O_DIRECT)"},
     [](const Experiment& e) -> Text { return If(Files(e), YesNo(e.storage.direct)); }},
    {{"storage.on_error", "fail|skip", "fail", "files: fail the run or skip a bad file"},
     [](const Experiment& e) -> Text {
       return If(Files(e), WordOf(kOnBadFile, e.storage.on_bad_file));
     }},
    {{"prepare", "duration|none|decode|map", "the model's", "short for prepare.cost or .kind"},
     nullptr},
    {{"prepare.kind", "none|burn|wait|decode", "the model's",
      "burn CPU time, wait without a core, or decode real JPEG files"},
     [](const Experiment& e) -> Text { return WordOf(kPrepareKinds, e.prepare.kind); }},
    {{"prepare.cost", "duration or distribution", "the model's", "burn, wait: time per sample"},
     [](const Experiment& e) -> Text { return If(HasCost(e), ToText(e.prepare.cost)); }},
}};

constexpr std::array<KeyRule, 14> kLoaderKeys{{
    {{"loader.workers", "count", "0", "worker threads; 0: load in the trainer's thread"},
     [](const Experiment& e) -> Text { return Number(e.loader.workers); }},
    {{"loader.batch_size", "count", "64", "samples per batch"},
     [](const Experiment& e) -> Text { return Number(e.loader.batch_size); }},
    {{"loader.prefetch_factor", "count", "2", "batches prefetched per worker"},
     [](const Experiment& e) -> Text {
       return If(HasWorkers(e), Number(e.loader.prefetch_factor));
     }},
    {{"loader.shuffle", "true|false", "true", "new random order each epoch"},
     [](const Experiment& e) -> Text { return YesNo(e.loader.shuffle); }},
    {{"loader.drop_last", "true|false", "false", "drop a partial last batch"},
     [](const Experiment& e) -> Text { return YesNo(e.loader.drop_last); }},
    {{"loader.in_order", "true|false", "true", "train batches in the order they were dealt"},
     [](const Experiment& e) -> Text { return YesNo(e.loader.in_order); }},
    {{"loader.persistent_workers", "true|false", "false", "keep workers alive between epochs"},
     [](const Experiment& e) -> Text {
       return If(HasWorkers(e), YesNo(e.loader.persistent_workers));
     }},
    {{"loader.pin_memory", "true|false", "false", "copy batches to page-locked memory"},
     [](const Experiment& e) -> Text { return YesNo(e.loader.pin_memory); }},
    {{"loader.timeout", "duration", "0", "longest wait for a batch; 0: no limit"},
     [](const Experiment& e) -> Text { return If(HasWorkers(e), ToText(e.loader.timeout)); }},
    {{"loader.dispatch", "round_robin|shared", "round_robin", "how batches are dealt to workers"},
     [](const Experiment& e) -> Text { return WordOf(kDispatches, e.loader.dispatch); }},
    {{"loader.queue", "tbb|lockfree|mutex", "tbb", "the queue between workers and trainer"},
     [](const Experiment& e) -> Text { return WordOf(kQueueKinds, e.loader.queue); }},
    {{"loader.queue_capacity", "count", "auto", "batches; auto: workers x prefetch_factor"},
     [](const Experiment& e) -> Text { return OrWord(e.loader.queue_capacity, "auto"); }},
    {{"loader.buffers", "recycled|fresh", "recycled", "fresh: page faults for every batch"},
     [](const Experiment& e) -> Text { return WordOf(kBuffers, e.loader.buffers); }},
    {{"loader.worker_startup", "duration or distribution", "0", "time to start a worker"},
     [](const Experiment& e) -> Text { return ToText(e.loader.worker_startup); }},
}};

constexpr std::array<KeyRule, 6> kLimitKeys{{
    {{"limits.cpus", "count or list", "auto", "4: that many, physical cores first; 0-3,6: a list"},
     [](const Experiment& e) -> Text { return CpusText(e.limits); }},
    {{"limits.compute_threads", "count", "auto", "LibTorch threads of the trainer"},
     [](const Experiment& e) -> Text { return OrWord(e.limits.compute_threads, "auto"); }},
    {{"limits.worker_threads", "count", "1", "threads that share a worker's prepare: burn"},
     [](const Experiment& e) -> Text { return Number(e.limits.worker_threads); }},
    {{"limits.omp_wait", "default|passive", "default", "OMP_WAIT_POLICY of the process"},
     [](const Experiment& e) -> Text { return WordOf(kOmpWaits, e.limits.omp_wait); }},
    {{"transfer.overlap", "true|false", "true", "copy the next batch while a step runs"},
     [](const Experiment& e) -> Text { return YesNo(e.transfer.overlap); }},
    {{"transfer.non_blocking", "true|false", "true", "do not block the host during a copy"},
     [](const Experiment& e) -> Text { return YesNo(e.transfer.non_blocking); }},
}};

constexpr std::array<KeyRule, 14> kStepKeys{{
    {{"model", "name|FILE.yaml|map", "mlp", "short for model.name"}, nullptr},
    {{"model.name", "name|FILE.yaml", "mlp", "models/*.yaml, or your own file"},
     [](const Experiment& e) -> Text {
       return QuoteYaml(e.model.reference.empty() ? e.model.name : e.model.reference);
     }},
    {{"model.layers", "list of layers", "the model file's", "layers instead of a model file"},
     [](const Experiment& e) -> Text {
       return If(e.model.reference.empty(), LayersText(e.model.layers));
     }},
    {{"model.precision", "fp32|bf16", "fp32", "precision of forward and backward"},
     [](const Experiment& e) -> Text { return WordOf(kPrecisions, e.training.precision); }},
    {{"model.optimizer", "sgd|momentum|adam", "sgd", "optimizer of the training step"},
     [](const Experiment& e) -> Text { return WordOf(kOptimizers, e.training.optimizer); }},
    {{"model.learning_rate", "number", "0.01", "learning rate of the optimizer"},
     [](const Experiment& e) -> Text { return NumberText(e.training.learning_rate); }},
    {{"model.sync_every", "count", "0", "read the loss back every n steps; 0: never"},
     [](const Experiment& e) -> Text { return Number(e.training.sync_every); }},
    {{"model.cuda_graph", "true|false", "false", "replay the step as one CUDA graph"},
     [](const Experiment& e) -> Text { return YesNo(e.training.cuda_graph); }},
    {{"device", "auto|cpu|cuda:N|emulated|preset|map", "auto", "short for device.name"}, nullptr},
    {{"device.name", "auto|cpu|cuda:N|emulated|preset", "auto", "auto: cuda:0 if there is one"},
     [](const Experiment& e) -> Text { return ToText(e.device.Id()); }},
    {{"device.in_flight", "count", "2", "maximum steps in flight"},
     [](const Experiment& e) -> Text { return Number(e.device.in_flight); }},
    {{"device.emulated.preset", "preset", "rtx-4060",
      "device for the roofline: configs/devices/*.yaml or a file"},
     [](const Experiment& e) -> Text {
       return If(e.device.preset.has_value(),
                 e.device.preset ? QuoteYaml(e.device.preset->name) : "");
     }},
    {{"device.emulated.base", "duration or distribution", "0", "stated step cost: fixed part"},
     [](const Experiment& e) -> Text {
       return If(e.device.step_base.has_value(),
                 e.device.step_base ? ToText(*e.device.step_base) : "");
     }},
    {{"device.emulated.per_sample", "duration or distribution", "0",
      "stated step cost: per sample"},
     [](const Experiment& e) -> Text {
       return If(e.device.step_base.has_value(), ToText(e.device.step_per_sample));
     }},
}};

constexpr std::array<KeyRule, 12> kRunKeys{{
    {{"run.duration", "duration", "auto",
      "measured time after warm-up; auto: until precise enough"},
     [](const Experiment& e) -> Text { return OrWord(e.run.duration, "auto"); }},
    {{"run.steps", "count", "none", "maximum steps, warm-up included"},
     [](const Experiment& e) -> Text { return OrWord(e.run.steps, "none"); }},
    {{"run.epochs", "count", "none", "maximum epochs, warm-up included"},
     [](const Experiment& e) -> Text { return OrWord(e.run.epochs, "none"); }},
    {{"run.warmup", "duration", "auto", "time excluded at the start; auto: MSER-5"},
     [](const Experiment& e) -> Text { return OrWord(e.run.warmup, "auto"); }},
    {{"run.seed", "count", "1", "seed of all random draws"},
     [](const Experiment& e) -> Text { return std::to_string(e.run.seed); }},
    {{"run.repeats", "count", "1", "number of runs; repeat r uses seed + r"},
     [](const Experiment& e) -> Text { return Number(e.run.repeats); }},
    {{"run.accelerators", "count", "1", "predict: identical trainers sharing storage and cores"},
     [](const Experiment& e) -> Text { return Number(e.run.accelerators); }},
    {{"run.probes", "auto|off", "auto", "auto: try changes for a fifth of the measured time"},
     [](const Experiment& e) -> Text { return WordOf(kProbes, e.run.probes); }},
    {{"run.min_duration", "duration", "5s", "duration auto: minimum measured time"},
     [](const Experiment& e) -> Text { return ToText(e.run.min_duration); }},
    {{"run.min_steps", "count", "1", "duration auto: minimum steps after warm-up"},
     [](const Experiment& e) -> Text { return Number(e.run.min_steps); }},
    {{"run.max_noise", "share", "2%", "duration auto: 95 % half-width over the mean"},
     [](const Experiment& e) -> Text { return NumberText(e.run.max_noise); }},
    {{"run.max_duration", "duration", "60s", "duration auto: maximum measured time"},
     [](const Experiment& e) -> Text { return ToText(e.run.max_duration); }},
}};

/// Of a sweep, not of the experiment of a point, so they have no text there.
constexpr std::array<KeyRule, 3> kSweepKeys{{
    {{"sweep.axes", "map of keys and values", "none", "pipesim sweep: what to vary"}, nullptr},
    {{"sweep.repeats", "count", "run.repeats", "pipesim sweep: repeats of each point"}, nullptr},
    {{"sweep.point_limit", "duration", "auto", "pipesim sweep: longest real run of a point"},
     nullptr},
}};

const std::array<std::span<const KeyRule>, 7> AllRules() {
  return {kDataKeys, kStorageKeys, kLoaderKeys, kLimitKeys, kStepKeys, kRunKeys, kSweepKeys};
}

struct OtherName {
  std::string_view name, key;
};
/// Names of keys in PyTorch or on the command line.
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
