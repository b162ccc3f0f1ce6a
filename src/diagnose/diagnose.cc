#include <fmt/core.h>

#include <algorithm>

#include "base/number_text.h"
#include "diagnose/anchored.h"
#include "diagnose/decide.h"
#include "diagnose/doubt.h"
#include "diagnose/enough.h"
#include "diagnose/findings.h"
#include "diagnose/ladder.h"
#include "diagnose/recommend.h"
#include "diagnose/shared_cores.h"
#include "diagnose/texts.h"
#include "diagnose/timeline.h"
#include "diagnose/tried.h"
#include "diagnose/what_if.h"

namespace pipesim::diagnose {
namespace {

Confidence ConfidenceOf(Verdict verdict, const Doubt& doubt) {
  if (verdict == Verdict::kInconclusive) return Confidence::kNone;
  return doubt.weak ? Confidence::kLow : Confidence::kHigh;
}

/// One clause about the present demands whose removal would not gain enough, even at the upper end
/// of the interval. None if the predictor itself is in doubt.
std::vector<std::string> RuledOut(const Question& q, const Doubt& doubt) {
  for (const auto& missing : doubt.missing) {
    const bool blind = missing.signal == "diagnosis.model_error" ||
                       missing.signal.starts_with("demands.") ||
                       missing.signal == "device.launch_s" || missing.signal == "loader.opaque" ||
                       missing.signal == "diagnosis.what_if";
    if (blind) return {};
  }
  std::vector<std::string> parts;
  for (const auto& freed : FreedDemands(q.now, q.predict)) {
    const auto range = GainInterval(q, freed.change);
    const double most = range ? range->high : freed.gain;
    const VerdictRow& row = RowOf(freed.verdict);
    if (most >= q.thresholds.gain_that_counts || !IsThere(q.now, *row.demand)) continue;
    parts.emplace_back(row.part.empty() ? TrainerWord(q.measurement) : row.part);
  }
  if (parts.empty()) return {};
  std::string list = parts.front();
  for (std::size_t i = 1; i < parts.size(); ++i) {
    list += (i + 1 < parts.size() ? ", " : " or ") + parts[i];
  }
  return {fmt::format("no faster {} alone can gain {}", list,
                      base::Percent(q.thresholds.gain_that_counts))};
}

/// What is decided first, and all else explains.
struct Judged {
  Decision decision;
  Doubt doubt;
  Judgement judgement;
};

Judged JudgedOf(const Question& q) {
  Decision decision = WithTried(Decide(q.now, q.predict, q.thresholds), q);
  Doubt doubt = DoubtsAbout(decision, q);
  SettleBySide(decision, q, doubt);
  SettleByTried(decision, q, doubt);
  SettleByOther(decision, q, doubt);
  AddContradictions(decision, q, doubt);
  AddWhatOneRunDoesNotShow(decision, q, doubt);
  const Verdict verdict = doubt.undecided ? Verdict::kInconclusive : *decision.verdict;
  const Judgement judgement{verdict, ConfidenceOf(verdict, doubt)};
  return {std::move(decision), std::move(doubt), judgement};
}

/// The side that is certain, unless a verdict of another one is still open; or that of all that is open.
std::optional<Side> SideOfAll(const Doubt& doubt, const Question& q) {
  if (doubt.hidden) return Side::kInput;
  const auto side = LimitingSide(q);
  if (doubt.open.empty()) return side;
  if (side && std::ranges::all_of(doubt.open, [&](Verdict v) { return MayBeOn(v, *side); })) return side;
  const std::optional<Side> of_first = RowOf(doubt.open.front()).side;
  const bool is_one = std::ranges::all_of(doubt.open, [&](Verdict v) {
    return RowOf(v).side == of_first && !RowOf(v).on_every_side;
  });
  return is_one ? of_first : std::nullopt;
}

/// For a run that ended for its memory before anything was measured.
std::optional<Recommendation> WithinMemory(
    const std::vector<std::pair<std::string, std::string>>& fits) {
  if (fits.empty()) return std::nullopt;
  const std::string& changed = fits.front().first;
  if (changed == "loader.batch_size")
    return Recommendation{.text = "the largest batch that fits, which changes training", .set = fits};
  return Recommendation{.text = changed == "loader.workers" ? "as many workers as fit"
                                                            : "as many batches ahead as fit",
                        .set = fits};
}

/// A question with the values that it refers to.
struct Asked {
  Asked(const spec::Experiment& experiment, const measure::Measurement& measurement,
        const cost::Pipeline& pipeline, const Predictor& model, const Thresholds& thresholds,
        const Predictor& quick_model, const Offers& offers)
      : now(WithStepTried(VariantOf(experiment, pipeline, measurement), measurement, model)),
        predict(Anchored(model, now, measurement.result.samples_per_s)),
        quick(quick_model ? Anchored(quick_model, now, measurement.result.samples_per_s)
                          : predict),
        question{experiment, measurement, now, model, predict, quick, thresholds, offers} {}
  Asked(const Asked&) = delete;
  Asked& operator=(const Asked&) = delete;

