// Finds missing evidence, and whether it leaves the verdict open.
#pragma once

#include <vector>

#include "diagnose/decide.h"
#include "diagnose/question.h"

namespace pipesim::diagnose {

struct Doubt {
  std::vector<Missing> missing;  ///< each with a reason that reads as a clause
  bool undecided = false;        ///< the verdict is inconclusive
  bool weak = false;             ///< the verdict stands with confidence low
  bool needs_steps = false;      ///< more steps would settle it
  bool hidden = false;           ///< loading limits, and the experiment does not say what loads (IsHidden)
  /// If undecided: the possible verdicts, the leading one first. None leads where loading is hidden.
  std::vector<Verdict> open;
};

Doubt DoubtsAbout(const Decision& decision, const Question& question);

/// A wide interval leaves several candidates open, but the timeline's certain side only one of them: that
/// one leads, with confidence low.
void SettleBySide(Decision& decision, const Question& question, Doubt& doubt);

/// A setting leads by less than the model is off, and another candidate by more, setting aside: that one leads, with
/// confidence low. What the setting gains is as good as noise then, what the other gains is not.
void SettleByOther(Decision& decision, const Question& question, Doubt& doubt);

/// What a setting gains where runs differ from one to the next by more than one of them shows (docs/accuracy.md): with a
/// pool that spins and lacks cores, whose states last longer than many runs do (twelve runs of the README's command on two
/// cores differed by 11 %), and beside other busy programs, with which the kernel lets the same threads share a core for
/// as long as they run.
void AddWhatOneRunDoesNotShow(const Decision& decision, const Question& question, Doubt& doubt);

/// predicted / measured − 1 of the run as it was; nullopt when either is missing.
std::optional<double> ModelError(const Question& question);

/// The interval of a change's gain: each demand in turn may be off by the relative half-width of
/// the throughput's interval. nullopt without that interval, or if the gain has no upper end.
std::optional<measure::Interval> GainInterval(const Question& question, const Change& change);

}  // namespace pipesim::diagnose
