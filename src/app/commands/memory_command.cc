// What a training step or a matrix product holds on a device, and the largest that fits.
#include <fmt/format.h>

#include <cmath>

#include "app/command_line/arguments.h"
#include "app/command_line/output.h"
#include "app/delivery.h"
#include "app/commands/inventory.h"
#include "app/session.h"
#include "base/error.h"
#include "base/text.h"
#include "report/memory_report.h"
#include "spec/units_text.h"

namespace pipesim::app {
namespace {

using base::ExitCode;
using spec::DeviceKind;

std::optional<std::int64_t> MatmulSize(const Arguments& arguments) {
  const auto text = arguments.Last("matmul");
  if (!text) return std::nullopt;
  const auto parsed = spec::ParseCount(*text);
  const std::int64_t* size = std::get_if<std::int64_t>(&parsed);
  if (size == nullptr || *size < 1 || *size > (1 << 30))
    throw base::UsageError(
        fmt::format("--matmul takes a number of rows such as 30000, not '{}'", base::Printable(*text)));
  return *size;
}

/// A product has neither.
void RefuseStepOfMatmul(const Arguments& arguments) {
  for (const char* flag : {"model", "batch"})
    if (arguments.Has(flag))
      throw base::UsageError(fmt::format("--matmul asks for a matrix product and --{} for a training step: give one "
                                         "of them", flag));
}

const spec::Gpu& GpuOf(const spec::Inventory& inventory, spec::DeviceId device) {
  for (const spec::Gpu& gpu : inventory.gpus)
    if (gpu.id == device) return gpu;
  throw base::EnvironmentError(
      fmt::format("device {} is not here (`pipesim devices` lists what is); a preset such as "
                  "--device rtx-4060 needs no GPU",
                  spec::ToText(device)));
}

/// Turns `auto` into what is here, and fills in the device's memory.
std::optional<double> Describe(const spec::Inventory& inventory, report::MemoryReport& report) {
  spec::Device& device = report.experiment.device;
  if (device.kind == DeviceKind::kAuto) {
    const spec::DeviceId first = spec::AllGpusOrCpu(inventory.gpus).front();
    device.kind = first.kind;
    device.cuda_index = first.index;
  }
  if (device.kind == DeviceKind::kEmulated) {
    if (!device.preset)
      throw base::EnvironmentError("an emulated device with a stated cost has no memory; name a "
                                   "preset such as --device rtx-4060");
    report.reality = report::Reality::kPredicted;
    report.device = device.preset->name;
    report.device_name = device.preset->source;
    report.memory = report.free = device.preset->memory;
    return device.preset->compute_capability;
  }
  report.device = spec::ToText(device.Id());
  if (device.kind == DeviceKind::kCpu) {
    report.device_name = inventory.cpu.name;
    report.memory = report.free = inventory.cpu.memory_free.value_or(base::Bytes{});
    return std::nullopt;
  }
  const spec::Gpu& gpu = GpuOf(inventory, device.Id());
  report.device_name = gpu.name;
  report.memory = gpu.memory;
  report.free = gpu.memory_free.value_or(gpu.memory);
  return gpu.ComputeCapability();
}

cost::MemoryPlan PlanOfBatch(spec::Experiment experiment, std::int64_t batch,
                             std::optional<double> capability) {
  experiment.loader.batch_size = batch;
  return experiment.device.kind == DeviceKind::kCpu ? cost::PlanMemory(experiment)
                                                    : cost::PlanDeviceMemory(experiment, capability);
}

}  // namespace

ExitCode Memory(const Arguments& arguments) {
  report::MemoryReport report;
  report.matmul = MatmulSize(arguments);
  if (report.matmul) RefuseStepOfMatmul(arguments);
  report.experiment = ReadAsked(RequestOf(arguments));
  if (arguments.Has("needs-libtorch")) return PrintOut("no\n"), ExitCode::kOk;
  Exports exports(arguments);
  const auto capability = Describe(ReadInventory(), report);
  const bool on_cpu = report.experiment.device.kind == DeviceKind::kCpu;
  const cost::LibraryMemory libraries = cost::LibraryMemoryOf(on_cpu, capability);
  const auto plan_of = [&](std::int64_t size) {
    return report.matmul ? cost::PlanMatmul(size, libraries)
                         : PlanOfBatch(report.experiment, size, capability);
  };
  report.plan = plan_of(report.matmul.value_or(report.experiment.loader.batch_size));
  report.largest = cost::LargestWithin(static_cast<double>(report.free.count), plan_of);
  report.context = ReadContext();
  report.context.argv = arguments.typed;
  ExportAndPrint(arguments, exports, report::ToJson(report));
  return report.Fits() ? ExitCode::kOk : ExitCode::kThresholdMissed;
}

}  // namespace pipesim::app
