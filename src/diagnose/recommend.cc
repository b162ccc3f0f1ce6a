#include "diagnose/recommend.h"

#include <fmt/core.h>

#include <algorithm>

#include "diagnose/what_if.h"

namespace pipesim::diagnose {

namespace {

/// A comment for what of `loader` no argument stands for; empty: nothing.
std::string WhatPyTorchLacks(const spec::Loader& loader) {
  if (loader.workers == 0) return "";
  std::string lacks;
  if (loader.dispatch == spec::Dispatch::kShared) lacks = "shared dispatch";
  if (loader.collate_into == spec::CollateInto::kPinned)
    lacks += (lacks.empty() ? "" : " and no ") + std::string("collating into pinned memory");
  return lacks.empty() ? "" : "  # PyTorch has no " + lacks;
}

/// What to write in a training program instead; empty where the change is none of its lines.
std::string PyTorchText(const Settings& now, const Settings& after) {
  const auto& threads = after.limits.compute_threads;
  std::string text =
      threads && threads != now.limits.compute_threads ? fmt::format("torch.set_num_threads({})", *threads) : "";
  if (after.loader == now.loader) return text;
  return text + (text.empty() ? "" : "; ") + DataLoaderText(after.loader, after.accelerators);
}

Recommendation WithRow(std::string text, const Findings& found, const WhatIf& row) {
  Recommendation r{.text = std::move(text)};
  r.set = row.set;
  r.samples_per_s = row.samples_per_s;
  r.gain = row.gain;
  r.pytorch = PyTorchText(found.question.now.settings, row.after);
  return r;
}

/// Gains that can be had before upper bounds, commands before the rest. A command that gains nothing is no
/// advice.
int Rank(const WhatIf& row) {
  if (CanBeMade(row) && row.gain >= Thresholds{}.tried_in_vain) return 0;
  return row.takes == Takes::kNothing ? 2 : 1;
}

/// Rows come in the order of their gain.
const WhatIf* SmallestSufficient(const Findings& found, Demand demand) {
  const WhatIf* best = nullptr;
  for (const WhatIf& row : found.what_if) {
    if (row.eases != demand || row.changes_training || row.feasible_here == false) continue;
    if (best == nullptr || Rank(row) < Rank(*best)) best = &row;
  }
  if (best == nullptr) return nullptr;
  const double enough = found.question.thresholds.enough_share * (1 + best->gain);
  const WhatIf* smallest = best;
  for (const WhatIf& row : found.what_if) {
    const bool other = row.eases == demand && !row.changes_training && Rank(row) == Rank(*best);
    if (other && 1 + row.gain >= enough && row.takes < smallest->takes) smallest = &row;
  }
  return smallest;
}

/// Whether a change that has settings is part of the pair.
bool Contains(const WhatIf& pair, const WhatIf& part) {
  return !part.set.empty() && std::all_of(part.set.begin(), part.set.end(), [&](const auto& one) {
    return std::find(pair.set.begin(), pair.set.end(), one) != pair.set.end();
  });
}

/// Its text without the change that its figures and its command are of.
std::string WithoutChange(const Recommendation& recommended, const Findings& found) {
  std::string text = recommended.text;
  for (const WhatIf& row : found.what_if) {
    const std::string tail = "; " + row.change;
    if (row.set == recommended.set && text.ends_with(tail)) text.resize(text.size() - tail.size());
  }
  return text;
}

/// Two settings of the loader and the trainer's threads that flags make and that gain more together than the decision's
/// setting, whose key is among them; nullptr without such.
const WhatIf* PairWithDecided(const Findings& found) {
  const std::string& decided = found.decision.setting->setting.set.front().first;
  const auto is_setting = [](const auto& change) {
    return change.first.starts_with("loader.") || change.first == "limits.compute_threads";
  };
  for (const WhatIf& row : found.what_if) {
    const bool flags = row.pair_takes && row.takes == Takes::kFlag && std::ranges::all_of(row.set, is_setting);
    if (flags && SetsPath(row.set, decided) && row.gain > found.decision.setting->gain) return &row;
  }
  return nullptr;
}

}  // namespace

Recommendation FromRow(std::string text, const Findings& found, std::string_view change) {
  const auto at = FindRow(found.what_if, change);
  if (!at) return {.text = std::move(text)};
  return WithRow(std::move(text), found, found.what_if[*at]);
}

Recommendation FromBest(std::string text, const Findings& found, Demand demand) {
  const WhatIf* row = SmallestSufficient(found, demand);
  if (row == nullptr) return {.text = std::move(text)};
  if (const auto at = PairRow(found.what_if)) {
    const WhatIf& pair = found.what_if[*at];
    if (pair.pair_takes == Takes::kFlag && Contains(pair, *row)) row = &pair;
  }
  return WithRow(text + "; " + row->change, found, *row);
}

Recommendation WithFlagFirst(Recommendation recommended, const Findings& found) {
  const WhatIf* flag = nullptr;
  for (const WhatIf& row : found.what_if) {
    if (!CanBeMade(row)) continue;
    const bool is_recommended = !recommended.set.empty() && row.set == recommended.set;
    if (is_recommended && row.takes != Takes::kDevice) return recommended;
    if (row.takes != Takes::kFlag) continue;
    const bool refuted = row.tried && row.tried->refutes;
    const bool counts = row.gain >= found.question.thresholds.gain_that_counts;
    if (flag == nullptr && row.eases && counts && !refuted) flag = &row;
  }
  if (flag == nullptr) return recommended;
  return WithRow(fmt::format("{}; beyond that, {}", flag->change, WithoutChange(recommended, found)), found, *flag);
}

Recommendation NamingTheRest(Recommendation recommended, const Findings& found) {
  constexpr double kMuch = 0.2, kTimes = 4;
  if (recommended.set.empty() || !recommended.gain) return recommended;
  // Rows come in the order of their gain; pairs hold what is recommended.
  for (const WhatIf& row : found.what_if) {
    const bool other = row.takes == Takes::kCode || row.takes == Takes::kDevice;
    if (!other || row.pair_takes || row.changes_training || row.set == recommended.set) continue;
    if (row.gain >= kMuch && row.gain >= kTimes * *recommended.gain)
      recommended.text += "; beyond that, " + row.change;
    break;
  }
  return recommended;
}

std::optional<std::size_t> PairRow(const std::vector<WhatIf>& rows) {
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (rows[i].pair_takes) return i;
  }
  return std::nullopt;
}

