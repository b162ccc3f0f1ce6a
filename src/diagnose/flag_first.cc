#include "diagnose/flag_first.h"

#include <algorithm>

#include "diagnose/levers.h"
#include "diagnose/tried.h"

namespace pipesim::diagnose {
namespace {

/// What the best flag that eases `demand` gains; 0 without one.
double GainByFlag(Demand demand, const Question& q) {
  const double now = q.predict(q.now);
  double best = 0;
  for (const Lever& lever : TrainingLevers(q)) {
    if (lever.takes != Takes::kFlag || lever.eases != demand || lever.changes_training) continue;
    const double tried = lever.acts == Acts::kOnCompute
                             ? MostGainTried(q, trace::ProbeKind::kFreeCompute)
                             : MostGainTried(q, trace::ProbeKind::kFreeData);
    best = std::max(best, std::min(tried, Gain(now, q.predict(lever.setting.change(q.now)))));
  }
  return best;
}

}  // namespace

Decision WithFarLargerFlag(Decision decision, const Question& q) {
  std::vector<Candidate>& candidates = decision.candidates;
  if (decision.verdict != Verdict::kLoaderBound || candidates.size() < 2) return decision;
  const std::optional<Demand> demand = RowOf(candidates[1].verdict).demand;
  constexpr double kFar = 2;
  if (!demand || GainByFlag(*demand, q) <= kFar * decision.gain) return decision;
  const Candidate setting = candidates.front();
  candidates.erase(candidates.begin());
  const auto smaller = std::find_if(candidates.begin() + 1, candidates.end(),
                                    [&](const Candidate& one) { return one.gain < setting.gain; });
  candidates.insert(smaller, setting);
  decision.verdict = candidates.front().verdict;
  decision.gain = candidates.front().gain;
  decision.tie = false;
  decision.setting.reset();
  return decision;
}

}  // namespace pipesim::diagnose
