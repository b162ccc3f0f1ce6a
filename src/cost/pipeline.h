// What every part of a pipeline costs, in one value: made before a prediction (predict/resolve.h)
// and from a finished run (measure/fit.h), edited by what-ifs, run by the virtual engine, used by
// the emulated parts of the threaded engine, by measure and by diagnose. Each part is a small type
// that holds the only copy of its formula; what the user asked for stays in spec::Experiment.
#pragma once

#include <cstdint>

#include "base/drawn.h"
#include "base/units.h"
#include "cost/hand_over.h"
#include "cost/loading.h"
#include "cost/machine.h"
#include "cost/step.h"
#include "cost/storage.h"
#include "spec/experiment.h"

namespace pipesim::cost {

/// Sizes of one sample.
struct Samples {
  base::Drawn<base::Bytes> stored;  ///< what storage delivers
  base::Bytes prepared;             ///< what prepare makes of it
  /// Share of reads that storage serves, where a run has measured it; a cache serves the rest.
  double miss_fraction = 1;

  bool operator==(const Samples&) const = default;
};

/// The training loop's own work, without launches.
struct Host {
  base::Duration step{};       ///< each step
  base::Duration read_back{};  ///< each read-back of a result, once its step is done

  bool operator==(const Host&) const = default;
};

struct Pipeline {
  Samples samples;
  Storage storage;
  Prepare prepare;
  Collate collate;
  HandOver hand_over;
  Pin pin;
  Transfer transfer;
  Step step;
  Host host;
  Machine machine;

  bool operator==(const Pipeline&) const = default;
};

/// The costs that the experiment itself states: emulated storage, prepare, device and preset; all
/// else is free. Cores are its limit; 0 without a limit. Throws std::invalid_argument like
/// Roofline.
Pipeline Stated(const spec::Experiment& experiment);

/// Costs of a sample that differ from draw to draw.
int DrawnCosts(const Pipeline& pipeline);

/// Consecutive samples that a worker reads and prepares in one go: as few as make >= 1 ms of
/// expected work (real files: one). The same in every engine.
std::int64_t ChunkSamples(const spec::Experiment& experiment, const Pipeline& pipeline);

}  // namespace pipesim::cost
