// Levers on the way from storage to a batch.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "diagnose/levers.h"
#include "diagnose/texts.h"
#include "spec/drawn_text.h"
#include "spec/units_text.h"

namespace pipesim::diagnose {
namespace {

// Nobody pastes the hundred values of a recording.
constexpr std::size_t kMostTyped = 200;

Lever SettingLever(Setting setting) {
  return {.setting = std::move(setting),
          .takes = Takes::kFlag,
          .acts = Acts::kOnData,
          .feasible_here = true};
}

/// The model's own storage gives way as soon as any key of storage is set, so it must be named.
void NameModelsStorage(const spec::Experiment& experiment, Lever& lever) {
  constexpr const char* kPath = "storage.preset";
  const auto preset = experiment.settings.find(kPath);
  if (preset == experiment.settings.end() || preset->second.origin != spec::Origin::kModel) return;
  lever.setting.set.insert(lever.setting.set.begin(), {kPath, experiment.storage.preset});
}

Lever StorageLever(std::string text, Takes takes, const Question& q, cost::Storage after) {
  Lever lever{.takes = takes, .acts = Acts::kOnData, .eases = Demand::kStorage};
  lever.only_helps = true;
  lever.setting.text = std::move(text);
  if (q.experiment.storage.kind == spec::StorageKind::kEmulated) {
    lever.setting.set = cost::StatedChanges(q.now.pipeline.storage, after);
    NameModelsStorage(q.experiment, lever);
  }
  lever.setting.change = [after = std::move(after)](Variant v) {
    v.pipeline.storage = after;
    return v;
  };
  return lever;
}

void AddWorkers(Levers& levers, const Question& q) {
  const Variant& now = q.now;
  const int workers = now.settings.loader.workers;
  std::vector<int> counts = {workers == 0 ? 1 : 2 * workers};
  if (const auto useful = MoreWorkers(now, q.predict, q.thresholds.enough_share)) {
    const Variant after = useful->change(now);
    const int count = after.settings.loader.workers;
    const double gain = Gain(q.predict(now), q.predict(after));
    if (gain > 1 - q.thresholds.enough_share && count != counts.front()) counts.push_back(count);
  }
  for (const int count : counts) levers.push_back(SettingLever(Workers(now, count)));
}

/// Threads that burn and train at once fit on the cores. Else the threads of a burn, each shorter than
/// a turn on a core, wait for whoever has it, which fair shares do not show.
bool HasCoresFor(const Variant& v) {
  const int workers = v.settings.loader.workers;
  const int burning = std::max(1, workers) * v.WorkerThreads();
  const int training = std::max(0, v.ComputeThreads() - (workers == 0 ? 1 : 0));
  return v.cores() == 0 || v.settings.accelerators * (burning + training) +
                                   v.pipeline.machine.others.held <=
                               v.cores();
}

void AddLoaderSettings(Levers& levers, const Question& q) {
  if (auto prefetch = Prefetch(q.now, 2 * q.now.settings.loader.prefetch_factor))
    levers.push_back(SettingLever(*std::move(prefetch)));
  // Leave out settings that do not affect the predictor.
  const double now = q.predict(q.now);
  for (auto& other : OtherLoaderSettings(q.now)) {
    if (q.predict(other.change(q.now)) == now) continue;
    levers.push_back(SettingLever(std::move(other)));
  }
  const cost::Prepare& prepare = q.now.pipeline.prepare;
  if (!prepare.UsesCores() || !prepare.divisible) return;
  Setting more = WorkerThreads(q.now, 2 * q.now.WorkerThreads());
  if (HasCoresFor(more.change(q.now))) levers.push_back(SettingLever(std::move(more)));
}

std::string CacheText(const spec::Experiment& experiment) {
  std::vector<std::string> cache;
  constexpr std::string_view kBelow = "storage.cache.";
  for (const auto& [path, setting] : experiment.settings) {
    if (path.starts_with(kBelow))
      cache.push_back(path.substr(kBelow.size()) + ": " + setting.text);
  }
  return "{" + base::Join(cache, ", ") + "}";
}

/// The text of `storage:` for a preset that is shared, and behind the cache, as the experiment says.
std::string PresetText(const spec::Experiment& experiment, const std::string& preset) {
  std::string more;
  if (experiment.storage.sharing == spec::StorageSharing::kFair) more += ", sharing: fair";
  if (experiment.storage.cache.policy != spec::CachePolicy::kNone)
    more += ", cache: " + CacheText(experiment);
  return more.empty() ? preset : "{preset: " + preset + more + "}";
}

Lever PresetLever(const Question& q, const spec::Storage& preset) {
  cost::Storage after = cost::StatedStorage(preset);
  after.read_cpu = q.now.pipeline.storage.read_cpu;
  after.fair = q.now.pipeline.storage.fair;
  if (q.now.pipeline.storage.HasCache()) after.cache = q.now.pipeline.storage.cache;
  Lever lever = StorageLever("storage to " + preset.preset, Takes::kDevice, q, std::move(after));
  lever.setting.set = {{"storage", PresetText(q.experiment, preset.preset)}};
  return lever;
}

/// A preset without latency is a network alone, no storage.
void AddStoragePresets(Levers& levers, const Question& q) {
  if (q.experiment.storage.kind != spec::StorageKind::kEmulated) return;
  Levers presets;
  for (const spec::Storage& preset : q.offers.presets.storages) {
    if (preset.latency.IsZero() || preset.preset == q.experiment.storage.preset) continue;
    presets.push_back(PresetLever(q, preset));
  }
  AddSlowestThatHelp(levers, std::move(presets), q);
}

/// `storage` where `samples` consecutive samples are packed into one read: they share its latency,
/// its file and its turn.
cost::Storage Packed(cost::Storage storage, std::int64_t samples) {
  const double share = 1 / static_cast<double>(samples);
  storage.latency = storage.latency.Scaled(share);
  storage.open_cost = storage.open_cost.Scaled(share);
  if (storage.iops_per_s) *storage.iops_per_s *= static_cast<double>(samples);
  return storage;
}

/// The fewest samples in a read, by powers of two, with which reads limit no more.
void AddLargerReads(Levers& levers, const Question& q) {
  const cost::Storage& storage = q.now.pipeline.storage;
  const bool known = q.experiment.storage.kind == spec::StorageKind::kEmulated;
  if (!known || !(storage.SlotSeconds() > 0 || storage.iops_per_s)) return;
  const auto rate = [&](std::int64_t samples) {
    Variant v = q.now;
    v.pipeline.storage = Packed(storage, samples);
    return q.quick(v);
  };
  constexpr std::int64_t kMost = 1024;  // a shard's worth
  const double best = rate(kMost);
  if (Gain(q.quick(q.now), best) < q.thresholds.gain_that_counts) return;
  std::int64_t samples = 2;
  while (samples < kMost && rate(samples) < q.thresholds.enough_share * best) samples *= 2;
  levers.push_back(StorageLever(fmt::format("{} samples in a read", samples), Takes::kCode, q,
                                Packed(storage, samples)));
}

/// A page cache, filled, of the whole data set and as much more as its drawn sizes may add up to.
void AddPageCache(Levers& levers, const Question& q) {
  const auto& e = q.experiment;
  const std::int64_t whole = q.offers.samples.value_or(e.dataset.samples);
  const auto samples = static_cast<double>(whole);
  const auto& sizes = e.dataset.sample_bytes.in_units;
  constexpr double kSpread = 6;  // standard deviations of the sum: never exceeded in practice
  const double bytes = samples * sizes.Mean() + kSpread * std::sqrt(samples) * sizes.Stdev();
  Lever lever{.takes = Takes::kMemory, .acts = Acts::kOnData, .eases = Demand::kStorage};
  lever.only_helps = true;
  lever.setting.text = fmt::format("all in page cache ({})", AmountText(bytes));
  lever.setting.change = [](const Variant& v) { return Free(v, Demand::kStorage); };
  if (const auto& free = q.offers.free_memory)
    lever.feasible_here = bytes <= static_cast<double>(free->count);
  const bool known = whole <= spec::kMostSamplesBehindCache;
  if (e.storage.kind == spec::StorageKind::kEmulated && known) {
    lever.setting.set = {{"storage.cache",
                          fmt::format("{{size: {}, warm: 1}}",
                                      spec::ToText(base::Bytes{std::llround(std::ceil(bytes))}))}};
    NameModelsStorage(e, lever);
  } else if (e.storage.kind == spec::StorageKind::kFiles) {
    if (e.storage.file_cache == spec::FileCacheState::kWarm && !e.storage.direct) return;
    lever.setting.set = {{"storage.cache", "warm"}};
    if (e.storage.direct) lever.setting.set.emplace_back("storage.direct", "false");  // it passes the cache by
  }
  levers.push_back(std::move(lever));
}

void AddStorage(Levers& levers, const Question& q) {
  if (q.experiment.storage.kind == spec::StorageKind::kNone) return;
  levers.push_back(StorageLever(std::string(kStorageX2), Takes::kDevice, q,
                                q.now.pipeline.storage.Scaled(0.5)));
  AddStoragePresets(levers, q);
  AddLargerReads(levers, q);
  AddPageCache(levers, q);
}

void AddPrepare(Levers& levers, const Question& q) {
  const spec::Prepare& prepare = q.experiment.prepare;
  if (prepare.kind == spec::PrepareKind::kNone) return;
  Lever lever{.takes = Takes::kCode, .acts = Acts::kOnData, .eases = Demand::kLoadingCpu};
  lever.only_helps = true;
  lever.setting.text = kPrepareHalf;
  if (prepare.kind != spec::PrepareKind::kDecode)
    lever.setting.set = {{"prepare.cost", spec::ToText(prepare.cost.Scaled(0.5))}};
  if (!prepare.wait.IsZero())
    lever.setting.set.emplace_back("prepare.wait", spec::ToText(prepare.wait.Scaled(0.5)));
  auto& set = lever.setting.set;
  if (std::any_of(set.begin(), set.end(),
                  [](const auto& one) { return one.second.size() > kMostTyped; }))
    set.clear();
  lever.setting.change = [](Variant v) {
    const cost::Prepare now = v.pipeline.prepare;
    v.pipeline.prepare = now.Scaled(0.5);
    v.pipeline.prepare.python = now.python;  // of every sample, however little is prepared
    v.pipeline.prepare.late = now.late;
    return v;
  };
  levers.push_back(std::move(lever));
}

}  // namespace

std::vector<Lever> LoadingLevers(const Question& q) {
  Levers levers;
  AddWorkers(levers, q);
  AddLoaderSettings(levers, q);
  AddStorage(levers, q);
  AddPrepare(levers, q);
  return levers;
}

}  // namespace pipesim::diagnose
