#include "app/commands/sweep_journal.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <filesystem>

#include "base/standard_streams.h"
#include "base/text.h"

namespace pipesim::app {
namespace {

std::string DifferencesText(const std::vector<sweep::Difference>& differences) {
  constexpr std::size_t kShown = 5;
  std::string text;
  for (std::size_t i = 0; i < std::min(differences.size(), kShown); ++i) {
    const sweep::Difference& each = differences[i];
    const auto shown = [](const std::string& value) {
      return value.empty() ? "absent" : base::Quoted(value);
    };
    text += fmt::format("\n  {}: {} there, {} here", base::Printable(each.name),
                        shown(each.in_journal), shown(each.here));
  }
  if (differences.size() > kShown)
    text += fmt::format("\n  and {} more", differences.size() - kShown);
  return text;
}

/// Throws base::EnvironmentError with the advice where the journal is of another sweep.
void CheckIdentity(const std::string& file, const std::string& record, sweep::Identity here,
                   bool any_shard, std::string_view advice) {
  auto there = report::ReadIdentityRecord(record);
  if (!there) throw base::EnvironmentError("journal " + base::Printable(file) + ": not of a sweep");
  if (any_shard) {
    there->erase("shard");
    here.erase("shard");
  }
  const auto differences = sweep::Differences(*there, here);
  if (differences.empty()) return;
  throw base::EnvironmentError(
      fmt::format("journal {} is of another sweep; {}{}", base::Printable(file), advice,
                  DifferencesText(differences)));
}

/// The points of a journal's records after the first.
void TakePoints(const std::string& file, const std::vector<std::string>& records,
                std::size_t points, PointResults& out) {
  for (std::size_t i = 1; i < records.size(); ++i) {
    const auto result = report::ReadPointRecord(records[i]);
    if (!result || result->point >= points)
      throw base::EnvironmentError(fmt::format("journal {}: line {} is no point of this sweep",
                                               base::Printable(file), i + 1));
    out[result->point] = *result;
  }
}

/// Points whose run was ended at a limit that is longer now are not done. Returns how many.
std::size_t DropPointsWithALongerLimit(const SweepPoints& points, PointResults& done) {
  return std::erase_if(done, [&](const auto& entry) {
    const auto& run = entry.second.run;
    return run && run->limit_s && base::ToSeconds(points.LimitAt(entry.first)) > *run->limit_s;
  });
}

/// What a sweep's journal holds and leaves to run. `again`: how many of its points run again, beside
/// the `done` ones.
std::string HeldText(const std::string& file, std::size_t done, std::size_t again,
                     std::size_t asked) {
  std::string text = fmt::format("journal {} already holds {} of {} points of this sweep",
                                 base::Printable(file), done + again, asked);
  if (again > 0) text += fmt::format(", {} ended at a limit that is longer now", again);
  text += done == asked ? ", so nothing is left to run" : "; --resume runs what is left";
  return text + (done == asked ? "; " : ", ") + "--journal FILE begins another";
}

/// The points of the plan's journal. Throws base::EnvironmentError where it is of another sweep.
PointResults PointsOfJournal(const SweepPoints& points, const SweepPlan& plan,
                             const std::vector<std::string>& records) {
  const std::string file = plan.journal->string();
  // --journal would rename the shards, too.
  CheckIdentity(file, records.front(), IdentityOf(points, plan), false,
                plan.merge ? "remove it or move it away, and --merge begins it from the shards"
                           : "take another --journal FILE");
  PointResults results;
  TakePoints(file, records, points.sweep().Points(), results);
  return results;
}

PointResults PointsOfShards(const SweepPoints& points, const SweepPlan& plan,
                            const std::vector<ShardJournal>& shards) {
  const sweep::Identity identity = IdentityOf(points, plan);
  PointResults results;
  for (const ShardJournal& shard : shards) {
    if (!shard.exists) continue;
    const std::string file = shard.file.string();
    const std::vector<std::string> records = sweep::ReadJournal(shard.file);
    if (records.empty()) continue;
    CheckIdentity(file, records.front(), identity, true,
                  "remove it or move it away, or give the flags with which the shards ran");
    TakePoints(file, records, points.sweep().Points(), results);
  }
  return results;
}

/// Points of a shard that is gone may have been merged before.
void WarnOfMissingPoints(const SweepPoints& points, const std::vector<ShardJournal>& shards,
                         const PointResults& done) {
  for (const auto& [shard, file, exists] : shards) {
    const auto order = sweep::OrderOf(points.sweep().Points(), points.first().run.seed, shard);
    const auto missing = std::count_if(order.begin(), order.end(), [&](std::size_t point) {
      return !done.contains(point);
    });
    if (missing == 0) continue;
    spdlog::warn("shard {} of {} {}: {}", shard.index, shard.count,
                 exists ? fmt::format("lacks {} of {} points", missing, order.size()) : "is missing",
                 base::Printable(file.string()));
  }
}

}  // namespace

std::size_t PointsAsked(const SweepPoints& points, const SweepPlan& plan) {
  return sweep::OrderOf(points.sweep().Points(), points.first().run.seed, plan.shard).size();
}

std::unique_ptr<sweep::Journal> OpenJournal(const SweepPoints& points, const SweepPlan& plan,
                                            const report::SweepReport& empty, PointResults& done) {
  std::unique_ptr<sweep::Journal> journal;
  if (!plan.journal) return journal;
  journal = std::make_unique<sweep::Journal>(*plan.journal);
  if (journal->records().empty()) {
    journal->Append(report::IdentityRecord(IdentityOf(points, plan), empty));
    return journal;
  }
  done = PointsOfJournal(points, plan, journal->records());
  if (plan.merge) return journal;
  const std::size_t again = DropPointsWithALongerLimit(points, done);
  const std::string held =
      HeldText(plan.journal->string(), done.size(), again, PointsAsked(points, plan));
  if (!plan.resume) throw base::EnvironmentError(held);
  if (plan.show && done.size() == PointsAsked(points, plan)) base::PrintError(held + "\n");
  return journal;
}

PointResults DonePoints(const SweepPoints& points, const SweepPlan& plan) {
  PointResults done;
  if (!plan.resume || !std::filesystem::exists(*plan.journal)) return done;
  const std::vector<std::string> records = sweep::ReadJournal(*plan.journal);
  if (!records.empty()) done = PointsOfJournal(points, plan, records);
  DropPointsWithALongerLimit(points, done);
  return done;
}

PointResults MergeShards(const SweepPoints& points, const SweepPlan& plan,
                         const report::SweepReport& empty) {
  const std::vector<ShardJournal> shards = ShardJournals(*plan.journal);
  const PointResults merged = PointsOfShards(points, plan, shards);
  PointResults done;
  const std::unique_ptr<sweep::Journal> journal = OpenJournal(points, plan, empty, done);
  for (const auto& [point, result] : merged) {
    const auto before = done.find(point);
    if (before != done.end() && before->second == result) continue;
    journal->Append(report::PointRecord(result));
    done[point] = result;
  }
  WarnOfMissingPoints(points, shards, done);
  return done;
}

}  // namespace pipesim::app
