// What probes say about the predictions: a measured gain stands beside the predicted one, what it
// refutes is withdrawn, and the verdict is decided again.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "diagnose/decide.h"
#include "diagnose/doubt.h"
#include "diagnose/question.h"
#include "diagnose/timeline.h"

namespace pipesim::diagnose {

/// The run with a step on one thread as the repeated one and a probe of one thread say in the mean, each by how well it
/// knows: both lasted for a second or less, in which a machine is faster or slower than it is. Without such a probe as it
/// was.
Variant WithStepTried(Variant now, const measure::Measurement& measurement, const Predictor& model);

/// The side that takes most of the timeline (CertainSide), unless a probe that freed it gained nothing.
std::optional<Side> LimitingSide(const Question& question);

/// The upper end of what this probe gained; infinite where it was not tried.
double MostGainTried(const Question& question, trace::ProbeKind kind);

/// The decision without the verdicts that a probe refutes: input verdicts when free data gains
/// nothing, the training side's when free compute gains nothing, and a setting that was tried in
/// vain. A setting that gained when tried leads, unless another one promises more than it may gain. If the leader
/// goes, the largest remaining gain leads; without one, the side whose probe gained; without that,
/// the run is balanced.
Decision WithTried(Decision decision, const Question& question);

/// A verdict is not open for lack of a model or of a narrow rate where its setting was tried and
/// gained: the blocks beside each other show that by themselves.
void SettleByTried(const Decision& decision, const Question& question, Doubt& doubt);

/// A measured gain that is not the predicted one weakens the verdict; of a setting, a smaller one.
void AddContradictions(const Decision& decision, const Question& question, Doubt& doubt);

/// Puts what was tried beside the rows' predictions.
void AttachTried(std::vector<WhatIf>& rows, const Question& question);

/// One clause for each side that its probe rules out.
std::vector<std::string> RuledOutByProbes(const Question& question);

/// The gain that was measured replaces the predicted one where it is known narrowly, or where the predicted one lies
/// outside its interval. Settings that were tried in vain are not recommended.
void PromiseWhatWasTried(Recommendation& recommendation, const std::vector<WhatIf>& rows,
                         const Thresholds& thresholds);

}  // namespace pipesim::diagnose
