#include "diagnose/decide.h"

#include <algorithm>
#include <cmath>

#include "diagnose/question.h"

namespace pipesim::diagnose {
namespace {

/// Two infinite gains are a tie.
bool IsTie(double larger, double smaller, double tie) {
  if (std::isinf(larger)) return std::isinf(smaller);
  return larger - smaller < tie;
}

/// Its gain is not known yet.
Candidate Freeing(Demand demand) {
  return {VerdictOf(demand), 0, [demand](const Variant& v) { return Free(v, demand); }};
}

/// Equal ones stay in their order.
void LargestFirst(std::vector<Candidate>& candidates) {
  std::stable_sort(candidates.begin(), candidates.end(),
                   [](const Candidate& a, const Candidate& b) { return a.gain > b.gain; });
}

double BestPairGain(const Variant& now, const Predictor& predict) {
  const double rate = predict(now);
  double best = 0;
  for (const Demand a : kDemands) {
    for (const Demand b : kDemands) {
      if (b > a) best = std::max(best, Gain(rate, predict(Free(Free(now, a), b))));
    }
  }
  return best;
}

/// Twice the enough workers, unless that is slower: with just enough, the workers would still limit
/// about as much as the next part and hide it.
Variant WithAmpleWorkers(const Variant& enough, const Predictor& predict) {
  Variant ample = enough;
  ample.settings.loader.workers *= 2;
  return predict(ample) >= predict(enough) ? ample : enough;
}

/// Whether no gain exceeds that of the bounds, which are of mean costs: drawn ones may do a little better. The rates
/// of a CPU that trains on several threads are anchored to what was measured, which bounds are not.
bool IsBounded(const Variant& now, double rate) {
  constexpr double kLuck = 0.01;  // of predicted rates: as well as they are known where costs are drawn
  return !now.on_cpu() && PredictByBounds(now) >= (1 - kLuck) * rate;
}

/// FreedDemands without those that by their bounds neither gain enough to count nor tie with the
/// largest gain. Most pipelines have one limit, and freeing anything else is not worth a prediction.
std::vector<Candidate> FreedThatMayCount(const Variant& now, const Predictor& predict,
                                         const Thresholds& thresholds) {
  const double rate = predict(now);
  if (!IsBounded(now, rate)) return FreedDemands(now, predict);
  struct Freed {
    Candidate candidate;
    Variant after;
    double most = 0;  ///< gain, by bounds
    bool predicted = false;
  };
  std::vector<Freed> all;
  double largest = 0;
  const auto predict_gain = [&](Freed& freed) {
    freed.candidate.gain = Gain(rate, predict(freed.after));
    freed.predicted = true;
    largest = std::max(largest, freed.candidate.gain);
  };
  for (const Demand demand : kDemands) {
    Freed freed{.candidate = Freeing(demand), .after = Free(now, demand)};
    freed.most = Gain(rate, PredictByBounds(freed.after));
    all.push_back(std::move(freed));
    if (all.back().most >= thresholds.gain_that_counts) predict_gain(all.back());
  }
  std::vector<Candidate> kept;
  for (Freed& freed : all) {
    const bool counts = largest >= thresholds.gain_that_counts;
    if (counts && !freed.predicted && IsTie(largest, freed.most, thresholds.tie))
      predict_gain(freed);
    if (freed.predicted) kept.push_back(std::move(freed.candidate));
  }
  LargestFirst(kept);
  return kept;
}

/// Whether fewer workers gain because they share a storage, so that the first batch of each epoch comes sooner, and not
/// because of cores: more of these gain little, and with free storage fewer workers do.
bool GainsByStorage(const SettingGain& fewer, const Variant& now, const Predictor& predict) {
  if (now.on_cpu() || !SetsPath(fewer.setting.set, "loader.workers")) return false;
  const double little = 0.5 * fewer.gain;
  Variant ample = now;
  ample.pipeline.machine.cores = 0;
  if (Gain(predict(now), predict(ample)) >= little) return false;
  const Variant free = Free(now, Demand::kStorage);
  return Gain(predict(free), predict(fewer.setting.change(free))) < little;
}

void Lead(Decision& decision, Verdict verdict, const SettingGain& best) {
  decision.verdict = verdict;
  decision.gain = best.gain;
  decision.setting = best;
  decision.candidates.insert(decision.candidates.begin(),
                             Candidate{verdict, best.gain, best.setting.change});
}

}  // namespace

bool IsHidden(Verdict verdict, const Variant& now) {
  return now.settings.loader.opaque && RowOf(verdict).side == Side::kInput;
}

std::vector<Candidate> FreedDemands(const Variant& now, const Predictor& predict) {
  const double rate = predict(now);
  std::vector<Candidate> freed;
  for (const Demand demand : kDemands) {
    freed.push_back(Freeing(demand));
    freed.back().gain = Gain(rate, predict(Free(now, demand)));
  }
  LargestFirst(freed);
  return freed;
}

Decision Decide(const Variant& now, const Predictor& predict, const Thresholds& thresholds) {
  Decision decision;
  const double rate = predict(now);
  if (std::isinf(rate) || !(rate > 0)) return decision;
  const std::vector<Candidate> freed = FreedThatMayCount(now, predict, thresholds);
  for (const auto& candidate : freed) {
    if (candidate.gain >= thresholds.gain_that_counts) decision.candidates.push_back(candidate);
  }
  // No setting of the loader gains more than data that is free; then none need be searched for.
  std::optional<SettingGain> loader;
  if (Gain(rate, predict(FreeData(now))) >= thresholds.gain_that_counts)
    loader = SmallestNearBest(LoaderSettings(now, predict, thresholds), now, predict, thresholds);
  const bool loads = loader && loader->gain >= thresholds.gain_that_counts;
  // Beside a device of its own, fewer threads gain no more than the loader does, unless the trainer pays for each batch
  // that they hand over.
  std::optional<SettingGain> fewer;
  if (!loads || now.on_cpu() || now.pipeline.hand_over.processes)
    fewer = SmallestNearBest(FewerThreads(now, predict, thresholds), now, predict, thresholds);
  if (loads && !(fewer && fewer->gain > loader->gain)) {
    Lead(decision, Verdict::kLoaderBound, *loader);
    return decision;
  }
  if (fewer && fewer->gain >= thresholds.gain_that_counts && !GainsByStorage(*fewer, now, predict)) {
    Lead(decision, Verdict::kCpuContention, *fewer);
    return decision;
  }
  if (!decision.candidates.empty()) {
    decision.verdict = freed.front().verdict;
    decision.gain = freed.front().gain;
    decision.tie = freed.size() > 1 && IsTie(freed[0].gain, freed[1].gain, thresholds.tie);
    return decision;
  }
  decision.gain = BestPairGain(now, predict);
  decision.verdict = Verdict::kBalanced;
  // No pair gains either: three or more parts limit equally, so the verdict is balanced.
  decision.tie = decision.gain < thresholds.pair_gain_for_balanced;
  return decision;
}

std::optional<Verdict> SecondVerdict(const Decision& decision, const Variant& now,
                                     const Predictor& predict, const Thresholds& thresholds) {
  if (decision.candidates.empty()) return std::nullopt;
  const Variant without = decision.candidates.front().change(now);
  if (decision.verdict != Verdict::kLoaderBound) {
    return Decide(without, predict, thresholds).verdict;
  }
  constexpr int kMostRounds = 3;  // each may multiply the workers by eight
  Variant ample = WithAmpleWorkers(without, predict);
  for (int round = 0; round < kMostRounds; ++round) {
    const Decision next = Decide(ample, predict, thresholds);
    if (next.verdict != Verdict::kLoaderBound) return next.verdict;
    ample = WithAmpleWorkers(next.candidates.front().change(ample), predict);
  }
  return Verdict::kLoaderBound;
}

}  // namespace pipesim::diagnose
