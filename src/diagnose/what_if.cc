#include "diagnose/what_if.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "diagnose/doubt.h"
#include "diagnose/shared_cores.h"
#include "diagnose/texts.h"
#include "spec/units_text.h"

namespace pipesim::diagnose {
namespace {

struct Row {
  Setting setting;
  Takes takes = Takes::kFlag;
  bool changes_training = false;
  std::optional<bool> feasible_here = {};
};

using Set = std::vector<std::pair<std::string, std::string>>;

bool IsFixed(const base::Distribution& d) { return d.kind == base::DistributionKind::kFixed; }

Row FreeRow(std::string_view text, Demand demand, Takes takes) {
  return {{std::string(text), {}, [demand](const Variant& v) { return Free(v, demand); }}, takes};
}

/// The values of a storage twice as fast, where it is emulated and its costs are plain numbers.
Set StorageTwiceAsFast(const spec::Storage& storage) {
  if (storage.kind != spec::StorageKind::kEmulated) return {};
  const auto& latency = storage.latency.in_units;
  const auto& open = storage.open_cost.in_units;
  if (!IsFixed(latency) || !IsFixed(open)) return {};
  Set set;
  if (storage.bandwidth) {
    set.emplace_back("storage.bandwidth",
                     spec::ToText(base::BytesPerSecond{2 * storage.bandwidth->per_s}));
  }
  if (storage.iops_per_s) {
    set.emplace_back("storage.iops", fmt::format("{}", 2 * *storage.iops_per_s));
  }
  if (!latency.IsZero()) {
    set.emplace_back("storage.latency", spec::ToText(storage.latency.Mean() / 2));
  }
  if (!open.IsZero()) {
    set.emplace_back("storage.open_cost", spec::ToText(storage.open_cost.Mean() / 2));
  }
  return set;
}

Set PrepareHalved(const spec::Prepare& prepare) {
  const bool stated =
      prepare.kind == spec::PrepareKind::kBurn || prepare.kind == spec::PrepareKind::kWait;
  if (!stated || !IsFixed(prepare.cost.in_units)) return {};
  return {{"prepare.cost", spec::ToText(prepare.cost.Mean() / 2)}};
}

void AddWorkers(std::vector<Row>& rows, const Question& q) {
  const Variant& now = q.now;
  const int workers = now.settings.loader.workers;
  std::vector<int> counts = {workers == 0 ? 1 : 2 * workers};
  if (const auto useful = MoreWorkers(now, q.predict, q.thresholds.enough_share)) {
    const Variant after = useful->change(now);
    const int count = after.settings.loader.workers;
    const double gain = Gain(q.predict(now), q.predict(after));
    if (gain > 1 - q.thresholds.enough_share && count != counts.front()) counts.push_back(count);
  }
  for (const int count : counts) rows.push_back({Workers(now, count), Takes::kFlag, false, true});
}

void AddLoaderSettings(std::vector<Row>& rows, const Question& q) {
  if (auto prefetch = Prefetch(q.now, 2 * q.now.settings.loader.prefetch_factor)) {
    rows.push_back({*prefetch, Takes::kFlag, false, true});
  }
  // Leave out settings that do not affect the predictor.
  const double now = q.predict(q.now);
  for (auto& other : OtherLoaderSettings(q.now)) {
    if (q.predict(other.change(q.now)) == now) continue;
    rows.push_back({std::move(other), Takes::kFlag, false, true});
  }
}

void AddLoading(std::vector<Row>& rows, const Question& q) {
  const auto& e = q.experiment;
  if (e.storage.kind != spec::StorageKind::kNone) {
    rows.push_back({{std::string(kStorageX2), StorageTwiceAsFast(e.storage),
                     [](const Variant& v) { return Scaled(v, Demand::kStorage, 0.5); }},
                    Takes::kDevice});
    const double bytes = static_cast<double>(e.dataset.samples) *
                         static_cast<double>(e.dataset.sample_bytes.Mean().count);
    rows.push_back(FreeRow(fmt::format("all in page cache ({})", AmountText(bytes)),
                           Demand::kStorage, Takes::kMemory));
  }
  if (e.prepare.kind != spec::PrepareKind::kNone) {
    rows.push_back({{std::string(kPrepareHalf), PrepareHalved(e.prepare),
                     [](Variant v) {
                       v.pipeline.prepare = v.pipeline.prepare.Scaled(0.5);
                       return v;
                     }},
                    Takes::kCode});
  }
  rows.push_back({{std::string(kFreeData), {}, FreeData}, Takes::kDevice});
}

void AddTraining(std::vector<Row>& rows, const Question& q) {
  const auto word = TrainerWord(q.measurement);
  rows.push_back({{word == "CPU" ? "device x2" : fmt::format("{} x2", word),
                   {},
                   [](const Variant& v) { return Scaled(v, Demand::kStep, 0.5); }},
                  Takes::kDevice});
  rows.push_back(FreeRow(kFreeTraining, Demand::kStep, Takes::kDevice));
  if (IsThere(q.now, Demand::kTransfer)) {
    rows.push_back(FreeRow(kFreeCopies, Demand::kTransfer, Takes::kDevice));
  }
  if (q.experiment.training.sync_every > 0) {
    rows.push_back(FreeRow(kNoSync, Demand::kSync, Takes::kFlag));
    rows.back().setting.set = {{"model.sync_every", "0"}};
    rows.back().feasible_here = true;
  }
}

void AddSharedCores(std::vector<Row>& rows, const Question& q) {
  if (auto passive = PassiveWait(q.now))
    rows.push_back({*std::move(passive), Takes::kFlag, false, true});
  if (auto without = WithoutOtherPrograms(q.now))
    rows.push_back({*std::move(without), Takes::kDevice});
}

void AddBatch(std::vector<Row>& rows, const Question& q) {
  const auto batch = q.experiment.loader.batch_size;
  rows.push_back({{fmt::format("batch {} to {}", batch, 2 * batch),
                   {{"loader.batch_size", std::to_string(2 * batch)}},
                   [](Variant v) {
                      v.settings.loader.batch_size *= 2;
                      return v;
                    }},
                  Takes::kFlag,
                  true});
}

WhatIf Predicted(const Row& row, const Question& q) {
  const Variant after = row.setting.change(q.now);
  WhatIf what_if;
  what_if.change = row.setting.text;
  what_if.set = row.setting.set;
  what_if.gain = Gain(q.predict(q.now), q.predict(after));
  what_if.gain_interval = GainInterval(q, row.setting.change);
  what_if.then = Decide(after, q.quick, q.thresholds).verdict;
  what_if.takes = row.takes;
  what_if.changes_training = row.changes_training;
  what_if.feasible_here = row.feasible_here;
  return what_if;
}

/// What the verdict names, where the table does not have it yet.
void AddDecided(std::vector<WhatIf>& table, const Question& q, const Decision& decision) {
  if (decision.verdict != Verdict::kCpuContention ||
      FindRow(table, decision.setting->setting.text))
    return;
  table.push_back(Predicted({decision.setting->setting, Takes::kFlag, false, true}, q));
}

}  // namespace

std::vector<WhatIf> WhatIfs(const Question& q, const Decision& decision) {
  const auto measured = q.measurement.result.samples_per_s;
  if (!measured || !(*measured > 0) || !decision.verdict) return {};
  std::vector<Row> rows;
  AddWorkers(rows, q);
  AddLoaderSettings(rows, q);
  AddLoading(rows, q);
  AddTraining(rows, q);
  AddSharedCores(rows, q);
  AddBatch(rows, q);
  std::vector<WhatIf> table;
  for (const auto& row : rows) table.push_back(Predicted(row, q));
  AddDecided(table, q, decision);
  std::erase_if(table, [](const WhatIf& row) { return std::isinf(row.gain); });
  for (auto& row : table) row.samples_per_s = *measured * (1 + row.gain);
  std::stable_sort(table.begin(), table.end(),
                   [](const WhatIf& a, const WhatIf& b) { return a.gain > b.gain; });
  return table;
}

std::optional<std::size_t> FindRow(const std::vector<WhatIf>& rows, std::string_view change) {
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (rows[i].change == change) return i;
  }
  return std::nullopt;
}

}  // namespace pipesim::diagnose
