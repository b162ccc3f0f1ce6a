// The pipeline on real threads: workers, queue, consumer. Knows no LibTorch: the trainer, the
// memory and real samples come in through their interfaces.
#pragma once

#include <functional>
#include <optional>

#include "engine/batch_memory.h"
#include "engine/executor.h"
#include "engine/sample_source.h"
#include "engine/stage_marks.h"
#include "engine/trainer.h"

namespace pipesim::engine {

struct ThreadedParts {
  const base::Clock* clock = nullptr;
  Trainer* trainer = nullptr;
  BatchMemory* memory = nullptr;
  BatchMemory* pinned = nullptr;  ///< what the pin stage copies into; nullptr: there is none
  const SampleSource* source = nullptr;  ///< only for StorageKind::kFiles
  /// Reads the device through NVML; called about five times a second by one thread. May be empty.
  std::function<trace::GpuReading()> read_gpu{};
  const StageMarks* marks = nullptr;  ///< for a profiler; nullptr: stages are not marked
};

/// The parts outlive the executor. The calling thread becomes the consumer.
std::unique_ptr<Executor> MakeThreadedExecutor(const ThreadedParts& parts);

/// The emulated device: asynchronous, runs one step after another at the cost of cost/step.h.
std::unique_ptr<Trainer> MakeEmulatedTrainer(const spec::Experiment& experiment,
                                             const cost::Pipeline& pipeline,
                                             const base::Clock& clock);

}  // namespace pipesim::engine
