#include "diagnose/settings.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>

#include "diagnose/enough.h"
#include "diagnose/question.h"
#include "diagnose/shared_cores.h"

namespace pipesim::diagnose {

namespace {

/// The rate of settings that gain enough to count. Those whose bounds are lower are not predicted.
double LeastThatCounts(const Variant& now, const Predictor& predict, const Thresholds& thresholds) {
  return predict(now) * (1 + thresholds.gain_that_counts);
}

}  // namespace

int MostThatFit(const Variant& s) {
  constexpr std::int64_t kMost = 128;
  const std::optional<base::Bytes>& free = s.pipeline.machine.free_memory;
  if (!free || free->count <= 0) return kMost;
  const spec::Loader& loader = s.settings.loader;
  const cost::HandOver& hand_over = s.pipeline.hand_over;
  const double batch = static_cast<double>(s.pipeline.samples.prepared.count) * static_cast<double>(loader.batch_size);
  const double each = static_cast<double>(loader.prefetch_factor) * batch +
                      (hand_over.processes ? static_cast<double>(hand_over.worker_memory.count) : 0);
  const auto room = static_cast<double>(std::bit_floor(static_cast<std::uint64_t>(free->count)));
  return static_cast<int>(std::min(static_cast<double>(kMost), room / (s.settings.accelerators * std::max(1.0, each))));
}

bool SetsPath(const std::vector<std::pair<std::string, std::string>>& set, std::string_view path) {
  return std::any_of(set.begin(), set.end(), [&](const auto& each) { return each.first == path; });
}

bool TrainsOnAllCores(const Variant& s) { return s.on_cpu() && s.cores() > 0 && s.ComputeThreads() >= s.cores(); }

bool OnlyTakeCores(const Variant& s) { return TrainsOnAllCores(s) && s.pipeline.prepare.UsesCores(); }

namespace {

/// By bounds, which know nothing of cores that workers take from training.
int MostThatGain(const Variant& s) {
  constexpr double kGrows = 1.01;
  const int most_that_wait = MostThatFit(s);
  const double cores = std::clamp(std::floor(s.cores() / s.settings.accelerators), 1.0, 1e6);
  int most = std::max(static_cast<int>(cores), 4 * s.settings.loader.workers);
  double rate = PredictByBounds(Workers(s, most).change(s));
  while (most < most_that_wait) {
    const int more = std::min(2 * most, most_that_wait);
    const double grown = PredictByBounds(Workers(s, more).change(s));
    if (!(grown > kGrows * rate)) break;
    most = more;
    rate = grown;
  }
  return most;
}

}  // namespace

int MostWorkers(const Variant& s) {
  const int most = MostThatGain(s);
  if (!OnlyTakeCores(s)) return most;
  const double burning = std::max(BurningShare(s), 1e-3);
  const auto two_a_core = static_cast<int>(std::min(1e6, std::ceil(2 * s.cores() / s.settings.accelerators / burning)));
  return std::min(most, std::max(two_a_core, s.settings.loader.workers));
}

Setting Workers(const Variant& s, int workers) {
  return {.text = fmt::format("workers {} to {}", s.settings.loader.workers, workers),
          .set = {{"loader.workers", std::to_string(workers)}},
          .change = [workers](Variant after) {
            after.settings.loader.workers = workers;
            return after;
          }};
}

Setting WorkerThreads(const Variant& s, int threads) {
  return {.text = fmt::format("worker threads {} to {}", s.WorkerThreads(), threads),
          .set = {{"limits.worker_threads", std::to_string(threads)}},
          .change = [threads](Variant after) {
            after.settings.limits.worker_threads = threads;
            return after;
          }};
}

Setting ComputeThreads(const Variant& s, int threads) {
  Setting setting{.text = fmt::format("compute threads {} to {}", s.ComputeThreads(), threads),
                  .set = {{"limits.compute_threads", std::to_string(threads)}},
                  .change = [threads](Variant after) {
                    after.settings.limits.compute_threads = threads;
                    return after;
                  }};
  // The stated step stays that of as many threads as now.
  if (s.on_cpu() && s.settings.step_of_compute_threads)
    setting.set.emplace_back("device.step.threads", std::to_string(s.ComputeThreads()));
  return setting;
}

Setting Both(const Setting& first, const Setting& second) {
  Setting both{.text = first.text + " and " + second.text,
               .set = first.set,
               .change = [a = first.change, b = second.change](const Variant& v) { return b(a(v)); }};
  // A command makes both changes or none.
  if (first.set.empty() || second.set.empty())
    both.set.clear();
  else
    both.set.insert(both.set.end(), second.set.begin(), second.set.end());
  return both;
}

std::optional<Setting> Prefetch(const Variant& s, int prefetch_factor) {
  if (s.settings.loader.workers == 0) return std::nullopt;
  return Setting{.text = fmt::format("prefetch {} to {}", s.settings.loader.prefetch_factor, prefetch_factor),
                 .set = {{"loader.prefetch_factor", std::to_string(prefetch_factor)}},
                 .change = [prefetch_factor](Variant after) {
                   after.settings.loader.prefetch_factor = prefetch_factor;
                   return after;
                 }};
}

namespace {

Setting PersistentWorkers() {
  return {"persistent workers", {{"loader.persistent_workers", "true"}}, [](Variant after) {
            after.settings.loader.persistent_workers = true;
            return after;
          }};
}

/// Workers take a while to start, in each epoch unless they stay.
bool StartingCosts(const Variant& s) {
  const cost::HandOver& hand_over = s.pipeline.hand_over;
  return hand_over.launch > base::Duration::zero() || s.settings.loader.worker_opening > base::Duration::zero() ||
         s.settings.loader.worker_startup.value_or(hand_over.startup).Mean() > base::Duration::zero();
}

}  // namespace

std::vector<Setting> OtherLoaderSettings(const Variant& s) {
  std::vector<Setting> settings;
  if (s.settings.loader.workers == 0) return settings;
  // Each of PyTorch's worker processes has a queue of its own.
  if (s.settings.loader.dispatch != spec::Dispatch::kShared &&
      s.settings.loader.kind == spec::LoaderKind::kThread) {
    settings.push_back({"shared dispatch", {{"loader.dispatch", "shared"}}, [](Variant after) {
                          after.settings.loader.dispatch = spec::Dispatch::kShared;
                          return after;
                        }});
  }
  if (s.settings.loader.in_order) {
    settings.push_back({"completion order", {{"loader.in_order", "false"}}, [](Variant after) {
                          after.settings.loader.in_order = false;
                          return after;
                        }});
  }
  if (!s.settings.loader.persistent_workers) settings.push_back(PersistentWorkers());
  return settings;
}

std::optional<Setting> MoreWorkers(const Variant& s, const Predictor& predict, double share) {
  const int workers = s.settings.loader.workers;
  const int most = MostWorkers(s);
  const auto found = FewestWorkers(s, workers + 1, most, predict, share);
  if (!found || most <= workers) return std::nullopt;
  return Workers(s, found->workers);
}

namespace {

/// Workers that burn on more threads than there are cores do not stay in step, as they do where cores are dealt evenly.
/// A gain that one worker more or fewer undoes is that of a fuller last round of an epoch, and would not come.
bool StandsBesideItsNeighbours(const Variant& s, int workers, const Predictor& predict, const Thresholds& thresholds) {
  const int burning = s.settings.accelerators * workers * s.WorkerThreads();
  if (!s.pipeline.prepare.UsesCores() || s.cores() == 0 || burning <= s.cores()) return true;
  const double least = LeastThatCounts(s, predict, thresholds);
  return std::ranges::all_of(std::array{workers - 1, workers + 1}, [&](int other) {
    return other <= s.settings.loader.workers || predict(Workers(s, other).change(s)) >= least;
  });
}

/// `s` with more workers, if that is enough and no accident.
std::optional<Setting> MoreWorkersThatStand(const Variant& s, const Predictor& predict, const Thresholds& thresholds) {
  // More workers never have a lower bound.
  const double most = PredictByBounds(Workers(s, MostWorkers(s)).change(s));
  if (most < LeastThatCounts(s, predict, thresholds)) return std::nullopt;
  auto more = MoreWorkers(s, predict, thresholds.enough_share);
  const bool stands =
      more && StandsBesideItsNeighbours(s, more->change(s).settings.loader.workers, predict, thresholds);
  return stands ? more : std::nullopt;
}

/// Where starting workers in each epoch costs what more of them gain, neither change may gain alone.
std::optional<Setting> MoreWorkersThatStay(const Variant& s, const Predictor& predict, const Thresholds& thresholds) {
  if (s.settings.loader.persistent_workers || !StartingCosts(s)) return std::nullopt;
  const Setting stay = PersistentWorkers();
  const auto more = MoreWorkersThatStand(stay.change(s), predict, thresholds);
  return more ? std::optional(Both(*more, stay)) : std::nullopt;
}

}  // namespace

std::vector<Setting> LoaderSettings(const Variant& s, const Predictor& predict,
                                    const Thresholds& thresholds) {
  std::vector<Setting> settings;
  if (s.settings.loader.opaque) return settings;
  if (auto more = MoreWorkersThatStand(s, predict, thresholds)) settings.push_back(*std::move(more));
  for (const int factor : {2, 4}) {
    if (auto deeper = Prefetch(s, s.settings.loader.prefetch_factor * factor)) settings.push_back(*deeper);
  }
  for (auto& other : OtherLoaderSettings(s)) settings.push_back(std::move(other));
  if (auto both = MoreWorkersThatStay(s, predict, thresholds)) settings.push_back(*std::move(both));
  return settings;
}

std::vector<int> FewerWorkers(const Variant& s) {
  const spec::Loader& loader = s.settings.loader;
  // Processes hand batches over, which costs training. Threads do not: one is as good as none.
  const int fewest = loader.kind == spec::LoaderKind::kProcess && !s.settings.needs_workers ? 0 : 1;
  if (loader.workers <= fewest || loader.opaque) return {};
  std::vector<int> counts = CountsToTry(fewest, loader.workers - 1);
  std::reverse(counts.begin(), counts.end());
  return counts;
}

/// Below `threads`, descending: by a fifth, from 8 on one by one. Each takes a prediction of its own.
std::vector<int> CountsBelow(int threads) {
  constexpr int kEach = 8, kShare = 5;
  std::vector<int> counts;
  for (int count = threads - 1; count >= 1; count -= count > kEach ? count / kShare : 1) counts.push_back(count);
  return counts;
}

std::vector<Setting> FewerThreadsOfEach(const Variant& s) {
  std::vector<Setting> settings;
  for (const int threads : CountsBelow(s.WorkerThreads())) settings.push_back(WorkerThreads(s, threads));
  for (const int threads : CountsBelow(s.ComputeThreads())) settings.push_back(ComputeThreads(s, threads));
  if (auto passive = PassiveWait(s)) settings.push_back(*std::move(passive));
  if (auto idle = OtherCpus(s)) settings.push_back(*std::move(idle));
  return settings;
}

std::vector<Setting> FewerThreads(const Variant& s, const Predictor& predict, const Thresholds& thresholds) {
  const double least = LeastThatCounts(s, predict, thresholds);
  std::vector<int> counts = FewerWorkers(s);
  std::erase_if(counts, [&](int workers) { return PredictByBounds(Workers(s, workers).change(s)) < least; });
  std::vector<Setting> settings;
  if (const auto workers = FirstNearBest(s, counts, predict, thresholds.enough_share))
    settings.push_back(Workers(s, workers->workers));
  for (Setting& other : FewerThreadsOfEach(s)) settings.push_back(std::move(other));
  return settings;
}

std::optional<SettingGain> SmallestNearBest(const std::vector<Setting>& settings,
                                            const Variant& now, const Predictor& predict,
                                            const Thresholds& thresholds) {
  const double share = thresholds.enough_share;
  const double least = LeastThatCounts(now, predict, thresholds);
  std::vector<double> rates;
  rates.reserve(settings.size());
  for (const auto& setting : settings) {
    const Variant after = setting.change(now);
    rates.push_back(PredictByBounds(after) < least ? 0 : predict(after));
  }
  if (std::all_of(rates.begin(), rates.end(), [](double rate) { return rate == 0; }))
    return std::nullopt;
  const double best = *std::max_element(rates.begin(), rates.end());
  const auto near = std::find_if(rates.begin(), rates.end(),
                                 [&](double rate) { return rate >= best || rate >= share * best; });
  const auto& setting = settings[static_cast<std::size_t>(near - rates.begin())];
  return SettingGain{setting, Gain(predict(now), *near)};
}

}  // namespace pipesim::diagnose
