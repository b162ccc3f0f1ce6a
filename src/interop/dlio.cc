#include "interop/dlio.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <span>
#include <utility>

#include "base/names.h"
#include "base/text.h"
#include "spec/map_reader.h"
#include "spec/overrides.h"
#include "spec/words.h"
#include "spec/yaml_tree.h"

namespace pipesim::interop {
namespace {

using spec::MapReader;
using spec::Node;
using spec::Reading;

struct DlioSection {
  std::string_view name;
  std::span<const std::string_view> keys;
};

constexpr std::string_view kModelKeys[] = {
    "name", "type", "model_size", "model_size_bytes", "model_datatype", "optimizer_datatype",
    "optimization_groups", "num_layers", "layer_parameters", "parallelism", "transformer"};
constexpr std::string_view kWorkflowKeys[] = {"generate_data", "train",     "evaluation",
                                              "checkpoint",    "profiling", "debug"};
constexpr std::string_view kStorageKeys[] = {
    "storage_type", "storage_root", "storage_options", "storage_library", "storage_sub_type",
    "storage_class_name"};
constexpr std::string_view kDatasetKeys[] = {
    "record_length", "record_length_stdev", "record_length_resize", "record_length_bytes",
    "record_length_bytes_stdev", "record_length_bytes_resize", "num_files_train", "num_files_eval",
    "num_samples_per_file", "data_folder", "num_subfolders_train", "num_subfolders_eval",
    "batch_size", "batch_size_eval", "enable_chunking", "chunk_size", "compression",
    "compression_level", "file_prefix", "format", "keep_files", "generation_buffer_size",
    "record_element_bytes", "record_element_type", "record_dims", "hdf5"};
constexpr std::string_view kReaderKeys[] = {
    "data_loader", "data_loader_classname", "data_loader_sampler", "reader_classname",
    "multiprocessing_context", "batch_size", "batch_size_eval", "read_threads",
    "computation_threads", "prefetch_size", "file_shuffle", "sample_shuffle", "shuffle_size",
    "file_access", "read_type", "transfer_size", "preprocess_time", "preprocess_time_stdev",
    "pin_memory", "odirect", "dont_use_mmap", "transformed_record_dims",
    "transformed_record_element_type"};
constexpr std::string_view kTrainKeys[] = {"epochs", "computation_time", "computation_time_stdev",
                                           "total_training_steps", "seed_change_epoch", "seed"};
constexpr std::string_view kEvaluationKeys[] = {"eval_time", "eval_time_stdev", "eval_after_epoch",
                                                "epochs_between_evals"};
constexpr std::string_view kCheckpointKeys[] = {
    "checkpoint_folder", "checkpoint_after_epoch", "epochs_between_checkpoints",
    "steps_between_checkpoints", "type", "checkpoint_mechanism_classname", "fsync", "model_size",
    "optimization_groups", "num_layers", "layer_parameters", "time_between_checkpoints",
    "num_checkpoints_write", "num_checkpoints_read", "recovery_rank_shift", "rank_sync", "mode",
    "randomize_tensor", "ksm"};
constexpr std::string_view kOutputKeys[] = {"folder", "log_file", "metric"};
constexpr std::string_view kProfilingKeys[] = {"profiler", "iostat_devices"};
constexpr std::string_view kMetricKeys[] = {"au", "exclude_start_steps", "exclude_end_steps"};

constexpr DlioSection kSections[] = {
    {"model", kModelKeys},           {"workflow", kWorkflowKeys},
    {"storage", kStorageKeys},       {"dataset", kDatasetKeys},
    {"reader", kReaderKeys},         {"data_reader", kReaderKeys},
    {"train", kTrainKeys},           {"evaluation", kEvaluationKeys},
    {"checkpoint", kCheckpointKeys}, {"output", kOutputKeys},
    {"profiling", kProfilingKeys},   {"metric", kMetricKeys}};
constexpr std::string_view kFramework = "framework";

constexpr std::array<spec::Named<DlioLoader>, 5> kLoaders{
    {{"pytorch", DlioLoader::kPytorch},
     {"tensorflow", DlioLoader::kTensorflow},
     {"dali", DlioLoader::kDali},
     {"native_dali", DlioLoader::kDali},
     {"synthetic", DlioLoader::kSynthetic}}};

const Node kNothing;

const Node& In(const Node& root, std::string_view section) {
  const Node* const node = root.Find(section);
  return node == nullptr ? kNothing : *node;
}

void RefuseUnknown(Reading& reading, const Node& node, std::vector<std::string> known,
                   const std::string& where) {
  if (!node.IsMap()) return;
  for (const spec::MapKey& key : node.keys) {
    if (std::find(known.begin(), known.end(), key.text) != known.end()) continue;
    const auto near = base::Nearest(key.text, known);
    reading.Problem(key.place, "DLIO has no key " + base::Quoted(key.text) + where,
                    near ? *near : "one of " + base::Join(known, ", "));
  }
}

/// What is no map is reported here and then left out.
void CheckKeys(Reading& reading, Node& root) {
  std::vector<std::string> names{std::string(kFramework)};
  for (const DlioSection& section : kSections) names.emplace_back(section.name);
  RefuseUnknown(reading, root, names, "");
  for (const DlioSection& section : kSections) {
    Node* const node = root.Find(section.name);
    if (node == nullptr) continue;
    const bool names_model = section.name == "model" && node->kind == spec::NodeKind::kScalar;
    if (!node->IsMap() && !node->IsNull() && !names_model) {
      reading.Problem(node->place, std::string(section.name) + " must be a map of keys and values");
      *node = {};
    }
    RefuseUnknown(reading, *node, {section.keys.begin(), section.keys.end()},
                  " in " + std::string(section.name));
  }
}

/// Times and sizes are plain numbers in DLIO; more than this is no time and no size.
constexpr double kMost = 1e15;
/// Of a Poisson distribution: seconds, and e^-lam is still a number.
constexpr double kMostLam = 500;

bool ReadNumber(MapReader& reader, std::string_view key, double& out) {
  return reader.Number(key, out, 0, kMost);
}

/// DLIO's YAML is version 1.1, where yes and on are true.
bool ReadYes(Reading& reading, MapReader& reader, std::string_view key, bool fallback) {
  const Node* const node = reader.Take(key);
  if (node == nullptr) return fallback;
  const std::string text = base::LowerCase(node->text);
  if (text == "true" || text == "yes" || text == "on") return true;
  if (text == "false" || text == "no" || text == "off") return false;
  reading.Problem(node->place,
                  reader.PathOf(key) + ": " + base::Quoted(node->text) + " is not True or False");
  return fallback;
}

/// A word, in lower case.
std::string ReadDlioWord(MapReader& reader, std::string_view key, std::string fallback) {
  const Node* const node = reader.Take(key);
  return node == nullptr ? fallback : base::LowerCase(node->text);
}

DlioTime ReadDistributed(Reading& reading, const Node& node, const std::string& path) {
  MapReader reader(reading, node, path);
  DlioTime time;
  const bool spread = reader.Has("stdev");
  const std::string type = ReadDlioWord(reader, "type", spread ? "normal" : "fixed");
  using Kind = DlioTime::Kind;
  if (type == "fixed" || type == "normal") {
    time.kind = type == "normal" ? Kind::kNormal : Kind::kFixed;
    ReadNumber(reader, "mean", time.mean_s);
    ReadNumber(reader, "stdev", time.stdev_s);
  } else if (type == "uniform") {
    time.kind = Kind::kUniform;
    ReadNumber(reader, "min", time.low_s);
    ReadNumber(reader, "max", time.high_s);
  } else if (type == "gamma") {
    time.kind = Kind::kGamma;
    ReadNumber(reader, "shape", time.shape);
    ReadNumber(reader, "scale", time.scale_s);
  } else if (type == "exponential") {
    time.kind = Kind::kExponential;
    ReadNumber(reader, "scale", time.mean_s);
  } else if (type == "poisson") {
    time.kind = Kind::kPoisson;
    reader.Number("lam", time.mean_s, 0, kMostLam);
  } else {
    reading.Problem(node.place, path + ": DLIO has no distribution " + base::Quoted(type),
                    "normal, uniform, gamma, exponential or poisson");
  }
  return time;
}

/// A number of seconds, or a map.
DlioTime ReadTime(Reading& reading, MapReader& reader, const std::string& section,
                  const std::string& key) {
  DlioTime time;
  const Node* const node = reader.Peek(key);
  if (node != nullptr && node->IsMap())
    time = ReadDistributed(reading, *node, section + "." + key);
  else
    ReadNumber(reader, key, time.mean_s);
  if (ReadNumber(reader, key + "_stdev", time.stdev_s) && time.stdev_s > 0)
    time.kind = DlioTime::Kind::kNormal;
  return time;
}

/// Of a NumPy type such as "float32": its digits are bits.
std::int64_t BytesOfElement(const std::string& type) {
  const std::size_t digit = std::min(type.find_first_of("0123456789"), type.size());
  const auto bits = base::WholeNumber<std::uint16_t>(type.substr(digit));
  return std::max<std::int64_t>(1, bits.value_or(8) / 8);
}

/// The sides of an array whose elements are bytes; empty without its dimensions.
spec::Shape ReadArray(MapReader& reader, std::string_view dims, std::string_view type) {
  spec::Shape shape;
  if (!reader.Sizes(dims, shape) || shape.empty()) return {};
  shape.back() *= BytesOfElement(ReadDlioWord(reader, type, "uint8"));
  return shape;
}

double BytesOf(const spec::Shape& shape) {
  double bytes = 1;
  for (const std::int64_t size : shape) bytes *= static_cast<double>(size);
  return bytes;
}

std::int64_t SideOf(double bytes) {
  return std::max<std::int64_t>(1, static_cast<std::int64_t>(std::sqrt(bytes)));
}

/// Records and samples without dimensions are squares with whole sides (utils/config.py,
/// derive_configurations).
void ReadDataset(Reading& reading, const Node& node, DlioWorkload& out) {
  MapReader reader(reading, node, "dataset");
  const auto most = std::numeric_limits<int>::max();
  reader.Count("num_files_train", out.files, 1, most);
  reader.Count("num_samples_per_file", out.samples_per_file, 1, most);
  double resized = 0;
  for (const char* const name : {"record_length", "record_length_bytes"}) {
    const std::string key = name;
    reader.Number(key, out.record_bytes, 1, kMost);
    ReadNumber(reader, key + "_stdev", out.record_bytes_stdev);
    ReadNumber(reader, key + "_resize", resized);
  }
  const spec::Shape record = ReadArray(reader, "record_dims", "record_element_type");
  if (!record.empty())
    out.record_bytes = BytesOf(record);
  else if (out.record_bytes_stdev <= 0)
    out.record_bytes = std::pow(SideOf(out.record_bytes), 2);
  const std::int64_t side = SideOf(resized > 0 ? resized : out.record_bytes);
  out.sample = {side, side};
  out.format = ReadDlioWord(reader, "format", out.format);
  if (out.format == "synthetic") out.in_memory = true;
}

void ReadReader(Reading& reading, const Node& root, DlioWorkload& out) {
  const std::string section = root.Find("data_reader") != nullptr ? "data_reader" : "reader";
  MapReader reader(reading, In(root, section), section);
  spec::ReadWord(reader, "data_loader", kLoaders, out.loader);
  out.in_memory = out.in_memory || out.loader == DlioLoader::kSynthetic;
  spec::StartMethod start_method{};
  if (spec::ReadWord(reader, "multiprocessing_context", spec::kStartMethods, start_method))
    out.start_method = spec::WordOf(spec::kStartMethods, start_method);
  const auto most = std::numeric_limits<int>::max();
  reader.Count("batch_size", out.batch_size, 1, most);
  reader.Count("read_threads", out.read_threads, 0, 65'536);
  reader.Count("prefetch_size", out.prefetch_size, 0, most);
  const bool files = ReadDlioWord(reader, "file_shuffle", "off") != "off";
  const bool samples = ReadDlioWord(reader, "sample_shuffle", "off") != "off";
  out.shuffle = files || samples;
  out.preprocess = ReadTime(reading, reader, section, "preprocess_time");
  const spec::Shape sample =
      ReadArray(reader, "transformed_record_dims", "transformed_record_element_type");
  if (!sample.empty()) out.sample = sample;
}

void ReadTrain(Reading& reading, const Node& node, DlioWorkload& out) {
  MapReader reader(reading, node, "train");
  reader.Count("epochs", out.epochs, 1, std::numeric_limits<int>::max());
  const Node* const steps = reader.Peek("total_training_steps");
  if (steps != nullptr && steps->text != "-1")
    reader.Count("total_training_steps", out.most_steps, 1, std::numeric_limits<int>::max());
  out.computation = ReadTime(reading, reader, "train", "computation_time");
}

void ReadRest(Reading& reading, const Node& root, DlioWorkload& out) {
  const Node& model = In(root, "model");
  if (model.kind == spec::NodeKind::kScalar) out.name = model.text;
  if (model.IsMap()) MapReader(reading, model, "model").Text("name", out.name);
  const Node& framework = In(root, kFramework);
  if (base::LowerCase(framework.text) == "pytorch") out.loader = DlioLoader::kPytorch;
  MapReader metric(reading, In(root, "metric"), "metric");
  metric.Number("au", out.au_goal, 0, 1);
  MapReader workflow(reading, In(root, "workflow"), "workflow");
  out.evaluates = ReadYes(reading, workflow, "evaluation", false);
  out.checkpoints = ReadYes(reading, workflow, "checkpoint", false);
  if (!ReadYes(reading, workflow, "train", true))
    reading.Problem(workflow.Peek("train")->place,
                    "this workload does not train: nothing can be imported",
                    "a workload with workflow.train: True");
}

/// "++workload.reader.read_threads", as on DLIO's command line, is the same as
/// "reader.read_threads".
std::string PathWithin(std::string path) {
  path.erase(0, std::min(path.find_first_not_of('+'), path.size()));
  constexpr std::string_view kWorkload = "workload.";
  if (path.starts_with(kWorkload)) path.erase(0, kWorkload.size());
  return path;
}

/// A configuration that DLIO has saved holds the workload below this key.
Node WorkloadIn(Node tree) {
  Node* const inner = tree.Find("workload");
  return inner != nullptr && inner->IsMap() ? Node(*inner) : tree;
}

}  // namespace

DlioWorkload ReadDlio(std::string_view yaml, const std::string& source,
                      std::vector<spec::Override> overrides) {
  std::vector<base::Problem> problems;
  Node root = WorkloadIn(spec::ParseYaml(yaml, source, spec::Origin::kFile, problems));
  for (spec::Override& change : overrides) {
    change.path = PathWithin(std::move(change.path));
    spec::ApplyOverride(root, change, problems);
  }
  Reading reading;
  reading.Add(std::move(problems));
  DlioWorkload workload;
  if (!reading.HasProblems()) {
    CheckKeys(reading, root);
    ReadRest(reading, root, workload);
    ReadDataset(reading, In(root, "dataset"), workload);
    ReadReader(reading, root, workload);
    ReadTrain(reading, In(root, "train"), workload);
  }
  if (reading.HasProblems()) throw base::ConfigError(reading.TakeProblems());
  return workload;
}

bool LooksLikeDlio(std::string_view yaml) {
  std::vector<base::Problem> problems;
  const Node root =
      WorkloadIn(spec::ParseYaml(yaml, "", spec::Origin::kFile, problems));
  // An experiment has a dataset, a storage and a model, too.
  const auto own = {"reader", "data_reader", "train", "workflow", "framework"};
  return !problems.empty() || std::any_of(own.begin(), own.end(), [&](const char* section) {
    return root.Find(section) != nullptr;
  });
}

}  // namespace pipesim::interop
