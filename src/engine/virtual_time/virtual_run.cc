#include "engine/virtual_time/virtual_run.h"

#include <algorithm>
#include <utility>

#include "cost/buffers.h"
#include "engine/virtual_time/recurrence.h"

namespace pipesim::engine::virtual_time {

int ThreadsOfStep(const spec::Experiment& experiment, const cost::Step& step) {
  return std::min(step.threads, experiment.limits.compute_threads.value_or(step.threads));
}

namespace {

using base::Duration;
using base::Instant;

/// The most threads that may want a core at once.
int MostThreads(const spec::Experiment& experiment, const cost::Pipeline& pipeline) {
  const int worker = pipeline.prepare.Threads(experiment.limits.worker_threads);
  const int step = pipeline.step.on_cpu() ? ThreadsOfStep(experiment, pipeline.step) : 1;
  const int ranks = experiment.run.accelerators;
  if (experiment.loader.workers == 0) return ranks * std::max(worker, step);
  const int pin = cost::PinsBatches(experiment.loader, pipeline.step.on_cpu()) ? 1 : 0;
  return ranks * (experiment.loader.workers * worker + step + pin);
}

// Thousands of predictions are made, many at once: writing 4,096 buckets for each of 64 workers
// (47 MB) costs more than the simulation. With 512, a bucket is at most 1/256 of the run, and the
// buckets at a window's edges count in proportion.
constexpr std::size_t kBuckets = 512;
// With many workers, a batch takes long against a bucket and is written to each of them.
constexpr std::size_t kCoarseBuckets = 32;

double HindranceOf(const std::optional<cost::SharedMemory>& memory) {
  return memory ? memory->Hindrance() : 0;
}

bool CoresSuffice(const spec::Experiment& experiment, const cost::Pipeline& pipeline) {
  const cost::Machine& machine = pipeline.machine;
  return HindranceOf(machine.memory) == 0 &&
         (machine.cores == 0 ||
          MostThreads(experiment, pipeline) + machine.others.wanted <= machine.cores);
}

/// A figure of the trainer's pool; nullopt unless its threads spin. libgomp's hardly do when they are
/// more than the processors (its manual, GOMP_SPINCOUNT).
std::optional<Duration> OfPool(const spec::Experiment& experiment, const cost::Pipeline& pipeline,
                               const std::optional<Duration>& figure) {
  const cost::Machine& machine = pipeline.machine;
  const bool spins =
      pipeline.step.on_cpu() && experiment.limits.omp_wait == spec::OmpWait::kDefault &&
      (machine.cores == 0 || ThreadsOfStep(experiment, pipeline.step) <= machine.Processors());
  return spins ? figure : std::nullopt;
}

/// Whether the costs are constant, so that the run comes to repeat itself. Only one accelerator's
/// state is visited, and the spans of single batches and the barrier's epochs are not repeated.
bool RepeatsItself(const spec::Experiment& experiment, const cost::Pipeline& pipeline, bool cached,
                   const RunControl& control) {
  return experiment.run.accelerators == 1 && !experiment.run.barrier && !cached &&
         !pipeline.step.Varies() &&
         pipeline.collate.varying.IsFixed() && pipeline.hand_over.IsFixed() &&
         control.skip_periods && !control.keep_spans;
}

/// A thread asks again only when it has been served, so that no slot is waited for where there are as
/// many as threads.
cost::Storage WithoutIdleSlots(cost::Storage storage, const spec::Experiment& experiment) {
  const int readers = experiment.run.accelerators * std::max(1, experiment.loader.workers);
  if (storage.queue_depth && *storage.queue_depth >= readers) storage.queue_depth.reset();
  return storage;
}

}  // namespace

VirtualRun::VirtualRun(const spec::Experiment& of, const cost::Pipeline& costs, KeptDraws draws,
                       const RunControl& control)
    : experiment(of),
      pipeline(costs),
      samples_per_epoch(spec::SamplesPerEpoch(of)),
      batches_per_epoch(spec::BatchesPerEpoch(of)),
      sample_bytes(costs.samples.prepared),
      threads_of_rank(of.loader.workers + 2),
      pins(cost::PinsBatches(of.loader, costs.step.on_cpu())),
      pool_spin(OfPool(of, costs, costs.machine.pool_spin)),
      barrier_slice(OfPool(of, costs, costs.machine.barrier_slice)),
      cores_suffice(CoresSuffice(of, costs) && !pool_spin),
      events(of.run.accelerators * (threads_of_rank + 2) + 1),
      processors({costs.machine, barrier_slice}, HindranceOf(costs.machine.memory),
                 of.run.accelerators * (threads_of_rank + (pool_spin ? 2 : 0)) + 1),
      sampler(of, costs, std::move(draws)),
      storage(WithoutIdleSlots(costs.storage, of)),
      cache(cost::SampleCache::Of(
          of, costs, [this](std::int64_t sample) { return sampler.StoredBytes(sample); })),
      skips_periods(RepeatsItself(of, costs, cache.has_value(), control)),
      is_asked(control.enough != nullptr),
      stop(control.stop),
      builder(now, of.run.seed,
              {.max_buckets = control.only_rate ? kCoarseBuckets : kBuckets,
               .lasts = control.lasts,
               .keep_spans = control.keep_spans,
               .only_rate = control.only_rate,
               .step_series = !control.for_verdict,
               .keep_first = true}) {
  if (costs.storage.SharesBandwidth())
    transfers.emplace(CoreSharing(1), 0, of.run.accelerators * threads_of_rank);
  for (int number = 0; number < of.run.accelerators; ++number) ranks.emplace_back(*this, number);
  if (of.run.barrier) barrier.emplace(of.run.accelerators);
}

bool VirtualRun::Begin(const Actor& actor, const Wait& wait) {
  switch (wait.kind) {
    case Wait::Kind::kNothing:
    case Wait::Kind::kNoMore:
      return false;
    case Wait::Kind::kUntil:
      return Sleep(actor, wait.until);
    case Wait::Kind::kWork:
      if (wait.work.each <= Duration::zero()) return false;
      if (cores_suffice) {
        cpu_used += wait.work.each * wait.work.threads;
        return Sleep(actor, now + wait.work.each);
      }
      processors.Begin(actor.id(), wait.work, now);
      return true;
    case Wait::Kind::kTransfer:
      if (wait.work.each <= Duration::zero()) return false;
      transfers->Begin(actor.id(), wait.work, now);
      return true;
  }
  return false;
}

void VirtualRun::Wake(Actor& actor) {
  if (!Sleep(actor, now + pipeline.machine.wake_up)) actor.Resume(Duration::zero());
}

ResourceCounters VirtualRun::Counters() const {
  ResourceCounters counters = CountersBeforeStretches();
  const Rank& first = ranks.front();
  counters.loaded = first.Loaded();
  for (const Rank& rank : ranks)
    for (std::size_t worker = 0; worker < rank.stretches.size(); ++worker) {
      const Stretch& stretch = rank.stretches[worker];
      if (stretch.chunks > 0)
        counters.cpu_of_free_cores += stretch.CpuBy(rank.PassedIn(stretch, worker));
    }
  return counters;
}

ResourceCounters VirtualRun::CountersBeforeStretches() const {
  const cost::StorageUse use = storage.use();
  return {.cpu_of_free_cores = cpu_used,
          .cpu = processors.usage(),
          .reads = use.reads,
          .bytes = use.bytes.count,
          .loaded = ranks.front().loaded};
}

trace::ResourceSample VirtualRun::SampleOf(const ResourceCounters& counters, Instant at) const {
  trace::ResourceSample sample;
  sample.at = at;
  sample.process_cpu = cores_suffice ? counters.cpu_of_free_cores : counters.cpu.At(at);
  const cost::StorageUse use = storage.UseOf(counters.reads, base::Bytes{counters.bytes});
  sample.storage_reads = use.reads;
  sample.storage_bytes = use.bytes;
  sample.storage_bandwidth_busy = use.bandwidth_busy;
  sample.storage_iops_busy = use.iops_busy;
  sample.loaded = counters.loaded;
  return sample;
}

void VirtualRun::Visit(StateVisitor& visitor) {
  now += visitor.moved_time();
  for (std::size_t id = 0; id < actors.size(); ++id) {
    const auto actor = static_cast<int>(id);
    if (actors[id] == nullptr || Watches(actor)) continue;
    const std::int64_t time = events.TimeOf(actor);
    visitor.Same(time == TimeTree::kNever ? time : time - visitor.now().time.count());
    if (visitor.moves()) events.Delay(actor, visitor.moved_time().count());
    actors[id]->Visit(visitor);
  }
  processors.Visit(visitor);
  if (transfers) transfers->Visit(visitor);
  visitor.Total(cpu_used);
  storage.Visit(visitor);
  ranks.front().Visit(visitor);
}

void VirtualRun::Loop() {
  constexpr std::int64_t kLookEvery = 1 << 14;  // some milliseconds of computing
  Recurrence recurrence(*this);
  for (std::int64_t events_here = 1; !over; ++events_here) {
    ++simulated;
    // Not only when the monitor looks: the later, the longer it computes until then.
    if (events_here % kLookEvery == 1 && stop != nullptr && stop->IsSet())
      End(trace::EndReason::kInterrupted);
    const Instant event{Duration(events.first_time())};
    if (transfers && transfers->next() <= std::min(event, processors.next())) {
      now = transfers->next();
      resumed = -1;
      actors[static_cast<std::size_t>(transfers->Finish().actor)]->Resume(Duration::zero());
    } else if (processors.next() <= event) {
      now = processors.next();
      const Processors::Finished done = processors.Finish();
      resumed = -1;
      actors[static_cast<std::size_t>(done.actor)]->Resume(done.contended);
    } else {
      now = event;
      resumed = static_cast<int>(events.Pop().actor);
      actors[static_cast<std::size_t>(resumed)]->Resume(Duration::zero());
    }
    if (now.time_since_epoch() > kLatest)
      End(trace::EndReason::kFailed,
          "the run would last more than a century; ask for fewer steps, or state smaller costs");
    recurrence.AfterEvent();
  }
}

void VirtualRun::End(trace::EndReason reason, std::string failure) {
  if (ended) return;
  ended = Ending{reason, std::move(failure)};
  if (barrier) barrier->Release([this](Actor& actor) { Wake(actor); });
  for (Rank& rank : ranks) {
    if (!rank.queue) return;
    if (Actor* waiting = rank.ready_channel().ReleaseReader()) Wake(*waiting);
  }
}

Work VirtualRun::PrepareWork(Duration cost, int threads) const {
  const Duration each((cost.count() + threads - 1) / threads);
  return {.each = each, .threads = threads, .bytes_per_s = pipeline.prepare.memory_bytes_per_s};
}

Work VirtualRun::CollateWork(const Rank& rank, const MadeBatch& batch) const {
  return {.each = sampler.Collate(rank.dispatcher.epoch(), rank.BatchOfAll(batch), batch.samples),
          .bytes_per_s = pipeline.collate.memory_bytes_per_s()};
}

Work VirtualRun::ShareWork(const Rank& rank, const MadeBatch& batch) const {
  if (!pipeline.hand_over.processes) return {};
  return {.each = sampler.Share(rank.dispatcher.epoch(), rank.BatchOfAll(batch), batch.samples)};
}

Work VirtualRun::SendWork(const Rank& rank, const MadeBatch& batch) const {
  if (!pipeline.hand_over.processes) return {};
  return {.each = sampler.Send(rank.dispatcher.epoch(), rank.BatchOfAll(batch), batch.samples)};
}

Work VirtualRun::ReceiveWork(Rank& rank, const MadeBatch& batch) const {
  if (!pipeline.hand_over.processes) return {};
  const std::int64_t epoch = rank.dispatcher.epoch(), of_all = rank.BatchOfAll(batch);
  const Duration serve = sampler.Serve(epoch, of_all, batch.samples);
  const auto maker = static_cast<std::size_t>(batch.maker);
  if (rank.holds_lock[maker]) rank.served[maker] += serve;
  return {.each = serve + sampler.Receive(epoch, of_all, batch.samples)};
}

bool VirtualRun::WaitForAnswers(Rank& rank, const MadeBatch& batch, const Actor& taker) {
  const std::int64_t epoch = rank.dispatcher.epoch(), of_all = rank.BatchOfAll(batch);
  const Duration latency = sampler.ReceiveLatency(epoch, of_all);
  if (!rank.holds_lock[static_cast<std::size_t>(batch.maker)]) return Sleep(taker, now + latency);
  if (!Sleep(taker, now + sampler.ReceiveWait(epoch, of_all) + latency)) return false;
  rank.opens_of = batch.maker;
  rank.opener = taker.id();
  rank.answer_latency = latency;
  return true;
}

void VirtualRun::SetHoldsLock(Rank& rank, int worker, bool holds) {
  if (!pipeline.hand_over.processes) return;
  rank.holds_lock[static_cast<std::size_t>(worker)] = holds;
  if (holds || rank.opens_of != worker) return;
  rank.opens_of = -1;
  const std::int64_t answered = (now + rank.answer_latency).time_since_epoch().count();
  events.Delay(rank.opener, std::min<std::int64_t>(0, answered - events.TimeOf(rank.opener)));
}

bool VirtualRun::TakeInterpreter(Rank& rank, Actor& taker) {
  Rank::Interpreter& interpreter = rank.interpreter;
  if (interpreter.holder == taker.id()) return true;
  if (interpreter.holder < 0) {
    interpreter.holder = taker.id();
    return true;
  }
  interpreter.waiting = &taker;
  return false;
}

void VirtualRun::FreeInterpreter(Rank& rank, const Actor& holder) {
  Rank::Interpreter& interpreter = rank.interpreter;
  if (interpreter.holder != holder.id()) return;
  Actor* const next = std::exchange(interpreter.waiting, nullptr);
  interpreter.holder = next != nullptr ? next->id() : -1;
  if (next != nullptr) Wake(*next);
}

Work VirtualRun::PinWork(std::int64_t samples) const {
  return {.each = pipeline.pin.Time(sample_bytes * samples),
          .bytes_per_s = pipeline.pin.memory_bytes_per_s()};
}

}  // namespace pipesim::engine::virtual_time
