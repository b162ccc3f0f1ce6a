// The two or three numbers that decide, each with the JSON field that it was taken from.
#pragma once

#include <string>
#include <vector>

#include "diagnose/decide.h"
#include "diagnose/question.h"

namespace pipesim::diagnose {

/// For a verdict that stands, or (kInconclusive) for what is certain and why the rest is open.
std::vector<Evidence> EvidenceFor(Verdict verdict, const Question& question,
                                  const Decision& decision, const std::vector<WhatIf>& what_if);

/// One clause that a stranger understands. `side` is what is certain when the verdict is not.
std::string Headline(Verdict verdict, std::optional<Side> side, const Question& question,
                     const Decision& decision);

/// Training waits for data in less than a gain that counts: nothing to fix in the input pipeline.
bool IsHealthy(const Question& question);

}  // namespace pipesim::diagnose
