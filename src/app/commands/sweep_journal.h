// The points that a sweep keeps in its journal: what is done, what --resume runs again, shards put
// together. The file itself is sweep/journal.h.
#pragma once

#include <cstddef>
#include <map>
#include <memory>

#include "app/commands/sweep_plan.h"
#include "app/commands/sweep_points.h"
#include "report/sweep_report.h"
#include "sweep/journal.h"

namespace pipesim::app {

using PointResults = std::map<std::size_t, sweep::PointResult>;

/// How many points the plan's shard has.
std::size_t PointsAsked(const SweepPoints& points, const SweepPlan& plan);

/// Opens the plan's journal and takes the points that it holds and --resume does not run again.
/// nullptr: the plan has none. `empty`: the report before the first point. Throws
/// base::EnvironmentError, also for a journal that holds points where the plan does not go on.
std::unique_ptr<sweep::Journal> OpenJournal(const SweepPoints& points, const SweepPlan& plan,
                                            const report::SweepReport& empty, PointResults& done);

/// What --resume does not run again, without opening the journal. Throws base::EnvironmentError
/// where it is of another sweep.
PointResults DonePoints(const SweepPoints& points, const SweepPlan& plan);

/// Adds the points of all shards to the journal, which is not begun before they are read. A shard
/// may have run a point again since the last merge. Warns about points that are nowhere.
PointResults MergeShards(const SweepPoints& points, const SweepPlan& plan,
                         const report::SweepReport& empty);

}  // namespace pipesim::app
