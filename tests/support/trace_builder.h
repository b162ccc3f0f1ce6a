// Records synthetic pipelines, whose every instant follows from a recurrence, with a real
// TraceBuilder. Expected values are formulas. No threads, no clock, no randomness.
#pragma once

#include <algorithm>
#include <chrono>
#include <cmath>
#include <functional>
#include <optional>
#include <vector>

#include "spec/experiment.h"
#include "trace/builder.h"

namespace pipesim::tests {

using base::Duration;
using base::Instant;
using trace::Role;
using trace::State;

inline Duration Ms(double ms) { return base::FromSeconds(ms * 1e-3); }

/// W workers, each taking `read + prepare + contended + collate` per batch, dispatched round-robin
/// with a prefetch window of prefetch_factor × W, and a consumer that takes batches in order.
/// Nothing is prefetched across an epoch border. With s the worker's and g the consumer's time per
/// batch, the rate over whole cycles of W batches is min(W / s, 1 / g); with 0 workers 1 / (s + g).
struct Pipeline {
  int workers = 4;
  int prefetch_factor = 2;
  std::int64_t steps = 400;
  std::int64_t batch_size = 64;
  std::int64_t epoch_batches = 1'000'000;
  std::int64_t last_batch = 0;  ///< samples in an epoch's last batch; 0: full
  Duration startup{};
  Duration read{}, prepare{}, contended{}, collate{};
  Duration read_cpu{};  ///< part of read
  /// Added to batch k's prepare time.
  std::function<Duration(std::int64_t batch)> uneven{};
  bool one_reader = false;  ///< storage reads one batch after the other; others wait in read
  /// The share of an epoch's samples served by a cache; unset: no cache.
  std::function<double(std::int64_t epoch)> hits{};
  Duration transfer{}, host{}, forward{}, backward{}, optimizer{}, sync{};
  Duration set_up{};  ///< of libraries: added to the first step's host time
  /// Added to step k's forward time: warm-up, noise, drift.
  std::function<Duration(std::int64_t step)> extra{};
  bool asynchronous = false;         ///< the device has its own clock ("emulated")
  std::optional<State> forgotten{};  ///< a state that the recorder omits

  Duration WorkerTime() const { return read + prepare + contended + collate; }
  Duration StepTime() const { return transfer + host + forward + backward + optimizer + sync; }
  std::int64_t Window() const { return std::int64_t{prefetch_factor} * workers; }
};

/// The matching experiment, with the default durations and limits.
inline spec::Experiment ExperimentOf(const Pipeline& p) {
  spec::Experiment e;
  const std::int64_t last = p.last_batch > 0 ? p.last_batch : p.batch_size;
  e.dataset.samples = (p.epoch_batches - 1) * p.batch_size + last;
  e.dataset.sample_bytes = {base::Distribution::Fixed(1000)};
  e.dataset.shape = {10, 10};
  e.dataset.classes = 10;
  e.storage.kind =
      p.read > Duration::zero() ? spec::StorageKind::kEmulated : spec::StorageKind::kNone;
  e.prepare.kind =
      p.prepare > Duration::zero() ? spec::PrepareKind::kBurn : spec::PrepareKind::kNone;
  e.loader.workers = p.workers;
  e.loader.prefetch_factor = p.prefetch_factor;
  e.loader.batch_size = p.batch_size;
  return e;
}

/// Writes one pipeline; use TraceOf.
class PipelineRecorder {
 public:
  explicit PipelineRecorder(const Pipeline& p)
      : p_(p), builder_(Begin(), 1), free_(std::max<std::size_t>(1, p.workers), Begin()) {}

  static Instant Begin() { return Instant(std::chrono::seconds(7)); }

  trace::RunTrace Run() {
    Schedule();
    for (int w = 0; w < p_.workers; ++w) Startup(w);
    Instant end = Begin();
    for (std::int64_t k = 0; k < p_.steps; ++k) {
      RecordLoading(k);
      RecordStep(k, end);
      end = batches_[static_cast<std::size_t>(k)].done;
    }
    for (std::int64_t k = p_.steps; k < std::ssize(batches_); ++k) RecordUnfinished(k, end);
    for (int w = 0; w < p_.workers; ++w) Add(Role::kWorker, w, State::kIdle, At(w), end, -1);
    trace::RunTrace trace = builder_.Finish(end, trace::EndReason::kSteps, "");
    SetEffective(trace.effective);
    return trace;
  }

