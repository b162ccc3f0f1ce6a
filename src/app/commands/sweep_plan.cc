#include "app/commands/sweep_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <map>

#include "app/session.h"
#include "base/text.h"
#include "report/sweep_report.h"
#include "spec/map_reader.h"

namespace pipesim::app {
namespace {

namespace fs = std::filesystem;

constexpr int kMostShards = 1'000'000;

std::optional<sweep::Shard> ShardOfText(std::string_view text) {
  const std::size_t slash = text.find('/');
  if (slash == std::string_view::npos) return std::nullopt;
  const auto index = base::WholeNumber<int>(text.substr(0, slash)),
             count = base::WholeNumber<int>(text.substr(slash + 1));
  if (!index || !count || *index < 1 || *index > *count || *count > kMostShards)
    return std::nullopt;
  return sweep::Shard{*index, *count};
}

std::optional<int> NumberInEnvironment(const char* name) {
  const char* text = std::getenv(name);
  return text == nullptr ? std::nullopt : base::WholeNumber<int>(text);
}

/// The tasks of an array may begin anywhere and take steps: --array=10-40:10.
std::optional<sweep::Shard> ShardOfSlurm() {
  const auto id = NumberInEnvironment("SLURM_ARRAY_TASK_ID");
  const auto count = NumberInEnvironment("SLURM_ARRAY_TASK_COUNT");
  if (!id || !count) return std::nullopt;
  const int first = NumberInEnvironment("SLURM_ARRAY_TASK_MIN").value_or(0);
  const int step = std::max(1, NumberInEnvironment("SLURM_ARRAY_TASK_STEP").value_or(1));
  const int index = (*id - first) / step + 1;
  if (*id < first || (*id - first) % step != 0 || index > *count || *count > kMostShards)
    throw base::UsageError(
        fmt::format("SLURM_ARRAY_TASK_ID {} is not one of {} tasks from {} in steps of {}; give "
                    "--shard I/N",
                    *id, *count, first, step));
  return sweep::Shard{index, *count};
}

void TakeShard(const Arguments& arguments, SweepPlan& plan) {
  if (const auto text = arguments.Last("shard")) {
    const auto shard = ShardOfText(*text);
    if (!shard)
      throw base::UsageError(
          fmt::format("--shard takes I/N, for example 1/4, not '{}'", base::Printable(*text)));
    plan.shard = *shard;
  } else if (const auto slurm = plan.merge ? std::nullopt : ShardOfSlurm()) {
    plan.shard = *slurm;
    plan.shard_from_slurm = true;
  }
}

/// In the current folder, after the experiment's file.
fs::path DefaultJournal(const Arguments& arguments, const spec::Experiment& first) {
  std::string name =
      arguments.positional.empty() ? first.name : fs::path(arguments.positional[0]).stem().string();
  std::replace(name.begin(), name.end(), '/', '-');
  return name + ".sweep.jsonl";
}

/// The shard of a file name of JournalOfShard.
std::optional<sweep::Shard> ShardOfName(const std::string& name, const std::string& stem,
                                        const std::string& extension) {
  constexpr std::string_view kOf = "-of-";
  if (!name.starts_with(stem + ".") || !name.ends_with(extension) ||
      name.size() <= stem.size() + 1 + extension.size())
    return std::nullopt;
  std::string middle =
      name.substr(stem.size() + 1, name.size() - stem.size() - 1 - extension.size());
  const std::size_t of = middle.find(kOf);
  if (of == std::string::npos) return std::nullopt;
  return ShardOfText(middle.replace(of, kOf.size(), "/"));
}

std::string ValuesText(const spec::SweepAxis& axis) {
  std::vector<std::string> texts;
  for (const auto& values : axis.values) {
    std::vector<std::string> parts;
    for (const spec::AxisValue& value : values) parts.push_back(value.text);
    texts.push_back(base::Join(parts, "+"));
  }
  return base::Join(texts, ",");
}

}  // namespace

sweep::Engine EngineOf(const Arguments& arguments) {
  const std::string engine = arguments.Last("engine").value_or("run");
  for (const auto each : {sweep::Engine::kRun, sweep::Engine::kPredict, sweep::Engine::kBoth})
    if (report::EngineWord(each) == engine) {
      if (each != sweep::Engine::kPredict && arguments.Has("from"))
        throw base::UsageError(
            "--from takes the experiment from a report, which only --engine predict can use");
      if (each == sweep::Engine::kRun && arguments.Has("precision"))
        throw base::UsageError(
            "--precision ends predictions, so it needs --engine predict or both; --max-noise ends "
            "runs");
      return each;
    }
  throw base::UsageError(
      fmt::format("--engine takes run, predict or both, not '{}'", base::Printable(engine)));
}

SweepPlan PlanOf(const Arguments& arguments, const spec::Experiment& first) {
  SweepPlan plan;
  plan.engine = EngineOf(arguments);
  plan.resume = arguments.Has("resume");
  plan.merge = arguments.Has("merge");
  plan.show = !arguments.Has("quiet");
  if (plan.merge && (plan.resume || arguments.Has("shard")))
    throw base::UsageError(
        "--merge puts finished shards together; --resume and --shard run points");
  TakeShard(arguments, plan);
  const auto named = arguments.Last("journal");
  if (plan.engine != sweep::Engine::kPredict || named || plan.resume || plan.merge ||
      plan.shard.count > 1)
    plan.journal =
        JournalOfShard(named ? fs::path(*named) : DefaultJournal(arguments, first), plan.shard);
  return plan;
}

fs::path JournalOfShard(const fs::path& journal, const sweep::Shard& shard) {
  if (shard.count == 1) return journal;
  return journal.parent_path() / fmt::format("{}.{}-of-{}{}", journal.stem().string(), shard.index,
                                             shard.count, journal.extension().string());
}

std::vector<ShardJournal> ShardJournals(const fs::path& journal) {
  std::map<int, fs::path> found;
  int count = 0;
  std::error_code error;
  const fs::path folder = journal.parent_path().empty() ? "." : journal.parent_path();
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    const auto shard = ShardOfName(at->path().filename().string(), journal.stem().string(),
                                   journal.extension().string());
    if (!shard) continue;
    if (count != 0 && shard->count != count)
      throw base::EnvironmentError(
          fmt::format("there are journals of {} and of {} shards beside {}; remove those of the "
                      "other sweep",
                      count, shard->count, base::Printable(journal.string())));
    count = shard->count;
    found[shard->index] = at->path().lexically_normal();  // without "./"
  }
  if (found.empty())
    throw base::EnvironmentError(
        fmt::format("no shard is there to merge: {} is missing",
                    base::Printable(JournalOfShard(journal, {1, 2}).string())));
  std::vector<ShardJournal> shards;
  for (int index = 1; index <= count; ++index) {
    const sweep::Shard shard{index, count};
    const bool exists = found.contains(index);
    shards.push_back({shard, exists ? found[index] : JournalOfShard(journal, shard), exists});
  }
  return shards;
}

sweep::Identity IdentityOf(const SweepPoints& points, const SweepPlan& plan) {
  sweep::Identity identity;
  for (const auto& [key, setting] : points.first().settings) identity[key] = setting.text;
  for (const spec::SweepAxis& axis : points.sweep().axes)
    for (const std::string& key : axis.keys) identity.erase(key);
  int number = 0;
  for (const spec::SweepAxis& axis : points.sweep().axes)
    identity[fmt::format("axis {}: {}", ++number, base::Join(axis.keys, "+"))] = ValuesText(axis);
  identity["engine"] = report::EngineWord(plan.engine);
  identity["version"] = ReadContext().version;
  identity["shard"] = fmt::format("{} of {}", plan.shard.index, plan.shard.count);
  if (plan.engine == sweep::Engine::kRun) return identity;
  const predict::Basis& basis = points.basis();
  identity["profile"] = basis.profile.reference;
  if (basis.precision) identity["precision"] = spec::NumberText(*basis.precision);
  if (basis.run) identity["from"] = basis.run->source;
  // A prediction for this machine differs on another one.
  if (!basis.profile_is_named)
    identity["cores of the machine"] = spec::NumberText(basis.cores_here);
  return identity;
}

}  // namespace pipesim::app
