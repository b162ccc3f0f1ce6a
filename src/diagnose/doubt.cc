#include "diagnose/doubt.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <string_view>

#include "base/number_text.h"
#include "diagnose/contention.h"
#include "diagnose/tried.h"
#include "measure/rates.h"
#include "measure/warning.h"

namespace pipesim::diagnose {
namespace {

/// A setting that makes training this many times as fast is worth saying, whatever else is open.
constexpr double kDoubles = 2;
/// A rate of one or two steps shows no interval. It may be off by a factor of two.
constexpr double kErrorWithoutInterval = 1;

void AddMissingDemands(const Question& q, Doubt& doubt) {
  const auto& d = q.measurement.demands;
  const auto& e = q.experiment;
  auto miss = [&](bool needed, std::string signal, std::string what) {
    if (!needed) return;
    doubt.missing.push_back({std::move(signal), what + " could not be measured"});
    doubt.undecided = true;
  };
  miss(!q.measurement.result.samples_per_s, "result.samples_per_s", "the throughput");
  miss(!d.step_s, "demands.step_s", "the step's own time");
  miss(e.storage.kind != spec::StorageKind::kNone && !d.read_s, "demands.read_s",
       "the time of a read");
  miss(e.prepare.kind != spec::PrepareKind::kNone && !d.prepare_cpu_s && !d.prepare_wait_s,
       "demands.prepare_cpu_s", "the time of prepare");
}

/// How far a model that knows nothing of them may be off: without contention the run would be up to
/// `contention` faster than measured; other programs' turns on the cores may take, or leave, their
/// share of them.
struct LeftOut {
  double contention = 0, others = 0;
};

LeftOut LeftOutOf(const Question& q) {
  LeftOut left;
  if (!Oversubscribed(q.now)) return left;
  left.contention = ContentionLeftOut(q.measurement);
  constexpr double kMost = 0.9;  // of the cores: what is left to the run is something
  const double processors = q.now.pipeline.machine.Processors();
  if (processors > 0)
    left.others = std::min(kMost, q.measurement.resources.foreign_cores.value_or(0) / processors);
  return left;
}

/// The part of `error` that what is left out does not explain.
double Unexplained(double error, const LeftOut& left) {
  if (error < 0) return std::min(0.0, (1 + error) / (1 - left.others) - 1);
  return std::max(0.0, (1 + error) * (1 - left.others) / (1 + left.contention) - 1);
}

/// How many times too high or too low a model's rate is that is off by `error`.
double FactorOf(double error) { return std::max(1 + error, 1 / (1 + error)); }

/// The verdict's gain counts, and leads, also where all gains are off by as much as the model; and
/// what was measured does not speak for another side.
bool Outweighs(const Decision& decision, double error, const Question& q) {
  if (!decision.verdict || decision.candidates.empty()) return false;
  const double factor = FactorOf(error);
  const double gain = decision.candidates.front().gain;
  if ((1 + gain) / factor - 1 < q.thresholds.gain_that_counts) return false;
  const auto side = LimitingSide(q);
  if (side && !MayBeOn(*decision.verdict, *side)) return false;
  if (decision.setting || decision.candidates.size() < 2) return true;
  return std::isinf(gain) || 1 + gain > factor * (1 + decision.candidates[1].gain);
}

/// However far the model is off, the verdict's setting makes training at least twice as fast.
bool StillDoubles(const Decision& decision, double error) {
  return decision.setting && (1 + decision.setting->gain) / FactorOf(error) >= kDoubles;
}

/// The training threads had no core for most of the time that they wanted one: that is contention,
/// however much more of it there is than the model says.
bool MostlyWaitsForCores(const Decision& decision, const Question& q) {
  constexpr double kMost = 0.5;
  return decision.verdict == Verdict::kCpuContention &&
         TrainerContendedShare(q.measurement) > kMost;
}

/// Threads that wait for storage, a device or a clock share nothing.
bool UsesCores(const Question& q) {
  constexpr double kHardly = 0.05;
  const auto& used = q.measurement.resources.cores_used;
  return !used || *used > kHardly * q.now.pipeline.machine.Processors();
}

std::string OffText(double error, const Question& q) {
  std::string text =
      fmt::format("the model of this run is {} off what was measured ({} is allowed)",
                  base::Gain(error), base::Percent(q.thresholds.model_error));
  const auto foreign = q.measurement.resources.foreign_cores;
  const double processors = q.now.pipeline.machine.Processors();
  if (foreign && *foreign > 0.05 * processors)
    text += fmt::format("; other programs used {:.1f} of {:.0f} cores", *foreign, processors);
  return text;
}

void AddModelError(const Decision& decision, const Question& q, Doubt& doubt) {
  const auto error = ModelError(q);
  const double allowed = q.thresholds.model_error;
  if (!error || !(std::abs(*error) > allowed)) return;
  const LeftOut left = LeftOutOf(q);
  const double unexplained = Unexplained(*error, left);
  const bool explained = *error > 0 && left.contention > 0 && !(std::abs(unexplained) > allowed);
  const bool mostly_waits = explained && 2 * left.contention >= *error;
  const bool contended = MostlyWaitsForCores(decision, q);
  doubt.missing.push_back(
      {"diagnosis.model_error",
       mostly_waits
           ? fmt::format("the training thread waits for cores longer than the model of this run says, which makes it "
                         "{} slower",
                         base::Percent(1 - 1 / (1 + *error)))
           : OffText(*error, q)});
  const bool outweighed = Outweighs(decision, *error, q) &&
                          (FactorOf(unexplained) <= 1 + q.thresholds.model_error_outweighed ||
                           StillDoubles(decision, *error));
  (explained || contended || outweighed ? doubt.weak : doubt.undecided) = true;
}

/// Launch gaps inside a measured step last at most as long as the host's own time per step. If the
/// verdict is the same with a step shorter by that time, it stands; else step and launch are both
/// open.
void AddUnknownLaunch(const Decision& decision, const Question& q, Doubt& doubt) {
  const auto& device = q.measurement.device;
  const auto& demands = q.measurement.demands;
  if (!device || device->launch_s || !demands.step_s) return;
  const double host_s = demands.host_s.value_or(0);
  Variant least = q.now;
  if (*demands.step_s > 0)
    least = Scaled(least, Demand::kStep, std::max(0.0, 1 - host_s / *demands.step_s));
  const auto then = Decide(least, q.predict, q.thresholds);
  if (host_s > 0 && (then.verdict != decision.verdict || then.tie)) {
    doubt.missing.push_back(
        {"device.launch_s", "launch gaps inside the step could not be told apart from computing"});
    doubt.undecided = true;
  } else if (decision.verdict == Verdict::kComputeBound && !demands.host_s) {
    doubt.missing.push_back({"demands.host_s", "the host's time to launch a step is unknown"});
    doubt.undecided = true;
  }
}

/// The leader, and the candidates that could be it: those whose gain overlaps the leader's, unless the leader is a
/// setting that at least doubles the rate, or, where the interval is not much too wide, gains enough to count: settings
/// lead whatever demands gain.
std::vector<Candidate> Overlapping(const Decision& decision, const Question& q) {
  if (decision.candidates.empty()) return {};
  std::vector<Candidate> open = {decision.candidates.front()};
  const auto lead = GainInterval(q, open.front().change);
  constexpr double kMuchTooWide = 2;
  const auto half_width = measure::RelativeHalfWidth(q.measurement.result);
  const bool wide = !half_width || *half_width > kMuchTooWide * q.thresholds.rank_interval;
  const double enough = wide ? kDoubles - 1 : q.thresholds.gain_that_counts;
  if (decision.setting && lead && lead->low >= enough) return open;
  for (std::size_t i = 1; i < decision.candidates.size(); ++i) {
    const auto& other = decision.candidates[i];
    const auto range = GainInterval(q, other.change);
    const bool apart = lead && range && (range->high < lead->low || lead->high < range->low);
    if (!apart) open.push_back(other);
  }
  return open;
}

void AddWideInterval(const Decision& decision, const Question& q, Doubt& doubt) {
  const auto half_width = measure::RelativeHalfWidth(q.measurement.result);
  if (!half_width) {
    const std::int64_t steps = q.measurement.result.steps;
    doubt.missing.push_back(
        {"result.samples_per_s_interval",
         fmt::format("{} measured step{} no interval", steps, steps == 1 ? " shows" : "s show")});
    doubt.needs_steps = true;
    (Outweighs(decision, kErrorWithoutInterval, q) ? doubt.weak : doubt.undecided) = true;
    return;
  }
  if (*half_width <= q.thresholds.rank_interval) return;
  doubt.weak = true;
  doubt.needs_steps = true;
  doubt.missing.push_back(
      {"result.samples_per_s_interval",
       fmt::format("interval ±{} ({} is needed to rank)", base::Noise(*half_width),
                   base::Percent(q.thresholds.rank_interval))});
  if (Overlapping(decision, q).size() > 1) doubt.undecided = true;
}

void AddHiddenLoading(const Decision& decision, const Question& q, Doubt& doubt) {
  if (!decision.verdict || !IsHidden(*decision.verdict, q.now)) return;
  doubt.missing.push_back({"loader.opaque", "the experiment says how often batches come and not what that takes"});
  doubt.hidden = true;
  doubt.undecided = true;
}

void AddUnmeasured(const Question& q, Doubt& doubt) {
  for (const auto& what : q.measurement.workers.unmeasured) {
    doubt.missing.push_back(
        {"workers." + what + "_s", what == "contended" ? "run-queue wait unknown"
                                                       : "the workers' " + what + " time unknown"});
    if (Oversubscribed(q.now)) doubt.weak = true;
  }
}

/// Worker processes cost a batch something everywhere; free ones are those of a profile without their figures.
bool WorkersAreFree(const cost::HandOver& hand_over) {
  const auto is_free = [](const cost::HandOverEnd& end) {
    return end.batch.Mean() == base::Duration::zero() && !end.bandwidth;
  };
  return hand_over.processes && is_free(hand_over.share) && is_free(hand_over.send) && is_free(hand_over.serve) &&
         is_free(hand_over.receive);
}

/// More workers gain less than with free ones, from none on.
void AddFreeWorkers(const Decision& decision, const Question& q, Doubt& doubt) {
  if (!decision.setting || !SetsPath(decision.setting->setting.set, "loader.workers")) return;
  if (q.now.settings.loader.workers > 0 || !WorkersAreFree(q.now.pipeline.hand_over)) return;
  doubt.missing.push_back({"loader.send", "what worker processes cost is not known (pipesim calibrate --python)"});
  doubt.weak = true;
}

/// The open verdicts: overlapping candidates and, if launch is unknown, step and launch. If a side
/// is certain, only its own, unless the leader is elsewhere and gains more than twice as much; alone, if it gains more
/// at the least. A side on which nothing gains is none, if the model is right about the run.
std::vector<Verdict> Open(const Decision& decision, const Question& q, bool launch_unknown) {
  std::vector<Verdict> open;
  for (const auto& candidate : Overlapping(decision, q)) open.push_back(candidate.verdict);
  if (launch_unknown) {
    for (const Verdict v : {Verdict::kComputeBound, Verdict::kLaunchBound}) {
      if (std::find(open.begin(), open.end(), v) == open.end()) open.push_back(v);
    }
  }
  const auto side = LimitingSide(q);
  if (!side) return open;
  const auto elsewhere = [&](Verdict v) { return !MayBeOn(v, *side); };
  double most_there = 0;
  for (const auto& candidate : decision.candidates)
    if (!elsewhere(candidate.verdict)) most_there = std::max(most_there, candidate.gain);
  if (most_there > 0) {
    const Candidate& leader = decision.candidates.front();
    const auto lead = GainInterval(q, leader.change);
    if (elsewhere(leader.verdict) && lead && lead->low > most_there) return {leader.verdict};
    if (2 * most_there < leader.gain) return open;
  } else if (const auto error = ModelError(q);
             !open.empty() && error && std::abs(*error) <= q.thresholds.model_error) {
    return open;  // what takes most of the time need not limit, and a model that holds says that it doesn't
  }
  std::erase_if(open, elsewhere);
  return open.empty() ? VerdictsOf(*side) : open;
}

bool LacksOnly(std::string_view signal, const Doubt& doubt) {
  return std::all_of(doubt.missing.begin(), doubt.missing.end(),
                     [&](const Missing& missing) { return missing.signal == signal; });
}

}  // namespace

std::optional<double> ModelError(const Question& q) {
  const auto measured = q.measurement.result.samples_per_s;
  const double predicted = q.model(q.now);
  if (!measured || !(*measured > 0) || !std::isfinite(predicted) || !(predicted > 0)) {
    return std::nullopt;
  }
  return predicted / *measured - 1;
}

std::optional<measure::Interval> GainInterval(const Question& q, const Change& change) {
  const auto half_width = measure::RelativeHalfWidth(q.measurement.result);
  if (!half_width) return std::nullopt;
  auto gain = [&](const Variant& s) { return Gain(q.quick(s), q.quick(change(s))); };
  double low = gain(q.now), high = low;
  const double predicted = Gain(q.predict(q.now), q.predict(change(q.now)));
  // The quick predictor gives the width of the interval, the other predictor its centre.
  const double shift = std::isfinite(predicted) && std::isfinite(low) ? predicted - low : 0;
  for (const Demand demand : kDemands) {
    // A demand cannot be below zero, so the interval ends at ±99 %.
    for (const double by : {-std::min(*half_width, 0.99), *half_width}) {
      const double other = gain(Scaled(q.now, demand, 1 + by));
      low = std::min(low, other);
      high = std::max(high, other);
    }
  }
  if (!std::isfinite(high)) return std::nullopt;
  const auto& interval = *q.measurement.result.samples_per_s_interval;
  constexpr double kAllLost = -1;
  return measure::Interval{std::max(kAllLost, low + shift), high + shift, interval.level, interval.method};
}

Doubt DoubtsAbout(const Decision& decision, const Question& q) {
  Doubt doubt;
  AddWideInterval(decision, q, doubt);
  AddMissingDemands(q, doubt);
  AddModelError(decision, q, doubt);
  const std::size_t before = doubt.missing.size();
  AddUnknownLaunch(decision, q, doubt);
  const bool launch_unknown = doubt.missing.size() > before;
  AddUnmeasured(q, doubt);
  AddHiddenLoading(decision, q, doubt);
  AddFreeWorkers(decision, q, doubt);
  if (decision.tie) doubt.weak = true;
  if (!decision.verdict) doubt.undecided = true;
  if (decision.verdict == Verdict::kComputeBound && StepMayHoldContention(q)) {
    doubt.weak = true;
    doubt.missing.push_back(
        {"demands.step_s", fmt::format("{} threads share {:.0f} cores, so the step's time may "
                                       "hold contention; fewer workers would show it",
                                       RunnableThreads(q.now), q.now.cores())});
  }
  if (doubt.undecided && !doubt.hidden) doubt.open = Open(decision, q, launch_unknown);
  return doubt;
}

void AddWhatOneRunDoesNotShow(const Decision& decision, const Question& q, Doubt& doubt) {
  if (doubt.undecided || !decision.setting) return;
  const auto weaken = [&](std::string signal, std::string reason) {
    doubt.weak = true;
    doubt.missing.push_back({std::move(signal), std::move(reason)});
  };
  if (PoolLacksCores(q.measurement) && decision.gain < q.thresholds.gain_beyond_pools)
    weaken("effective.compute_threads",
           fmt::format("{} compute threads spin and lack cores: such runs differ by 11 % from one to the next, which "
                       "one run does not show", q.now.ComputeThreads()));
  const double others = q.measurement.resources.foreign_cores.value_or(0);
  const double processors = q.now.pipeline.machine.Processors();
  if (Oversubscribed(q.now) && UsesCores(q) && measure::warnings::ForeignCpu::Counts(others, processors))
    weaken("resources.foreign_cores",
           fmt::format("which threads share a core with the other programs ({:.1f} of {:.0f} cores) differs from run to "
                       "run", others, processors));
}

void SettleByOther(Decision& decision, const Question& q, Doubt& doubt) {
  if (!doubt.undecided || !decision.setting || decision.candidates.size() < 2) return;
  if (!LacksOnly("diagnosis.model_error", doubt)) return;
  Decision other = decision;
  other.setting.reset();
  other.candidates.erase(other.candidates.begin());
  other.verdict = other.candidates.front().verdict;
  other.gain = other.candidates.front().gain;
  other.tie = false;
  Doubt left = DoubtsAbout(other, q);
  if (left.undecided) return;
  left.weak = true;
  decision = std::move(other);
  doubt = std::move(left);
}

void SettleBySide(Decision& decision, const Question& q, Doubt& doubt) {
  const bool only_wide = q.measurement.result.samples_per_s_interval &&
                         LacksOnly("result.samples_per_s_interval", doubt);
  if (!doubt.undecided || !only_wide || doubt.open.size() != 1) return;
  auto& candidates = decision.candidates;
  const auto left =
      std::find_if(candidates.begin(), candidates.end(),
                   [&](const Candidate& each) { return each.verdict == doubt.open.front(); });
  if (left == candidates.end()) return;
  if (left != candidates.begin()) decision.setting.reset();
  std::rotate(candidates.begin(), left, left + 1);
  decision.verdict = candidates.front().verdict;
  decision.gain = candidates.front().gain;
  decision.tie = false;
  doubt.undecided = false;
  doubt.weak = true;
  doubt.open.clear();
}

}  // namespace pipesim::diagnose
