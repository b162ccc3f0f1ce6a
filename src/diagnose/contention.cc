#include "diagnose/contention.h"

#include <fmt/core.h>

#include <algorithm>

namespace pipesim::diagnose {
namespace {

/// Of each accelerator's share.
int WholeCores(const Scenario& s) {
  return std::max(1, static_cast<int>(std::min(s.cores / s.accelerators, 1e6)));
}

Scenario WithThreads(Scenario s, int workers, int threads) {
  s.workers = workers;
  if (s.device_asynchronous || threads == s.compute_threads) return s;
  auto& d = s.demands;
  if (d.step_s) {
    const double most_s = *d.step_s * static_cast<double>(s.compute_threads) / threads;
    d.step_s = std::min(most_s, d.step_one_thread_s.value_or(most_s));
    if (d.step_cpu_s) d.step_cpu_s = std::min(*d.step_cpu_s, threads * *d.step_s);
  }
  s.compute_threads = threads;
  return s;
}

/// What steps of the CPU lost to waiting for a core, seconds of the measured window.
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
Scenario Uncontended(Scenario s, const measure::Measurement& measurement) {
  if (StepIsKnownAlone(measurement) || s.device_asynchronous || !s.demands.step_s) return s;
  *s.demands.step_s *= 1 - measurement.resources.trainer_contended_fraction.value_or(0);
  return s;
}

/// The most workers beside `threads` of the trainer's: at least one, so that loading still runs
/// beside training; never more than now. All of them where a pool becomes a single thread, since
/// what is lost then is what its threads lose waiting for one another.
int MostWorkersBeside(const Scenario& now, int threads) {
  const bool pool_goes = threads == 1 && !now.device_asynchronous && now.compute_threads > 1;
  if (now.workers == 0 || pool_goes) return now.workers;
  return std::clamp(WholeCores(now) - threads, 1, now.workers);
}

Setting FewerThreadsOn(const Scenario& now, int threads, int workers) {
  Setting setting;
  if (workers != now.workers) {
    setting.text = fmt::format("workers {} to {}", now.workers, workers);
    setting.set.emplace_back("loader.workers", std::to_string(workers));
  }
  if (!now.device_asynchronous && threads != now.compute_threads) {
    setting.text += fmt::format("{}compute threads {} to {}", setting.text.empty() ? "" : ", ",
                                now.compute_threads, threads);
    setting.set.emplace_back("limits.compute_threads", std::to_string(threads));
  }
  setting.change = [workers, threads](const Scenario& s) {
    return WithThreads(s, workers, threads);
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

std::optional<Tried> MeasuredContention(const Question& question) {
  const Scenario& now = question.scenario;
  const auto measured = question.measurement.result.samples_per_s;
  const double contended = TrainerContendedShare(question.measurement);
  if (!Oversubscribed(now) || !measured || contended >= 1) return std::nullopt;
  const double most = contended / (1 - contended);
  std::optional<Tried> best;
  const int now_threads = now.device_asynchronous ? 1 : std::max(1, now.compute_threads);
  const int fewest = now.device_asynchronous ? now_threads : 1;
  const Scenario free = Uncontended(now, question.measurement);
  for (int threads = std::min(now_threads, WholeCores(now)); threads >= fewest; --threads) {
    const int most_workers = MostWorkersBeside(now, threads);
    for (int workers = most_workers; workers >= std::min(1, most_workers); --workers) {
      Setting fewer = FewerThreadsOn(now, threads, workers);
      if (fewer.set.empty()) continue;
      const double gain = std::min(most, Gain(*measured, question.predict(fewer.change(free))));
      if (!best || gain > best->gain) best = Tried{std::move(fewer), gain};
    }
  }
  return best;
}

Decision WithMeasuredContention(Decision decision, const Question& question) {
  if (decision.verdict == Verdict::kLoaderBound || decision.verdict == Verdict::kCpuContention) {
    return decision;
  }
  const auto fewer = MeasuredContention(question);
  if (!fewer || fewer->gain < question.thresholds.gain_that_counts) return decision;
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
  const Scenario& now = question.scenario;
  const auto& workers = question.measurement.workers;
  if (now.device_asynchronous || now.compute_threads < 2 || !Oversubscribed(now)) return false;
  if (StepIsKnownAlone(question.measurement)) return false;
  return workers.wall_s > 0 &&
         workers.contended_s / workers.wall_s >= question.thresholds.gain_that_counts;
}

}  // namespace pipesim::diagnose
