// What each verdict means, how it is decided and how to fix it, for `pipesim explain VERDICT` and
// docs/verdicts.md (a test keeps the two equal). Texts alone; decides nothing.
#pragma once

#include <span>
#include <string_view>

#include "diagnose/diagnosis.h"

namespace pipesim::diagnose {

/// Views into constants of the program; valid for ever.
struct Explanation {
  Verdict verdict = Verdict::kInconclusive;
  std::string_view meaning;                   ///< one or two sentences
  std::string_view decided;                   ///< the rule that names it
  std::span<const std::string_view> signs;    ///< what a report shows then
  std::span<const std::string_view> flags;    ///< fixes as flags of pipesim, the cheapest first
  std::span<const std::string_view> pytorch;  ///< the same in a PyTorch program
};

/// All verdicts, in the order of the decision.
std::span<const Explanation> Explanations();
const Explanation& Explain(Verdict verdict);

}  // namespace pipesim::diagnose
