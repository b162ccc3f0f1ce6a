#include "cost/memory_plan.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <utility>

#include "base/number_text.h"
#include "base/text.h"
#include "cost/buffers.h"

namespace pipesim::cost {
namespace {

using spec::Experiment;

double BatchBytes(const Experiment& experiment) {
  return static_cast<double>(spec::PreparedBytes(experiment.dataset).count) *
         static_cast<double>(experiment.loader.batch_size);
}

void Add(MemoryPlan& plan, std::string what, double bytes) {
  if (bytes > 0) plan.parts.push_back({std::move(what), bytes});
}

/// The model on its device. `libraries`: nothing on the CPU.
void AddTraining(MemoryPlan& plan, const Experiment& experiment, int input_buffers,
                 const LibraryMemory& libraries) {
  const TrainingMemory peak = PeakOfTraining(experiment, input_buffers, libraries);
  Add(plan, "parameters", peak.parameters);
  Add(plan, "gradients", peak.gradients);
  Add(plan, "optimizer state", peak.optimizer_state);
  Add(plan, "activations", peak.activations);
  Add(plan, "library workspaces", peak.workspaces);
  Add(plan, fmt::format("{} input batches", input_buffers), peak.input_batches);
}

constexpr const char* kContext = "the CUDA context and loaded kernels";

/// The memory of a described device: the model, and a batch for each step in flight.
MemoryPlan PlanPresetMemory(const Experiment& experiment) {
  const auto& preset = experiment.device.preset;
  return PlanDeviceMemory(experiment, preset ? preset->compute_capability : std::nullopt);
}

using Planner = std::function<MemoryPlan(const Experiment&)>;

/// The largest value in [1, now) that fits; 0: none. Memory must grow with the value.
template <class Number, class With>
Number LargestThatFits(const Planner& plan, Number now, double free, With&& with) {
  Number fits = 0, too_much = now;
  while (too_much - fits > 1) {
    const Number middle = fits + (too_much - fits) / 2;
    (plan(with(middle)).Total() <= free ? fits : too_much) = middle;
  }
  return fits;
}

std::int64_t LargestBatch(const Planner& plan, const Experiment& experiment, double free) {
  return LargestThatFits(plan, experiment.loader.batch_size, free, [&](std::int64_t size) {
    Experiment smaller = experiment;
    smaller.loader.batch_size = size;
    return smaller;
  });
}

/// Flags that would fit, and what they set.
struct Fitting {
  std::string flags;
  std::vector<std::pair<std::string, std::string>> set;
};

std::vector<Fitting> WhichBatchFits(const Planner& plan, const Experiment& experiment, double free) {
  const std::int64_t batch = LargestBatch(plan, experiment, free);
  if (batch == 0) return {};
  return {{fmt::format("--batch {}", batch), {{"loader.batch_size", std::to_string(batch)}}}};
}

/// What leaves training as it is comes last.
std::vector<Fitting> WhatFits(const Experiment& experiment, double free) {
  std::vector<Fitting> fits = WhichBatchFits(&PlanMemory, experiment, free);
  if (experiment.loader.workers == 0) return fits;
  const auto prefetch =
      LargestThatFits(&PlanMemory, experiment.loader.prefetch_factor, free, [&](int factor) {
        Experiment smaller = experiment;
        smaller.loader.prefetch_factor = factor;
        return smaller;
      });
  if (prefetch > 0) {
    fits.push_back({fmt::format("--prefetch {}", prefetch),
                    {{"loader.prefetch_factor", std::to_string(prefetch)}}});
    return fits;
  }
  const auto workers = LargestThatFits(&PlanMemory, experiment.loader.workers, free, [&](int count) {
    Experiment smaller = experiment;
    smaller.loader.workers = count;
    smaller.loader.prefetch_factor = 1;
    return smaller;
  });
  if (workers > 0)
    fits.push_back({fmt::format("--workers {} --prefetch 1", workers),
                    {{"loader.workers", std::to_string(workers)}, {"loader.prefetch_factor", "1"}}});
  return fits;
}

Refusal RefusalOf(const MemoryPlan& plan, double free, const std::string& where,
                  const std::vector<Fitting>& fits) {
  std::vector<std::string> parts;
  for (const MemoryPart& part : plan.parts)
    parts.push_back(fmt::format("{} ({})", part.what, base::Amount(part.bytes)));
  std::string text = fmt::format("not started, because it would hold {}: {}",
                                 base::Amount(plan.Total()), base::Join(parts, ", "));
  if (!plan.left_out.empty())
    text += fmt::format("; not counted: {}", base::Join(plan.left_out, ", "));
  text += fmt::format("; {} are free by {}", base::Amount(free), where);
  if (fits.empty()) return {text + "; no batch size fits", {}};
  std::vector<std::string> flags;
  for (const Fitting& one : fits) flags.push_back(one.flags);
  return {text + fmt::format("; {} would fit", base::Join(flags, " or ")), fits.back().set};
}

/// Why it does not fit into `free` on the device `where`; nullopt: it fits.
std::optional<Refusal> RefusalOn(const std::string& where, const Experiment& experiment,
                                 const Planner& planner, base::Bytes free) {
  const MemoryPlan plan = planner(experiment);
  const auto has = static_cast<double>(free.count);
  if (plan.Total() <= has) return std::nullopt;
  return RefusalOf(plan, has, where, WhichBatchFits(planner, experiment, has));
}

}  // namespace

double MemoryPlan::Total() const {
  double total = 0;
  for (const MemoryPart& part : parts) total += part.bytes;
  return total;
}

MemoryPlan PlanDeviceMemory(const Experiment& experiment, std::optional<double> compute_capability) {
  MemoryPlan plan;
  AddTraining(plan, experiment, experiment.device.in_flight,
              LibraryMemoryOf(/*on_cpu=*/false, compute_capability));
  plan.left_out.emplace_back(kContext);
  return plan;
}

MemoryPlan PlanMatmul(std::int64_t size, const LibraryMemory& libraries) {
  const double matrix = 4.0 * static_cast<double>(size) * static_cast<double>(size);
  MemoryPlan plan;
  Add(plan, "operand", matrix);
  Add(plan, "result", matrix);
  Add(plan, "library workspaces", libraries.blas_workspace_bytes);
  return plan;
}

std::int64_t LargestWithin(double free, const std::function<MemoryPlan(std::int64_t)>& plan_of) {
  constexpr std::int64_t kMost = std::int64_t{1} << 40;
  std::int64_t fits = 0, too_much = 1;
  while (too_much < kMost && plan_of(too_much).Total() <= free) fits = std::exchange(too_much, 2 * too_much);
  while (too_much - fits > 1) {
    const std::int64_t middle = fits + (too_much - fits) / 2;
    (plan_of(middle).Total() <= free ? fits : too_much) = middle;
  }
  return fits;
}

MemoryPlan PlanMemory(const Experiment& experiment) {
  MemoryPlan plan;
  const SlotCounts slots = CountSlots(experiment, PinsBatches(experiment));
  const std::string batch = base::Amount(BatchBytes(experiment));
  const bool pinned = experiment.loader.collate_into == spec::CollateInto::kPinned;
  Add(plan, fmt::format("{}{} batches of {}", slots.workers, pinned ? " page-locked" : "", batch),
      static_cast<double>(slots.workers) * BatchBytes(experiment));
  Add(plan, fmt::format("{} page-locked batches", slots.pinned),
      static_cast<double>(slots.pinned) * BatchBytes(experiment));
  if (experiment.prepare.kind == spec::PrepareKind::kDecode) {
    const int makers = std::max(experiment.loader.workers, 1);
    Add(plan,
        "decoded samples of " + (makers == 1 ? "one batch" : fmt::format("{} batches", makers)),
        makers * BatchBytes(experiment));
  }
  if (experiment.loader.HasProcesses() && experiment.loader.worker_memory) {
    const auto each = static_cast<double>(experiment.loader.worker_memory->count);
    Add(plan, fmt::format("{} worker processes of {}", experiment.loader.workers,
                          base::Amount(each)),
        experiment.loader.workers * each);
  }
  Add(plan, "generated samples", static_cast<double>(GeneratedBytes(experiment).count));
  if (experiment.device.kind == spec::DeviceKind::kCpu) {
    AddTraining(plan, experiment, 0, LibraryMemoryOf(/*on_cpu=*/true, std::nullopt));
    plan.left_out.emplace_back("workspaces of LibTorch's libraries");
  }
  if (experiment.device.kind == spec::DeviceKind::kCuda)
    plan.left_out.emplace_back("CUDA's own memory");
  const int accelerators = experiment.run.accelerators;
  if (accelerators == 1) return plan;
  for (MemoryPart& part : plan.parts) {
    part.what = fmt::format("{} x {}", accelerators, part.what);
    part.bytes *= accelerators;
  }
  return plan;
}

std::optional<Refusal> MemoryRefusal(const Experiment& experiment,
                                     const base::MemoryBound& bound) {
  const MemoryPlan plan = PlanMemory(experiment);
  const double free = static_cast<double>(std::max<std::int64_t>(bound.free.count, 0));
  if (plan.Total() <= free) return std::nullopt;
  return RefusalOf(plan, free, bound.name, WhatFits(experiment, free));
}

std::optional<Refusal> DeviceMemoryRefusal(const Experiment& experiment, const Step& step) {
  if (step.on_cpu() || !step.device_memory || step.device_memory->count <= 0) return std::nullopt;
  return RefusalOn("device " + step.device_name, experiment, &PlanPresetMemory, *step.device_memory);
}

std::optional<Refusal> GpuMemoryRefusal(const Experiment& experiment, const spec::Gpu& gpu) {
  const Planner plan = [&](const Experiment& asked) {
    return PlanDeviceMemory(asked, gpu.ComputeCapability());
  };
  return RefusalOn(spec::ToText(gpu.id), experiment, plan, gpu.memory_free.value_or(gpu.memory));
}

base::Bytes StackRoom(const Experiment& experiment) {
  rlimit stack{};
  // glibc's stack size when the limit is infinite (pthread_create(3), x86-64).
  constexpr std::int64_t kWithoutLimit = 2 << 20;
  std::int64_t each = kWithoutLimit;
  if (getrlimit(RLIMIT_STACK, &stack) == 0 && stack.rlim_cur != RLIM_INFINITY)
    each = static_cast<std::int64_t>(stack.rlim_cur);
  constexpr std::int64_t kOthers = 4;  // monitor, pin, device, and one to spare
  const std::int64_t threads =
      experiment.loader.workers * std::max(experiment.limits.worker_threads, 1) +
      experiment.limits.compute_threads.value_or(0) + kOthers;
  return {each * threads};
}

}  // namespace pipesim::cost
