// The part of BatchMaker that puts the tasks of a stretch into one wait.
#include <utility>

#include "engine/virtual_time/batch_maker.h"

namespace pipesim::engine::virtual_time {

using base::Duration;
using base::Instant;
using trace::State;

bool BatchMaker::BeginsStretch() const {
  if (stretch_ == nullptr) return false;
  const bool waits = demand_.prepare_wait > Duration::zero();
  const bool works = demand_.prepare > Duration::zero();
  return waits != works && (waits || works_alone_);
}

/// Waits for the chunk that has been read at `read`; where nothing is read, for all chunks of the
/// batch; where none is left and nobody else wants its core, for its collating, too.
Wait BatchMaker::Ahead(Instant read) {
  Stretch& stretch = *stretch_;
  stretch.begin = run_.now;
  stretch.chunks_begin = read;
  PrepareAhead(stretch);
  if (!demand_.Reads() && left_ > 0) PrepareRestAhead(stretch);
  stage_ = Stage::kRead;
  stretch.collates = left_ == 0 && works_alone_;
  stretch.end = stretch.chunks_end;
  if (stretch.collates) CollateAhead(stretch);
  if (rank_.begun_stretches != nullptr) rank_.begun_stretches->push_back(stretch);
  return Wait::Until(stretch.end);
}

/// The present chunk.
void BatchMaker::PrepareAhead(Stretch& stretch) {
  const Work work = run_.PrepareWork(demand_.prepare, burn_threads_);
  stretch.each = demand_.prepare_wait + work.each;
  stretch.chunks = 1;
  stretch.samples = stretch.chunk_samples = demanded_;
  stretch.chunks_end = stretch.chunks_begin + stretch.each;
  stretch.cpu_of_all = stretch.cpu_of_chunk = work.each * work.threads;
  record_.prepare_wait += demand_.prepare_wait;
  record_.prepare += demand_.prepare;
}

/// The other chunks of the batch: full ones, then perhaps a smaller one.
void BatchMaker::PrepareRestAhead(Stretch& stretch) {
  const std::int64_t samples = std::exchange(left_, 0);
  const std::int64_t full = samples / demanded_, more = samples % demanded_;
  const ChunkDemand last = run_.sampler.Demand(rank_.dispatcher.epoch(), *rank_.order, 0, more);
  const Work work = run_.PrepareWork(last.prepare, burn_threads_);
  stretch.chunks += full + (more > 0 ? 1 : 0);
  stretch.samples += samples;
  stretch.chunks_end += full * stretch.each + last.prepare_wait + work.each;
  stretch.cpu_of_all += full * stretch.cpu_of_chunk + work.each * work.threads;
  record_.prepare_wait += full * demand_.prepare_wait + last.prepare_wait;
  record_.prepare += full * demand_.prepare + last.prepare;
}

void BatchMaker::CollateAhead(Stretch& stretch) {
  const Work work = run_.CollateWork(rank_, batch_);
  record_.collate = work.each;
  stretch.cpu_of_collate = work.each * work.threads;
  stretch.end += work.each;
  stage_ = Stage::kCollate;
}

void BatchMaker::EnterAhead(const Stretch& stretch, Instant until) {
  if (until < stretch.chunks_begin) return;
  account_.Stay(State::kPrepare, stretch.chunks_begin);
  if (stretch.collates && until >= stretch.chunks_end)
    account_.Enter(State::kCollate, stretch.chunks_end);
}

void BatchMaker::EndStretch() {
  EnterAhead(*stretch_, stretch_->end);
  run_.cpu_used += stretch_->CpuBy(stretch_->end);
  run_.simulated += stretch_->Moments();
  if (stretch_->collates) CountLoaded();
  stretch_->chunks = 0;
}

void BatchMaker::Finish() {
  if (stretch_ == nullptr || stretch_->chunks == 0) return;
  const Instant until = rank_.PassedIn(*stretch_, static_cast<std::size_t>(record_.worker));
  EnterAhead(*stretch_, until);
  run_.simulated += stretch_->MomentsBy(until);
}

}  // namespace pipesim::engine::virtual_time
