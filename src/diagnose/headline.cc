#include <fmt/core.h>

#include "diagnose/contention.h"
#include "diagnose/evidence.h"
#include "diagnose/texts.h"
#include "diagnose/timeline.h"

namespace pipesim::diagnose {
namespace {

/// "training", of several accelerators "training on 8 accelerators".
std::string Training(const Question& q) {
  const int accelerators = q.scenario.accelerators;
  return accelerators > 1 ? fmt::format("training on {} accelerators", accelerators) : "training";
}

/// "storage limits training; the GPU is 28 % busy".
std::string Limits(std::string_view what, const Question& q) {
  const std::string use = TrainerUse(q.measurement);
  return fmt::format("{} {}{}{}", what, Training(q), use.empty() ? "" : "; ", use);
}

std::string LoaderHeadline(const Question& q, const Decision& d) {
  const bool workers = d.setting && d.setting->setting.set.front().first == "loader.workers";
  if (q.scenario.workers == 0) return Limits("loading in the training loop holds back", q);
  if (!workers) return Limits("a loader setting holds back", q);
  return Limits(
      fmt::format("{} worker{}{} {} too few and hold{} back", q.scenario.workers,
                  q.scenario.workers == 1 ? "" : "s", q.scenario.accelerators > 1 ? " each" : "",
                  q.scenario.workers == 1 ? "is" : "are", q.scenario.workers == 1 ? "s" : ""),
      q);
}

std::string ComputeHeadline(const Question& q) {
  if (IsHealthy(q)) {
    return "healthy; " + Training(q) + " " +
           std::string(TimelineOf(q.measurement).Share(Side::kInput) < 0.01
                           ? "never waits for data"
                           : "hardly waits for data");
  }
  return Limits("the step itself limits", q);
}

std::string InconclusiveHeadline(std::optional<Side> side, const Question& q) {
  const auto& result = q.measurement.result;
  const bool few = result.steps < q.thresholds.min_steps;
  const std::string who = few ? fmt::format("{} step{}", result.steps, result.steps == 1 ? "" : "s")
                              : std::string("the evidence");
  const std::string does = few && result.steps != 1 ? "do not show" : "does not show";
  if (!side) return fmt::format("{} {} what limits {}", who, does, Training(q));
  return fmt::format("the {} side limits {}; {} {} which part", ToText(*side), Training(q), who,
                     does);
}

}  // namespace

bool IsHealthy(const Question& q) {
  const double now = q.predict(q.scenario);
  return Gain(now, q.predict(FreeData(q.scenario))) < q.thresholds.gain_that_counts;
}

std::string Headline(Verdict verdict, std::optional<Side> side, const Question& q,
                     const Decision& d) {
  switch (verdict) {
    case Verdict::kLoaderBound:
      return LoaderHeadline(q, d);
    case Verdict::kCpuContention:
      return fmt::format("too many threads share the cores; {} waits for one {} of the time",
                         Training(q), ShareText(TrainerContendedShare(q.measurement)));
    case Verdict::kIoBound:
      return Limits("storage limits", q);
    case Verdict::kCpuBound:
      return Limits("preparing samples on the CPU limits", q);
    case Verdict::kH2dBound:
      return Limits("copying batches to the device limits", q);
    case Verdict::kLaunchBound:
      return Limits("the host cannot launch work fast enough and limits", q);
    case Verdict::kSyncBound:
      return Limits("reading results back from the device limits", q);
    case Verdict::kHostBound:
      return Limits("the training loop's own work limits", q);
    case Verdict::kComputeBound:
      return ComputeHeadline(q);
    case Verdict::kBalanced:
      return fmt::format("no single part limits {}; only several changes together would gain",
                         Training(q));
    case Verdict::kInconclusive:
      return InconclusiveHeadline(side, q);
  }
  return {};
}

}  // namespace pipesim::diagnose