Recommendation FromSetting(std::string text, const Findings& found) {
  if (!found.decision.setting) return {.text = std::move(text)};
  const Setting& setting = found.decision.setting->setting;
  Recommendation r = FromRow(std::move(text), found, setting.text);
  r.set = setting.set;
  r.pytorch = PyTorchText(found.question.now.settings, setting.change(found.question.now).settings);
  return r;
}

Recommendation FromDecided(const std::string& text, const Findings& found) {
  if (const WhatIf* pair = PairWithDecided(found)) return FromRow(text + pair->change, found, pair->change);
  return FromSetting(text + found.decision.setting->setting.text, found);
}

std::string DataLoaderText(const spec::Loader& loader, int accelerators) {
  std::string text = fmt::format("DataLoader(dataset, batch_size={}", loader.batch_size);
  if (accelerators > 1) {
    text += loader.shuffle ? ", sampler=DistributedSampler(dataset)"
                           : ", sampler=DistributedSampler(dataset, shuffle=False)";
  } else if (loader.shuffle) {
    text += ", shuffle=True";
  }
  if (loader.workers > 0) {
    text +=
        fmt::format(", num_workers={}, prefetch_factor={}", loader.workers, loader.prefetch_factor);
  }
  if (loader.pin_memory) text += ", pin_memory=True";
  if (loader.drop_last) text += ", drop_last=True";
  if (loader.workers > 0 && loader.persistent_workers) text += ", persistent_workers=True";
  if (loader.workers > 0 && !loader.in_order) text += ", in_order=False";
  if (loader.workers > 0 && loader.timeout.count() > 0) {
    text += fmt::format(", timeout={:g}", base::ToSeconds(loader.timeout));
  }
  return text + ")" + WhatPyTorchLacks(loader);
}

}  // namespace pipesim::diagnose
