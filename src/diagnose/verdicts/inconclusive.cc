#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "base/number_text.h"
#include "diagnose/clauses.h"
#include "diagnose/texts.h"
#include "diagnose/timeline.h"

namespace pipesim::diagnose::inconclusive {
namespace {

constexpr std::string_view kSigns[] = {
    "the report says what is certain, what is open, and what is missing",
};
constexpr std::string_view kFlags[] = {
    "--steps N, with N from the report's 'Next'",
    "without --duration a run goes on until its interval is small enough",
};
constexpr std::string_view kPytorch[] = {
    "nothing to change in DataLoader(...) before it is known what limits",
};

std::string Headline(const Findings& found) {
  const Question& q = found.question;
  const auto& result = q.measurement.result;
  const bool few = result.steps < q.thresholds.min_steps;
  const std::string who = few ? fmt::format("{} step{}", result.steps, result.steps == 1 ? "" : "s")
                              : std::string("the evidence");
  const std::string does = few && result.steps != 1 ? "do not show" : "does not show";
  if (!found.side) return fmt::format("{} {} what limits {}", who, does, Training(q));
  return fmt::format("the {} side limits {}; {} {} which part", ToText(*found.side), Training(q),
                     who, does);
}

Clauses EvidenceOf(const Findings& found) {
  Clauses clauses;
  const Question& q = found.question;
  if (found.side == Side::kInput) AddStarved(clauses, q.measurement);
  const auto& result = q.measurement.result;
  if (result.steps < q.thresholds.min_steps) {
    clauses.push_back(
        {fmt::format("{} steps were measured, {} are needed", result.steps, q.thresholds.min_steps),
         "result.steps", static_cast<double>(result.steps),
         static_cast<double>(q.thresholds.min_steps)});
  }
  if (const auto error = ModelError(q); error && std::abs(*error) > q.thresholds.model_error) {
    clauses.push_back({fmt::format("the model of this run is {} off", base::Gain(*error)),
                       "diagnosis.model_error", *error, q.thresholds.model_error});
  }
  return clauses;
}

/// Steps of a run, warm-up included, that would bring the interval to thresholds.rank_interval and
/// reach min_steps: n × (half-width / 5 %)², rounded up to two digits.
std::int64_t StepsToSettle(const Question& q) {
  const auto& result = q.measurement.result;
  double steps = static_cast<double>(q.thresholds.min_steps);
  if (const auto half_width = RelativeHalfWidth(q.measurement)) {
    const double ratio = *half_width / q.thresholds.rank_interval;
    steps = std::max(steps, static_cast<double>(result.steps) * ratio * ratio);
  }
  steps += static_cast<double>(result.warmup_steps);
  const double unit = std::pow(10, std::max(0.0, std::floor(std::log10(steps)) - 1));
  return static_cast<std::int64_t>(std::min(std::ceil(steps / unit) * unit, 1e15));
}

/// A run that goes on until the steps are there: limits that would end it earlier are lifted.
Recommendation MoreSteps(const Question& q) {
  const auto& result = q.measurement.result;
  const std::int64_t steps = StepsToSettle(q);
  std::string seconds;
  if (result.step_time) {
    const double s = static_cast<double>(steps) * result.step_time->mean_s;
    seconds = fmt::format(" ({})", SecondsText(s));
  }
  const auto half_width = RelativeHalfWidth(q.measurement);
  const bool wide = half_width && *half_width > q.thresholds.rank_interval;
  Recommendation r;
  r.text = fmt::format("about {} steps{} {}", steps, seconds,
                       wide ? fmt::format("would bring ±{} to ±{}", base::Percent(*half_width),
                                          base::Percent(q.thresholds.rank_interval))
                            : "would be enough to decide");
  r.set = {{"run.steps", std::to_string(steps)}};
  if (q.experiment.run.duration) r.set.emplace_back("run.duration", "auto");
  const auto per_epoch = spec::BatchesPerEpoch(q.experiment);
  if (q.experiment.run.epochs && per_epoch > 0 && *q.experiment.run.epochs * per_epoch < steps) {
    r.set.emplace_back("run.epochs", std::to_string((steps + per_epoch - 1) / per_epoch));
  }
  return r;
}

Recommendation Remedy(const Findings& found) {
  if (found.doubt.needs_steps) return MoreSteps(found.question);
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
        "Fewer than 30 measured steps; or an interval wider than 5 % while candidates overlap; or "
        "needed evidence is missing; or the model misses the measured run by more than 10 %.",
    .signs = kSigns,
    .flags = kFlags,
    .pytorch = kPytorch,
};

}  // namespace pipesim::diagnose::inconclusive
