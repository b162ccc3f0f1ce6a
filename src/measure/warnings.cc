#include "measure/warnings.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "measure/cache_kinds.h"
#include "measure/probes.h"
#include "measure/rates.h"
#include "measure/window.h"

namespace pipesim::measure {
namespace {

constexpr std::int64_t kStepsForDrift = 30;    // halves of fewer differ by chance
constexpr double kDrift = 0.05;                // between the halves of the window
constexpr double kThrottled = 0.01;            // of the window; what shows in a rate of +-1 %
constexpr double kLate = 0.01;                 // of a worker's time; stages promise 99 %
constexpr double kPageCacheOff = 0.05;         // of the files' bytes
constexpr double kUnseenWait = 0.05;           // of a worker's time
constexpr Duration kLeastStall = std::chrono::milliseconds(500);  // five readings missed
constexpr int kStallOfUsual = 5;                                  // times the usual gap
constexpr double kStallUse = 0.1;                                 // of a core, meanwhile

/// The inputs of every check. A check adds at most one warning.
struct Case {
  const trace::RunTrace& trace;
  const spec::Experiment& experiment;
  const Window& window;
  const std::optional<CounterMoves>& moves;
  const Measurement& measured;
};

using Found = std::optional<Warning>;

Found CheckStock(const Case& c) {
  if (!c.window.by_loading || c.window.counted == c.window.samples) return std::nullopt;
  const double all = AllOverFirst(c.trace, c.window);
  return warnings::Stock{.delivered_per_s = all * DeliveredPerSecond(c.window),
                         .loaded_per_s = all * SamplesPerSecond(c.window)};
}

Found CheckLastBatch(const Case& c) {
  const std::int64_t batch = c.experiment.loader.batch_size;
  const std::int64_t batches = spec::BatchesPerEpoch(c.experiment);
  if (c.measured.result.samples >= c.measured.result.steps * batch || batches == 0) {
    return std::nullopt;
  }
  const std::int64_t last = spec::BatchSamples(c.experiment, batches - 1);
  if (last == batch) return std::nullopt;  // bad samples are missing; they have their own warning
  return warnings::PartialBatch{.samples = last, .batch_size = batch};
}

Found CheckForeignCpu(const Case& c) {
  const Resources& r = c.measured.resources;
  // Under a quota there are more processors than cores.
  const double processors = std::max(r.cores, static_cast<double>(c.measured.effective.cpus.size()));
  if (!r.foreign_cores || r.cores <= 0 || !warnings::ForeignCpu::Counts(*r.foreign_cores, processors))
    return std::nullopt;
  return warnings::ForeignCpu{.foreign_cores = *r.foreign_cores, .processors = processors};
}

Found CheckThrottling(const Case& c) {
  const std::optional<double> share = c.measured.resources.throttled_fraction;
  if (!share || *share <= kThrottled) return std::nullopt;
  return warnings::Throttled{.time_share = *share, .cores = c.measured.resources.cores};
}

Found CheckSwap(const Case& c) {
  if (!c.moves || c.moves->swapped_in_pages.value_or(0) < 1) return std::nullopt;
  return warnings::Swap{.pages = *c.moves->swapped_in_pages};
}

Found CheckDrift(const Case& c) {
  const std::int64_t period = PeriodSteps(c.experiment, c.measured.result.steps);
  const std::vector<trace::Checkpoint> halves = GroupBorders(c.trace, c.window, period, 2);
  const std::optional<double> noise = RelativeHalfWidth(c.measured.result);
  if (halves.size() < 3 || c.measured.result.steps < kStepsForDrift || !noise) return std::nullopt;
  const auto rate = [&halves](std::size_t i) {
    return static_cast<double>(halves[i].samples - halves[i - 1].samples) /
           base::ToSeconds(halves[i].at - halves[i - 1].at);
  };
  const double change = rate(2) / rate(1) - 1;
  if (std::abs(change) <= std::max(kDrift, *noise)) return std::nullopt;
  return warnings::Drift{
      .change = change, .settled_s = c.measured.result.warmup_s + c.measured.result.measured_s / 2};
}

Found CheckBursts(const Case& c) {
  const int workers = c.experiment.loader.workers;
  const Consumer& consumer = c.measured.consumer;
  if (consumer.wall_s <= 0 ||
      !ComesInBursts(c.trace, c.window, workers, consumer.starved_s / consumer.wall_s)) {
    return std::nullopt;
  }
  return warnings::Bursts{.period = workers};
}

Found CheckBadSamples(const Case& c) {
  const auto& kept = c.trace.bad_samples;
  if (c.trace.bad_sample_count == 0) return std::nullopt;
  return warnings::BadSamples{.count = c.trace.bad_sample_count,
                              .first = kept.empty() ? std::nullopt : std::optional(kept.front())};
}

/// Only where workers just wait: beside CPU work, lateness and contention look alike.
Found CheckWakeups(const Case& c) {
  const spec::PrepareKind prepare = c.experiment.prepare.kind;
  const Workers& w = c.measured.workers;
  const double active_s = w.read_s + w.prepare_s + w.contended_s;
  const bool reads = c.experiment.storage.kind == spec::StorageKind::kEmulated;
  const bool only_waits = (reads && prepare == spec::PrepareKind::kNone) ||
                          (c.experiment.storage.kind != spec::StorageKind::kFiles &&
                           prepare == spec::PrepareKind::kWait);
  if (!only_waits || active_s <= 0 || w.contended_s <= kLate * active_s) return std::nullopt;
  return warnings::LateWakeups{.share = w.contended_s / active_s, .late_s = w.contended_s};
}

/// The median time between readings: 0.1 s, more in long runs. At least two readings.
Duration UsualGap(const std::vector<trace::ResourceSample>& samples) {
  std::vector<Duration> gaps;
  for (std::size_t i = 1; i < samples.size(); ++i)
    gaps.push_back(samples[i].at - samples[i - 1].at);
  const auto middle = gaps.begin() + static_cast<std::ptrdiff_t>(gaps.size() / 2);
  std::nth_element(gaps.begin(), middle, gaps.end());
  return *middle;
}

/// A gap between readings, much longer than the others, in which the process used no CPU. On a busy
/// machine it would have used some.
Found CheckStalls(const Case& c) {
  const std::vector<trace::ResourceSample>& samples = c.trace.resources;
  if (samples.size() < 3) return std::nullopt;
  const Duration usual = UsualGap(samples), least = std::max(kLeastStall, kStallOfUsual * usual);
  Duration stalled{};
  std::optional<double> first_s;
  for (std::size_t i = 1; i < samples.size(); ++i) {
    const trace::ResourceSample &before = samples[i - 1], &after = samples[i];
    const Duration gap = after.at - before.at;
    if (gap < least || after.at <= c.window.from || before.at >= c.window.to) continue;
    const double used_s = base::ToSeconds(after.process_cpu - before.process_cpu);
    if (used_s > kStallUse * base::ToSeconds(gap)) continue;
    stalled += gap - usual;
    if (!first_s) first_s = base::ToSeconds(before.at - c.trace.begin);
  }
  if (!first_s) return std::nullopt;
  return warnings::Stalled{.stalled_s = base::ToSeconds(stalled), .first_s = *first_s};
}

Found CheckContention(const Case& c) {
  const Workers& w = c.measured.workers;
  if (w.count == 0 || !c.moves || !c.moves->worker_wait_s || w.wall_s <= 0) return std::nullopt;
  const double waited_s =
      *c.moves->worker_wait_s * c.measured.result.measured_s / c.moves->covered_s;
  if (waited_s - w.contended_s <= kUnseenWait * w.wall_s) return std::nullopt;
  return warnings::UnseenContention{.kernel_s = waited_s, .seen_s = w.contended_s};
}

/// Of the time limit: longer runs are no advice.
constexpr double kMostPatience = 10;

Found CheckMaxDuration(const Case& c) {
  const std::optional<double> noise = RelativeHalfWidth(c.measured.result);
  const spec::Run& run = c.experiment.run;
  if (c.trace.end_reason != trace::EndReason::kMaxDuration || run.duration) return std::nullopt;
  if (noise && *noise <= run.max_noise) return std::nullopt;
  warnings::MaxDuration warning{.max_duration_s = base::ToSeconds(run.max_duration),
                                .max_noise = run.max_noise,
                                .noise = noise};
  const Result& result = c.measured.result;
  if (const auto steps = StepsForInterval(result, run.max_noise)) {
    const double step_s = result.measured_s / static_cast<double>(result.steps);
    warning.enough_s = static_cast<double>(*steps) * step_s;
    if (warning.enough_s <= kMostPatience * warning.max_duration_s) warning.enough_steps = steps;
  }
  return warning;
}

Found CheckLaunch(const Case& c) {
  if (!c.measured.device || c.measured.device->launch_s) return std::nullopt;
  return warnings::LaunchUnmeasured{.device = c.trace.effective.device};
}

Found CheckEpochs(const Case& c) {
  const std::optional<EpochRange>& judged = c.measured.result.judged_epochs;
  if (!judged) return std::nullopt;
  std::vector<EpochKind> kinds = EpochKinds(c.trace, c.experiment);
  if (kinds.size() < 2) return std::nullopt;
  return warnings::MixedCache{.kinds = std::move(kinds), .judged = *judged};
}

/// The emulated cache was filling all the time.
Found CheckColdCache(const Case& c) {
  const spec::Storage& storage = c.experiment.storage;
  const bool filling = HasEmulatedCache(storage) && storage.cache.warm < 1;
  const bool only_first = !c.trace.epochs.empty() && c.window.to <= c.trace.epochs.front().end;
  if (!filling || !only_first) return std::nullopt;
  return warnings::ColdCache{};
}

/// Real files: the page cache was not in the requested state.
Found CheckPageCache(const Case& c) {
  const std::optional<double>& cached = c.measured.resources.page_cached_fraction;
  if (!cached || c.experiment.storage.direct) return std::nullopt;
  const spec::FileCacheState asked = c.experiment.storage.file_cache;
  const bool cold = asked == spec::FileCacheState::kCold && *cached > kPageCacheOff;
  const bool warm = asked == spec::FileCacheState::kWarm && *cached < 1 - kPageCacheOff;
  if (!cold && !warm) return std::nullopt;
  return warnings::PageCache{.asked_cold = cold, .cached_fraction = *cached};
}

Found CheckProbes(const Case& c) {
  warnings::ProbesLeftOut left_out;
  for (const Tried& tried : c.measured.tried) {
    const auto drift = DriftOf(tried, c.measured.result);
    if (!drift || SpeaksForTheRun(tried, c.measured.result)) continue;
    if (left_out.changes.empty()) left_out.drift = *drift;
    const bool data = tried.kind == trace::ProbeKind::kFreeData;
    left_out.changes.push_back(tried.kind == trace::ProbeKind::kSetting ? tried.change
                               : data                                   ? "free data"
                                                                        : "free compute");
  }
  if (left_out.changes.empty()) return std::nullopt;
  return left_out;
}

Warning NothingMeasured(const trace::RunTrace& trace, const spec::Experiment& experiment) {
  warnings::NothingMeasured nothing{
      .ran_s = base::ToSeconds(std::max(Duration::zero(), trace.end - trace.begin)),
      .warmup_s = {}};
  if (trace.steps > 0 && experiment.run.warmup)
    nothing.warmup_s = base::ToSeconds(*experiment.run.warmup);
  return nothing;
}

void AddLibraryWarnings(const trace::RunTrace& trace, std::vector<Warning>& warnings) {
  for (const std::string& text : trace.effective.library_warnings)
    warnings.emplace_back(warnings::LibraryWarned{text});
}

}  // namespace

std::vector<Warning> WarningsOf(const trace::RunTrace& trace, const spec::Experiment& experiment,
                                const std::optional<Window>& window,
                                const std::optional<CounterMoves>& moves,
                                const Measurement& measurement) {
  std::vector<Warning> warnings;
  const Window none{};
  const Case c{trace, experiment, window ? *window : none, moves, measurement};
  if (!window) {
    // A run that failed before its first step says so itself.
    const bool failed = trace.end_reason == trace::EndReason::kFailed ||
                        trace.end_reason == trace::EndReason::kOutOfMemory;
    if (!failed || trace.steps > 0) warnings.push_back(NothingMeasured(trace, experiment));
    if (Found bad = CheckBadSamples(c)) warnings.push_back(*std::move(bad));
    AddLibraryWarnings(trace, warnings);
    return warnings;
  }
  constexpr std::array kChecks = {
      &CheckStock,   &CheckMaxDuration, &CheckForeignCpu, &CheckThrottling,
      &CheckSwap,    &CheckEpochs,      &CheckColdCache,  &CheckPageCache,
      &CheckDrift,   &CheckBursts,      &CheckLastBatch,  &CheckBadSamples,
      &CheckWakeups, &CheckContention,  &CheckLaunch,     &CheckStalls,
      &CheckProbes};
  for (const auto check : kChecks) {
    if (Found found = check(c)) warnings.push_back(*std::move(found));
  }
  AddLibraryWarnings(trace, warnings);
  return warnings;
}

}  // namespace pipesim::measure
