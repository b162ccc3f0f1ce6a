#include "engine/virtual_time/recurrence.h"

#include <algorithm>
#include <bit>
#include <iterator>
#include <utility>

#include "engine/virtual_time/watchers.h"

namespace pipesim::engine::virtual_time {

namespace {

/// States that one is compared with, and looks before most are left out. Periods are longer than the
/// stride between looks only where several cycles meet, such as the workers' and that of `sync_every`.
constexpr std::int64_t kMostCompared = 64;
/// Looks in an epoch for the period of earlier epochs, before another one is looked for.
constexpr std::int64_t kMostToFindAgain = 64;
/// Runs of fewer epochs gain little when epochs are skipped.
constexpr std::int64_t kFirstEpochSought = 8;
/// Whole epochs are noted only up to this many steps.
constexpr std::int64_t kMostStepsOfEpochs = std::int64_t{1} << 15;

/// Periods of more events are rare, and long against the intervals between samples.
constexpr std::size_t kMostNoted = std::size_t{1} << 14;

using base::Duration;
using base::Instant;

Moment Difference(const Moment& a, const Moment& b) {
  return {a.time - b.time, a.steps - b.steps, a.index - b.index, a.epochs - b.epochs};
}

}  // namespace

std::optional<Moment> StateSearch::Look(const Moment& now, std::uint64_t hash) {
  looks_ += 1 + std::exchange(pause_, 0);
  std::optional<Moment> since;
  for (const Seen& seen : seen_) {
    if (seen.hash != hash) continue;
    const Moment length = Difference(now, seen.at);
    if (!since || length.steps < since->steps) since = length;
  }
  if (static_cast<std::int64_t>(seen_.size()) < kMostCompared) {
    seen_.push_back({hash, now});
  } else {
    seen_[oldest_] = {hash, now};
    oldest_ = (oldest_ + 1) % seen_.size();
  }
  if (since) return since;
  const auto begun = static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(looks_)));
  if (looks_ - begun >= kMostCompared) pause_ = 2 * begun - looks_ - 1;
  return std::nullopt;
}

Recurrence::Recurrence(VirtualRun& run)
    : run_(run),
      enabled_(run.skips_periods && run.sampler.AllAlike()),
      stride_(std::max(1, run.experiment.loader.workers)) {
  if (!run.experiment.loader.persistent_workers && !run.sampler.StartsAlike())
    epochs_.phase = Cycle::Phase::kGivenUp;
}

Moment Recurrence::Now() const {
  const std::int64_t steps = run_.builder.trace().steps;
  const std::int64_t epoch = run_.ranks.front().dispatcher.epoch();
  return {.time = run_.now.time_since_epoch(),
          .steps = steps,
          .index = steps - epoch * run_.batches_per_epoch,
          .epochs = epoch};
}

void Recurrence::Look() {
  if (run_.ending()) {
    enabled_ = false;
  } else if (run_.ranks.front().dispatcher.epoch() != epoch_) {
    BeginEpoch();
  } else {
    LookWithinEpoch();
  }
}

void Recurrence::BeginEpoch() {
  epoch_ = Now().epochs;
  aligned_ = false;
  looks_in_epoch_ = 0;
  if (within_.phase == Cycle::Phase::kNoting) {
    run_.builder.EndPeriod();
    StopNoting();
    within_.phase = Cycle::Phase::kSearching;
  }
  if (within_.phase == Cycle::Phase::kSearching) within_.search = {};
  look_at_ = Now().steps + stride_;
  if (epoch_ >= kFirstEpochSought) LookAtEpoch();
}

void Recurrence::LookAtEpoch() {
  Cycle& cycle = epochs_;
  switch (cycle.phase) {
    case Cycle::Phase::kSearching:
      // Later steps of the epoch, at this instant already, would be counted to the last one.
      if (Now().index != 0 || epoch_ < look_at_epoch_) return;
      if (!Search(cycle)) {
        look_at_epoch_ = epoch_ + 1 + cycle.search.Pause();
        return;
      }
      if (cycle.length.steps > kMostStepsOfEpochs) {
        cycle.phase = Cycle::Phase::kGivenUp;
        return;
      }
      BeginNoting(cycle);
      look_at_ = kNever;
      return;
    case Cycle::Phase::kNoting:
      look_at_ = kNever;
      if (epoch_ < cycle.begin.epochs + cycle.length.epochs) return;
      look_at_ = Now().steps + stride_;
      if (!EndNoting(cycle)) {
        cycle.phase = Cycle::Phase::kGivenUp;
        return;
      }
      epoch_of_period_ = epoch_;
      break;
    case Cycle::Phase::kKnown:
      break;
    case Cycle::Phase::kGivenUp:
      return;
  }
  if (epoch_ != epoch_of_period_) return;
  Skip(cycle, TimesOfEpochs());
  epoch_ = Now().epochs;
  epoch_of_period_ = epoch_ + cycle.length.epochs;
  look_at_ = Now().steps + stride_;
}

