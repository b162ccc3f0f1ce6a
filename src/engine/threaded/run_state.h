// The state that all threads of one run share, and how a run ends. Each part has its own lock.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "engine/sampler.h"
#include "engine/threaded/batch_pool.h"
#include "engine/threaded/batch_queue.h"
#include "engine/threaded/locked_dispatcher.h"
#include "engine/threaded/no_sink.h"
#include "engine/threaded/parking_gate.h"
#include "engine/threaded/pin_stage.h"
#include "engine/threaded/probing.h"
#include "engine/threaded/resource_reader.h"
#include "engine/threaded/sample_pool.h"
#include "engine/threaded/shared_storage.h"
#include "engine/threaded/span_rings.h"
#include "engine/threaded/threaded_executor.h"
#include "trace/builder.h"

namespace pipesim::engine::threaded {

/// Kept alive by every thread of the run: one that hangs may outlive the run itself.
///
/// A run that probes has a measured part, which ends first: the consumer then probes, and ends the
/// run. A run ends in two stages. End: the consumer finishes the step it is in and takes no further
/// batch; workers go on, so that every thread's account covers the whole run. Abort: the consumer
/// is done, and every wait of the workers is released.
struct RunState {
  RunState(const spec::Experiment& of, const cost::Pipeline& costs, const ThreadedParts& parts,
           SamplePool samples, base::Instant at, const RunControl& control);

  /// The first call sets the reason. If that is a planned one and the run probes, only the measured
  /// part is over; a second call ends the run. Any thread, but not inside SpanRings::With.
  void End(trace::EndReason reason, std::string failure = {});
  /// The consumer takes no further batch for the measured part.
  bool measured() const { return measured_.IsSet(); }
  bool ending() const { return ending_.IsSet(); }
  const base::StopFlag& ending_flag() const { return ending_; }
  void Abort();
  /// Repeats the release for threads that missed it; called until all threads have left.
  void ReleaseWaiters();
  struct Ending {
    trace::EndReason reason = trace::EndReason::kEnough;
    std::string failure;
    bool Failed() const {
      return reason == trace::EndReason::kFailed || reason == trace::EndReason::kOutOfMemory;
    }
  };
  /// Why the run ends; nullopt while it goes on.
  std::optional<Ending> ended() const;
  /// By the run up to `until`. Any thread, but not inside SpanRings::With.
  ProbeShape ShapeOfProbes(base::Instant until);

  /// What a worker records into: its ring, or nothing for one that only a probe started.
  trace::SpanSink& RecordsOf(int worker);
  int pin_ring() const { return experiment.loader.workers + 1; }
  /// The queue that the consumer takes batches from, and the pool of their slots.
  BatchQueue& ready_queue() { return pin ? *pin->queue : *queue; }
  BatchPool& ready_pool() { return pin ? pin->pool : pool; }
  /// Whether a worker has work for a core at present; of one that only a probe started: no.
  bool IsWorking(int worker) const {
    const auto index = static_cast<std::size_t>(worker);
    return index < working_.size() && working_[index].load(std::memory_order_relaxed);
  }
  void SetWorking(int worker, bool working) {
    const auto index = static_cast<std::size_t>(worker);
    if (index < working_.size()) working_[index].store(working, std::memory_order_relaxed);
  }
  /// A thread of a worker that works hands over a batch, for so long without the lock for the others.
  void Serve(int worker, base::Duration time) {
    const auto index = static_cast<std::size_t>(worker);
    if (IsWorking(worker)) served_[index].fetch_add(time.count(), std::memory_order_relaxed);
  }
  /// How long that was since the last call.
  base::Duration TakeServed(int worker) {
    const auto index = static_cast<std::size_t>(worker);
    return base::Duration(index < served_.size() ? served_[index].exchange(0, std::memory_order_relaxed) : 0);
  }
  /// Batches in the queues and in the pin thread; may be out of date.
  std::int64_t queued() const;

  const spec::Experiment experiment;
  const cost::Pipeline pipeline;
  const base::Clock& clock;
  const SampleSource* const source;      ///< nullptr for emulated samples
  const std::optional<base::Disk> disk;  ///< that holds the real files, where it is known
  const base::Instant begin;
  const bool probes;  ///< after the measured part
  const std::int64_t batches_per_epoch;
  const std::int64_t queue_capacity;  ///< 0 at 0 workers

  const Sampler sampler;
  const SamplePool content;
  BatchPool pool;                 ///< what workers fill
  std::unique_ptr<PinStage> pin;  ///< nullptr: batches are not pinned
  SharedStorage storage;
  LockedDispatcher dispatcher;
  ParkingGate gate;                   ///< workers pass it before each chunk
  std::unique_ptr<BatchQueue> queue;  ///< nullptr at 0 workers
  trace::TraceBuilder builder;        ///< only through rings.With while threads run
  NoSink unrecorded;
  SpanRings rings;                    ///< 0: consumer; 1 + i: worker i; the last: pin thread
  ThreadIds thread_ids;

  const std::function<trace::GpuReading()> read_gpu;
  const StageMarks* const marks;  ///< nullptr: stages are not marked

  /// The lock of the emulated trainer's interpreter, beside worker processes: the pin thread needs it to open a batch,
  /// the consumer to launch a step.
  std::mutex interpreter;

  base::StopFlag aborted;  ///< workers: leave
  base::StopFlag give_up;  ///< consumer: stop waiting for the device
  std::atomic<std::int64_t> loaded{0};  ///< samples read and prepared so far, bad ones included
  /// When (clock ticks) the consumer began to wait for a result; 0: it does not wait.
  std::atomic<base::Duration::rep> consumer_waits_since{0};

 private:
  bool GoesOnToProbe(trace::EndReason reason);

  base::StopFlag measured_, ending_;
  std::vector<std::atomic<bool>> working_;
  std::vector<std::atomic<std::int64_t>> served_;  ///< ns, of each worker
  mutable std::mutex mutex_;
  std::optional<Ending> ended_;
};

/// Call inside a catch block: ends the run with the current exception as `who`'s failure.
void EndOnCurrentException(RunState& run, const std::string& who);

/// Calls `work`; an exception ends the run.
template <class Work>
void EndingOnFailure(RunState& run, const std::string& who, Work&& work) {
  try {
    work();
  } catch (...) {
    EndOnCurrentException(run, who);
  }
}

}  // namespace pipesim::engine::threaded
