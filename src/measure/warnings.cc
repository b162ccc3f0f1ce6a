#include "measure/warnings.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "measure/cache_kinds.h"
#include "measure/rates.h"
#include "measure/window.h"

namespace pipesim::measure {
namespace {

constexpr std::int64_t kFewSteps = 30;         // design section 2: fewer decide nothing
constexpr double kForeignShareOfCores = 0.10;  // of the allowed cores
constexpr double kDrift = 0.05;                // between the halves of the window
constexpr double kThrottled = 0.01;            // of the window; what shows in a rate of +-1 %
constexpr double kLate = 0.01;                 // of a worker's time; stages promise 99 %
constexpr double kPageCacheOff = 0.05;         // of the files' bytes
constexpr double kUnseenWait = 0.05;           // of a worker's time
constexpr Duration kLeastStall = std::chrono::milliseconds(500);  // five readings missed
constexpr int kStallOfUsual = 5;                                  // times the usual gap
constexpr double kStallUse = 0.1;                                 // of a core, meanwhile

/// What every check looks at; a check adds at most one warning.
struct Case {
  const trace::RunTrace& trace;
  const spec::Experiment& experiment;
  const Window& window;
  const std::optional<CounterMoves>& moves;
  const Measurement& measured;
};

std::string Percent(double share) {
  return share < 0.1 ? fmt::format("{:.1f} %", share * 100) : fmt::format("{:.0f} %", share * 100);
}

/// "1.5 s", "830 ms", "12.3 us": three digits.
std::string Time(double seconds) {
  if (seconds >= 1) return fmt::format("{:.3g} s", seconds);
  if (seconds >= 1e-3) return fmt::format("{:.3g} ms", seconds * 1e3);
  return fmt::format("{:.3g} us", seconds * 1e6);
}

/// A duration flag's value: whole seconds, enough of them, a microsecond of rounding forgiven.
std::string FlagSeconds(double seconds) {
  return fmt::format("{:.0f}s", std::max(1.0, std::ceil(seconds - 1e-6)));
}

std::optional<double> RelativeHalfWidth(const Result& result) {
  if (!result.samples_per_s_interval || !result.samples_per_s || *result.samples_per_s <= 0) {
    return std::nullopt;
  }
  const Interval& interval = *result.samples_per_s_interval;
  return (interval.high - interval.low) / 2 / *result.samples_per_s;
}

using Found = std::optional<Warning>;

/// The flag that would have let the run go on, with twice what is needed: the warm-up may cut half.
std::string LongerRun(const Case& c) {
  const Result& result = c.measured.result;
  if (result.stopped_by == trace::EndReason::kSteps) {
    return fmt::format(" --steps {} would do.", result.warmup_steps + 2 * kFewSteps);
  }
  if (result.stopped_by == trace::EndReason::kDuration && result.step_time) {
    return fmt::format(" --duration {} would do.",
                       FlagSeconds(result.step_time->mean_s * 2 * kFewSteps));
  }
  if (result.stopped_by == trace::EndReason::kMaxDuration && result.step_time) {
    return fmt::format(" --max-duration {} would do.",
                       FlagSeconds(result.warmup_s + result.step_time->mean_s * 2 * kFewSteps));
  }
  return "";
}

Found FewSteps(const Case& c) {
  const std::int64_t steps = c.measured.result.steps;
  if (steps >= kFewSteps) return std::nullopt;
  return Warning{
      "few-steps",
      fmt::format("Only {} {} measured; at least {} are needed to tell causes apart.{}", steps,
                  steps == 1 ? "step was" : "steps were", kFewSteps, LongerRun(c))};
}

Found PartialBatch(const Case& c) {
  const std::int64_t batch = c.experiment.loader.batch_size;
  const std::int64_t batches = spec::BatchesPerEpoch(c.experiment);
  if (c.measured.result.samples >= c.measured.result.steps * batch || batches == 0) {
    return std::nullopt;
  }
  const std::int64_t last = spec::BatchSamples(c.experiment, batches - 1);
  if (last == batch) return std::nullopt;  // bad samples are missing; they have their own warning
  return Warning{
      "partial-batch",
      fmt::format("The last batch of an epoch holds {} of {} samples; rates count its true "
                  "size. --set loader.drop_last=true leaves it out.",
                  last, batch)};
}

Found ForeignCpu(const Case& c) {
  const Resources& r = c.measured.resources;
  if (!r.foreign_cores || r.cores <= 0 || *r.foreign_cores <= kForeignShareOfCores * r.cores) {
    return std::nullopt;
  }
  return Warning{
      "foreign-cpu",
      fmt::format("Other programs used {:.1f} of the {:.3g} allowed cores while this ran; "
                  "figures that depend on the CPU are worse than they would be alone.",
                  *r.foreign_cores, r.cores)};
}

Found Throttled(const Case& c) {
  const std::optional<double> share = c.measured.resources.throttled_fraction;
  if (!share || *share <= kThrottled) return std::nullopt;
  return Warning{"throttled",
                 fmt::format("The container's CPU quota stopped threads for {} of the time ({:.3g} "
                             "cores allowed). Fewer workers or threads, or a larger quota, help.",
                             Percent(*share), c.measured.resources.cores)};
}

Found Swap(const Case& c) {
  if (!c.moves || c.moves->swapped_in_pages.value_or(0) < 1) return std::nullopt;
  return Warning{"swap",
                 fmt::format("{:.0f} memory pages came back from disk or swap while this was "
                             "measured: memory is short. A smaller --batch, --prefetch or "
                             "fewer --workers need less.",
                             *c.moves->swapped_in_pages)};
}

Found Drift(const Case& c) {
  const std::int64_t period = PeriodSteps(c.experiment, c.measured.result.steps);
  const std::vector<trace::Checkpoint> halves = GroupBorders(c.trace, c.window, period, 2);
  const std::optional<double> noise = RelativeHalfWidth(c.measured.result);
  if (halves.size() < 3 || c.measured.result.steps < kFewSteps || !noise) return std::nullopt;
  const auto rate = [&halves](std::size_t i) {
    return static_cast<double>(halves[i].samples - halves[i - 1].samples) /
           base::ToSeconds(halves[i].at - halves[i - 1].at);
  };
  const double change = rate(2) / rate(1) - 1;
  if (std::abs(change) <= std::max(kDrift, *noise)) return std::nullopt;
  return Warning{
      "drift",
      fmt::format("The rate {} by {} from the first half of the measurement to the "
                  "second: it had not settled. A longer warm-up may help: --set "
                  "run.warmup={}.",
                  change < 0 ? "fell" : "rose", Percent(std::abs(change)),
                  FlagSeconds(c.measured.result.warmup_s + c.measured.result.measured_s / 2))};
}

Found Bursts(const Case& c) {
  static constexpr std::array<std::string_view, 9> kWords = {
      "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"};
  const int workers = c.experiment.loader.workers;
  const Consumer& consumer = c.measured.consumer;
  if (consumer.wall_s <= 0 ||
      !ComesInBursts(c.trace, c.window, workers, consumer.starved_s / consumer.wall_s)) {
    return std::nullopt;
  }
  const auto fast = static_cast<std::size_t>(workers - 1);
  return Warning{
      "bursts",
      fmt::format("Steps come in bursts of {} (one slow, {} fast). Workers finish together; "
                  "this is starvation, not noise.",
                  workers,
                  fast <= kWords.size() ? std::string(kWords[fast - 1]) : std::to_string(fast))};
}

Found BadSamples(const Case& c) {
  const std::int64_t count = c.trace.bad_sample_count;
  if (count == 0) return std::nullopt;
  std::string first;
  if (!c.trace.bad_samples.empty()) {
    first = fmt::format(" The first: {} ({}).", c.trace.bad_samples.front().item,
                        c.trace.bad_samples.front().reason);
  }
  return Warning{"bad-samples", fmt::format("{} {} could not be used and {} left out.{}", count,
                                            count == 1 ? "sample" : "samples",
                                            count == 1 ? "was" : "were", first)};
}

/// Only where workers do nothing but wait: beside CPU work, lateness cannot be told from
/// contention.
Found LateWakeups(const Case& c) {
  const spec::PrepareKind prepare = c.experiment.prepare.kind;
  const Workers& w = c.measured.workers;
  const double active_s = w.read_s + w.prepare_s + w.contended_s;
  const bool only_waits =
      c.experiment.storage.kind != spec::StorageKind::kFiles &&
      (prepare == spec::PrepareKind::kWait || prepare == spec::PrepareKind::kNone);
  if (!only_waits || active_s <= 0 || w.contended_s <= kLate * active_s) return std::nullopt;
  return Warning{
      "late-wakeups",
      fmt::format("Emulated waits ended late by {} of their time ({} in all): the machine is "
                  "slow to wake sleeping threads, and waits that follow one another make up "
                  "for it only in part.",
                  Percent(w.contended_s / active_s), Time(w.contended_s))};
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

/// A gap between readings, much longer than the others, in which the process used no CPU: on a
/// machine that is only busy it would have used some.
Found Stalled(const Case& c) {
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
  return Warning{"stalled",
                 fmt::format("The whole program stood still for {}, from {} after its start on "
                             "(stopped, or the machine suspended). The rate counts that time, and "
                             "what is emulated went on meanwhile: run it again.",
                             Time(base::ToSeconds(stalled)), Time(*first_s))};
}

Found UnseenContention(const Case& c) {
  const Workers& w = c.measured.workers;
  if (w.count == 0 || !c.moves || !c.moves->worker_wait_s || w.wall_s <= 0) return std::nullopt;
  const double waited_s =
      *c.moves->worker_wait_s * c.measured.result.measured_s / c.moves->covered_s;
  if (waited_s - w.contended_s <= kUnseenWait * w.wall_s) return std::nullopt;
  return Warning{
      "unseen-contention",
      fmt::format("The kernel counted {} in which workers waited for a core, the states show "
                  "{}: part of their read, prepare and collate is really contention.",
                  Time(waited_s), Time(w.contended_s))};
}

Found MaxDuration(const Case& c) {
  const std::optional<double> noise = RelativeHalfWidth(c.measured.result);
  const spec::Run& run = c.experiment.run;
  if (c.trace.end_reason != trace::EndReason::kMaxDuration || run.duration) return std::nullopt;
  if (noise && *noise <= run.max_noise) return std::nullopt;
  const double most_s = base::ToSeconds(run.max_duration);
  return Warning{"max-duration",
                 fmt::format("{} passed before the interval was within {}{}. --max-duration {} "
                             "gives it more time.",
                             Time(most_s), Percent(run.max_noise),
                             noise ? fmt::format(" (it is {})", Percent(*noise)) : "",
                             FlagSeconds(most_s * 2))};
}

Found LaunchUnmeasured(const Case& c) {
  if (!c.measured.device || c.measured.device->launch_s) return std::nullopt;
  return Warning{
      "launch-unmeasured",
      fmt::format("The step could not be replayed alone on {}, so its busy time includes gaps "
                  "in which it waits for the host to launch, and utilization is not known.",
                  spec::ToText(c.trace.effective.device))};
}

std::string EpochsText(const EpochRange& epochs) {
  if (epochs.first == epochs.last) return fmt::format("epoch {}", epochs.first);
  return fmt::format("epochs {} to {}", epochs.first, epochs.last);
}

/// "epoch 0 (0 % hits): 1040 samples/s; epochs 1 to 3 (98 % hits): 5200 samples/s".
std::string KindsText(const std::vector<EpochKind>& kinds) {
  constexpr std::size_t kMostNamed = 4;  // the first ones, and always the last
  std::string text;
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    const bool named = i + 1 == kinds.size() || i + 1 < kMostNamed;
    if (named) {
      text += fmt::format("{}{} ({:.0f} % hits): {:.0f} samples/s", text.empty() ? "" : "; ",
                          EpochsText(kinds[i].epochs), kinds[i].hit_fraction * 100,
                          kinds[i].samples_per_s);
    } else if (i + 1 == kMostNamed) {
      text += "; ...";
    }
  }
  return text;
}

Found MixedCache(const Case& c) {
  const std::optional<EpochRange>& judged = c.measured.result.judged_epochs;
  if (!judged) return std::nullopt;
  const std::vector<EpochKind> kinds = EpochKinds(c.trace, c.experiment);
  if (kinds.size() < 2) return std::nullopt;
  return Warning{
      "mixed-cache",
      fmt::format("Epochs found the cache in different states: {}. Only {} {} measured and "
                  "judged; --epochs {} measures what came before.",
                  KindsText(kinds), EpochsText(*judged),
                  judged->first == judged->last ? "is" : "are", judged->first)};
}

/// The emulated cache was filling all the time.
Found ColdCache(const Case& c) {
  const spec::Storage& storage = c.experiment.storage;
  const bool filling = HasEmulatedCache(storage) && storage.cache.warm < 1;
  const bool only_first = !c.trace.epochs.empty() && c.window.to <= c.trace.epochs.front().end;
  if (!filling || !only_first) return std::nullopt;
  return Warning{"cold-cache",
                 "Only the first epoch was measured, in which the cache fills; later ones may hit "
                 "more. --set storage.cache.warm=1 begins with a full cache."};
}

/// Real files: what was asked of the page cache and what it was.
Found PageCache(const Case& c) {
  const std::optional<double>& cached = c.measured.resources.page_cached_fraction;
  if (!cached || c.experiment.storage.direct) return std::nullopt;
  const spec::FileCacheState asked = c.experiment.storage.file_cache;
  if (asked == spec::FileCacheState::kCold && *cached > kPageCacheOff) {
    return Warning{"page-cache",
                   fmt::format("{} of the files' bytes stayed in the page cache though a cold one "
                               "was asked for: another program holds them. --set "
                               "storage.direct=true reads past it.",
                               Percent(*cached))};
  }
  if (asked == spec::FileCacheState::kWarm && *cached < 1 - kPageCacheOff) {
    return Warning{"page-cache",
                   fmt::format("Only {} of the files' bytes were in the page cache when the run "
                               "began, though all were read before: memory has no room for them.",
                               Percent(*cached))};
  }
  return std::nullopt;
}

Warning NothingMeasured(const trace::RunTrace& trace, const spec::Experiment& experiment) {
  std::string why = "no step was finished";
  if (trace.steps > 0 && experiment.run.warmup) {
    why = fmt::format("no step was finished after the warm-up of {}",
                      Time(base::ToSeconds(*experiment.run.warmup)));
  }
  return {"nothing-measured",
          fmt::format("Nothing was measured: {} in {}.", why,
                      Time(base::ToSeconds(std::max(Duration::zero(), trace.end - trace.begin))))};
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
    warnings.push_back(NothingMeasured(trace, experiment));
    if (Found bad = BadSamples(c)) warnings.push_back(*std::move(bad));
    return warnings;
  }
  constexpr std::array kChecks = {&FewSteps,    &MaxDuration,      &ForeignCpu,      &Throttled,
                                  &Swap,        &MixedCache,       &ColdCache,       &PageCache,
                                  &Drift,       &Bursts,           &PartialBatch,    &BadSamples,
                                  &LateWakeups, &UnseenContention, &LaunchUnmeasured,
                                  &Stalled};
  for (const auto check : kChecks) {
    if (Found found = check(c)) warnings.push_back(*std::move(found));
  }
  return warnings;
}

}  // namespace pipesim::measure
