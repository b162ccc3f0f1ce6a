// Worker processes: what starting one costs, and what each batch costs on its way into the trainer's
// process. Holds the only formula. Workers that are threads hand over a pointer: all of it is free.
#pragma once

#include <cstdint>
#include <optional>

#include "base/drawn.h"
#include "base/units.h"
#include "spec/experiment.h"
#include "spec/machine_profile.h"

namespace pipesim::cost {

/// CPU time of one end of the hand-over, for each batch.
struct HandOverEnd {
  base::Drawn<base::Duration> batch;              ///< whatever its size
  std::optional<base::BytesPerSecond> bandwidth;  ///< absent: its bytes cost nothing

  bool operator==(const HandOverEnd&) const = default;
  /// `batch_time`: the draw of `batch`.
  base::Duration Time(base::Bytes bytes, base::Duration batch_time) const;
  base::Duration Mean(base::Bytes bytes) const { return Time(bytes, batch.Mean()); }
  HandOverEnd Scaled(double factor) const;
};

/// PyTorch's order: the trainer's process starts one worker after another (launch), each makes itself
/// ready (startup), then batches are dealt. A worker puts a batch into shared memory (share), pickles it
/// (send); the process that takes it asks a thread of the worker for its memory (serve), and opens and
/// maps that (receive). Sending and serving happen in threads of the worker while its main thread fetches
/// the next batch. The interpreter's lock lets only one of them run, so that both are a part of the
/// worker's own serial time, but for what they do while the main thread waits for storage or sleeps, or
/// has nothing to do. Serving is a part of the taker's serial time, too, which waits for the answers.
struct HandOver {
  bool processes = false;  ///< workers are processes; false: nothing below applies
  HandOverEnd share, send, serve, receive;
  /// With one and with many workers, where the experiment or the profile knows that; see With.
  spec::HandOverOf of_one, of_many;
  /// Time without a core until the two ends of a hand-over have woken each other up.
  base::Drawn<base::Duration> receive_latency;
  /// Longest time without a core until a worker that is busy on a core gives up its interpreter's lock.
  base::Drawn<base::Duration> receive_wait;
  base::Duration launch{};               ///< of the trainer's process, for each worker
  base::Drawn<base::Duration> startup;   ///< of each worker
  base::Bytes worker_memory{};           ///< besides its batches

  bool operator==(const HandOver&) const = default;
  /// That of a loader with so many workers.
  HandOver With(int workers) const;
  /// The worker's part times `factor`.
  void ScaleSending(double factor);
  /// The part of the process that takes a batch, and all that it waits for, times `factor`.
  void ScaleReceiving(double factor);
  /// Every batch costs the same.
  bool IsFixed() const {
    return share.batch.IsFixed() && send.batch.IsFixed() && serve.batch.IsFixed() && receive.batch.IsFixed() &&
           receive_latency.IsFixed() && receive_wait.IsFixed();
  }
};

struct Pipeline;

/// What the experiment states of worker processes; the rest is free.
HandOver StatedHandOver(const spec::Loader& loader);

/// Where workers are processes: what the profile knows of them and of Python's own work, for all that
/// the experiment leaves open. Does nothing else.
void SetProcesses(const spec::MachineFigures& figures, const spec::Experiment& experiment,
                  Pipeline& pipeline);

}  // namespace pipesim::cost
