#include "engine/virtual_time/batch_maker.h"

#include <algorithm>
#include <utility>

namespace pipesim::engine::virtual_time {

using base::Duration;
using base::Instant;
using trace::State;

namespace {

/// In a record. A worker without a batch is in the same state at every step.
constexpr std::int64_t kNoBatch = -1;

/// What others share with a worker is asked for at its own event, and spans of single batches are not
/// put together. Who asks whether the run may end looks at the trace at any time.
bool GoesAhead(const VirtualRun& run) {
  return !run.pipeline.hand_over.processes && !run.transfers && !run.cache &&
         run.sampler.AllAlike() && !run.is_asked && !run.builder.keeps_spans();
}

}  // namespace

BatchMaker::BatchMaker(VirtualRun& run, Rank& rank, Account& account, int worker)
    : run_(run),
      rank_(rank),
      account_(account),
      chunk_samples_(std::max<std::int64_t>(cost::ChunkSamples(run.experiment, run.pipeline), 1)),
      burn_threads_(run.pipeline.prepare.Threads(run.experiment.limits.worker_threads)),
      handover_(burn_threads_ > 1 ? run.pipeline.machine.burn_handover : Duration::zero()),
      works_alone_(run.cores_suffice && handover_ == Duration::zero()),
      stretch_(GoesAhead(run) && !rank.stretches.empty()
                   ? &rank.stretches[static_cast<std::size_t>(worker)]
                   : nullptr) {
  record_.worker = static_cast<std::uint16_t>(worker);
  record_.batch = kNoBatch;
  batch_.maker = worker;
}

void BatchMaker::Begin(const Deal& deal) {
  batch_.deal = deal;
  const std::int64_t batch_size = run_.experiment.loader.batch_size;
  left_ = std::min(batch_size, run_.samples_per_epoch - deal.index * batch_size);
  batch_.samples = static_cast<std::int32_t>(left_);
  loaded_ = 0;
  record_ = {.batch = rank_.dispatcher.NumberOf(deal),
             .worker = record_.worker,
             .samples = batch_.samples};
  account_.Close(run_.now);  // the time until now belongs to the previous batch
  account_.SetBatch(record_.batch, batch_.samples);
  stage_ = Stage::kRead;
}

void BatchMaker::Visit(StateVisitor& visitor) {
  VisitBatch(visitor, batch_);
  visitor.Same(left_);
  visitor.Same(loaded_);
  visitor.Same(stage_);
  if (stage_ == Stage::kTransferred) visitor.Time(asked_);
  if (visitor.hashes()) return;  // the rest mostly follows from these
  visitor.Same(demand_.reads);
  visitor.Same(demand_.bytes);
  visitor.Same(demand_.latency);
  visitor.Same(demand_.hits);
  visitor.Same(demand_.read_cpu);
  visitor.Same(demand_.prepare);
  visitor.Same(demand_.prepare_wait);
  visitor.Number(record_.batch);
  visitor.Same(record_.samples);
  visitor.Same(record_.reads);
  visitor.Same(record_.bytes);
  visitor.Same(record_.read);
  visitor.Same(record_.read_cpu);
  visitor.Same(record_.prepare);
  visitor.Same(record_.prepare_wait);
  visitor.Same(record_.collate);
  visitor.Same(record_.contended);
  visitor.Same(record_.cache_hits);
}

Wait BatchMaker::Next(Duration contended) {
  if (stretch_ != nullptr && stretch_->chunks > 0) EndStretch();
  record_.contended += contended;
  switch (stage_) {
    case Stage::kRead:
      return left_ > 0 ? Read() : Collate();
    case Stage::kAsk:
      return Ask();
    case Stage::kTransferred:
      return Transferred();
    case Stage::kWaitInPrepare:
      return WaitInPrepare();
    case Stage::kPrepare:
      return Prepare();
    case Stage::kHandOver:
      stage_ = Stage::kHandedOver;
      return Wait::Until(run_.now + handover_);
    case Stage::kHandedOver:
      return HandedOver();
    case Stage::kCollate:
    case Stage::kMade:
      break;
  }
  // Recorded before the batch is visible, so that its record precedes that of its step.
  if (rank_.recorder != nullptr) rank_.recorder->Record(record_);
  record_.batch = kNoBatch;
  return {.kind = Wait::Kind::kNoMore};
}

void BatchMaker::CountLoaded() {
  const std::int64_t loaded = batch_.samples - left_;
  rank_.loaded += loaded - std::exchange(loaded_, loaded);
}

/// Where all samples are alike, chunks of equal size need it once.
void BatchMaker::Demand(std::int64_t samples) {
  const std::int64_t position =
      batch_.deal.index * run_.experiment.loader.batch_size + batch_.samples - left_;
  demand_ = run_.sampler.Demand(rank_.dispatcher.epoch(), *rank_.order, position, samples,
                                run_.cache ? &*run_.cache : nullptr);
  demanded_ = samples;
}

Wait BatchMaker::Read() {
  CountLoaded();
  const std::int64_t samples = std::min(chunk_samples_, left_);
  if (stretch_ == nullptr || samples != demanded_) Demand(samples);
  left_ -= samples;
  record_.cache_hits += static_cast<std::int32_t>(demand_.hits);
  if (demand_.read_cpu == Duration::zero()) return Ask();
  stage_ = Stage::kAsk;
  account_.Enter(State::kRead, run_.now);
  record_.read += demand_.read_cpu;
  record_.read_cpu += demand_.read_cpu;
  const auto& copies = run_.pipeline.storage.cache.hit_bandwidth;
  return Wait::For({.each = demand_.read_cpu, .bytes_per_s = copies ? copies->per_s : 0});
}

Wait BatchMaker::Ask() {
  stage_ = Stage::kWaitInPrepare;
  if (demand_.reads == 0) return BeginsStretch() ? Ahead(run_.now) : WaitInPrepare();
  account_.Enter(State::kRead, run_.now);
  asked_ = run_.now;
  if (!run_.transfers) return Transferred();
  stage_ = Stage::kTransferred;
  const auto seconds = static_cast<double>(demand_.bytes.count) / run_.pipeline.storage.bandwidth->per_s;
  return {.kind = Wait::Kind::kTransfer, .work = {.each = base::FromSeconds(seconds)}};
}

/// The rest of the storage's service, where its bandwidth was shared before; else all of it.
Wait BatchMaker::Transferred() {
  stage_ = Stage::kWaitInPrepare;
  const Instant done = run_.storage.Serve({run_.now, demand_.reads, demand_.bytes, demand_.latency,
                                            demand_.BetweenReads(burn_threads_)});
  record_.reads += demand_.reads;
  record_.bytes += demand_.bytes;
  record_.read += done - asked_;
  return BeginsStretch() ? Ahead(done) : Wait::Until(done);
}

Wait BatchMaker::WaitInPrepare() {
  stage_ = Stage::kPrepare;
  const Duration wait = demand_.prepare_wait;
  if (wait <= Duration::zero()) return Prepare();
  account_.Stay(State::kPrepare, run_.now);
  record_.prepare_wait += wait;
  return Wait::Until(run_.now + wait);
}

Wait BatchMaker::Prepare() {
  stage_ = Stage::kRead;
  const Duration cost = demand_.prepare;
  if (cost <= Duration::zero()) return {};
  if (run_.cores_suffice && handover_ == Duration::zero()) {
    account_.Stay(State::kPrepare, run_.now);
  } else {
    account_.Enter(State::kPrepare, run_.now);
  }
  record_.prepare += cost;
  if (handover_ > Duration::zero()) stage_ = Stage::kHandOver;
  return {.kind = Wait::Kind::kWork, .work = run_.PrepareWork(cost, burn_threads_)};
}

/// Time without a task, which a real run's clocks would show as time without a core.
Wait BatchMaker::HandedOver() {
  stage_ = Stage::kRead;
  account_.Contended(handover_);
  record_.contended += handover_;
  return left_ > 0 ? Read() : Collate();
}

Wait BatchMaker::Collate() {
  CountLoaded();
  stage_ = Stage::kCollate;
  account_.Enter(State::kCollate, run_.now);
  const Wait wait = Wait::For(run_.CollateWork(rank_, batch_));
  record_.collate = wait.work.each;
  return wait;
}

}  // namespace pipesim::engine::virtual_time
