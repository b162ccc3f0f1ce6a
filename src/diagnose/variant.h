// A pipeline with the settings that run it, as what-ifs change them. Plain data.
#pragma once

#include <cstdint>
#include <functional>

#include "cost/buffers.h"
#include "cost/pipeline.h"
#include "measure/measurement.h"
#include "spec/experiment.h"

namespace pipesim::diagnose {

/// What the user may set without touching what the parts cost.
struct Settings {
  spec::Loader loader;
  spec::Limits limits;
  spec::Transfer transfer;
  int in_flight = 2;
  std::int64_t sync_every = 0;
  int accelerators = 1;
  std::int64_t epoch_samples = 0;  ///< of one accelerator; 0: rates are of steps within an epoch
  bool needs_workers = false;  ///< spec::NeedsWorkers
  /// device.step is stated for as many threads as limits.compute_threads says.
  bool step_of_compute_threads = false;

  bool operator==(const Settings&) const = default;
};

struct Variant {
  cost::Pipeline pipeline;
  Settings settings;

  bool operator==(const Variant&) const = default;
  /// Threads of the CPU that trains; 0 where a device of its own does.
  int ComputeThreads() const;
  /// Threads of one worker that prepare a sample together.
  int WorkerThreads() const { return pipeline.prepare.Threads(settings.limits.worker_threads); }
  bool on_cpu() const { return pipeline.step.on_cpu(); }
  /// Batches are copied into page-locked memory.
  bool Pins() const { return cost::PinsBatches(settings.loader, on_cpu()); }
  bool HasPinThread() const { return Pins() && settings.loader.workers > 0; }
  /// A batch is copied to the device before or after a step, not beside one: there is no second stream, or no second
  /// buffer.
  bool CopiesInLine() const { return !settings.transfer.overlap || settings.in_flight <= 1; }
  double cores() const { return pipeline.machine.cores; }
};

/// Predicted samples/s of a variant, of all accelerators; infinite when nothing in it limits.
using Predictor = std::function<double(const Variant&)>;

/// Half-width of its rates where costs are drawn: a fifth of the gain that counts (Thresholds).
constexpr double kDrawnNoise = 0.01;

/// The variant that `experiment` describes on `pipeline`.
Variant VariantOf(const spec::Experiment& experiment, const cost::Pipeline& pipeline);
/// As `measurement` saw it: where epochs ended, its rate and those of all changes are of whole ones.
Variant VariantOf(const spec::Experiment& experiment, const cost::Pipeline& pipeline,
                  const measure::Measurement& measurement);

/// The bounds of design section 2: min(1/cycle at 0 workers, workers/s, cores/cpu, bandwidth/bytes,
/// IOPS/reads, 1/step, 1/h2d, 1/pin) × batch size; for several accelerators each one's own bounds as
/// many times over, and the shared ones (cores, bandwidth, IOPS) once. Where rates are of whole epochs, only
/// as many workers count as its batches keep busy. No pipeline of these mean costs exceeds them. Needs no engine.
double PredictByBounds(const Variant& variant);

/// Of one worker's time for one batch, the share in which it needs a core; 1 where nothing takes time.
double BurningShare(const Variant& variant);

}  // namespace pipesim::diagnose
