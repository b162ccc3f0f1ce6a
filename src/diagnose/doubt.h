// Why the evidence may not decide: what is missing, and whether that leaves the verdict open.
#pragma once

#include <vector>

#include "diagnose/decide.h"
#include "diagnose/question.h"

namespace pipesim::diagnose {

struct Doubt {
  std::vector<Missing> missing;  ///< each with a reason that reads as a clause
  bool undecided = false;        ///< the verdict is inconclusive
  bool weak = false;             ///< it stands with confidence low
  bool needs_steps = false;      ///< more steps would settle it
  std::vector<Verdict> open;     ///< undecided: what may be it, the leading one first
};

Doubt DoubtsAbout(const Decision& decision, const Question& question);

/// predicted / measured − 1 of the run as it was; nullopt when either is missing.
std::optional<double> ModelError(const Question& question);

/// The gain of a change over what the measurement leaves open: every demand may be off by the
/// relative half-width of the throughput's interval, one at a time. nullopt without an interval, or
/// where the gain has no upper end.
std::optional<measure::Interval> GainInterval(const Question& question, const Change& change);

}  // namespace pipesim::diagnose
