#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "base/number_text.h"
#include "diagnose/clauses.h"
#include "diagnose/levers.h"
#include "diagnose/texts.h"
#include "diagnose/timeline.h"
#include "diagnose/what_if.h"
#include "measure/rates.h"

namespace pipesim::diagnose::inconclusive {
namespace {

std::string Headline(const Findings& found) {
  const Question& q = found.question;
  if (!found.side) return fmt::format("the evidence does not show what limits {}", Training(q));
  return fmt::format("the {} side limits {}; the evidence does not show which part",
                     ToText(*found.side), Training(q));
}

Clauses EvidenceOf(const Findings& found) {
  Clauses clauses;
  const Question& q = found.question;
  if (found.side == Side::kInput) AddStarved(clauses, q.measurement);
  if (const auto half = RelativeHalfWidth(q.measurement.result);
      half && *half > q.thresholds.rank_interval) {
    clauses.push_back({fmt::format("the throughput is known to ±{} only", base::Noise(*half)),
                       "result.samples_per_s_interval", *half, q.thresholds.rank_interval});
  }
  if (const auto error = ModelError(q); error && std::abs(*error) > q.thresholds.model_error) {
    clauses.push_back({fmt::format("the model of this run is {} off", base::Gain(*error)),
                       "diagnosis.model_error", *error, q.thresholds.model_error});
  }
  if (found.doubt.hidden) AddGain(clauses, found.what_if, FindRow(found.what_if, kFreeData), "free data would give");
  return clauses;
}

/// A run that goes on until the steps are there: limits that would end it earlier are lifted.
Recommendation MoreSteps(const Question& q) {
  const auto& result = q.measurement.result;
  // Without an interval, any few steps give one.
  constexpr std::int64_t kFirstFew = 10;
  const std::int64_t steps = measure::StepsForInterval(result, q.thresholds.rank_interval)
                                 .value_or(result.warmup_steps + kFirstFew);
  std::string seconds;
  if (result.step_time) {
    const double s = static_cast<double>(steps) * result.step_time->mean_s;
    seconds = fmt::format(" ({})", SecondsText(s));
  }
  const auto half_width = RelativeHalfWidth(result);
  const bool wide = half_width && *half_width > q.thresholds.rank_interval;
  Recommendation r;
  r.text = fmt::format("about {} steps{} {}", steps, seconds,
                       wide ? fmt::format("would bring ±{} to ±{}", base::Noise(*half_width),
                                          base::Percent(q.thresholds.rank_interval))
                            : "would show how sure the throughput is");
  r.set = {{"run.steps", std::to_string(steps)}};
  if (q.experiment.run.duration) r.set.emplace_back("run.duration", "auto");
  const auto per_epoch = spec::BatchesPerEpoch(q.experiment);
  if (q.experiment.run.epochs && per_epoch > 0 && *q.experiment.run.epochs * per_epoch < steps) {
    r.set.emplace_back("run.epochs", std::to_string((steps + per_epoch - 1) / per_epoch));
  }
  return r;
}

/// The model misses the run by more than the interval is wide: more steps change neither.
bool IsOffBeyondInterval(const Findings& found) {
  const auto error = ModelError(found.question);
  const auto half_width = RelativeHalfWidth(found.question.measurement.result);
  return error && half_width && std::abs(*error) > std::max(found.question.thresholds.model_error, 2 * *half_width);
}

Recommendation Remedy(const Findings& found) {
  if (found.doubt.hidden)
    return {.text = "measure what loads: `pipesim record FILE.py:make_loader` in the program's environment"};
  if (found.doubt.needs_steps && !IsOffBeyondInterval(found)) return MoreSteps(found.question);
  return {.text = "a longer run does not settle this; see what is missing, and the warnings"};
}

}  // namespace

const VerdictPage kPage = {
    .headline = Headline,
    .evidence = EvidenceOf,
    .remedy = Remedy,
    .meaning =
        "The evidence does not decide. The report names the side that is certain, what is open, "
        "and what would settle it.",
    .decided =
        "An interval wider than 5 % while candidates overlap, or none while one does not lead by "
        "more than a factor of two; or needed evidence is "
        "missing; or the model misses the measured run by more than 10 %, and its gains do not "
        "outweigh that; or loading limits, and the experiment says only how often batches come (`loader.opaque`).",
    .signs =
        {
            "the report says what is certain, what is open, and what is missing",
        },
    .flags =
        {
            "--steps N, with N from the report's 'Next'",
            "without --duration a run goes on until its interval is small enough",
        },
    .pytorch =
        {
            "nothing to change in DataLoader(...) before it is known what limits",
        },
};

}  // namespace pipesim::diagnose::inconclusive
