#include "diagnose/pairs.h"

#include <algorithm>
#include <cmath>

#include "diagnose/enough.h"

namespace pipesim::diagnose {
namespace {

/// Whether one of two keys lies below the other, or is the same.
bool Overlap(const std::string& a, const std::string& b) {
  const std::string& shorter = a.size() < b.size() ? a : b;
  const std::string& longer = a.size() < b.size() ? b : a;
  return longer == shorter || longer.starts_with(shorter + ".");
}

bool Combine(const Lever& a, const Lever& b) {
  if (a.eases && a.eases == b.eases) return false;
  for (const auto& one : a.setting.set)
    for (const auto& other : b.setting.set)
      if (Overlap(one.first, other.first)) return false;
  return true;
}

/// The step goes first: another device brings launches and copies of its own.
Lever Both(const Lever& a, const Lever& b) {
  const bool swapped = b.eases == Demand::kStep;
  return {.setting = Both(swapped ? b.setting : a.setting, swapped ? a.setting : b.setting),
          .takes = std::max(a.takes, b.takes),
          .acts = a.acts == b.acts ? a.acts : Acts::kOnBoth,
          .pair_takes = std::min(a.takes, b.takes)};
}

bool SetsWorkers(const Lever& lever) {
  return lever.setting.set.size() == 1 && lever.setting.set.front().first == "loader.workers";
}

/// As many workers as are enough after `other`; nullopt where no more are.
std::optional<Lever> WorkersAfter(const Question& q, const Lever& other, const Predictor& predict) {
  if (SetsWorkers(other) || q.now.settings.loader.opaque) return std::nullopt;
  const Variant eased = other.setting.change(q.now);
  const int now = q.now.settings.loader.workers;
  const auto enough =
      FewestWorkers(eased, now + 1, MostWorkers(eased), predict, q.thresholds.enough_share);
  if (!enough) return std::nullopt;
  return Lever{.setting = Workers(q.now, enough->workers), .acts = Acts::kOnData};
}

struct Part {
  Lever lever;
  double gain = 0;  ///< alone
};

struct Scored {
  Lever lever;
  double rate = 0;
  int cost = 0;      ///< of both parts
  double alone = 0;  ///< what its parts gain alone, together
};

/// The higher rate; of rates that are equal but for a hundredth, the cheaper one, then the one whose parts gain.
bool IsBetter(const Scored& a, const Scored& b) {
  constexpr double kEqual = 0.01;
  if (std::abs(a.rate - b.rate) > kEqual * std::max(a.rate, b.rate)) return a.rate > b.rate;
  return a.cost != b.cost ? a.cost < b.cost : a.alone > b.alone;
}

/// All pairs, by their bounds. Workers come in the number that is enough after the other change.
std::vector<Scored> PairsOf(const Question& q, const std::vector<Part>& parts) {
  std::vector<Scored> pairs;
  const auto add = [&](const Lever& a, const Lever& b, double alone) {
    if (!Combine(a, b)) return;
    Lever both = Both(a, b);
    const double rate = q.quick(both.setting.change(q.now));
    if (std::isfinite(rate))
      pairs.push_back({std::move(both), rate, static_cast<int>(a.takes) + static_cast<int>(b.takes), alone});
  };
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const auto& [lever, gain] = parts[i];
    if (const auto workers = WorkersAfter(q, lever, q.quick)) add(lever, *workers, gain);
    for (std::size_t j = i + 1; j < parts.size(); ++j) {
      const auto& [other, other_gain] = parts[j];
      if (!SetsWorkers(lever) && !SetsWorkers(other)) add(lever, other, gain + other_gain);
    }
  }
  return pairs;
}

/// Moves the best of `pairs` to the front, up to `count`, one by one: IsBetter is no order.
void BestFirst(std::vector<Scored>& pairs, std::size_t count) {
  for (std::size_t i = 0; i < std::min(count, pairs.size()); ++i) {
    for (std::size_t j = i + 1; j < pairs.size(); ++j)
      if (IsBetter(pairs[j], pairs[i])) std::swap(pairs[i], pairs[j]);
  }
}

/// The best of the pairs whose cheaper part takes at most `most`; nullopt below `least`.
std::optional<Lever> BestOf(const Question& q, std::vector<Scored> pairs, double least, Takes most) {
  std::erase_if(pairs, [&](const Scored& one) {
    return *one.lever.pair_takes > most || one.rate < least;
  });
  constexpr std::size_t kTried = 3;  // bounds rank well; what they miss shows in the first few
  BestFirst(pairs, kTried);
  if (pairs.size() > kTried) pairs.erase(pairs.begin() + kTried, pairs.end());
  for (Scored& pair : pairs) pair.rate = q.predict(pair.lever.setting.change(q.now));
  BestFirst(pairs, 1);
  if (pairs.empty() || pairs.front().rate < least) return std::nullopt;
  return std::move(pairs.front().lever);
}

}  // namespace

Levers BestPairs(const Question& q, const Levers& levers, const std::vector<WhatIf>& rows) {
  double alone = 0, flag_alone = 0;
  for (const WhatIf& row : rows) {
    if (!CanBeMade(row)) continue;
    alone = std::max(alone, row.gain);
    if (row.takes == Takes::kFlag) flag_alone = std::max(flag_alone, row.gain);
  }
  std::vector<Part> parts;
  for (const Lever& lever : levers)
    if (const auto row = FindRow(rows, lever.setting.text); row && CanBeMade(rows[*row]))
      parts.push_back({lever, rows[*row].gain});
  const auto least = [&](double gain) {
    return (1 + q.thresholds.gain_that_counts) * (1 + gain) * q.predict(q.now);
  };
  std::vector<Scored> pairs = PairsOf(q, parts);
  Levers best;
  auto pair = BestOf(q, pairs, least(alone), Takes::kFlag);
  if (!pair) pair = BestOf(q, pairs, least(alone), Takes::kNothing);
  if (pair) best.push_back(*std::move(pair));
  if (!best.empty() && best.front().takes == Takes::kFlag) return best;
  std::erase_if(pairs, [](const Scored& one) { return one.lever.takes != Takes::kFlag; });
  if (auto flags = BestOf(q, std::move(pairs), least(flag_alone), Takes::kFlag)) best.push_back(*std::move(flags));
  return best;
}

}  // namespace pipesim::diagnose
