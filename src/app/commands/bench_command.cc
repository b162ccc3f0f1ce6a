// One operation by size on CPU and GPU: who is faster, from which size on, and why.
#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <algorithm>

#include "app/command_line/arguments.h"
#include "app/command_line/output.h"
#include "app/delivery.h"
#include "app/installation.h"
#include "app/commands/inventory.h"
#include "app/process/interrupt.h"
#include "app/progress_line.h"
#include "app/session.h"
#include "app/torch_library.h"
#include "base/error.h"
#include "base/names.h"
#include "base/neighbours.h"
#include "base/text.h"
#include "calibrate/bench.h"
#include "report/bench_report.h"
#include "spec/presets.h"
#include "spec/units_text.h"

namespace pipesim::app {
namespace {

using base::ExitCode;
using calibrate::BenchKind;
using calibrate::BenchUnit;

constexpr std::size_t kMostSizes = 10'000;
constexpr std::int64_t kLargestSize = std::int64_t{1} << 40;

std::string BenchNames() {
  std::vector<std::string> names;
  for (const BenchKind& kind : calibrate::BenchKinds()) names.emplace_back(kind.name);
  return base::Join(names, ", ");
}

const BenchKind& KindOfBench(const Arguments& arguments) {
  if (arguments.positional.empty())
    throw base::UsageError("`pipesim bench` needs what to time: one of " + BenchNames());
  const std::string& word = arguments.positional.front();
  if (arguments.positional.size() > 1)
    throw base::UsageError(fmt::format("one bench at a time; '{}' is a second one",
                                       base::Printable(arguments.positional[1])));
  if (const BenchKind* kind = calibrate::FindBench(word)) return *kind;
  std::vector<std::string> names;
  for (const BenchKind& kind : calibrate::BenchKinds()) names.emplace_back(kind.name);
  const auto near = base::Nearest(word, names);
  throw base::UsageError(fmt::format("there is no bench '{}'{}; the benches are: {}", base::Printable(word),
                                     near ? ", did you mean " + *near + "?" : "", BenchNames()));
}

/// "501", "64k", and "4KiB" where sizes are bytes.
std::int64_t SizeOf(const std::string& text, BenchUnit unit) {
  std::optional<std::int64_t> size;
  const auto count = spec::ParseCount(text);
  if (const auto* whole = std::get_if<std::int64_t>(&count)) size = *whole;
  if (unit == BenchUnit::kBytes && !size) {
    const auto bytes = spec::ParseBytes(text);
    if (const auto* amount = std::get_if<base::Bytes>(&bytes)) size = amount->count;
  }
  if (!size || *size < 1 || *size > kLargestSize)
    throw base::UsageError(fmt::format("--sizes takes {} such as {}, not '{}'",
                                       unit == BenchUnit::kBytes ? "bytes" : "whole numbers",
                                       unit == BenchUnit::kBytes ? "4KiB,1MiB" : "8,32,128 or 1:2001:500",
                                       base::Printable(text)));
  return *size;
}

/// The values of "from:to:step" or "from:to:*factor", the end included.
void AddRange(const std::vector<std::string>& parts, BenchUnit unit, std::vector<std::int64_t>& sizes) {
  const bool factor = parts[2].starts_with("*");
  const std::int64_t to = SizeOf(parts[1], unit);
  const std::int64_t step = SizeOf(factor ? parts[2].substr(1) : parts[2], factor ? BenchUnit::kRows : unit);
  if (factor && step < 2) throw base::UsageError("--sizes takes a factor of 2 or more, such as 64:4096:*2");
  for (std::int64_t size = SizeOf(parts[0], unit); size <= to; size = factor ? size * step : size + step) {
    sizes.push_back(size);
    if (sizes.size() > kMostSizes)
      throw base::UsageError(fmt::format("--sizes makes more than {} sizes", kMostSizes));
  }
}

std::int64_t IterationsOf(const std::string& text) {
  const auto count = spec::ParseCount(text);
  const auto* const value = std::get_if<std::int64_t>(&count);
  if (value == nullptr || *value < 1)
    throw base::UsageError(fmt::format("--iterations takes a count of 1 or more, not '{}'", base::Printable(text)));
  return *value;
}

std::vector<std::int64_t> SizesOf(const std::string& text, BenchUnit unit) {
  std::vector<std::int64_t> sizes;
  for (const std::string& piece : base::Split(text, ',')) {
    const std::vector<std::string> parts = base::Split(piece, ':');
    if (parts.size() == 3)
      AddRange(parts, unit, sizes);
    else
      sizes.push_back(SizeOf(piece, unit));
  }
  std::sort(sizes.begin(), sizes.end());
  sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
  if (sizes.empty()) throw base::UsageError("--sizes names no size");
  return sizes;
}

base::Duration MaxTime(const Arguments& arguments, base::Duration otherwise) {
  const auto text = arguments.Last("max-time");
  if (!text) return otherwise;
  const auto parsed = spec::ParseDuration(*text);
  const auto* time = std::get_if<base::Duration>(&parsed);
  if (time == nullptr || time->count() <= 0)
    throw base::UsageError(
        fmt::format("--max-time takes a time such as 60s, not '{}'", base::Printable(*text)));
  return *time;
}

/// The experiment of the flags: device, threads, and the model of `step`. The name of the bench stands
/// where other commands have a file.
spec::Experiment ExperimentOfBench(Arguments arguments) {
  arguments.positional.clear();
  return ReadAsked(RequestOf(arguments));
}

/// Of the pipeline, a bench knows the device and its threads; only `step` has a model.
void RefuseUnusedFlags(const Arguments& arguments, const BenchKind& kind) {
  if (arguments.Has("batch"))
    throw base::UsageError("`pipesim bench` takes batch sizes by --sizes, such as `bench step --sizes 1,8,64`, not by "
                           "--batch");
  if (arguments.Has("data")) throw base::UsageError("`pipesim bench` loads no data: --data has no use here");
  if (arguments.Has("model") && kind.unit != BenchUnit::kSamples)
    throw base::UsageError(fmt::format("only `pipesim bench step` times a --model; `bench {}` has none", kind.name));
}

calibrate::BenchPlan PlanOfBench(const Arguments& arguments) {
  calibrate::BenchPlan plan;
  plan.kind = &KindOfBench(arguments);
  RefuseUnusedFlags(arguments, *plan.kind);
  plan.sizes = SizesOf(arguments.Last("sizes").value_or(std::string(plan.kind->sizes)), plan.kind->unit);
  if (const auto text = arguments.Last("iterations")) plan.iterations = IterationsOf(*text);
  plan.max_time = MaxTime(arguments, plan.max_time);
  plan.experiment = ExperimentOfBench(arguments);
  const spec::Device& device = plan.experiment.device;
  if (device.Id().IsEmulated() && !device.preset)
    throw base::UsageError("`pipesim bench` predicts by a preset, such as --device rtx-4060; a stated step "
                           "cost says nothing of other operations");
  return plan;
}

/// The preset that describes the GPU: "NVIDIA H200" is described by `h200`.
const spec::DevicePreset* PresetOf(const std::string& gpu, const std::vector<spec::DevicePreset>& presets) {
  std::string name = base::LowerCase(gpu);
  std::replace(name.begin(), name.end(), ' ', '-');
  for (const spec::DevicePreset& preset : presets)
    if (("-" + name + "-").find("-" + preset.name + "-") != std::string::npos) return &preset;
  return nullptr;
}

void DescribeGpu(const spec::Inventory& inventory, report::BenchReport& report) {
  const spec::Device& device = report.plan.experiment.device;
  if (device.Id().IsCpu()) return;
  const auto presets = spec::ReadPresets(FindDataFolders()).devices;
  const spec::DevicePreset* preset = device.preset ? &*device.preset : nullptr;
  if (preset != nullptr) report.gpu_name = preset->name;
  for (const spec::Gpu& gpu : inventory.gpus) {
    if (gpu.id != device.Id()) continue;
    report.gpu_name = gpu.name;
    preset = PresetOf(gpu.name, presets);
    if (const auto link = gpu.link_most.value_or(spec::PcieLink{}); link.lanes > 0)
      if (const auto rate = spec::BandwidthOf(link)) report.peak.link_bytes_per_s = rate->per_s;
  }
  if (report.gpu_name.empty()) report.gpu_name = spec::ToText(device.Id());
  if (preset == nullptr) return;
  report.peak.from = "preset " + preset->name;
  report.peak.flops_per_s =
      cost::PeakOf(report.plan.kind->ways.front().operation, report.plan.experiment, *preset);
  report.peak.bytes_per_s = preset->memory_bandwidth.per_s;
}

calibrate::BenchResult RunInterruptibly(const calibrate::BenchPlan& plan, bool quiet) {
  const engine::TorchPlugin& torch = LoadTorch();
  base::StopFlag stop;
  const InterruptHandler interrupt(stop, InterruptHandler::Second::kLeaves);
  const base::SystemClock clock;
  ProgressLine line(stderr, isatty(STDERR_FILENO) != 0);
  calibrate::BenchControl control{.make = torch.make_bench_loop, .clock = &clock, .stop = &stop, .on_progress = {}};
  if (!quiet)
    control.on_progress = [&](std::string_view doing, double share) { line.ShowPreparing(doing, share); };
  return calibrate::RunBench(plan, control);
}

}  // namespace

ExitCode Bench(const Arguments& arguments) {
  report::BenchReport report;
  report.plan = PlanOfBench(arguments);
  if (arguments.Has("needs-libtorch")) return PrintOut("yes\n"), ExitCode::kOk;
  Exports exports(arguments);
  PrepareMachine(report.plan.experiment);
  report.plan.compute_threads = *report.plan.experiment.limits.compute_threads;
  const spec::Inventory inventory = ReadInventory();
  report.plan.gpus = static_cast<int>(inventory.gpus.size());
  report.cpu_name = inventory.cpu.name;
  DescribeGpu(inventory, report);
  const base::OthersWatch others(inventory.cpu.allowed);
  report.result = RunInterruptibly(report.plan, arguments.Has("quiet"));
  report.cores = inventory.cpu.cores;
  report.foreign_cores = others.Cores();
  report.context = ReadContext();
  report.context.argv = arguments.typed;
  report.context.libtorch_version = LoadTorch().libtorch_version;
  for (const std::string& text : LoadTorch().take_warnings()) spdlog::warn("LibTorch: {}", text);
  ExportAndPrint(arguments, exports, report::ToJson(report));
  return report.result.interrupted ? ExitCode::kInterrupted : ExitCode::kOk;
}

}  // namespace pipesim::app
