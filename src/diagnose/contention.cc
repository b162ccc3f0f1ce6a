#include "diagnose/contention.h"

#include <fmt/core.h>

#include <algorithm>

namespace pipesim::diagnose {
namespace {

/// The whole cores in each accelerator's share.
int WholeCores(const Variant& v) {
  return std::max(1, static_cast<int>(std::min(v.cores() / v.settings.accelerators, 1e6)));
}

Variant WithThreads(Variant v, int workers, int threads) {
  v.settings.loader.workers = workers;
  if (v.on_cpu()) v.settings.limits.compute_threads = threads;
  return v;
}

/// Seconds of the measured window that CPU steps lost waiting for a core.
double LostInSteps(const measure::Measurement& measurement) {
  const double compute_s = measurement.consumer.compute_s;
  if (measurement.effective.device_asynchronous) return 0;
  if (StepIsKnownAlone(measurement)) {
    const double alone_s = measurement.demands.step_s.value_or(0);
    return std::max(0.0, compute_s - alone_s * static_cast<double>(measurement.result.steps));
  }
  return compute_s * measurement.resources.trainer_contended_fraction.value_or(0);
}

/// The step as it would be if its threads never waited for a core.
Variant Uncontended(Variant v, const measure::Measurement& measurement) {
  const auto& waits = measurement.resources.trainer_contended_fraction;
  if (StepIsKnownAlone(measurement) || !v.on_cpu() || !waits) return v;
  v.pipeline.step = v.pipeline.step.Scaled(1 - *waits);
  return v;
}

/// The most workers beside `threads` trainer threads: at least one, so that loading still overlaps
/// training, and no more than now. Keeps all workers when the pool shrinks to one thread, since the
/// loss came from the pool's threads waiting for one another.
int MostWorkersBeside(const Variant& now, int threads) {
  const bool pool_goes = threads == 1 && now.ComputeThreads() > 1;
  const int workers = now.settings.loader.workers;
  if (workers == 0 || pool_goes) return workers;
  return std::clamp(WholeCores(now) - threads, 1, workers);
}

Setting FewerThreadsOn(const Variant& now, int threads, int workers) {
  Setting setting;
  if (workers != now.settings.loader.workers) {
    setting.text = fmt::format("workers {} to {}", now.settings.loader.workers, workers);
    setting.set.emplace_back("loader.workers", std::to_string(workers));
  }
  if (now.on_cpu() && threads != now.ComputeThreads()) {
    setting.text += fmt::format("{}compute threads {} to {}", setting.text.empty() ? "" : ", ",
                                now.ComputeThreads(), threads);
    setting.set.emplace_back("limits.compute_threads", std::to_string(threads));
  }
  setting.change = [workers, threads](const Variant& v) {
    return WithThreads(v, workers, threads);
  };
  return setting;
}

}  // namespace

bool StepIsKnownAlone(const measure::Measurement& measurement) {
  return !measurement.effective.device_asynchronous && measurement.effective.device_step;
}

double TrainerContendedShare(const measure::Measurement& measurement) {
  const auto& consumer = measurement.consumer;
  if (!(consumer.wall_s > 0)) return 0;
  return std::clamp((consumer.contended_s + LostInSteps(measurement)) / consumer.wall_s, 0.0, 1.0);
}

double ContentionLeftOut(const measure::Measurement& measurement) {
  const auto& consumer = measurement.consumer;
  const double lost_s =
      consumer.contended_s + (StepIsKnownAlone(measurement) ? LostInSteps(measurement) : 0);
  const double running_s = consumer.wall_s - lost_s;
  return running_s > 0 ? lost_s / running_s : 0;
}

std::optional<SettingGain> MeasuredContention(const Question& question) {
  const Variant& now = question.now;
  const auto measured = question.measurement.result.samples_per_s;
  const double contended = TrainerContendedShare(question.measurement);
  if (!Oversubscribed(now) || !measured || contended >= 1) return std::nullopt;
  const double most = contended / (1 - contended);
  std::optional<SettingGain> best;
  const int now_threads = std::max(1, now.ComputeThreads());
  const Variant free = Uncontended(now, question.measurement);
  for (int threads = std::min(now_threads, WholeCores(now)); threads >= 1; --threads) {
    const int most_workers = MostWorkersBeside(now, threads);
    for (int workers = most_workers; workers >= std::min(1, most_workers); --workers) {
      Setting fewer = FewerThreadsOn(now, threads, workers);
      if (fewer.set.empty()) continue;
      const double gain = std::min(most, Gain(*measured, question.predict(fewer.change(free))));
      if (!best || gain > best->gain) best = SettingGain{std::move(fewer), gain};
    }
  }
  return best;
}

Decision WithMeasuredContention(Decision decision, const Question& question) {
  if (decision.verdict == Verdict::kLoaderBound) return decision;
  const auto fewer = MeasuredContention(question);
  if (!fewer || fewer->gain < question.thresholds.gain_that_counts) return decision;
  if (decision.verdict == Verdict::kCpuContention) {
    if (decision.gain >= fewer->gain) return decision;
    decision.candidates.erase(decision.candidates.begin());
  }
  decision.verdict = Verdict::kCpuContention;
  decision.gain = fewer->gain;
  decision.tie = false;
  decision.measured = true;
  decision.setting = fewer;
  decision.candidates.insert(
      decision.candidates.begin(),
      Candidate{Verdict::kCpuContention, fewer->gain, fewer->setting.change});
  return decision;
}

bool StepMayHoldContention(const Question& question) {
  const Variant& now = question.now;
  const auto& workers = question.measurement.workers;
  if (now.ComputeThreads() < 2 || !Oversubscribed(now)) return false;
  if (StepIsKnownAlone(question.measurement)) return false;
  return workers.wall_s > 0 &&
         workers.contended_s / workers.wall_s >= question.thresholds.gain_that_counts;
}

}  // namespace pipesim::diagnose
