// The order in which practitioners check resources: is the GPU full, else the CPU, else the
// storage?
#pragma once

#include <vector>

#include "diagnose/question.h"

namespace pipesim::diagnose {

/// GPU, CPU, IO. A resource is full within 10 % of its limit (the model's own error) and not full
/// beyond 20 %, at both ends of the throughput's interval; in between it is unsure.
std::vector<LadderRow> Ladder(const Question& question, Verdict verdict);

}  // namespace pipesim::diagnose