 private:
  struct Times {
    Instant start, ready, taken, done;
  };

  std::int64_t InEpoch(std::int64_t k) const { return k % p_.epoch_batches; }
  int WorkerOf(std::int64_t k) const {
    return p_.workers == 0 ? 0 : static_cast<int>(InEpoch(k) % p_.workers);
  }
  std::int32_t Samples(std::int64_t k) const {
    const bool last = InEpoch(k) == p_.epoch_batches - 1 && p_.last_batch > 0;
    return static_cast<std::int32_t>(last ? p_.last_batch : p_.batch_size);
  }
  Duration Extra(std::int64_t k) const { return p_.extra ? p_.extra(k) : Duration::zero(); }
  Duration Uneven(std::int64_t k) const { return p_.uneven ? p_.uneven(k) : Duration::zero(); }
  Duration WorkerTime(std::int64_t k) const { return p_.WorkerTime() + Uneven(k); }
  Duration Host(std::int64_t k) const { return k == 0 ? p_.host + p_.set_up : p_.host; }
  Instant& At(int worker) { return free_[static_cast<std::size_t>(worker)]; }

  /// The recurrence: a batch starts when its worker is free and it has been dispatched. It is
  /// dispatched when the batch one window earlier is taken, the first ones when the epoch begins.
  void Schedule() {
    std::vector<Instant> free(free_.size(), Begin() + p_.startup);
    Instant done = Begin(), epoch_begin = Begin(), storage_free = Begin();
    for (std::int64_t k = 0; k < p_.steps + p_.Window(); ++k) {
      if (InEpoch(k) == 0) epoch_begin = done;
      Instant& own = free[static_cast<std::size_t>(WorkerOf(k))];
      Times t;
      const bool first_window = InEpoch(k) < p_.Window();
      const Instant dealt = p_.workers == 0 ? done
                            : first_window
                                ? epoch_begin
                                : batches_[static_cast<std::size_t>(k - p_.Window())].taken;
      t.start = p_.workers == 0 ? done : std::max(own, dealt);
      const Instant read = p_.one_reader ? std::max(t.start, storage_free) : t.start;
      storage_free = read + p_.read;
      t.ready = own = read + WorkerTime(k);
      t.taken = std::max(done, t.ready);
      t.done = done = t.taken + p_.StepTime() - p_.host + Host(k) + Extra(k);
      batches_.push_back(t);
    }
  }

  void Startup(int worker) {
    Add(Role::kWorker, worker, State::kStartup, Begin(), Begin() + p_.startup, -1);
    At(worker) = Begin() + p_.startup;
  }

  void RecordLoading(std::int64_t k) {
    const Times& t = batches_[static_cast<std::size_t>(k)];
    const int worker = WorkerOf(k);
    const Role role = p_.workers == 0 ? Role::kConsumer : Role::kWorker;
    if (p_.workers > 0) RecordWait(k, worker, t.start);
    Instant at = t.start;
    const Duration read = t.ready - t.start - (WorkerTime(k) - p_.read);
    const Duration prepare = p_.prepare + Uneven(k);
    at = Add(role, worker, State::kRead, at, at + read, k);
    at = Add(role, worker, State::kPrepare, at, at + prepare + p_.contended, k, p_.contended);
    at = Add(role, worker, State::kCollate, at, at + p_.collate, k);
    At(worker) = at;
    const std::int64_t asked = p_.read > Duration::zero() ? Samples(k) : 0;
    const double hit = p_.hits ? p_.hits(k / p_.epoch_batches) : 0;
    const std::int64_t hits = std::llround(hit * static_cast<double>(asked));
    const std::int64_t reads = asked - hits;
    builder_.Record(trace::BatchRecord{.batch = k,
                                       .worker = static_cast<std::uint16_t>(worker),
                                       .samples = Samples(k),
                                       .reads = reads,
                                       .bytes = base::Bytes{reads * 1000},
                                       .read = read,
                                       .read_cpu = p_.read_cpu,
                                       .prepare = prepare,
                                       .collate = p_.collate,
                                       .contended = p_.contended,
                                       .cache_hits = static_cast<std::int32_t>(hits)});
  }

