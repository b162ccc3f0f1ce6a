// What is simulated in place of long epochs whose cache holds a part of the data.
#pragma once

#include "predict/resolve.h"
#include "spec/experiment.h"

namespace pipesim::predict {

/// Such a cache serves fewer and fewer reads of a shuffled epoch, since more and more of what it holds has been read
/// already: only whole epochs show the rate. Where no length is stated and epochs are longer than that takes, they get
/// fewer samples, and in proportion the cache less room and workers less time to start; what the cache serves at each part
/// of an epoch stays the same. The run then lasts some of these, for about `longest_s` of a core at most. The notes say so.
void ShortenEpochs(spec::Experiment& experiment, Resolved& resolved, double longest_s);

}  // namespace pipesim::predict
