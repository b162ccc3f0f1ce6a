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

void Lead(Decision& decision, Verdict verdict, const SettingGain& best) {
  decision.verdict = verdict;
  decision.gain = best.gain;
  decision.setting = best;
  decision.candidates.insert(decision.candidates.begin(),
                             Candidate{verdict, best.gain, best.setting.change});
}

}  // namespace

std::vector<Candidate> FreedDemands(const Variant& now, const Predictor& predict) {
  const double rate = predict(now);
  std::vector<Candidate> freed;
  for (const Demand demand : kDemands) {
    const Change change = [demand](const Variant& v) { return Free(v, demand); };
    freed.push_back({VerdictOf(demand), Gain(rate, predict(change(now))), change});
  }
  std::stable_sort(freed.begin(), freed.end(),
                   [](const Candidate& a, const Candidate& b) { return a.gain > b.gain; });
  return freed;
}

Decision Decide(const Variant& now, const Predictor& predict, const Thresholds& thresholds) {
  Decision decision;
  const double rate = predict(now);
  if (std::isinf(rate) || !(rate > 0)) return decision;
  const std::vector<Candidate> freed = FreedDemands(now, predict);
  for (const auto& candidate : freed) {
    if (candidate.gain >= thresholds.gain_that_counts) decision.candidates.push_back(candidate);
  }
  // No setting of the loader gains more than data that is free; then none need be searched for.
  std::optional<SettingGain> loader;
  if (Gain(rate, predict(FreeData(now))) >= thresholds.gain_that_counts)
    loader = SmallestNearBest(LoaderSettings(now, predict, thresholds.enough_share), now, predict,
                              thresholds);
  const bool loads = loader && loader->gain >= thresholds.gain_that_counts;
  // Beside a device of its own, fewer threads gain no more than the loader does.
  std::optional<SettingGain> fewer;
  if (!loads || now.on_cpu()) fewer = SmallestNearBest(FewerThreads(now), now, predict, thresholds);
  if (loads && !(fewer && fewer->gain > loader->gain)) {
    Lead(decision, Verdict::kLoaderBound, *loader);
    return decision;
  }
  if (fewer && fewer->gain >= thresholds.gain_that_counts) {
    Lead(decision, Verdict::kCpuContention, *fewer);
    return decision;
  }
  if (!decision.candidates.empty()) {
    decision.verdict = freed.front().verdict;
    decision.gain = freed.front().gain;
    decision.tie = IsTie(freed[0].gain, freed[1].gain, thresholds.tie);
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