  /// A batch that is in work, or waits in stock, when the run ends; its stages are not told apart.
  void RecordUnfinished(std::int64_t k, Instant end) {
    const Times& t = batches_[static_cast<std::size_t>(k)];
    const int worker = WorkerOf(k);
    if (t.start >= end || InEpoch(k) < InEpoch(p_.steps - 1)) return;
    RecordWait(k, worker, t.start);
    At(worker) = std::min(t.ready, end);
    Add(Role::kWorker, worker, State::kPrepare, t.start, At(worker), k);
  }

  /// Between two batches: idle until the next epoch begins, then blocked until an index comes.
  void RecordWait(std::int64_t k, int worker, Instant until) {
    Instant at = At(worker);
    const std::int64_t first = k - InEpoch(k);
    const Instant epoch_begin =
        first == 0 ? Begin() : batches_[static_cast<std::size_t>(first - 1)].done;
    if (at < epoch_begin) at = Add(Role::kWorker, worker, State::kIdle, at, epoch_begin, -1);
    Add(Role::kWorker, worker, State::kBlockedOnConsumer, at, until, -1);
  }

  /// Samples loaded when step k is done, those of unfinished batches included.
  std::int64_t Loaded(std::int64_t k) const {
    const Instant now = batches_[static_cast<std::size_t>(k)].done;
    std::int64_t loaded = trained_;
    for (std::int64_t j = k + 1; j <= k + p_.Window() && j < std::ssize(batches_); ++j) {
      const Times& t = batches_[static_cast<std::size_t>(j)];
      const Duration takes = WorkerTime(j);
      const Instant start = t.ready - takes;
      if (start >= now) continue;
      const double share =
          t.ready <= now ? 1 : base::ToSeconds(now - start) / base::ToSeconds(takes);
      loaded += std::llround(share * Samples(j));
    }
    return loaded;
  }

  std::int32_t Occupancy(std::int64_t k) const {
    const Instant taken = batches_[static_cast<std::size_t>(k)].taken;
    std::int32_t made = 0;
    for (std::int64_t j = k; j < std::min(p_.steps, k + p_.Window()); ++j) {
      made += batches_[static_cast<std::size_t>(j)].ready <= taken;
    }
    return made;
  }

  void RecordStep(std::int64_t k, Instant begin) {
    const Times& t = batches_[static_cast<std::size_t>(k)];
    const bool loads_itself = p_.workers == 0;
    if (!loads_itself) Add(Role::kConsumer, 0, State::kStarved, begin, t.taken, k);
    Device(State::kDeviceStarved, begin, t.taken, k);
    Instant at = t.taken;
    const auto next = [&](State state, State on_device, Duration time) {
      Device(on_device, at, at + time, k);
      at = Add(Role::kConsumer, 0, state, at, at + time, k);
    };
    next(State::kTransfer, State::kDeviceTransfer, p_.transfer);
    next(State::kHost, State::kDeviceLaunch, Host(k));
    if (p_.asynchronous) {
      next(State::kCompute, State::kBusy, p_.forward + Extra(k) + p_.backward + p_.optimizer);
    } else {
      next(State::kForward, State::kBusy, p_.forward + Extra(k));
      next(State::kBackward, State::kBusy, p_.backward);
      next(State::kOptimizer, State::kBusy, p_.optimizer);
    }
    next(State::kSync, State::kDeviceSync, p_.sync);
    const std::int32_t occupancy = loads_itself ? 0 : Occupancy(k);
    trained_ += Samples(k);
    builder_.Record(trace::StepRecord{.step = k,
                                      .batch = k,
                                      .epoch = k / p_.epoch_batches,
                                      .samples = Samples(k),
                                      .occupancy = occupancy,
                                      .taken = t.taken,
                                      .done = t.done,
                                      .starved = t.taken - begin,
                                      .loss = std::nullopt,
                                      .loaded = Loaded(k)});
  }

