// cpu-contention from what was measured: bounds on demands cannot see what contention costs, so the
// training thread's own waiting for a core is the evidence.
#pragma once

#include <optional>

#include "diagnose/decide.h"
#include "diagnose/question.h"

namespace pipesim::diagnose {

/// Share of the training thread's wall time that was lost to waiting for a core: its own waiting
/// between steps, and of the steps on a CPU what the kernel saw its pool's threads wait
/// (resources.trainer_contended_fraction; a step takes as long as its slowest thread, so the mean
/// over them is the least it can be).
double TrainerContendedShare(const measure::Measurement& measurement);

/// What a training thread that never waited for a core between steps would gain at most.
double ContentionGainBetweenSteps(const measure::Measurement& measurement);

/// Fewer threads that would help, when three things hold: more threads than cores can be runnable;
/// the training thread waited for a core; and a pipeline with no more threads than cores (or one
/// worker) is predicted to beat what was measured. The gain is the smaller of the last two:
///   min(c / (1 − c), predicted(fewer) / measured − 1),  c = TrainerContendedShare.
/// A step free of contention is taken to need the share of its time in which its threads had their
/// cores, and on t of T threads T/t of that, which is the most it can: a lower bound. Workers
/// beside a pool of several threads are no more than the other cores hold; beside a single training
/// thread they may be as many as now, since sharing cores costs it no more than its share.
std::optional<Tried> MeasuredContention(const Question& question);

/// `decision` with cpu-contention in the lead where MeasuredContention gains enough; a loader
/// setting that gains comes before it.
Decision WithMeasuredContention(Decision decision, const Question& question);

/// More threads than cores while the CPU trains, and workers that waited for cores: the step's own
/// demand may hold contention that no clock of ours tells apart (its threads wait for one another).
bool StepMayHoldContention(const Question& question);

}  // namespace pipesim::diagnose
