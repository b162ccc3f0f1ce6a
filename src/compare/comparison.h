// Compares sides point by point: the rates, where the time moved, the verdicts, and what should be
// alike and is not. Pure functions of the sides.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "compare/matching.h"
#include "compare/side.h"

namespace pipesim::compare {

struct Rules {
  std::optional<double> threshold;  ///< of --fail-on-regression
};

/// A time before and after.
struct Move {
  std::string name;
  double a_s = 0, b_s = 0;
};

/// Where the time of a step moved, on one clock. The moves add up to the step's.
struct StepMoves {
  std::string clock;
  bool per_sample = false;  ///< the batch sizes differ, so a step is not a step
  std::vector<Move> moves;
};

struct Promised {
  double samples_per_s = 0, error = 0;  ///< error: promised / measured − 1
};

struct PointComparison {
  std::size_t a = 0, b = 0;              ///< indices into the sides' points
  std::optional<Difference> difference;  ///< nullopt: it failed on a side
  std::optional<Call> call;
  std::optional<Regression> regression;  ///< with a threshold
  bool verdict_changed = false;
  std::optional<StepMoves> step;
  std::vector<Move> demands;  ///< of a sample, the largest change first
  std::optional<Promised> promised;
};

/// What should be alike and is not.
struct Caution {
  std::string code;  ///< "machine", "version", "data", "disturbed", ...
  std::string text;
};

/// One side against the first.
struct Comparison {
  std::size_t side = 0;  ///< index of b; a is the first
  std::vector<ChangedSetting> changed;
  std::vector<Caution> cautions;
  std::vector<PointComparison> points;
  std::vector<std::string> only_a, only_b;
  /// Points that have a rate in A and that b, a sweep, does not hold. A run is one configuration by
  /// intent, so it lacks none.
  std::size_t missing = 0;
};

Comparison CompareSides(const std::vector<Side>& sides, std::size_t side, const Rules& rules);

/// "A", "B", ..., "Z", then "27".
std::string LetterOf(std::size_t side);

/// How many points got which call.
struct Tally {
  std::size_t points = 0, faster = 0, slower = 0, same = 0, unsure = 0, failed = 0;
  std::size_t regressions = 0, open = 0;  ///< with a threshold
  std::size_t missing = 0;                ///< beside `points`

  /// SLOWER before FASTER before UNSURE before SAME: what a reader must see first.
  Call Overall() const;
};
Tally TallyOf(const std::vector<Comparison>& comparisons);

}  // namespace pipesim::compare
