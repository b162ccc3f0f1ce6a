#include "engine/threaded/probing.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/stats.h"
#include "engine/rules.h"

namespace pipesim::engine::threaded {
namespace {

using base::Duration;
using base::Instant;
using trace::ProbeBlock;
using trace::ProbeKind;

constexpr std::int64_t kLeastPairs = 3;    // fewer make an interval too wide to say anything
constexpr std::int64_t kUsualPairs = 8;    // blocks are made short enough for so many
constexpr std::size_t kPairsToSettle = 5;  // before a narrow interval may be believed
/// A block holds this many scheduling slices of the kernel (about 4 ms), so that one more or less
/// does not decide.
constexpr Duration kShortestBlock = std::chrono::milliseconds(20);
/// A gain is known well enough at this half-width (a fifth of the 5 % that decide), or at this
/// share of itself.
constexpr double kNarrow = 0.01, kNarrowShare = 0.05;
constexpr double kLevel = 0.99;  // looked at after every pair: stricter than what is reported

enum class Way { kAsItIs, kFreeData, kFreeCompute };

double RateOf(const ProbeBlock& block) {
  return static_cast<double>(block.samples) / base::ToSeconds(block.time);
}

/// The gain of each pair is known to within kNarrow.
bool IsSettled(const trace::Probe& probe) {
  if (probe.pairs.size() < kPairsToSettle) return false;
  std::vector<double> logs;
  for (const trace::ProbePair& pair : probe.pairs)
    logs.push_back(std::log(RateOf(pair.changed) / RateOf(pair.base)));
  const double gain = std::abs(std::exp(base::Mean(logs)) - 1);
  return *base::HalfWidth(logs, kLevel) <= std::max(kNarrow, kNarrowShare * gain);
}

/// Batches of a round beside the counted ones.
std::int64_t Settling(const ProbeShape& shape) { return std::max(shape.cycle(), shape.in_flight); }

std::int64_t WholeCycles(double batches, std::int64_t cycle) {
  const auto cycles = static_cast<std::int64_t>(std::ceil(batches / static_cast<double>(cycle)));
  return std::max<std::int64_t>(cycles, 1) * cycle;
}

class Prober {
 public:
  Prober(ProbeSeat& seat, const ProbePlan& plan, const ProbeShape& shape)
      : seat_(seat), plan_(plan), shape_(shape), begin_(seat.Now()) {}

  trace::Probes Run() {
    TryFree(plan_.setting ? plan_.most_time / 2 : plan_.most_time);
    if (plan_.setting) TrySetting(*plan_.setting);
    probes_.time = Elapsed();
    std::erase_if(probes_.each, [](const trace::Probe& probe) { return probe.pairs.empty(); });
    return std::move(probes_);
  }

 private:
  Duration Elapsed() const { return seat_.Now() - begin_; }

  std::optional<std::int64_t> Once(Way way) {
    if (way == Way::kFreeData) return seat_.TrainAgain();
    return way == Way::kFreeCompute ? seat_.Drop() : seat_.Train();
  }

  /// False: the run is ending.
  bool Settle(Way way, std::int64_t batches) {
    for (; batches > 0; --batches) {
      if (!Once(way)) return false;
    }
    return true;
  }

  std::optional<ProbeBlock> Block(Way way, std::int64_t batches) {
    ProbeBlock block;
    const Instant begin = seat_.Now();
    for (; batches > 0; --batches) {
      const auto samples = Once(way);
      if (!samples) return std::nullopt;
      block.samples += *samples;
    }
    block.time = seat_.Now() - begin;
    if (block.samples == 0 || block.time <= Duration::zero()) return std::nullopt;
    return block;
  }

  std::optional<ProbeBlock> FreeData(std::int64_t batches) {
    if (!seat_.BeginFreeData()) return std::nullopt;
    // The device still works on what was submitted before, and a worker on its chunk.
    std::optional<ProbeBlock> block;
    if (Settle(Way::kFreeData, Settling(shape_))) block = Block(Way::kFreeData, batches);
    seat_.EndFreeData();
    return block;
  }

  /// The first window was made, or begun, before training was free.
  std::optional<ProbeBlock> FreeCompute(std::int64_t batches) {
    if (!Settle(Way::kFreeCompute, shape_.window())) return std::nullopt;
    return Block(Way::kFreeCompute, batches);
  }

  /// Batches of a block such that `pairs` rounds of `blocks` blocks and `beside` other batches fit
  /// into `time`; 0: not even in whole cycles.
  std::int64_t BatchesFor(Duration time, std::int64_t rounds, std::int64_t blocks,
                          std::int64_t beside, double step_s) const {
    const double in_round = base::ToSeconds(time) / static_cast<double>(rounds) / step_s;
    const double each = (in_round - static_cast<double>(beside)) / static_cast<double>(blocks);
    const auto cycles = static_cast<std::int64_t>(each / static_cast<double>(shape_.cycle()));
    return std::max<std::int64_t>(cycles, 0) * shape_.cycle();
  }

  /// Seconds of a step, from one block of the run as it is; nullopt: the run is ending.
  std::optional<double> StepSeconds() {
    if (!Settle(Way::kAsItIs, Settling(shape_))) return std::nullopt;
    const std::int64_t steps = shape_.cycle();
    const auto block = Block(Way::kAsItIs, steps);
    if (!block) return std::nullopt;
    return base::ToSeconds(block->time) / static_cast<double>(steps);
  }

