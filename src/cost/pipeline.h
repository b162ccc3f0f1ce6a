// What every part of a pipeline costs, in one value: made before a prediction (predict/resolve.h) and
// from a finished run (measure/fit.h), edited by what-ifs, run by the virtual engine, spent by the
// emulated parts of the threaded one, asked by measure and diagnose. Each part is a small type with
// the one place of its formula; what the user asked for stays in spec::Experiment.
#pragma once

#include <cstdint>

#include "base/drawn.h"
#include "base/units.h"
#include "cost/loading.h"
#include "cost/machine.h"
#include "cost/source.h"
#include "cost/step.h"
#include "cost/storage.h"
#include "spec/experiment.h"

namespace pipesim::cost {

/// Sizes of one sample.
struct Samples {
  base::Drawn<base::Bytes> stored;  ///< what storage delivers
  base::Bytes prepared;             ///< what prepare makes of it
  /// Share of reads that storage serves, the cache the rest, where a run has shown it.
  double miss_fraction = 1;

  bool operator==(const Samples&) const = default;
};

/// The training loop's own work, launches not counted.
struct Host {
  base::Duration step{};       ///< each step
  base::Duration read_back{};  ///< each result that is read back, once its step is done

  bool operator==(const Host&) const = default;
};

struct Pipeline {
  Samples samples;
  Storage storage;
  Prepare prepare;
  Collate collate;
  Pin pin;
  Transfer transfer;
  Step step;
  Host host;
  Machine machine;

  bool operator==(const Pipeline&) const = default;
};

/// What the experiment itself says: emulated storage, preparing, device and preset; all else is
/// free. Cores are as many as it limits the run to; 0 where it does not. Throws
/// std::invalid_argument as Roofline does.
Pipeline Stated(const spec::Experiment& experiment);

/// Consecutive samples that a worker reads and prepares in one go: as few as make >= 1 ms of
/// expected work (real files: one). The same in every engine.
std::int64_t ChunkSamples(const spec::Experiment& experiment, const Pipeline& pipeline);

}  // namespace pipesim::cost