void Recurrence::LookWithinEpoch() {
  Cycle& cycle = within_;
  ++looks_in_epoch_;
  switch (cycle.phase) {
    case Cycle::Phase::kSearching:
      look_at_ = Now().steps + stride_;
      if (!Search(cycle)) {
        look_at_ += stride_ * cycle.search.Pause();
        return;
      }
      BeginNoting(cycle);
      look_at_ = Now().steps + cycle.length.steps;
      return;
    case Cycle::Phase::kNoting:
      aligned_ = EndNoting(cycle);
      if (!aligned_) {  // the epoch's end came in between, or only the hashes were alike
        cycle.phase = Cycle::Phase::kSearching;
        look_at_ = Now().steps + stride_;
        return;
      }
      break;
    case Cycle::Phase::kKnown:
      if (!aligned_) aligned_ = StateNow().TakeNotes() == cycle.state;
      if (!aligned_) return LookForAnother();
      break;
    case Cycle::Phase::kGivenUp:
      look_at_ = kNever;
      return;
  }
  Skip(cycle, TimesWithinEpoch());
  look_at_ = Now().steps + cycle.length.steps;
}

void Recurrence::LookForAnother() {
  look_at_ = Now().steps + stride_;
  if (looks_in_epoch_ < kMostToFindAgain) return;
  within_.phase = Cycle::Phase::kSearching;
  within_.search = {};
}

StateVisitor Recurrence::StateNow() {
  StateVisitor visitor(Now());
  run_.Visit(visitor);
  return visitor;
}

bool Recurrence::Search(Cycle& cycle) {
  StateVisitor visitor = StateVisitor::Hashing(Now());
  run_.Visit(visitor);
  const auto length = cycle.search.Look(Now(), visitor.hash());
  // A period that takes no time would hide that virtual time stands still.
  if (!length || length->time == base::Duration::zero()) return false;
  cycle.length = *length;
  return true;
}

void Recurrence::BeginNoting(Cycle& cycle) {
  StateVisitor state = StateNow();
  cycle.phase = Cycle::Phase::kNoting;
  cycle.begin = Now();
  cycle.state = state.TakeNotes();
  cycle.totals = state.TakeTotals();
  run_.builder.BeginPeriod();
  cycle.counters.clear();
  if (run_.is_asked || run_.builder.only_rate()) return;
  noting_ = &cycle;
  NoteStretchesThatRun(cycle);
  NoteCounters();
}

void Recurrence::NoteStretchesThatRun(Cycle& cycle) {
  Rank& rank = run_.ranks.front();
  cycle.stretches.clear();
  for (const Stretch& stretch : rank.stretches)
    if (stretch.chunks > 0) cycle.stretches.push_back(stretch);
  std::sort(cycle.stretches.begin(), cycle.stretches.end(),
            [](const Stretch& a, const Stretch& b) { return a.begin < b.begin; });
  rank.begun_stretches = &cycle.stretches;
}

void Recurrence::StopNoting() {
  noting_ = nullptr;
  run_.ranks.front().begun_stretches = nullptr;
}

void Recurrence::NoteCounters() {
  std::vector<CountersAt>& noted = noting_->counters;
  if (noted.size() < kMostNoted) {
    noted.push_back({run_.now.time_since_epoch() - noting_->begin.time, run_.CountersBeforeStretches()});
  } else {
    noted.clear();
    StopNoting();
  }
}

bool Recurrence::EndNoting(Cycle& cycle) {
  StopNoting();
  for (const Stretch& stretch : cycle.stretches)
    cycle.longest = std::max(cycle.longest, stretch.end - stretch.begin);
  cycle.end_counters = run_.CountersBeforeStretches();
  cycle.records = run_.builder.EndPeriod();
  StateVisitor state = StateNow();
  if (state.TakeNotes() != cycle.state || !cycle.records.whole) return false;
  cycle.phase = Cycle::Phase::kKnown;
  const std::vector<std::int64_t> totals = state.TakeTotals();
  for (std::size_t i = 0; i < totals.size(); ++i) cycle.totals[i] = totals[i] - cycle.totals[i];
  return true;
}

