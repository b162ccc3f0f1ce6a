// Which settings differ between two sides, and which of their points are the same configuration.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "compare/side.h"

namespace pipesim::compare {

struct ChangedSetting {
  std::string key, a, b;  ///< empty: absent there
};

/// Settings that a user set differently at two points: without `run.*` and names, which do not describe
/// the pipeline, and without those that follow from a preset that differs.
std::vector<ChangedSetting> ChangedSettings(const Side& a, const Point& of_a, const Side& b, const Point& of_b);

/// "workers 4" for loader.workers, "storage nvme" for storage.preset.
std::string ShortName(const std::string& key);

struct Match {
  std::vector<std::pair<std::size_t, std::size_t>> pairs;  ///< indices of points, in a's order
  std::vector<std::string> only_a, only_b;                 ///< names of the others
};

/// Points are alike when they agree in every key that is an axis of either side; a side that has a
/// key as a plain setting has its value at all its points.
Match MatchPoints(const Side& a, const Side& b);

/// Why MatchPoints found nothing: the keys and their values on each side.
std::string WhyNothingMatches(const Side& a, const Side& b);

/// The same of all matched points, by their keys; the values of several points separated by commas.
std::vector<ChangedSetting> ChangedSettings(const Side& a, const Side& b, const Match& match);

/// The rate that `of_a` predicted for exactly the changes that lead to `of_b`; nullptr: none.
const Promise* PromiseOf(const Side& a, const Point& of_a, const Side& b, const Point& of_b);

}  // namespace pipesim::compare
