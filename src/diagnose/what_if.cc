#include "diagnose/what_if.h"

#include <algorithm>
#include <cmath>

#include "diagnose/doubt.h"
#include "diagnose/pairs.h"
#include "diagnose/shared_cores.h"
#include "diagnose/tried.h"
#include "measure/rates.h"

namespace pipesim::diagnose {
namespace {

/// Below this a gain is none: the predictor's rounding.
constexpr double kNothing = 0.001;

/// By how much of it a run's rate may lie above what its mean costs allow.
double LuckOf(const measure::Result& result) {
  return std::max(kNothing, measure::RelativeHalfWidth(result).value_or(0));
}

/// nullopt: nothing known limits.
std::optional<Verdict> VerdictAfter(const Variant& after, const Predictor& predict, const Question& q) {
  const auto verdict = Decide(after, predict, q.thresholds).verdict;
  return verdict && IsHidden(*verdict, after) ? std::nullopt : verdict;
}

/// Whether a lever changes what loads batches, or how much there is to load.
bool ChangesLoading(const Lever& lever) {
  if (lever.eases) return *lever.eases == Demand::kStorage || *lever.eases == Demand::kLoadingCpu;
  return lever.acts == Acts::kOnData || lever.changes_training;
}

/// Predicts levers, and keeps each below what bounds it.
class Table {
 public:
  Table(const Question& q, double measured)
      : q_(q),
        measured_(measured),
        now_(q.predict(q.now)),
        // A cache whose hits are unknown beats bounds that leave it out; drawn costs may, by luck.
        bounded_(PredictByBounds(q.now) >= (1 - LuckOf(q.measurement.result)) * std::max(measured, now_)) {}

  /// The first two ceilings are those of the other levers.
  std::vector<WhatIf> Predicted(const std::vector<Lever>& ceilings) {
    std::vector<WhatIf> rows;
    for (const Lever& ceiling : ceilings) {
      rows.push_back(Predicted(ceiling));
      WhatIf& row = rows.back();
      row.gain = std::max(row.gain, 0.0);  // less work never costs
      if (row.gain_interval) row.gain_interval->high = std::max(row.gain_interval->high, row.gain);
      if (row.change == kFreeData) data_ = CeilingOf(row, trace::ProbeKind::kFreeData);
      if (row.change == kFreeCompute) compute_ = CeilingOf(row, trace::ProbeKind::kFreeCompute);
    }
    return rows;
  }

  WhatIf Predicted(const Lever& lever) {
    const Variant after = lever.setting.change(q_.now);
    WhatIf row;
    row.change = lever.setting.text;
    row.set = lever.setting.set;
    row.after = after.settings;
    row.make = lever.setting.change;
    row.takes = lever.takes;
    row.eases = lever.eases;
    row.pair_takes = lever.pair_takes;
    row.changes_training = lever.changes_training;
    row.feasible_here = lever.feasible_here;
    const Ceiling ceiling = CeilingFor(lever);
    const double most = std::min(ceiling.gain, BoundOf(after));
    row.gain = lever.only_helps && most < kNothing ? most : std::min(most, GainOf(after));
    row.gain_interval = Below(ceiling.high, GainInterval(q_, lever.setting.change), row.gain);
    row.then = VerdictAfter(after, q_.quick, q_);
    return row;
  }

  double GainOf(const Variant& after) const { return Gain(now_, q_.predict(after)); }

 private:
  /// What all changes of a side gain at most, and the upper end of that gain's interval.
  struct Ceiling {
    double gain = std::numeric_limits<double>::infinity();
    double high = std::numeric_limits<double>::infinity();
  };

  /// A ceiling that was tried is what it really gained.
  Ceiling CeilingOf(const WhatIf& row, trace::ProbeKind probe) const {
    const double tried = MostGainTried(q_, probe);
    Ceiling ceiling{std::max(0.0, std::min(row.gain, tried)), tried};
    if (row.gain_interval) ceiling.high = std::min(tried, row.gain_interval->high);
    return ceiling;
  }

  Ceiling CeilingFor(const Lever& lever) const {
    if (lever.acts == Acts::kOnData) return data_;
    if (lever.acts == Acts::kOnCompute) return compute_;
    return {};
  }

