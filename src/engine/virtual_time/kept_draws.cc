#include "engine/virtual_time/kept_draws.h"

#include <algorithm>

namespace pipesim::engine::virtual_time {

namespace {

/// Of each kind, for sweeps over costs and for repeats; each takes up to 16 MiB.
constexpr std::size_t kMostKept = 4;
/// Sums are of one batch size each, and points come in any order. Those of 10,000 batches take less than
/// 1 MiB where a batch is one chunk.
constexpr std::size_t kMostSums = 16;

/// The one of `kept`, at most `most`, that fits, else a new one; it is the first afterwards.
template <class Kept, class Fits, class Make>
std::shared_ptr<Kept> FirstOf(std::vector<std::shared_ptr<Kept>>& kept, std::size_t most,
                              const Fits& fits, const Make& make) {
  auto found = std::find_if(kept.begin(), kept.end(), [&](const auto& one) { return fits(*one); });
  if (found == kept.end()) {
    if (kept.size() == most) kept.pop_back();
    found = kept.insert(kept.end(), make());
  }
  std::rotate(kept.begin(), found, found + 1);
  return kept.front();
}

std::shared_ptr<const SampleDraws> DrawsOf(const base::Distribution& distribution,
                                           base::Stage stage, const spec::Experiment& experiment,
                                           std::vector<std::shared_ptr<const SampleDraws>>& kept) {
  if (distribution.kind == base::DistributionKind::kFixed) return nullptr;
  const std::uint64_t seed = experiment.run.seed;
  const std::int64_t samples = experiment.dataset.samples;
  return FirstOf(
      kept, kMostKept, [&](const SampleDraws& one) { return one.Are(distribution, seed, samples); },
      [&] {
        return std::make_shared<const SampleDraws>(distribution, seed, stage, samples,
                                                   /*keep=*/true);
      });
}

}  // namespace

KeptDraws DrawsBetweenRuns::Of(const spec::Experiment& experiment, const cost::Pipeline& pipeline) {
  const std::lock_guard lock(mutex_);
  KeptDraws draws;
  draws.sample_bytes = DrawsOf(pipeline.samples.stored.in_units, base::Stage::kSampleSize,
                               experiment, sample_bytes_);
  draws.prepare =
      DrawsOf(pipeline.prepare.cost.in_units, base::Stage::kPrepare, experiment, prepare_);
  draws.prepare_wait = DrawsOf(pipeline.prepare.wait.in_units, base::Stage::kPrepareWait,
                               experiment, prepare_wait_);
  if (ChunkSums::Serve(experiment, pipeline)) {
    draws.sums = FirstOf(
        sums_, kMostSums, [&](const ChunkSums& one) { return one.Are(experiment, pipeline); },
        [&] { return std::make_shared<ChunkSums>(experiment, pipeline); });
  }
  return draws;
}

}  // namespace pipesim::engine::virtual_time
