// The ladder that practitioners climb: is the GPU full, else the CPU, else the storage?
#pragma once

#include <vector>

#include "diagnose/question.h"

namespace pipesim::diagnose {

/// GPU, CPU, IO. A resource is full within the model's own error (10 %) of its limit, and not full
/// from twice that distance on, at both ends of the throughput's interval; unsure between.
std::vector<Rung> Ladder(const Question& question, Verdict verdict);

}  // namespace pipesim::diagnose