  Variant now;
  Predictor predict, quick;
  Question question;
};

bool MoreWorkersInVain(const std::vector<WhatIf>& rows, const spec::Loader& now) {
  return std::ranges::any_of(rows, [&](const WhatIf& row) {
    return row.tried && row.tried->refutes && row.after.loader.workers > now.workers;
  });
}

}  // namespace

Judgement Judge(const spec::Experiment& experiment, const measure::Measurement& measurement,
                const cost::Pipeline& pipeline, const Predictor& predict,
                const Thresholds& thresholds, const Predictor& quick) {
  const Offers none;
  const Asked asked(experiment, measurement, pipeline, predict, thresholds, quick, none);
  return JudgedOf(asked.question).judgement;
}

Diagnosis Diagnose(const spec::Experiment& experiment, const measure::Measurement& measurement,
                   const cost::Pipeline& pipeline, const Predictor& model,
                   const Thresholds& thresholds, const Predictor& quick_model,
                   const Offers& offers) {
  const Asked asked(experiment, measurement, pipeline, model, thresholds, quick_model, offers);
  const Question& q = asked.question;
  Judged judged = JudgedOf(q);
  const Decision& decision = judged.decision;
  Doubt& doubt = judged.doubt;
  const Verdict verdict = judged.judgement.bottleneck;
  Diagnosis d;
  d.bottleneck = verdict;
  d.confidence = judged.judgement.confidence;
  d.side = verdict == Verdict::kInconclusive ? SideOfAll(doubt, q) : RowOf(verdict).side;
  d.what_if = WhatIfs(q, decision);
  AttachTried(d.what_if, q);
  const Findings findings{q, decision, doubt, d.what_if, d.side};
  d.headline = PageOf(verdict).headline(findings);
  if (const std::string others = OthersClause(q, d.what_if); !others.empty())
    d.headline = verdict == Verdict::kCpuContention ? others : others + "; " + d.headline;
  d.evidence = PageOf(verdict).evidence(findings);
  d.ruled_out = RuledOut(q, doubt);
  for (std::string& clause : RuledOutByProbes(q)) d.ruled_out.push_back(std::move(clause));
  const bool measured = measurement.result.samples_per_s.has_value();
  const bool refused =
      !measured && measurement.result.stopped_by == trace::EndReason::kOutOfMemory;
  d.recommendation =
      refused ? WithinMemory(measurement.fits) : PageOf(verdict).remedy(findings);
  if (d.recommendation && measured && verdict != Verdict::kInconclusive) {
    d.recommendation = WithFlagFirst(*std::move(d.recommendation), findings);
    if (decision.setting) d.recommendation = NamingTheRest(*std::move(d.recommendation), findings);
  }
  if (d.recommendation) PromiseWhatWasTried(*d.recommendation, d.what_if, thresholds);
  if (const spec::Loader& loader = q.now.settings.loader; measured && !loader.opaque) {
    d.enough = FindEnoughWorkers(q);
    if (d.enough && d.enough->workers > loader.workers && MoreWorkersInVain(d.what_if, loader))
      d.enough = EnoughAsItIs(q);
  }
  // Last, since they ask most and the predictor answers only so many in full.
  if (verdict != Verdict::kInconclusive)
    d.second = SecondVerdict(decision, q.now, q.predict, thresholds);
  if (d.second && IsHidden(*d.second, q.now)) d.second.reset();
  NameNextLimits(q, d.what_if);
  d.model_error = ModelError(q);
  d.ladder = Ladder(q, verdict);
  if (!measurement.tried.empty()) d.probes_s = measurement.probes_s;
  d.candidates = std::move(doubt.open);
  d.missing = std::move(doubt.missing);
  return d;
}

}  // namespace pipesim::diagnose
