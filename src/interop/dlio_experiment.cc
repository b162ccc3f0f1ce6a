#include "interop/dlio_experiment.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "interop/duration_text.h"
#include "spec/map_reader.h"
#include "spec/yaml_tree.h"

namespace pipesim::interop {
namespace {

std::string BytesText(double bytes) { return fmt::format("{}B", std::llround(bytes)); }

/// pipesim draws no Poisson numbers: one value for each of its hundredths.
std::string PoissonText(double mean) {
  constexpr int kParts = 100;
  std::vector<std::string> values;
  double probability = std::exp(-mean), below = probability;
  int value = 0;
  for (int part = 0; part < kParts; ++part) {
    while (below < (part + 0.5) / kParts && value < 100 * (mean + 1)) {
      probability *= mean / ++value;
      below += probability;
    }
    values.push_back(fmt::format("{}s", value));
  }
  return "{distribution: empirical, values: [" + base::Join(values, ", ") + "]}";
}

std::string TimeText(const DlioTime& time) {
  using Kind = DlioTime::Kind;
  switch (time.kind) {
    case Kind::kFixed:
      return DurationText(time.mean_s);
    case Kind::kNormal:
      return fmt::format("{{distribution: normal, mean: {}, stdev: {}}}", DurationText(time.mean_s),
                         DurationText(time.stdev_s));
    case Kind::kUniform:
      return fmt::format("{{distribution: uniform, low: {}, high: {}}}", DurationText(time.low_s),
                         DurationText(time.high_s));
    case Kind::kGamma:
      return fmt::format("{{distribution: gamma, mean: {}, stdev: {}}}",
                         DurationText(time.shape * time.scale_s),
                         DurationText(std::sqrt(time.shape) * time.scale_s));
    case Kind::kExponential:
      return fmt::format("{{distribution: exponential, mean: {}}}", DurationText(time.mean_s));
    case Kind::kPoisson:
      return PoissonText(time.mean_s);
  }
  return "0";
}

/// DLIO's records are squares: sqrt(record) bytes long on both sides, each side drawn with a standard
/// deviation of stdev / 2 / sqrt(record) (utils/config.py, data_generator.py). So the record's own is
/// near stdev / sqrt(2).
std::string StoredText(const DlioWorkload& workload) {
  if (workload.record_bytes_stdev <= 0) return BytesText(workload.record_bytes);
  const double side = std::floor(std::sqrt(workload.record_bytes));
  const double spread = workload.record_bytes_stdev / 2 / std::sqrt(workload.record_bytes);
  const double stdev = std::sqrt(2 * side * side * spread * spread + std::pow(spread, 4));
  return fmt::format("{{distribution: normal, mean: {}, stdev: {}}}", BytesText(side * side),
                     BytesText(stdev));
}

/// ceil(prefetch_size / read_threads), 2 where that is 0 (data_loader/torch_data_loader.py).
std::int64_t PrefetchFactor(const DlioWorkload& workload, std::int64_t workers) {
  return workload.prefetch_size > 0 ? (workload.prefetch_size + workers - 1) / workers : 2;
}

/// tf.data and DALI have at least one thread (data_loader/tf_data_loader.py, dali_data_loader.py).
std::int64_t WorkersOf(const DlioWorkload& workload) {
  if (workload.loader == DlioLoader::kSynthetic) return 0;
  return std::max(workload.read_threads, workload.loader == DlioLoader::kPytorch ? 0 : 1);
}

std::int64_t StepsOf(const DlioWorkload& workload, int accelerators, const std::string& source) {
  const std::int64_t samples = workload.files * workload.samples_per_file;
  const std::int64_t steps = samples / (workload.batch_size * accelerators);
  if (steps == 0) {
    const std::int64_t needed = workload.batch_size * accelerators;
    base::Problem problem;
    problem.source = base::Printable(source);
    problem.what = fmt::format("{} samples are not a batch of {} for each of {} accelerators", samples,
                               workload.batch_size, accelerators);
    problem.suggestion =
        fmt::format("--set dataset.num_files_train={}, or more",
                    (needed + workload.samples_per_file - 1) / workload.samples_per_file);
    throw base::ConfigError({problem});
  }
  return workload.most_steps > 0 ? std::min(steps, workload.most_steps) : steps;
}

std::string Comments(const DlioWorkload& workload, int accelerators, const std::string& source) {
  std::string text = fmt::format(
      "# DLIO's {} as MLPerf Storage runs it, {} accelerator{}. From {}.\n"
      "# How many accelerators a storage feeds: pipesim size FILE --target 'au>={}' --solve "
      "accelerators\n",
      base::Printable(workload.name), accelerators, accelerators == 1 ? "" : "s",
      base::Printable(source), spec::NumberText(workload.au_goal));
  if (!workload.in_memory)
    text +=
        "# not in the workload: the storage. State it with --set storage.bandwidth=10GB/s or "
        "--set storage.preset=nvme\n";
  text += "# not in the workload: CPU time of reading a sample, 0 here";
  text += workload.preprocess.IsZero() ? ". State it with --prepare TIME\n" : "\n";
  if (workload.loader == DlioLoader::kTensorflow)
    text += "# tf.data reads each batch with all its threads; here each thread reads a batch of its "
            "own, at the same rate\n";
  if (workload.checkpoints) text += "# left out: checkpoints, which pause training\n";
  if (workload.evaluates) text += "# left out: evaluation between epochs\n";
  return text;
}

/// PyTorch's workers are processes. Its pin_memory is left out: without an accelerator it does
/// nothing, and MLPerf Storage's hosts have none.
std::string LoaderText(const DlioWorkload& workload) {
  const std::int64_t workers = WorkersOf(workload);
  const bool processes = workload.loader == DlioLoader::kPytorch;
  std::string text = fmt::format("loader: {{{}workers: {}, batch_size: {}",
                                 processes ? "kind: process, " : "", workers, workload.batch_size);
  if (workers > 0)
    text += fmt::format(", prefetch_factor: {}, persistent_workers: true",
                        PrefetchFactor(workload, workers));
  if (processes && workers > 0 && workload.start_method != "fork")
    text += ", start_method: " + workload.start_method;
  return text + fmt::format(", drop_last: true, shuffle: {}}}\n", workload.shuffle);
}

/// Readers return one array of this size whatever they read, without a label
/// (reader/reader_handler.py, read_index: resized_image).
std::string SampleText(const DlioWorkload& workload) {
  std::vector<std::string> sides;
  for (const std::int64_t side : workload.sample) sides.push_back(std::to_string(side));
  return fmt::format("shape: [{}], dtype: uint8, tensors: 1", base::Join(sides, ", "));
}

}  // namespace

std::string ExperimentText(const DlioWorkload& workload, int accelerators,
                           const std::string& source) {
  const std::int64_t steps = StepsOf(workload, accelerators, source);
  std::string text = Comments(workload, accelerators, source);
  text += "version: 1\nname: " + spec::QuoteYaml(workload.name) + "\n";
  text += fmt::format("dataset: {{samples: {}, sample_bytes: {}, {}}}  # {} steps an epoch\n",
                      steps * workload.batch_size * accelerators, StoredText(workload),
                      SampleText(workload), steps);
  text += workload.in_memory ? "storage: none\n" : "storage: {sharing: fair}\n";
  text += workload.preprocess.IsZero()
              ? "prepare: none\n"
              : "prepare: {kind: wait, cost: " + TimeText(workload.preprocess) + "}\n";
  text += LoaderText(workload);
  text += "device: {emulated: {base: " + TimeText(workload.computation) + "}, in_flight: 1}\n";
  text += fmt::format("run: {{accelerators: {}, barrier: true, epochs: {}}}\n", accelerators,
                      workload.epochs);
  return text;
}

}  // namespace pipesim::interop