  double BoundOf(const Variant& after) const {
    if (!bounded_) return std::numeric_limits<double>::infinity();
    return std::max(0.0, Gain(std::max(measured_, now_), PredictByBounds(after)));
  }

  /// The interval below `most`, around `gain`.
  static std::optional<measure::Interval> Below(double most,
                                                std::optional<measure::Interval> interval,
                                                double gain) {
    if (!interval) return interval;
    interval->low = std::min(interval->low, gain);
    interval->high = std::max(std::min(interval->high, most), gain);
    return interval;
  }

  const Question& q_;
  double measured_, now_;
  bool bounded_;
  Ceiling data_, compute_;
};

/// A setting that the verdict names, or that a probe refuted, where the table does not have it yet.
void AddDecided(std::vector<WhatIf>& rows, Table& table, Verdict verdict,
                const std::optional<SettingGain>& decided) {
  if (!decided || FindRow(rows, decided->setting.text)) return;
  // A pair of the same two may name them in the other order.
  const auto same = std::ranges::find_if(rows, [&](const WhatIf& row) {
    return !row.set.empty() && std::ranges::is_permutation(row.set, decided->setting.set);
  });
  if (same != rows.end()) {
    same->change = decided->setting.text;
    return;
  }
  const Lever lever{.setting = decided->setting,
                    .acts = verdict == Verdict::kLoaderBound ? Acts::kOnData : Acts::kOnBoth,
                    .feasible_here = true};
  rows.push_back(table.Predicted(lever));
}

void Append(std::vector<Lever>& levers, std::vector<Lever> more) {
  std::move(more.begin(), more.end(), std::back_inserter(levers));
}

}  // namespace

std::vector<WhatIf> WhatIfs(const Question& q, const Decision& decision) {
  const auto measured = q.measurement.result.samples_per_s;
  if (!measured || !(*measured > 0) || !decision.verdict) return {};
  Table table(q, *measured);
  std::vector<WhatIf> rows = table.Predicted(Ceilings(q));
  std::vector<Lever> levers = LoadingLevers(q);
  Append(levers, TrainingLevers(q));
  Append(levers, SharedCoresLevers(q));
  if (q.now.settings.loader.opaque) std::erase_if(levers, ChangesLoading);
  for (const Lever& lever : levers) rows.push_back(table.Predicted(lever));
  for (const Lever& pair : BestPairs(q, levers, rows)) rows.push_back(table.Predicted(pair));
  // What trains on the CPU may take the cores that loading lacks: a step that is faster or free may gain.
  if (q.now.on_cpu() && IsHidden(*decision.verdict, q.now))
    std::erase_if(rows, [](const WhatIf& row) { return row.change != kFreeData; });
  AddDecided(rows, table, *decision.verdict, decision.setting);
  AddDecided(rows, table, Verdict::kInconclusive, decision.withdrawn);
  std::erase_if(rows, [](const WhatIf& row) { return std::isinf(row.gain); });
  for (auto& row : rows) row.samples_per_s = *measured * (1 + row.gain);
  std::stable_sort(rows.begin(), rows.end(),
                   [](const WhatIf& a, const WhatIf& b) { return a.gain > b.gain; });
  return rows;
}

void NameNextLimits(const Question& q, std::vector<WhatIf>& rows) {
  constexpr std::size_t kMostRows = 8;         // each asks for a dozen predictions
  constexpr double kBelow = 0.9, kAbove = 1.02;  // of the bound: drawn costs alone explain that much
  for (std::size_t i = 0; i < std::min(rows.size(), kMostRows); ++i) {
    WhatIf& row = rows[i];
    if (row.gain < q.thresholds.gain_that_counts) return;
    const Variant after = row.make(q.now);
    const double rate = q.predict(after), bound = q.quick(after);
    if (rate < kBelow * bound || rate > kAbove * bound) row.then = VerdictAfter(after, q.predict, q);
  }
}

std::optional<std::size_t> FindRow(const std::vector<WhatIf>& rows, std::string_view change) {
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (rows[i].change == change) return i;
  }
  return std::nullopt;
}

}  // namespace pipesim::diagnose