void Recurrence::Skip(const Cycle& cycle, std::int64_t times) {
  if (times <= 0) return;
  const Instant begin = run_.now;
  const ResourceCounters at_begin = run_.CountersBeforeStretches();
  StateVisitor visitor(cycle.length, cycle.totals, times);
  run_.Visit(visitor);
  run_.builder.Repeat(cycle.records, times);
  if (MonitorIsSkipped(cycle)) SampleSkipped(cycle, begin, at_begin);
}

/// At each time at which the monitor would have looked.
void Recurrence::SampleSkipped(const Cycle& cycle, Instant begin,
                               const ResourceCounters& at_begin) {
  const Instant first{Duration(run_.events.TimeOf(run_.monitor()))};
  Instant at = first;
  for (; at < run_.now; at += Monitor::Interval(at))
    if (!cycle.counters.empty()) run_.builder.Record(SampleIn(cycle, begin, at_begin, at));
  run_.events.Delay(run_.monitor(), (at - first).count());
}

/// Of equal times the monitor comes after all others.
trace::ResourceSample Recurrence::SampleIn(const Cycle& cycle, Instant begin,
                                           const ResourceCounters& at_begin, Instant at) const {
  const ResourceCounters& noted = cycle.counters.front().counters;
  const std::int64_t periods = (at - begin) / cycle.length.time;
  const Duration since = (at - begin) % cycle.length.time;
  const auto after = std::upper_bound(
      cycle.counters.begin(), cycle.counters.end(), since,
      [](Duration time, const CountersAt& each) { return time < each.since; });
  ResourceCounters counters = Grown(std::prev(after)->counters, noted, at_begin, 1);
  AddStretches(cycle, since, counters);
  counters = Grown(counters, noted, cycle.end_counters, periods);
  counters.cpu.updated += at - since - Instant(cycle.begin.time);
  return run_.SampleOf(counters, at);
}

void Recurrence::AddStretches(const Cycle& cycle, Duration since, ResourceCounters& counters) {
  const Instant at = Instant(cycle.begin.time) + since;
  auto stretch = std::upper_bound(
      cycle.stretches.begin(), cycle.stretches.end(), at,
      [](Instant time, const Stretch& each) { return time < each.begin; });
  while (stretch != cycle.stretches.begin() && at - (--stretch)->begin < cycle.longest) {
    if (!stretch->Runs(at)) continue;
    counters.loaded += stretch->LoadedBy(at);
    counters.cpu_of_free_cores += stretch->CpuBy(at);
  }
}

std::int64_t Recurrence::TimesBeforeWatchers(const Cycle& cycle) const {
  std::int64_t next = VirtualRun::kLatest.count();
  const auto actors = static_cast<int>(run_.actors.size());
  for (int actor = 0; actor < actors; ++actor) {
    const bool skipped = actor == run_.monitor() && MonitorIsSkipped(cycle);
    if (run_.Watches(actor) && !skipped) next = std::min(next, run_.events.TimeOf(actor));
  }
  return (next - 1 - run_.now.time_since_epoch().count()) / cycle.length.time.count();
}

std::int64_t Recurrence::TimesBeforeLastStep(const Cycle& cycle) const {
  const std::optional<std::int64_t>& limit = run_.experiment.run.steps;
  return limit ? (*limit - 1 - Now().steps) / cycle.length.steps : kNever;
}

// Short of the epoch's last full batch, no worker learns that it gets no more.
std::int64_t Recurrence::TimesWithinEpoch() const {
  const int workers = run_.experiment.loader.workers;
  const std::int64_t begun =
      workers > 0 ? run_.ranks.front().dispatcher.dealt() + workers : Now().index + 1;
  return std::min({TimesBeforeWatchers(within_), TimesBeforeLastStep(within_),
                   (run_.batches_per_epoch - 1 - begun) / within_.length.steps});
}

std::int64_t Recurrence::TimesOfEpochs() const {
  const std::int64_t times = std::min(TimesBeforeWatchers(epochs_), TimesBeforeLastStep(epochs_));
  const std::optional<std::int64_t>& epochs = run_.experiment.run.epochs;
  return epochs ? std::min(times, (*epochs - 1 - epoch_) / epochs_.length.epochs) : times;
}

}  // namespace pipesim::engine::virtual_time