  /// As long as kUsualPairs rounds allow, else as kLeastPairs do; 0: not even those.
  std::int64_t BlockFor(Duration time, std::int64_t blocks, std::int64_t beside,
                        double step_s) const {
    const auto shortest = WholeCycles(base::ToSeconds(kShortestBlock) / step_s, shape_.cycle());
    const std::int64_t usual = BatchesFor(time, kUsualPairs, blocks, beside, step_s);
    if (usual >= shortest) return usual;
    return std::min(shortest, BatchesFor(time, kLeastPairs, blocks, beside, step_s));
  }

  void TryFree(Duration until) {
    const auto step_s = StepSeconds();
    if (!step_s) return;
    const std::int64_t settling = Settling(shape_);
    // A round: settle, as it is, free data (which settles), and free compute after its window.
    const Duration time = until - Elapsed();
    std::int64_t batches = BlockFor(time, 3, 2 * settling + shape_.window(), *step_s);
    const bool both = batches > 0;
    if (!both) batches = BlockFor(time, 2, 2 * settling, *step_s);
    if (batches == 0) return;
    // References into the vector stay valid: the room is there.
    probes_.each.reserve(3);
    trace::Probe& data = probes_.each.emplace_back(trace::Probe{ProbeKind::kFreeData, {}, {}});
    trace::Probe* training = nullptr;
    if (both) {
      training = &probes_.each.emplace_back(trace::Probe{ProbeKind::kFreeCompute, {}, {}});
    }
    Duration longest{};
    while (Elapsed() + longest <= until) {
      const bool data_open = !IsSettled(data);
      const bool training_open = training != nullptr && !IsSettled(*training);
      if (!data_open && !training_open) break;
      const Instant round = seat_.Now();
      if (!Settle(Way::kAsItIs, settling)) return;
      const auto base = Block(Way::kAsItIs, batches);
      if (!base) return;
      if (data_open) {
        const auto changed = FreeData(batches);
        if (!changed) return;
        data.pairs.push_back({*base, *changed});
      }
      if (training_open) {
        const auto changed = FreeCompute(batches);
        if (!changed) return;
        training->pairs.push_back({*base, *changed});
      }
      longest = std::max(longest, seat_.Now() - round);
    }
  }

  void TrySetting(const LiveSetting& setting) {
    ProbeShape other = shape_;
    other.workers = setting.workers;
    other.prefetch_factor = setting.prefetch_factor;
    const std::int64_t to = shape_.window() + Settling(other);
    const std::int64_t back = other.window() + Settling(shape_);
    const auto step_s = StepSeconds();
    if (!step_s) return;
    const Duration until = plan_.most_time;
    // Fewer workers may be as many times slower.
    const double slower =
        std::max(1.0, static_cast<double>(shape_.workers) / static_cast<double>(other.workers));
    const std::int64_t batches = BlockFor(until - Elapsed(), 2, to + back, *step_s * slower);
    if (batches == 0) return;
    trace::Probe probe{ProbeKind::kSetting, setting.change, {}};
    Duration longest{};
    while (Elapsed() + longest <= until && !IsSettled(probe)) {
      const Instant round = seat_.Now();
      const auto base = Block(Way::kAsItIs, batches);
      if (!base) break;
      seat_.Deal(other.workers, other.prefetch_factor);
      std::optional<ProbeBlock> changed;
      if (Settle(Way::kAsItIs, to))
        changed = Block(Way::kAsItIs, WholeCycles(static_cast<double>(batches), other.cycle()));
      seat_.Deal(shape_.workers, shape_.prefetch_factor);
      if (!changed || !Settle(Way::kAsItIs, back)) break;
      probe.pairs.push_back({*base, *changed});
      longest = std::max(longest, seat_.Now() - round);
    }
    probes_.each.push_back(std::move(probe));
  }

  ProbeSeat& seat_;
  const ProbePlan& plan_;
  const ProbeShape shape_;
  const Instant begin_;
  trace::Probes probes_;
};

}  // namespace

ProbeShape ProbeShapeOf(const spec::Experiment& experiment) {
  const spec::Loader& loader = experiment.loader;
  return {.workers = loader.workers,
          .prefetch_factor = loader.workers > 0 ? loader.prefetch_factor : 0,
          .in_flight = static_cast<std::int64_t>(MostInFlight(experiment.device))};
}

bool CanProbe(std::int64_t steps, Duration elapsed, const ProbeShape& shape) {
  // The shortest useful plan: settle, learn the step's time, and three pairs of free data, in steps
  // as they were.
  constexpr double kShare = 0.2, kMost_s = 10;
  const std::int64_t needed =
      Settling(shape) + shape.cycle() + kLeastPairs * 2 * (Settling(shape) + shape.cycle());
  const double step_s =
      base::ToSeconds(elapsed) / static_cast<double>(std::max<std::int64_t>(steps, 1));
  return static_cast<double>(needed) * step_s <=
         std::min(kMost_s, kShare * base::ToSeconds(elapsed));
}

trace::Probes RunProbes(ProbeSeat& seat, const ProbePlan& plan, const ProbeShape& shape) {
  return Prober(seat, plan, shape).Run();
}

}  // namespace pipesim::engine::threaded
