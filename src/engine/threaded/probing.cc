#include "engine/threaded/probing.h"

#include <algorithm>
#include <array>
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
/// A pool of LibTorch's threads spins on after its last step and takes a core from the workers: 4.9 ms
/// measured (pool_spin of configs/machines/default.yaml), longer where a pause instruction takes longer.
constexpr Duration kPoolSpins = std::chrono::milliseconds(30);
/// A gain is known well enough at this half-width (a fifth of the 5 % that decide), or at this
/// share of itself.
constexpr double kNarrow = 0.01, kNarrowShare = 0.05;
constexpr double kShortestStep_s = 1e-9;
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
      : seat_(seat), plan_(plan), shape_(shape), begin_(seat.Now()), until_(plan.most_time) {}

  trace::Probes Run() {
    probes_.each.reserve(3);  // references into it stay valid
    // First what the report is about to recommend. Where steps are so slow that half of the time does
    // not hold it, it has all.
    if (plan_.setting && !TrySetting(*plan_.setting, plan_.most_time / 2))
      TrySetting(*plan_.setting, plan_.most_time);
    TryFree(plan_.most_time);
    probes_.time = Elapsed();
    std::erase_if(probes_.each, [](const trace::Probe& probe) { return probe.pairs.empty(); });
    return std::move(probes_);
  }

 private:
  Duration Elapsed() const { return seat_.Now() - begin_; }

  /// One batch; nullopt: the run is ending, or the time is up.
  std::optional<std::int64_t> Once(Way way) {
    if (Elapsed() > until_) return std::nullopt;
    if (way == Way::kFreeData) return seat_.TrainAgain();
    return way == Way::kFreeCompute ? seat_.Drop() : seat_.Train();
  }

  /// False: no more batches.
  bool Settle(Way way, std::int64_t batches) {
    for (; batches > 0; --batches) {
      if (!Once(way)) return false;
    }
    return true;
  }

  /// Parked workers had filled the window before, or it was emptied without training: where training waited for batches,
  /// until it does again, else until the stock is what it was, for which workers take cores; but no more than a window
  /// longer. `stock`: absent before the first block.
  bool SettleAsItWas(std::int64_t batches, bool starved, std::optional<std::int64_t> stock) {
    std::int64_t samples = 0;
    const auto as_it_was = [&] {
      if (shape_.waits || !stock) return !starved || seat_.Starved();
      return std::abs(seat_.Stock() - *stock) < std::max<std::int64_t>(samples, 1);
    };
    const std::int64_t most = batches + shape_.window();
    for (std::int64_t done = 0; done < batches || (done < most && !as_it_was()); ++done) {
      const auto taken = Once(Way::kAsItIs);
      if (!taken) return false;
      samples = *taken;
    }
    return true;
  }

  std::optional<ProbeBlock> Block(Way way, std::int64_t batches) {
    return Block(way, batches, shape_.cycle());
  }

  /// `cycle`: of the workers that load meanwhile.
  std::optional<ProbeBlock> Block(Way way, std::int64_t batches, std::int64_t cycle) {
    ProbeBlock block;
    const Instant begin = seat_.Now();
    const std::int64_t stock = seat_.Stock();
    std::int64_t samples_of_one = 0;
    for (; batches > 0; --batches) {
      const auto samples = Once(way);
      if (!samples) return std::nullopt;
      block.samples += *samples;
      samples_of_one = *samples;
    }
    block.time = seat_.Now() - begin;
    // What the stock gave does not last. Where training does not wait for batches, up to one of each worker is how far
    // they are in it; where it does, all that is loaded counts.
    const std::int64_t drawn = stock - seat_.Stock();
    const std::int64_t in_work = seat_.Starved() ? 0 : cycle * samples_of_one;
    if (way == Way::kAsItIs && drawn > in_work) block.samples = std::max<std::int64_t>(block.samples - drawn, 1);
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

  /// The first window was made, or begun, before training was free, and the trainer's pool spins on.
  std::optional<ProbeBlock> FreeCompute(std::int64_t batches) {
    const Instant begin = seat_.Now();
    if (!Settle(Way::kFreeCompute, shape_.window())) return std::nullopt;
    while (seat_.Now() - begin < kPoolSpins)
      if (!Once(Way::kFreeCompute)) return std::nullopt;
    return Block(Way::kFreeCompute, WholeCycles(static_cast<double>(batches), shape_.in_work()));
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

  /// Seconds of a step of the run as it is, as planned or learnt from one block; nullopt: the run is
  /// ending.
  std::optional<double> StepSeconds() {
    if (step_s_) return step_s_;
    if (!Settle(Way::kAsItIs, Settling(shape_))) return std::nullopt;
    if (plan_.step_s) return step_s_ = plan_.step_s;
    const std::int64_t steps = shape_.cycle();
    const auto block = Block(Way::kAsItIs, steps);
    if (!block) return std::nullopt;
    step_s_ = base::ToSeconds(block->time) / static_cast<double>(steps);
    return step_s_;
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
    trace::Probe& data = probes_.each.emplace_back(trace::Probe{ProbeKind::kFreeData, {}, {}});
    trace::Probe* training = nullptr;
    if (both) {
      training = &probes_.each.emplace_back(trace::Probe{ProbeKind::kFreeCompute, {}, {}});
    }
    Duration longest{};
    bool starved = false;
    std::optional<std::int64_t> stock;
    while (Elapsed() + longest <= until) {
      const bool data_open = !IsSettled(data);
      const bool training_open = training != nullptr && !IsSettled(*training);
      if (!data_open && !training_open) break;
      const Instant round = seat_.Now();
      if (!SettleAsItWas(settling, starved, stock)) return;
      const auto base = Block(Way::kAsItIs, batches);
      if (!base) return;
      starved = seat_.Starved();
      stock = seat_.Stock();
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

  /// One of the two that a setting's probe compares.
  struct Side {
    ProbeShape shape;
    /// Batches after the change to it, before they count: what is in stock was made before the change.
    /// Where loading stays as it is, no more than until the stock is again what it was, and training waits as it did.
    std::int64_t settling = 0;
    bool same_loading = false;
    std::optional<std::int64_t> stock{};
    bool starved = false;  ///< when `stock` was seen
    double step_s = 0;
    double block_s = 0;

    std::int64_t least_settling() const { return same_loading ? Settling(shape) : settling; }
    /// The fewest whole cycles that take so long.
    double WholeCycles_s(double seconds) const {
      return static_cast<double>(WholeCycles(seconds / step_s, shape.cycle())) * step_s;
    }
    /// The whole cycles that fit into block_s.
    std::int64_t BlockBatches() const {
      constexpr double kRounding = 1e-6;
      const double cycles = block_s / step_s / static_cast<double>(shape.cycle()) + kRounding;
      return std::max<std::int64_t>(static_cast<std::int64_t>(cycles), 1) * shape.cycle();
    }
  };

  /// Blocks as long as kUsualPairs rounds allow, else as kLeastPairs do, at last of one cycle each;
  /// false: not even those fit. Rounds take turns in which side comes first, so that settings change
  /// once a round.
  static bool PlanBlocks(Duration time, Side& own, Side& other) {
    const double time_s = base::ToSeconds(time), shortest_s = base::ToSeconds(kShortestBlock);
    const double longer_s = std::max(own.WholeCycles_s(0), other.WholeCycles_s(0));
    struct Plan {
      std::int64_t rounds;
      double least_s;
    };
    for (const Plan& plan : {Plan{kUsualPairs, std::max(shortest_s, longer_s)},
                             Plan{kLeastPairs, longer_s}, Plan{kLeastPairs, 0}}) {
      own.block_s = own.WholeCycles_s(plan.least_s);
      other.block_s = other.WholeCycles_s(plan.least_s);
      const auto rounds = static_cast<double>(plan.rounds);
      const auto back = static_cast<double>(plan.rounds / 2);
      const double changes_s =
          back * static_cast<double>(own.least_settling()) * own.step_s +
          (rounds - back) * static_cast<double>(other.least_settling()) * other.step_s;
      const double left_s = (time_s - changes_s) / rounds - own.block_s - other.block_s;
      if (left_s < 0) continue;
      const double more_s =
          plan.rounds == kUsualPairs ? left_s / 2 : std::min(left_s / 2, shortest_s);
      own.block_s += more_s;
      other.block_s += more_s;
      return true;
    }
    return false;
  }

  /// Changes the settings and settles; learns the step's time, of which a prediction may be wrong.
  /// False: the run is ending, or the time is up.
  bool ChangeTo(Side& side, const LiveSetting* setting) {
    if (setting != nullptr) {
      seat_.Use(*setting);
    } else {
      seat_.UseOwn();
    }
    Instant begin = seat_.Now();
    for (std::int64_t done = 1; done <= side.settling; ++done) {
      const auto samples = Once(Way::kAsItIs);
      if (!samples) return false;
      if (done % side.shape.cycle() != 0) continue;
      const Instant now = seat_.Now();
      side.step_s = std::max(kShortestStep_s, base::ToSeconds(now - begin) /
                                                  static_cast<double>(side.shape.cycle()));
      begin = now;
      const bool as_before = side.stock && (seat_.Starved() || !side.starved) &&
                             std::abs(seat_.Stock() - *side.stock) <= side.shape.cycle() * *samples;
      if (done >= side.least_settling() && as_before) break;
    }
    return Elapsed() + base::FromSeconds(side.WholeCycles_s(0)) <= until_;
  }

  /// False: the time does not suffice, so nothing was tried.
  bool TrySetting(const LiveSetting& setting, Duration until) {
    until_ = until;
    Side own{.shape = shape_}, other{.shape = shape_};
    other.shape.waits = setting.waits;
    other.shape.workers = setting.workers;
    other.shape.prefetch_factor = setting.prefetch_factor;
    own.settling = other.shape.window() + Settling(own.shape);
    other.settling = own.shape.window() + Settling(other.shape);
    own.same_loading = other.same_loading = setting.workers == shape_.workers &&
                                            setting.prefetch_factor == shape_.prefetch_factor;
    const auto step_s = StepSeconds();
    if (!step_s) return true;
    own.step_s = *step_s;
    constexpr double kSlowestExpected = 0.1;  // of the run's own rate; steps show more than promises
    other.step_s = *step_s / std::max(kSlowestExpected, 1 + setting.expected_gain);
    if (!PlanBlocks(until - Elapsed(), own, other)) return false;
    trace::Probe& probe =
        probes_.each.emplace_back(trace::Probe{ProbeKind::kSetting, setting.change, {}});
    bool changed = false;
    std::array<Duration, 2> longest{};  // of a round that begins as the run was, or with the change
    while (Elapsed() + longest[changed ? 1 : 0] <= until && !IsSettled(probe)) {
      const Instant round = seat_.Now();
      Duration& longest_such = longest[changed ? 1 : 0];
      const auto first = BlockOf(changed ? other : own);
      if (!first) break;
      // Where training waits neither way, the stock stays full.
      if (other.same_loading && !own.shape.waits && !other.shape.waits && !other.stock) other.stock = own.stock;
      changed = !changed;
      Side& to = changed ? other : own;
      if (!ChangeTo(to, changed ? &setting : nullptr)) break;
      const auto second = BlockOf(to);
      if (!second) break;
      probe.pairs.push_back(changed ? trace::ProbePair{*first, *second}
                                    : trace::ProbePair{*second, *first});
      longest_such = std::max(longest_such, seat_.Now() - round);
    }
    until_ = plan_.most_time;
    if (changed) ChangeTo(own, nullptr);
    return true;
  }

  std::optional<ProbeBlock> BlockOf(Side& side) {
    auto block = Block(Way::kAsItIs, side.BlockBatches(), side.shape.cycle());
    side.stock = seat_.Stock();
    side.starved = seat_.Starved();
    return block;
  }

  ProbeSeat& seat_;
  const ProbePlan& plan_;
  const ProbeShape shape_;
  const Instant begin_;
  std::optional<double> step_s_;  ///< of the run as it is
  Duration until_;                ///< no batch begins after it
  trace::Probes probes_;
};

}  // namespace

ProbeShape ProbeShapeOf(const spec::Experiment& experiment, bool waits) {
  const spec::Loader& loader = experiment.loader;
  return {.workers = loader.workers,
          .prefetch_factor = loader.workers > 0 ? loader.prefetch_factor : 0,
          // The CPU trains in the consumer's own thread.
          .in_flight = experiment.device.kind == spec::DeviceKind::kCpu
                           ? 1
                           : static_cast<std::int64_t>(MostInFlight(experiment.device)),
          .waits = waits};
}

bool CanProbe(std::int64_t steps, Duration elapsed, const ProbeShape& shape) {
  // The shortest useful plan, in steps as they were: settle, and three pairs of a setting that takes
  // no time itself, which is put back once.
  constexpr double kShare = 0.2, kMost_s = 10;
  const std::int64_t back = (shape.waits ? shape.window() : 0) + Settling(shape);
  const std::int64_t needed = Settling(shape) + kLeastPairs * shape.cycle() + back;
  const double step_s =
      base::ToSeconds(elapsed) / static_cast<double>(std::max<std::int64_t>(steps, 1));
  return static_cast<double>(needed) * step_s <=
         std::min(kMost_s, kShare * base::ToSeconds(elapsed));
}

trace::Probes RunProbes(ProbeSeat& seat, const ProbePlan& plan, const ProbeShape& shape) {
  return Prober(seat, plan, shape).Run();
}

}  // namespace pipesim::engine::threaded
