// What the flags of `pipesim sweep` ask for besides the experiment: engine, shard, journal.
#pragma once

#include <filesystem>
#include <optional>

#include "app/command_line/arguments.h"
#include "app/commands/sweep_points.h"
#include "sweep/journal.h"
#include "sweep/order.h"
#include "sweep/outcome.h"

namespace pipesim::app {

struct SweepPlan {
  sweep::Engine engine = sweep::Engine::kRun;
  sweep::Shard shard;
  bool shard_from_slurm = false;
  bool resume = false, merge = false;
  bool show = true;  ///< on stderr, how far it is
  /// nullopt: none. A prediction repeats itself within seconds, so it has one only where asked for.
  std::optional<std::filesystem::path> journal;
};

/// --engine. Throws base::UsageError.
sweep::Engine EngineOf(const Arguments& arguments);

/// Reads SLURM_ARRAY_TASK_ID and its like where --shard is not given. Throws base::UsageError.
SweepPlan PlanOf(const Arguments& arguments, const spec::Experiment& first);

/// "a.2-of-8.jsonl" for "a.jsonl"; the same for the only shard.
std::filesystem::path JournalOfShard(const std::filesystem::path& journal,
                                     const sweep::Shard& shard);

struct ShardJournal {
  sweep::Shard shard;
  std::filesystem::path file;
  bool exists = false;
};
/// The journals of all shards beside `journal`, in order. Throws base::EnvironmentError where none
/// exists, or those of several numbers of shards.
std::vector<ShardJournal> ShardJournals(const std::filesystem::path& journal);

/// What makes two journals parts of one sweep.
sweep::Identity IdentityOf(const SweepPoints& points, const SweepPlan& plan);

}  // namespace pipesim::app
