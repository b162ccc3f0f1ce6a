#include "cost/memory_plan.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>

#include "base/number_text.h"
#include "base/text.h"
#include "cost/buffers.h"

namespace pipesim::cost {
namespace {

using spec::Experiment;

constexpr double kFp32Bytes = 4;
constexpr double kBf16Bytes = 2;

double BatchBytes(const Experiment& experiment) {
  return static_cast<double>(spec::PreparedBytes(experiment.dataset).count) *
         static_cast<double>(experiment.loader.batch_size);
}

void Add(MemoryPlan& plan, std::string what, double bytes) {
  if (bytes > 0) plan.parts.push_back({std::move(what), bytes});
}

/// State of the optimizer beside the parameter itself. Source: torch.optim, SGD (momentum buffer),
/// Adam (two moments).
double OptimizerCopies(spec::Optimizer optimizer) {
  switch (optimizer) {
    case spec::Optimizer::kSgd:
      return 0;
    case spec::Optimizer::kMomentum:
      return 1;
    case spec::Optimizer::kAdam:
      return 2;
  }
  return 0;
}

/// Activations that the backward pass needs: each layer's output, unless only a ReLU or a sum reads
/// it. A ReLU keeps its own result, a sum keeps nothing. Source: PyTorch,
/// tools/autograd/derivatives.yaml (threshold_backward(grad, result, 0); add).
double KeptElements(const std::vector<spec::LayerCost>& layers) {
  double elements = 0;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const bool passes =
        i + 1 < layers.size() && (layers[i + 1].name == "relu" || layers[i + 1].name == "add");
    if (!passes) elements += static_cast<double>(layers[i].elements_out);
  }
  return elements;
}

/// The model in the memory of the training device. Weights, gradients and optimizer state are
/// fp32 (bf16 is autocast).
void AddTraining(MemoryPlan& plan, const Experiment& experiment) {
  const std::vector<spec::LayerCost> layers = CostsOf(experiment.model, experiment.dataset.shape);
  double parameters = 0;
  for (const spec::LayerCost& layer : layers) parameters += static_cast<double>(layer.parameters);
  const auto batch = static_cast<double>(experiment.loader.batch_size);
  const bool bf16 = experiment.training.precision == spec::Precision::kBf16;
  Add(plan, "parameters", parameters * kFp32Bytes);
  Add(plan, "gradients", parameters * kFp32Bytes);
  Add(plan, "optimizer state",
      parameters * kFp32Bytes * OptimizerCopies(experiment.training.optimizer));
  Add(plan, "activations", KeptElements(layers) * batch * (bf16 ? kBf16Bytes : kFp32Bytes));
  Add(plan, "the input as fp32",
      static_cast<double>(spec::Elements(experiment.dataset.shape)) * batch * kFp32Bytes);
  plan.left_out.emplace_back("gradients of activations, workspaces of LibTorch's libraries");
}

/// The memory of a described device: the model, and a batch for each step in flight.
MemoryPlan PlanDeviceMemory(const Experiment& experiment) {
  MemoryPlan plan;
  AddTraining(plan, experiment);
  Add(plan, fmt::format("{} input batches", experiment.device.in_flight),
      experiment.device.in_flight * BatchBytes(experiment));
  return plan;
}

using Planner = MemoryPlan (*)(const Experiment&);

/// The largest value in [1, now) that fits; 0: none. Memory must grow with the value.
template <class Number, class With>
Number LargestThatFits(Planner plan, Number now, double free, With&& with) {
  Number fits = 0, too_much = now;
  while (too_much - fits > 1) {
    const Number middle = fits + (too_much - fits) / 2;
    (plan(with(middle)).Total() <= free ? fits : too_much) = middle;
  }
  return fits;
}

std::int64_t LargestBatch(Planner plan, const Experiment& experiment, double free) {
  return LargestThatFits(plan, experiment.loader.batch_size, free, [&](std::int64_t size) {
    Experiment smaller = experiment;
    smaller.loader.batch_size = size;
    return smaller;
  });
}

std::vector<std::string> WhatFits(const Experiment& experiment, double free) {
  std::vector<std::string> flags;
  const std::int64_t batch = LargestBatch(&PlanMemory, experiment, free);
  if (batch > 0) flags.push_back(fmt::format("--batch {}", batch));
  if (experiment.loader.workers == 0) return flags;
  const auto prefetch =
      LargestThatFits(&PlanMemory, experiment.loader.prefetch_factor, free, [&](int factor) {
        Experiment smaller = experiment;
        smaller.loader.prefetch_factor = factor;
        return smaller;
      });
  if (prefetch > 0) {
    flags.push_back(fmt::format("--prefetch {}", prefetch));
    return flags;
  }
  const auto workers = LargestThatFits(&PlanMemory, experiment.loader.workers, free, [&](int count) {
    Experiment smaller = experiment;
    smaller.loader.workers = count;
    smaller.loader.prefetch_factor = 1;
    return smaller;
  });
  if (workers > 0) flags.push_back(fmt::format("--workers {} --prefetch 1", workers));
  return flags;
}

/// The memory needed by part, the free memory, and what would fit.
std::string RefusalText(const MemoryPlan& plan, double free, const std::string& where,
                        const std::vector<std::string>& fits) {
  std::vector<std::string> parts;
  for (const MemoryPart& part : plan.parts)
    parts.push_back(fmt::format("{} ({})", part.what, base::Amount(part.bytes)));
  std::string text = fmt::format("not started, because it would hold {}: {}",
                                 base::Amount(plan.Total()), base::Join(parts, ", "));
  if (!plan.left_out.empty())
    text += fmt::format("; not counted: {}", base::Join(plan.left_out, ", "));
  text += fmt::format("; {} are free by {}", base::Amount(free), where);
  text += fits.empty() ? "; no batch size fits"
                       : fmt::format("; {} would fit", base::Join(fits, " or "));
  return text;
}

}  // namespace

double MemoryPlan::Total() const {
  double total = 0;
  for (const MemoryPart& part : parts) total += part.bytes;
  return total;
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
  if (experiment.device.kind == spec::DeviceKind::kCpu) AddTraining(plan, experiment);
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

std::optional<std::string> MemoryRefusal(const Experiment& experiment,
                                         const base::MemoryBound& bound) {
  const MemoryPlan plan = PlanMemory(experiment);
  const double free = static_cast<double>(std::max<std::int64_t>(bound.free.count, 0));
  if (plan.Total() <= free) return std::nullopt;
  return RefusalText(plan, free, bound.name, WhatFits(experiment, free));
}

std::optional<std::string> DeviceMemoryRefusal(const Experiment& experiment, const Step& step) {
  if (step.on_cpu() || !step.device_memory || step.device_memory->count <= 0) return std::nullopt;
  const MemoryPlan plan = PlanDeviceMemory(experiment);
  const auto has = static_cast<double>(step.device_memory->count);
  if (plan.Total() <= has) return std::nullopt;
  std::vector<std::string> fits;
  if (const std::int64_t batch = LargestBatch(&PlanDeviceMemory, experiment, has); batch > 0)
    fits.push_back(fmt::format("--batch {}", batch));
  return RefusalText(plan, has, "device " + step.device_name, fits);
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
