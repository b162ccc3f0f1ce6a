// The memory that an experiment needs, part by part, before any of it is allocated, so that a run
// that cannot fit is refused with the reason instead of being killed later. Adds up the known
// parts; names the others and leaves them out.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/memory.h"
#include "cost/step.h"
#include "cost/training_memory.h"
#include "spec/experiment.h"
#include "spec/inventory.h"

namespace pipesim::cost {

struct MemoryPart {
  std::string what;  ///< "7 batches of 1.51 GB"
  double bytes = 0;  ///< a double, since it may exceed any integer type
};

struct MemoryPlan {
  std::vector<MemoryPart> parts;      ///< in the order of the report; none is 0
  std::vector<std::string> left_out;  ///< parts of unknown size
  double Total() const;
};

/// The experiment's device must be chosen (not kAuto). An upper bound: every slot of the batch pool
/// counts as filled, as in a compute-bound run. With several accelerators, each holds as much.
MemoryPlan PlanMemory(const spec::Experiment& experiment);

/// The memory of the device that trains, as LibTorch's allocator counts it, without the CUDA context.
/// `compute_capability`: 9.0 of an H200; nullopt: unknown.
MemoryPlan PlanDeviceMemory(const spec::Experiment& experiment,
                            std::optional<double> compute_capability);

/// A product of two size x size matrices in fp32: the operand (its transpose is a view) and the
/// result are there at once.
MemoryPlan PlanMatmul(std::int64_t size, const LibraryMemory& libraries);

/// The largest number whose plan fits into `free`; 0: none. Plans must grow with the number.
std::int64_t LargestWithin(double free, const std::function<MemoryPlan(std::int64_t)>& plan_of);

/// Why an experiment cannot run within some memory: what it needs by part, how much is free and which
/// limit sets it, and flags for the largest batch and window that would fit.
struct Refusal {
  std::string why;
  /// Settings that would fit, by key; they leave training as it is where they can. Empty: none.
  std::vector<std::pair<std::string, std::string>> fits;
};

/// nullopt: it fits within `bound`.
std::optional<Refusal> MemoryRefusal(const spec::Experiment& experiment,
                                     const base::MemoryBound& bound);

/// The same for the memory of the device that `step` describes, in predictions. nullopt: it fits, or
/// the device's memory is unknown.
std::optional<Refusal> DeviceMemoryRefusal(const spec::Experiment& experiment, const Step& step);

/// The same for the free memory of a GPU of this machine.
std::optional<Refusal> GpuMemoryRefusal(const spec::Experiment& experiment, const spec::Gpu& gpu);

/// Address space of thread stacks. It counts as data although little of it is ever used.
base::Bytes StackRoom(const spec::Experiment& experiment);

}  // namespace pipesim::cost