  void Device(State state, Instant begin, Instant end, std::int64_t batch) {
    if (p_.asynchronous) Add(Role::kDevice, 0, state, begin, end, batch);
  }

  Instant Add(Role role, int thread, State state, Instant begin, Instant end, std::int64_t batch,
              Duration contended = {}) {
    if (end <= begin) return begin;
    if (p_.forgotten == State::kContended) contended = Duration::zero();
    if (p_.forgotten == state) return end;
    const bool loses_contended = p_.forgotten == State::kContended && state == State::kPrepare;
    builder_.Record(trace::Span{.begin = begin,
                                .end = loses_contended ? end - p_.contended : end,
                                .contended = contended,
                                .batch = batch,
                                .samples = static_cast<std::int32_t>(p_.batch_size),
                                .thread = static_cast<std::uint16_t>(thread),
                                .role = role,
                                .state = state});
    return end;
  }

  void SetEffective(trace::Effective& effective) const {
    effective.cores = 8;
    effective.compute_threads = p_.asynchronous ? 0 : 1;
    effective.device = p_.asynchronous ? spec::DeviceId::Emulated() : spec::DeviceId::Cpu();
    effective.device_asynchronous = p_.asynchronous;
    effective.queue_capacity = effective.max_occupancy = p_.Window();
  }

  const Pipeline& p_;
  trace::TraceBuilder builder_;
  std::vector<Instant> free_;  ///< the end of each worker's recorded time
  std::vector<Times> batches_;  ///< also of those in work when the last step ends
  std::int64_t trained_ = 0;    ///< samples
};

inline trace::RunTrace TraceOf(const Pipeline& pipeline) {
  return PipelineRecorder(pipeline).Run();
}

/// Counters that grow linearly from the run's begin to its end, read `readings` times.
struct EvenUse {
  double cores = 0;                       ///< used by this process
  std::optional<double> machine_cores{};  ///< used by all programs
  double reads_per_s = 0, bytes_per_s = 0;
  double bandwidth_busy = 0, iops_busy = 0;   ///< shares of the time
  std::optional<double> throttled{};          ///< share of the time
  std::optional<double> worker_wait_cores{};  ///< run-queue wait of the workers, seconds per second
  /// Training thread and its pool: time on a core and run-queue wait, seconds per second.
  std::optional<double> trainer_cores{}, trainer_wait_cores{};
  std::optional<double> swapped_in_per_s{};
};
inline void AddUse(trace::RunTrace& trace, const EvenUse& use, int readings = 21) {
  for (int i = 0; i < readings; ++i) {
    const double passed_s = base::ToSeconds(trace.end - trace.begin) * i / (readings - 1);
    const auto grown = [passed_s](const std::optional<double>& rate) {
      return rate ? std::optional(base::FromSeconds(*rate * passed_s)) : std::nullopt;
    };
    trace::ResourceSample sample{};
    sample.at = trace.begin + base::FromSeconds(passed_s);
    sample.process_cpu = *grown(use.cores);
    sample.machine_cpu = grown(use.machine_cores);
    sample.resident = base::Bytes{1'000'000 + i};
    sample.storage_reads = std::llround(use.reads_per_s * passed_s);
    sample.storage_bytes = base::Bytes{std::llround(use.bytes_per_s * passed_s)};
    sample.storage_bandwidth_busy = *grown(use.bandwidth_busy);
    sample.storage_iops_busy = *grown(use.iops_busy);
    sample.throttled = grown(use.throttled);
    if (use.swapped_in_per_s) {
      sample.swapped_in_pages = std::llround(*use.swapped_in_per_s * passed_s);
    }
    sample.run_queue_wait[static_cast<std::size_t>(Role::kWorker)] = grown(use.worker_wait_cores);
    sample.run_queue_wait[static_cast<std::size_t>(Role::kConsumer)] =
        grown(use.trainer_wait_cores);
    sample.on_core[static_cast<std::size_t>(Role::kConsumer)] = grown(use.trainer_cores);
    trace.resources.push_back(sample);
  }
}

}  // namespace pipesim::tests
