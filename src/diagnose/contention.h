// cpu-contention from what was measured: bounds on demands cannot see what contention costs, so the
// training thread's own waiting for a core is the evidence.
#pragma once

#include <optional>

#include "diagnose/decide.h"
#include "diagnose/question.h"

namespace pipesim::diagnose {

/// Share of the training thread's time in which it was runnable without a core.
double TrainerContendedShare(const measure::Measurement& measurement);

/// Fewer threads that would help, when three things hold: more threads than cores can be runnable;
/// the training thread waited for a core; and a pipeline with no more threads than cores (or one
/// worker) is predicted to beat what was measured. The gain is the smaller of the last two:
///   min(c / (1 − c), predicted(fewer) / measured − 1),  c = consumer.contended_s /
///   consumer.wall_s.
/// A step on t of T threads is taken to need T/t of the time, which is the most it can: a lower
/// bound.
std::optional<Tried> MeasuredContention(const Question& question);

/// `decision` with cpu-contention in the lead where MeasuredContention gains enough; a loader
/// setting that gains comes before it.
Decision WithMeasuredContention(Decision decision, const Question& question);

/// More threads than cores while the CPU trains, and workers that waited for cores: the step's own
/// demand may hold contention that no clock of ours tells apart (its threads wait for one another).
bool StepMayHoldContention(const Question& question);

}  // namespace pipesim::diagnose
