// The part of a virtual run that belongs to one accelerator: its threads, its dispatcher, the
// queues to its consumer, and its records. virtual_run.h has the parts shared by all accelerators.
#pragma once

#include <optional>
#include <vector>

#include "engine/dispatcher.h"
#include "engine/sampler.h"
#include "engine/virtual_time/channel.h"
#include "engine/virtual_time/stretch.h"
#include "trace/builder.h"

namespace pipesim::engine::virtual_time {

struct VirtualRun;

struct Rank {
  Rank(VirtualRun& run, int number);

  /// The consumer takes batches from here, at workers > 0.
  Channel& ready_channel() { return pinned ? *pinned : *queue; }
  /// The number, over all accelerators, of one of its workers.
  int WorkerOfAll(int worker) const { return number * workers + worker; }
  /// The number of a batch in its epoch, over all accelerators.
  std::int64_t BatchOfAll(const MadeBatch& batch) const {
    return batch.deal.index * accelerators + number;
  }
  bool is_first() const { return number == 0; }
  /// The last moment of a worker's stretch that has passed. Of equal times the lower actor's event comes
  /// first; what has begun has begun.
  base::Instant PassedIn(const Stretch& stretch, std::size_t worker) const;
  /// Samples read and prepared so far.
  std::int64_t Loaded() const;
  void Record(const trace::StepRecord& step);
  /// With a recorder.
  void Visit(StateVisitor& visitor);

  const int number;
  const int workers;
  const int accelerators;
  const int first_actor;  ///< its consumer; its workers and its pin thread follow
  /// Set for the first rank only, since by symmetry its trace stands for all. The other ranks
  /// (nullptr) only produce load and keep their progress.
  trace::TraceBuilder* const recorder;
  trace::Progress progress;             ///< without a recorder
  std::int64_t loaded = 0;            ///< samples read and prepared before the present stretches
  std::vector<Stretch> stretches;     ///< of each worker; those that are over have no chunks
  /// Where each stretch is noted as it begins; nullptr: nowhere.
  std::vector<Stretch>* begun_stretches = nullptr;
  std::optional<Sampler::Epoch> order;  ///< of the present epoch
  Dispatcher dispatcher;
  /// Of each worker, whether it holds its interpreter's lock: it works on a batch, or goes right on with
  /// the next one. Follows from its state.
  std::vector<bool> holds_lock;
  int opens_of = -1;  ///< the worker whose lock is waited for; -1: none
  int opener = -1;    ///< the actor that waits
  base::Duration answer_latency{};  ///< for which it then waits
  /// Of each worker: how long its main thread lacked the lock since it began its batch.
  std::vector<base::Duration> served;
  /// The lock of the trainer's own interpreter, beside worker processes: its pin thread needs it to open a batch, its
  /// training loop to launch a step.
  struct Interpreter {
    int holder = -1;  ///< the actor; -1: none
    Actor* waiting = nullptr;
  } interpreter;
  std::optional<Channel> queue;   ///< behind the workers, if there are any
  std::optional<Channel> pinned;  ///< behind the pin thread, if there is one

 private:
  const VirtualRun& run_;
  std::int64_t steps_ = 0, samples_ = 0;  ///< without a recorder
};

}  // namespace pipesim::engine::virtual_time
