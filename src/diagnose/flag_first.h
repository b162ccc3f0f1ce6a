// Where a flag of training gains far more than the loader setting that leads.
#pragma once

#include "diagnose/decide.h"
#include "diagnose/question.h"

namespace pipesim::diagnose {

/// Loader settings lead because they take no more than a flag. Where a flag (a CUDA graph, no reading
/// back, pinned memory) eases the demand that limits most and gains more than twice as much as the
/// setting, it is what one would change first, and the demand leads.
Decision WithFarLargerFlag(Decision decision, const Question& question);

}  // namespace pipesim::diagnose
