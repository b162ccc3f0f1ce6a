#include "engine/sampler.h"

#include <algorithm>

namespace pipesim::engine {

using base::KeyedStream;
using base::Stage;

namespace {
std::uint64_t Key(std::int64_t value) { return static_cast<std::uint64_t>(value); }
}  // namespace

Sampler::Sampler(const spec::Experiment& experiment)
    : dataset_(experiment.dataset),
      storage_(experiment.storage),
      prepare_(experiment.prepare),
      worker_startup_(experiment.loader.worker_startup),
      shuffle_(experiment.loader.shuffle),
      seed_(experiment.run.seed) {
  if (!dataset_.sample_bytes.IsFixed() || !storage_.latency.IsFixed() ||
      !storage_.open_cost.IsFixed() || !prepare_.cost.IsFixed()) {
    return;
  }
  each_ = ChunkDemand{.bytes = dataset_.sample_bytes.Mean(),
                      .latency = storage_.latency.Mean() + storage_.open_cost.Mean(),
                      .prepare = prepare_.cost.Mean()};
}

Sampler::Epoch Sampler::EpochOrder(std::int64_t epoch) const {
  return Epoch(base::Shuffle(seed_, Key(epoch), Key(dataset_.samples)), shuffle_);
}

ChunkDemand Sampler::Demand(std::int64_t epoch, const Epoch& order, std::int64_t position,
                            std::int64_t samples, cost::SampleCache* cache) const {
  const bool reads = storage_.kind == spec::StorageKind::kEmulated;
  const bool prepares =
      prepare_.kind == spec::PrepareKind::kBurn || prepare_.kind == spec::PrepareKind::kWait;
  ChunkDemand demand;
  if (cache == nullptr && each_) {
    if (reads) {
      demand.reads = samples;
      demand.bytes = each_->bytes * samples;
      demand.latency = each_->latency * samples;
    }
    if (prepares) demand.prepare = each_->prepare * samples;
    return demand;
  }
  for (std::int64_t at = position; at < position + samples; ++at) {
    const std::int64_t sample = order(at);
    if (reads) AddRead(demand, epoch, at, sample, cache);
    if (prepares) {
      demand.prepare += prepare_.cost.Draw(KeyedStream(seed_, Stage::kPrepare, Key(sample)));
    }
  }
  return demand;
}

void Sampler::AddRead(ChunkDemand& demand, std::int64_t epoch, std::int64_t position,
                      std::int64_t sample, cost::SampleCache* cache) const {
  const base::Bytes bytes = cost::SampleBytes(dataset_, seed_, sample);
  if (cache != nullptr && cache->Access(sample, bytes, epoch, position)) {
    ++demand.hits;
    if (storage_.cache.hit_bandwidth) demand.hit_copy += bytes / *storage_.cache.hit_bandwidth;
    return;
  }
  ++demand.reads;
  demand.bytes += bytes;
  demand.latency +=
      storage_.latency.Draw(KeyedStream(seed_, Stage::kStorageLatency, Key(epoch), Key(position)));
  demand.latency +=
      storage_.open_cost.Draw(KeyedStream(seed_, Stage::kOpenCost, Key(epoch), Key(position)));
}

std::int64_t Sampler::Label(std::int64_t sample) const {
  const auto classes = static_cast<double>(std::max<std::int64_t>(dataset_.classes, 1));
  const double unit = KeyedStream(seed_, Stage::kLabel, Key(sample)).NextUnit();
  return static_cast<std::int64_t>(unit * classes);
}

base::Duration Sampler::WorkerStartup(std::int64_t epoch, int worker) const {
  return worker_startup_.Draw(KeyedStream(seed_, Stage::kWorkerStartup, Key(epoch), Key(worker)));
}

}  // namespace pipesim::engine
