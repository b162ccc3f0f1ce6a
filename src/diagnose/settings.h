// The settings that the decision tries: loader settings that may gain, and fewer threads.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "diagnose/diagnosis.h"

namespace pipesim::diagnose {

using Change = std::function<Variant(const Variant&)>;

struct Setting {
  std::string text;                                      ///< "workers 4 to 8"
  std::vector<std::pair<std::string, std::string>> set;  ///< paths and values
  Change change;
};

/// Among the paths of `set`.
bool SetsPath(const std::vector<std::pair<std::string, std::string>>& set, std::string_view path);

/// The trainer's threads leave no core to the workers.
bool TrainsOnAllCores(const Variant& now);
/// Beside a trainer on all cores, workers that burn get more of them only at its cost: what the model sees in more than
/// two that burn a core does not come.
bool OnlyTakeCores(const Variant& now);

/// The most workers of an accelerator that are worth a look: max(its share of the cores, 4 × now), at
/// least 1 (design section 2), and where workers wait, which needs no core, as many (up to 128) as gain
/// by bounds and fit into memory. What counts as a setting is the same: where more gain, so do some of the first.
/// Where more only take cores, not more than two that burn a core.
int MostWorkers(const Variant& now);
/// Of workers: at most 128, and not more than the memory holds with their batches. It is rounded down to a power of
/// two, so that what other programs allocate meanwhile hardly changes an answer.
int MostThatFit(const Variant& now);

Setting Workers(const Variant& now, int workers);
Setting WorkerThreads(const Variant& now, int threads);
Setting ComputeThreads(const Variant& now, int threads);
/// Two settings at once.
Setting Both(const Setting& first, const Setting& second);
/// nullopt at 0 workers, which do not prefetch.
std::optional<Setting> Prefetch(const Variant& now, int prefetch_factor);
/// Shared dispatch, completion order, persistent workers; without those that the run already had.
std::vector<Setting> OtherLoaderSettings(const Variant& now);

/// The fewest additional workers that reach `share` of the best rate; nullopt without any to try.
std::optional<Setting> MoreWorkers(const Variant& now, const Predictor& predict, double share);
/// All loader settings to try, the smallest change first: more workers where they can gain enough to
/// count, deeper prefetch, the others.
std::vector<Setting> LoaderSettings(const Variant& now, const Predictor& predict,
                                    const Thresholds& thresholds);
/// Fewer workers (CountsToTry), most first, and none of processes.
std::vector<int> FewerWorkers(const Variant& now);
/// Fewer threads of each worker, fewer compute threads, or ones that sleep at barriers, where the CPU trains.
std::vector<Setting> FewerThreadsOfEach(const Variant& now);
/// All of these to try: of FewerWorkers that may gain enough to count, the first that is near their best.
std::vector<Setting> FewerThreads(const Variant& now, const Predictor& predict, const Thresholds& thresholds);

struct SettingGain {
  Setting setting;
  double gain = 0;
};
/// The first of `settings` that reaches Thresholds::enough_share of the best predicted rate. Those
/// that by their bound gain less than counts are not asked; nullopt if none is left.
std::optional<SettingGain> SmallestNearBest(const std::vector<Setting>& settings,
                                            const Variant& now, const Predictor& predict,
                                            const Thresholds& thresholds);

}  // namespace pipesim::diagnose
