#include "engine/threaded/batch_maker.h"

#include <sys/resource.h>

#include <algorithm>
#include <cstring>
#include <thread>

namespace pipesim::engine::threaded {

using base::Duration;
using base::Instant;
using trace::State;

namespace {
int BurningThreads(const spec::Experiment& experiment) {
  return experiment.prepare.kind == spec::PrepareKind::kBurn ? experiment.limits.worker_threads : 1;
}

/// Voluntary context switches of this thread.
std::int64_t TimesAsleep() {
  rusage usage{};
  return getrusage(RUSAGE_THREAD, &usage) == 0 ? usage.ru_nvcsw : 0;
}

/// Whether the kernel counts them: gVisor reports 0. The sleep is long enough that the thread
/// surely gives up its core.
bool SleepIsCounted() {
  const std::int64_t before = TimesAsleep();
  std::this_thread::sleep_for(std::chrono::microseconds(100));
  return TimesAsleep() > before;
}
}  // namespace

BatchMaker::BatchMaker(RunState& run, ThreadTimer& timer, trace::SpanSink& sink, int worker,
                       const base::StopFlag& stop, CallGuard* guard, ProcessCosts* costs)
    : run_(run),
      timer_(timer),
      sink_(sink),
      stop_(stop),
      guard_(guard),
      costs_(costs),
      worker_(worker),
      chunk_samples_(std::max<std::int64_t>(cost::ChunkSamples(run.experiment, run.pipeline), 1)),
      sample_bytes_(static_cast<std::size_t>(spec::PreparedBytes(run.experiment.dataset).count)),
      sleep_is_counted_(run.source != nullptr && SleepIsCounted()),
      burners_(BurningThreads(run.experiment), [&run] {
        base::UseFinestTimerSlack();
        run.thread_ids.AddSelf(trace::Role::kWorker);
      }) {}

std::optional<int> BatchMaker::Make(const Task& task) {
  const std::int64_t samples = spec::BatchSamples(run_.experiment, task.deal.index);
  const std::int64_t position = task.deal.index * run_.experiment.loader.batch_size;
  const Duration contended = timer_.contended();
  const Duration prepared = timer_.busy(State::kPrepare), read = timer_.busy(State::kRead);
  record_ = {};
  record_.batch = task.number;
  record_.worker = static_cast<std::uint16_t>(worker_);
  worked_ = false;
  waited_ = {};
  kept_.clear();
  decoded_.clear();
  timer_.SetNextBatch(task.number, static_cast<std::int32_t>(samples));

  if (!ReadAndPrepare(task, position, samples)) return std::nullopt;
  timer_.EnterCpu(State::kCollate);
  // Sleeps that emulate work are recorded as scheduled, everything else as measured.
  if (run_.source != nullptr) record_.read = timer_.busy(State::kRead) - read;
  if (worked_) {
    // The burning threads had equal shares, but only this thread was timed.
    const Duration on_core = timer_.busy(State::kPrepare) - prepared - waited_;
    record_.prepare = std::max(on_core, Duration::zero()) * burners_.threads();
  }
  record_.contended = timer_.contended() - contended;
  return Collate(task);
}

bool BatchMaker::ReadAndPrepare(const Task& task, std::int64_t position, std::int64_t samples) {
  const Sampler::Epoch order = run_.sampler.EpochOrder(task.epoch);
  for (std::int64_t done = 0; done < samples;) {
    run_.gate.Pass(timer_);
    const std::int64_t chunk =
        run_.source != nullptr ? 1 : std::min(chunk_samples_, samples - done);
    if (!Emulate(task, order, position + done, chunk)) return false;
    done += chunk;
    run_.loaded.fetch_add(chunk, std::memory_order_relaxed);
    if (stop_.IsSet()) return false;
  }
  return true;
}

bool BatchMaker::Emulate(const Task& task, const Sampler::Epoch& order, std::int64_t position,
                         std::int64_t samples) {
  const ChunkDemand demand = run_.storage.Demand(task.epoch, order, position, samples);
  if (run_.source != nullptr) {
    if (!ReadFile(order(position))) return true;
    return PrepareEmulated(demand);
  }
  CopyHits(demand);
  if (demand.reads > 0) {
    timer_.Enter(State::kRead);
    const Instant at = timer_.scheduled();
    const Instant done = run_.storage.Serve({at, demand.reads, demand.bytes, demand.latency,
                                             demand.BetweenReads(burners_.threads())});
    record_.reads += demand.reads;
    record_.bytes += demand.bytes;
    record_.read += std::max(done - at, Duration::zero());
    SendUntil(done);
    if (!timer_.SleepUntil(done, stop_)) return false;
  }
  if (!PrepareEmulated(demand)) return false;
  for (std::int64_t i = 0; i < samples; ++i) kept_.push_back(order(position + i));
  return true;
}

void BatchMaker::SendUntil(Instant end) {
  const State state = timer_.state();
  if (costs_ != nullptr && costs_->Send(end - timer_.scheduled())) timer_.Enter(state);
}

void BatchMaker::CopyHits(const ChunkDemand& demand) {
  record_.cache_hits += static_cast<std::int32_t>(demand.hits);
  if (demand.read_cpu == Duration::zero()) return;
  timer_.EnterCpu(State::kRead);
  copier_.Burn(demand.read_cpu, stop_);
  record_.read += demand.read_cpu;
  record_.read_cpu += demand.read_cpu;
}

bool BatchMaker::PrepareEmulated(const ChunkDemand& demand) {
  if (demand.prepare_wait > Duration::zero()) {
    timer_.Enter(State::kPrepare);
    record_.prepare_wait += demand.prepare_wait;
    const Instant end = timer_.scheduled() + demand.prepare_wait;
    SendUntil(end);
    waited_ += std::max(end - timer_.scheduled(), Duration::zero());
    if (!timer_.SleepUntil(end, stop_)) return false;
  }
  if (demand.prepare <= Duration::zero()) return true;
  const Working working(run_, worker_);
  worked_ = true;
  timer_.EnterCpu(State::kPrepare);
  burners_.Burn(demand.prepare, stop_);
  return !stop_.IsSet();
}

void BatchMaker::CollateAsStated(const Batch& batch) {
  const Duration stated = run_.sampler.Collate(batch.epoch, batch.index, batch.samples);
  const Duration copied = base::ThreadCpuTime() - timer_.cpu_begun();
  if (stated > copied) collator_.Burn(stated - copied, stop_);
}

template <class Call>
void BatchMaker::CallSource(Call&& call) {
  if (guard_ == nullptr) {
    call();
  } else {
    guard_->Inside(call);
  }
}

std::span<const std::byte> BatchMaker::ReadBytes(std::int64_t sample) {
  timer_.EnterCpu(State::kRead);
  const std::int64_t slept_before = TimesAsleep();
  std::span<const std::byte> raw;
  CallSource([&] { raw = run_.source->Read(sample, buffer_); });
  // A thread that never slept read from the page cache: its time without a core is contention. If
  // it slept, contention and waiting for the device cannot be separated.
  if (!sleep_is_counted_ || TimesAsleep() != slept_before) timer_.WaitedForDevice();
  record_.read_cpu += base::ThreadCpuTime() - timer_.cpu_begun();
  return raw;
}

bool BatchMaker::ReadFile(std::int64_t sample) {
  const bool decode = run_.experiment.prepare.kind == spec::PrepareKind::kDecode;
  const std::size_t used = decoded_.size();
  try {
    const std::span<const std::byte> raw = ReadBytes(sample);
    const base::Bytes bytes{static_cast<std::int64_t>(raw.size())};
    run_.storage.CountRead(bytes);
    ++record_.reads;
    record_.bytes += bytes;
    if (decode) {
      worked_ = true;
      timer_.EnterCpu(State::kPrepare);
      decoded_.resize(used + sample_bytes_);
      CallSource([&] {
        run_.source->Prepare(sample, raw, std::span(decoded_).subspan(used, sample_bytes_));
      });
    }
  } catch (const BadSample& bad) {
    if (run_.experiment.storage.on_bad_file == spec::OnBadFile::kFail) throw;
    decoded_.resize(used);
    run_.rings.With([&](trace::TraceBuilder& builder) {
      builder.RecordBadSample({bad.item, bad.reason});
    });
    return false;
  }
  kept_.push_back(sample);
  return true;
}

int BatchMaker::Collate(const Task& task) {
  const Working working(run_, worker_);
  const int slot = run_.pool.Acquire();
  Slot& made = run_.pool[slot];
  made.deal = task.deal;
  made.worker = worker_;
  made.batch.number = task.number;
  made.batch.epoch = task.epoch;
  made.batch.index = task.deal.index;
  made.batch.samples = static_cast<std::int32_t>(kept_.size());
  if (!decoded_.empty()) std::memcpy(made.batch.data.data(), decoded_.data(), decoded_.size());
  for (std::size_t i = 0; i < kept_.size(); ++i) {
    if (decoded_.empty()) {
      const std::span<const std::byte> content = run_.content[kept_[i]];
      std::memcpy(made.batch.data.data() + i * sample_bytes_, content.data(), content.size());
    }
    made.batch.labels[i] =
        run_.source != nullptr ? run_.source->Label(kept_[i]) : run_.sampler.Label(kept_[i]);
  }
  CollateAsStated(made.batch);
  // Recorded before the batch is visible, so that its record precedes that of its step.
  record_.samples = made.batch.samples;
  record_.collate = base::ThreadCpuTime() - timer_.cpu_begun();
  record_.contended += std::max(timer_.Now() - timer_.begun() - record_.collate, Duration::zero());
  sink_.Record(record_);
  return slot;
}

}  // namespace pipesim::engine::threaded
