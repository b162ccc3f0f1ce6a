// The bounds of design section 2 on a pipeline's mean costs. Each is a rate in batches/s that no
// pipeline of these costs can exceed; the lowest is the prediction. They ignore variation, order of
// arrival and contention.
#include <algorithm>
#include <cmath>
#include <optional>

#include "cost/rates.h"
#include "diagnose/variant.h"

namespace pipesim::diagnose {
namespace {

using cost::PerSecond;

/// The time in seconds that each part of a variant takes for one batch, without contention.
class BatchCosts {
 public:
  explicit BatchCosts(const Variant& variant)
      : v_(variant),
        samples_(static_cast<double>(variant.settings.loader.batch_size)),
        reads_(samples_ * p().samples.miss_fraction),
        bytes_(reads_ * p().samples.stored.in_units.Mean()) {
    const int workers = variant.settings.loader.workers;
    if (p().hand_over.processes && workers > 0) hand_over_ = p().hand_over.With(workers);
  }

  double StorageBatchesPerSecond() const { return p().storage.MostPerSecond(reads_, bytes_); }

  /// Of one worker's time for one batch, the share in which it needs a core.
  double BurningShare() const {
    const double load = Load();
    return load > 0 ? Works() / load : 1;
  }
  /// Wall time of one worker for one batch. A process sends while it waits, but not while it works; it hands over while
  /// it does either, and is hindered only where it holds Python's lock.
  double Load() const {
    const double waits = p().storage.OwnSeconds(reads_, bytes_) + p().prepare.WaitSeconds(samples_);
    return Works() + std::max(waits, Send());
  }

  /// CPU time of one batch, all threads.
  double Cpu() const {
    double cpu = ReadCpu() + p().prepare.CpuSeconds(samples_) + Collate() + Send() + Serve() +
                 Receive() + Pin() + Host();
    if (v_.on_cpu())
      cpu += Transfer() + Step() * std::min<double>(p().step.cpu_per_wall.value_or(1), v_.ComputeThreads());
    return cpu;
  }

  /// The training thread's serial work: one step after another.
  double Consumer() const {
    double chain = Host();
    if (v_.on_cpu()) chain += Transfer() + Step();
    if (!v_.on_cpu() && CopyBlocksHost()) chain += Transfer();
    if (!v_.on_cpu() && v_.settings.sync_every > 0) chain += Sync();
    if (v_.settings.loader.workers == 0) chain += Load() + Pin();
    if (!v_.HasPinThread()) chain += Take();
    return chain;
  }

  /// The device's serial work. Launching overlaps it: kernels start as they are launched.
  double Device() const {
    if (v_.on_cpu()) return 0;
    return Step() + (v_.CopiesInLine() ? Transfer() : 0);
  }

  double Transfer() const {
    return base::ToSeconds(
        p().transfer.Time(PreparedBytes(), cost::CopiesFromPinned(v_.settings.loader)));
  }
  /// Wall time of taking a batch over, without the waiting that a busy worker adds.
  double Take() const {
    return hand_over_ ? Serve() + Receive() + base::ToSeconds(hand_over_->receive_latency.Mean()) : 0;
  }
  double Pin() const {
    return v_.Pins() ? base::ToSeconds(p().pin.Time(PreparedBytes())) : 0;
  }

 private:
  const cost::Pipeline& p() const { return v_.pipeline; }
  base::Bytes PreparedBytes() const {
    return p().samples.prepared * v_.settings.loader.batch_size;
  }
  /// A copy out of pageable memory returns only when the data has left it (CUDA programming guide,
  /// "API synchronization behavior"), whatever non_blocking says; the emulated device does the same.
  bool CopyBlocksHost() const {
    return !v_.settings.transfer.non_blocking || !cost::CopiesFromPinned(v_.settings.loader);
  }
  double Works() const {
    return ReadCpu() + Collate() + p().prepare.WorkSeconds(samples_, v_.settings.limits.worker_threads);
  }
  double ReadCpu() const {
    const double hits = samples_ - reads_;
    return p().storage.CpuSeconds(reads_, hits * p().samples.stored.in_units.Mean());
  }
  double Collate() const {
    const spec::Loader& loader = v_.settings.loader;
    return base::ToSeconds(
        p().collate.MadeBy(loader.workers).Mean(PreparedBytes(), loader.batch_size));
  }
  double Send() const {
    if (!hand_over_) return 0;
    return base::ToSeconds(hand_over_->share.Mean(PreparedBytes()) + hand_over_->send.Mean(PreparedBytes()));
  }
  double Serve() const { return hand_over_ ? base::ToSeconds(hand_over_->serve.Mean(PreparedBytes())) : 0; }
  double Receive() const { return hand_over_ ? base::ToSeconds(hand_over_->receive.Mean(PreparedBytes())) : 0; }
  double Host() const {
    return base::ToSeconds(p().host.step) + base::ToSeconds(p().step.launch);
  }
  double Step() const {
    return base::ToSeconds(
        p().step.MeanOn(v_.settings.loader.batch_size, v_.ComputeThreads()));
  }
  /// Every sync_every-th step the host waits for the part of the step after its launch, and reads.
  double Sync() const {
    const double waits = std::max(0.0, Step() - base::ToSeconds(p().step.launch));
    return (waits + base::ToSeconds(p().host.read_back)) /
           static_cast<double>(v_.settings.sync_every);
  }

  const Variant& v_;
  double samples_, reads_, bytes_;
  std::optional<cost::HandOver> hand_over_;  ///< where workers hand batches over
};

/// Batches that the workers load in the time of one. Over whole epochs, the last round takes as long for fewer
/// batches, since the next epoch begins when all are taken.
double LoadedAtOnce(const Variant& variant) {
  const Settings& settings = variant.settings;
  const spec::Loader& loader = settings.loader;
  if (settings.epoch_samples == 0) return loader.workers;
  const double batches = static_cast<double>(settings.epoch_samples) / static_cast<double>(loader.batch_size);
  const double whole = std::floor(batches), last = loader.drop_last ? 0 : batches - whole;
  const double all = whole + (last > 0 ? 1 : 0);
  // Whoever is free takes the next batch, so that short ones make up for long ones. Equal ones end in rounds.
  if (loader.dispatch == spec::Dispatch::kShared && cost::DrawnCosts(variant.pipeline) > 0)
    return std::min<double>(loader.workers, all);
  const double rounds = std::ceil(all / loader.workers);
  const bool ends_with_last = last > 0 && all == (rounds - 1) * loader.workers + 1;
  return (whole + last) / (ends_with_last ? rounds - 1 + last : rounds);
}

}  // namespace

double BurningShare(const Variant& variant) { return BatchCosts(variant).BurningShare(); }

double PredictByBounds(const Variant& variant) {
  const Settings& settings = variant.settings;
  const BatchCosts batch(variant);
  double each_per_s = std::min({PerSecond(batch.Consumer()), PerSecond(batch.Device()),
                                PerSecond(batch.Transfer())});
  if (settings.loader.workers > 0) {
    each_per_s = std::min({each_per_s, LoadedAtOnce(variant) * PerSecond(batch.Load()),
                           PerSecond(batch.Pin() + (variant.HasPinThread() ? batch.Take() : 0))});
  }
  double per_s = std::min(settings.accelerators * each_per_s, batch.StorageBatchesPerSecond());
  if (variant.cores() > 0) per_s = std::min(per_s, variant.cores() * PerSecond(batch.Cpu()));
  return per_s * static_cast<double>(settings.loader.batch_size);
}

}  // namespace pipesim::diagnose
