#include "engine/sampler.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <utility>

namespace pipesim::engine {

using base::KeyedStream;
using base::Stage;

namespace {
std::uint64_t Key(std::int64_t value) { return static_cast<std::uint64_t>(value); }

template <class Unit>
void DrawUnlessFixed(const base::Drawn<Unit>& cost, Stage stage, const spec::Experiment& experiment,
                     std::shared_ptr<const SampleDraws>& draws) {
  if (cost.IsFixed() || draws) return;
  draws = std::make_shared<SampleDraws>(cost.in_units, experiment.run.seed, stage,
                                        experiment.dataset.samples, /*keep=*/false);
}

}  // namespace

Sampler::Placed::Placed(const base::Drawn<base::Duration>& cost) : fixed(cost.Mean()) {
  if (!cost.IsFixed()) sampler.emplace(cost.in_units);
}

Sampler::Sampler(const spec::Experiment& experiment, const cost::Pipeline& pipeline, KeptDraws kept)
    : samples_(experiment.dataset.samples),
      classes_(experiment.dataset.classes),
      storage_(pipeline.storage),
      prepare_(pipeline.prepare),
      collate_(pipeline.collate.MadeBy(experiment.loader.workers)),
      hand_over_(pipeline.hand_over.With(experiment.loader.workers)),
      worker_startup_(experiment.loader.worker_startup.value_or(pipeline.hand_over.startup)),
      prepared_bytes_(pipeline.samples.prepared),
      shuffle_(experiment.loader.shuffle),
      accelerators_(experiment.run.accelerators),
      seed_(experiment.run.seed),
      draws_(std::move(kept)),
      sample_bytes_(pipeline.samples.stored.Mean()),
      latency_(storage_.latency),
      open_cost_(storage_.open_cost),
      every_read_hits_(cost::EveryReadHits(experiment, pipeline)) {
  DrawUnlessFixed(pipeline.samples.stored, Stage::kSampleSize, experiment, draws_.sample_bytes);
  DrawUnlessFixed(prepare_.cost, Stage::kPrepare, experiment, draws_.prepare);
  DrawUnlessFixed(prepare_.wait, Stage::kPrepareWait, experiment, draws_.prepare_wait);
  if (!pipeline.samples.stored.IsFixed() || !storage_.latency.IsFixed() ||
      !storage_.open_cost.IsFixed() || !prepare_.IsFixed()) {
    return;
  }
  each_.emplace();
  if (every_read_hits_) {
    AddHit(*each_, sample_bytes_);
  } else if (storage_.present) {
    each_->reads = 1;
    each_->bytes = pipeline.samples.stored.Mean();
    each_->latency = storage_.latency.Mean() + storage_.open_cost.Mean();
    each_->read_cpu = storage_.read_cpu;
  }
  constexpr std::array<std::uint64_t, 1> kAny{0};
  AddPrepare(*each_, kAny);
}

Sampler::Epoch Sampler::EpochOrder(std::int64_t epoch) const {
  return Epoch(base::Shuffle(seed_, Key(epoch), Key(samples_)), shuffle_);
}

Sampler::Epoch Sampler::WholeEpochOrder(std::int64_t epoch, int rank) const {
  Epoch order = EpochOrder(epoch);
  const bool order_matters = !AllAlike() || storage_.HasCache();
  if (order_matters) order.order_.Tabulate();
  order.rank_ = rank;
  order.ranks_ = accelerators_;
  order.samples_ = samples_;
  return order;
}

ChunkDemand Sampler::SumOfEach(std::int64_t epoch, const Epoch& order, std::int64_t position,
                               std::int64_t samples, cost::SampleCache* cache) const {
  ChunkDemand demand;
  std::array<std::uint64_t, 256> chosen;
  for (std::int64_t begin = position; begin < position + samples;) {
    const auto count = std::min<std::int64_t>(position + samples - begin, chosen.size());
    const std::span block(chosen.data(), static_cast<std::size_t>(count));
    order.Range(begin, block);
    if (storage_.present) {
      for (std::size_t i = 0; i < block.size(); ++i) {
        AddRead(demand, epoch, order.PlaceOf(begin + static_cast<std::int64_t>(i)),
                static_cast<std::int64_t>(block[i]), cache);
      }
    }
    AddPrepare(demand, block);
    begin += count;
  }
  return demand;
}

void Sampler::AddPrepare(ChunkDemand& demand, std::span<const std::uint64_t> samples) const {
  const auto sum = [&](const base::Drawn<base::Duration>& cost,
                       const std::shared_ptr<const SampleDraws>& draws) {
    if (!draws) return cost.Mean() * static_cast<std::int64_t>(samples.size());
    std::int64_t sum_ns = 0;
    for (const std::uint64_t sample : samples)
      sum_ns += (*draws)(static_cast<std::int64_t>(sample));
    return base::Duration(sum_ns);
  };
  using enum cost::Prepare::Kind;
  if (prepare_.kind == kCpu) demand.prepare += sum(prepare_.cost, draws_.prepare);
  if (prepare_.kind == kWait) demand.prepare_wait += sum(prepare_.cost, draws_.prepare);
  demand.prepare += prepare_.python * static_cast<std::int64_t>(samples.size());
  demand.prepare_wait += prepare_.late * static_cast<std::int64_t>(samples.size());
  if (!prepare_.wait.IsZero()) demand.prepare_wait += sum(prepare_.wait, draws_.prepare_wait);
}

base::Duration Sampler::OfBatch(const base::Drawn<base::Duration>& cost, Stage stage,
                                std::int64_t epoch, std::int64_t batch) const {
  if (cost.IsFixed()) return cost.Mean();
  return cost.Draw(KeyedStream(seed_, stage, Key(epoch), Key(batch)));
}

base::Duration Sampler::Collate(std::int64_t epoch, std::int64_t batch,
                                std::int64_t samples) const {
  return collate_.Time(prepared_bytes_ * samples, samples,
                       OfBatch(collate_.varying, Stage::kCollate, epoch, batch));
}

base::Duration Sampler::Share(std::int64_t epoch, std::int64_t batch, std::int64_t samples) const {
  return hand_over_.share.Time(prepared_bytes_ * samples,
                               OfBatch(hand_over_.share.batch, Stage::kShare, epoch, batch));
}

base::Duration Sampler::Send(std::int64_t epoch, std::int64_t batch, std::int64_t samples) const {
  return hand_over_.send.Time(prepared_bytes_ * samples,
                              OfBatch(hand_over_.send.batch, Stage::kSend, epoch, batch));
}

base::Duration Sampler::Receive(std::int64_t epoch, std::int64_t batch,
                                std::int64_t samples) const {
  return hand_over_.receive.Time(prepared_bytes_ * samples,
                                 OfBatch(hand_over_.receive.batch, Stage::kReceive, epoch, batch));
}

base::Duration Sampler::Serve(std::int64_t epoch, std::int64_t batch, std::int64_t samples) const {
  return hand_over_.serve.Time(prepared_bytes_ * samples,
                               OfBatch(hand_over_.serve.batch, Stage::kServe, epoch, batch));
}

base::Duration Sampler::ReceiveLatency(std::int64_t epoch, std::int64_t batch) const {
  return OfBatch(hand_over_.receive_latency, Stage::kReceiveLatency, epoch, batch);
}

base::Duration Sampler::ReceiveWait(std::int64_t epoch, std::int64_t batch) const {
  return OfBatch(hand_over_.receive_wait, Stage::kReceiveWait, epoch, batch);
}

void Sampler::AddRead(ChunkDemand& demand, std::int64_t epoch, std::int64_t position,
                      std::int64_t sample, cost::SampleCache* cache) const {
  const base::Bytes bytes = StoredBytes(sample);
  if (every_read_hits_ || (cache != nullptr && cache->Access(sample, bytes, epoch, position)))
    return AddHit(demand, bytes);
  ++demand.reads;
  demand.read_cpu += storage_.read_cpu;
  demand.bytes += bytes;
  demand.latency += At(latency_, Stage::kStorageLatency, epoch, position) +
                    At(open_cost_, Stage::kOpenCost, epoch, position);
}

void Sampler::AddHit(ChunkDemand& demand, base::Bytes bytes) const {
  ++demand.hits;
  if (storage_.cache.hit_bandwidth) demand.read_cpu += bytes / *storage_.cache.hit_bandwidth;
}

base::Duration Sampler::At(const Placed& cost, Stage stage, std::int64_t epoch,
                           std::int64_t position) const {
  if (!cost.sampler) return cost.fixed;
  KeyedStream stream(seed_, stage, Key(epoch), Key(position));
  return base::Duration(base::RoundToInteger((*cost.sampler)(stream)));
}

void Sampler::Epoch::Range(std::int64_t position, std::span<std::uint64_t> samples) const {
  if (ranks_ > 1) {
    for (std::uint64_t& sample : samples) sample = Key((*this)(position++));
    return;
  }
  if (shuffled_) return order_.Range(Key(position), samples);
  std::iota(samples.begin(), samples.end(), Key(position));
}

std::int64_t Sampler::Label(std::int64_t sample) const {
  const auto classes = static_cast<double>(std::max<std::int64_t>(classes_, 1));
  const double unit = KeyedStream(seed_, Stage::kLabel, Key(sample)).NextUnit();
  return static_cast<std::int64_t>(unit * classes);
}

base::Duration Sampler::WorkerStartup(std::int64_t epoch, int worker) const {
  return worker_startup_.Draw(KeyedStream(seed_, Stage::kWorkerStartup, Key(epoch), Key(worker)));
}

}  // namespace pipesim::engine
