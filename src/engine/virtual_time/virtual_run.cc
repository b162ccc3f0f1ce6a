#include "engine/virtual_time/virtual_run.h"

#include <algorithm>
#include <utility>

namespace pipesim::engine::virtual_time {
namespace {

using base::Duration;
using base::Instant;

bool Pins(const spec::Experiment& experiment) {
  return experiment.loader.pin_memory && experiment.device.kind != spec::DeviceKind::kCpu;
}

/// The most threads that may want a core at once.
int MostThreads(const spec::Experiment& experiment, const VirtualParts& parts) {
  const bool burns = experiment.prepare.kind == spec::PrepareKind::kBurn;
  const int worker = burns ? std::max(experiment.limits.worker_threads, 1) : 1;
  const int step = parts.cpu_step ? parts.cpu_step(experiment.loader.batch_size).threads : 1;
  const int ranks = experiment.run.accelerators;
  if (experiment.loader.workers == 0) return ranks * std::max(worker, step);
  return ranks * (experiment.loader.workers * worker + step + (Pins(experiment) ? 1 : 0));
}

// Predictions are made by the thousand, many at once: touching 4,096 buckets for each of 64 workers
// (47 MB) costs more than simulating. A window's edges then fall into buckets of 1/256 of the run
// or less, of which they count their share.
constexpr std::size_t kBuckets = 512;

double PerSecond(const std::optional<base::BytesPerSecond>& rate) { return rate ? rate->per_s : 0; }

bool CoresSuffice(const spec::Experiment& experiment, const VirtualParts& parts, double cores) {
  return !parts.machine.memory_bandwidth && (cores == 0 || MostThreads(experiment, parts) <= cores);
}

/// A figure of the trainer's pool, where there is one whose threads spin.
std::optional<Duration> OfPool(const spec::Experiment& experiment,
                               const std::optional<Duration>& figure) {
  const bool spins = experiment.device.kind == spec::DeviceKind::kCpu &&
                     experiment.limits.omp_wait == spec::OmpWait::kDefault;
  return spins ? figure : std::nullopt;
}

/// What one thread that decodes writes; 0 where the stated cost is of something else.
double DecodeBytesPerSecond(const spec::Experiment& experiment) {
  const Duration cost = experiment.prepare.cost.Mean();
  if (cost <= Duration::zero()) return 0;
  return static_cast<double>(spec::PreparedBytes(experiment.dataset).count) / base::ToSeconds(cost);
}

}  // namespace

VirtualRun::VirtualRun(const spec::Experiment& of, const VirtualParts& with, double of_cores,
                       KeptDraws draws, bool decodes, bool keep_spans)
    : experiment(of),
      parts(with),
      samples_per_epoch(spec::SamplesPerEpoch(of)),
      batches_per_epoch(spec::BatchesPerEpoch(of)),
      sample_bytes(spec::PreparedBytes(of.dataset)),
      decode_bytes_per_s(decodes ? DecodeBytesPerSecond(of) : 0),
      threads_of_rank(of.loader.workers + 2),
      pins(Pins(of)),
      cores(of_cores),
      pool_spin(OfPool(of, with.machine.pool_spin)),
      barrier_slice(OfPool(of, with.machine.barrier_slice)),
      cores_suffice(CoresSuffice(of, with, of_cores) && !pool_spin),
      events(of.run.accelerators * (threads_of_rank + 2) + 1),
      processors(of_cores, PerSecond(with.machine.memory_bandwidth),
                 of.run.accelerators * threads_of_rank, barrier_slice),
      sampler(of, std::move(draws)),
      storage(of.storage),
      cache(cost::SampleCache::Of(of)),
      builder(now, of.run.seed, {.max_buckets = kBuckets, .keep_spans = keep_spans}) {
  for (int number = 0; number < of.run.accelerators; ++number) ranks.emplace_back(*this, number);
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
  }
  return false;
}

void VirtualRun::Wake(Actor& actor) {
  if (!Sleep(actor, now + parts.machine.wake_up)) actor.Resume(Duration::zero());
}

void VirtualRun::Loop() {
  while (!over) {
    const Instant event{Duration(events.first_time())};
    if (processors.next() <= event) {
      now = processors.next();
      const Processors::Finished done = processors.Finish();
      actors[static_cast<std::size_t>(done.actor)]->Resume(done.contended);
    } else {
      now = event;
      actors[static_cast<std::size_t>(events.Pop().actor)]->Resume(Duration::zero());
    }
  }
}

void VirtualRun::End(trace::EndReason reason, std::string failure) {
  if (ended) return;
  ended = Ending{reason, std::move(failure)};
  for (Rank& rank : ranks) {
    if (!rank.queue) return;
    if (Actor* waiting = rank.ready_channel().ReleaseReader()) Wake(*waiting);
  }
}

Work VirtualRun::PrepareWork(Duration cost, int threads) const {
  const Duration each((cost.count() + threads - 1) / threads);
  return {.each = each, .threads = threads, .bytes_per_s = decode_bytes_per_s};
}

Work VirtualRun::CollateWork(std::int64_t samples) const {
  const cost::Machine& machine = parts.machine;
  const base::Bytes bytes = sample_bytes * samples;
  Work work{.each = machine.collate_batch};
  if (machine.collate_bandwidth) {
    work.each += bytes / *machine.collate_bandwidth;
    work.bytes_per_s = machine.collate_bandwidth->per_s;
  }
  if (experiment.loader.buffers == spec::Buffers::kFresh && machine.fault_bandwidth) {
    work.each += bytes / *machine.fault_bandwidth;
  }
  return work;
}

Work VirtualRun::PinWork(std::int64_t samples) const {
  const auto& bandwidth = parts.machine.pin_bandwidth;
  if (!bandwidth) return {};
  return {.each = sample_bytes * samples / *bandwidth, .bytes_per_s = bandwidth->per_s};
}

}  // namespace pipesim::engine::virtual_time
