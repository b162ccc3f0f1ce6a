// Compares reports, or runs experiments in turn and compares them.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "app/command_line/arguments.h"
#include "app/commands/compare_gate.h"
#include "app/commands/compare_runs.h"
#include "app/delivery.h"
#include "app/installation.h"
#include "app/kept_runs.h"
#include "app/process/interrupt.h"
#include "app/session.h"
#include "base/standard_streams.h"
#include "base/text.h"
#include "report/compare_report.h"
#include "report/view.h"

namespace pipesim::app {
namespace {

namespace fs = std::filesystem;
using base::ExitCode;
using compare::Side;

/// As many as SAME needs.
constexpr std::size_t kRounds = compare::kFewest;
/// Twice as many: the interval of what stayed open shrinks by a third and more.
constexpr std::size_t kRerunRounds = 2 * kRounds;

/// What the command line asks for.
struct ComparePlan {
  std::vector<std::string> files;
  bool experiments = false;  ///< the files are to be run, not read
  bool interleave = false, rerun = false;
  std::optional<std::size_t> rounds;
  CompareGate gate;
};

bool IsExperimentFile(const std::string& file) {
  return file.ends_with(".yaml") || file.ends_with(".yml");
}

/// Two names of one file are one file.
void CheckTwice(const std::vector<std::string>& files) {
  for (std::size_t i = 0; i < files.size(); ++i)
    for (std::size_t j = i + 1; j < files.size(); ++j) {
      std::error_code error;
      if (files[i] == files[j] || fs::equivalent(files[i], files[j], error))
        throw base::UsageError(
            fmt::format("'{}' and '{}' are the same file; a comparison takes two",
                        base::Printable(files[i]), base::Printable(files[j])));
    }
}

void CheckFlags(const Arguments& arguments, const ComparePlan& plan) {
  if (plan.interleave || plan.rerun) return;
  for (const Argument& argument : arguments.options)
    if (argument.option->set == kExperimentFlags || argument.option->set == kMachineFlags)
      throw base::UsageError(
          fmt::format("--{} changes what runs, and reports that exist do not change; with "
                      "--interleave the experiments are run",
                      argument.option->name));
}

std::optional<std::size_t> ReadRounds(const Arguments& arguments) {
  const auto text = arguments.Last("repeats");
  if (!text) return std::nullopt;
  constexpr std::size_t kMost = 1000;
  const auto rounds = base::WholeNumber<std::size_t>(*text);
  if (!rounds || *rounds < 2 || *rounds > kMost)
    throw base::UsageError(
        fmt::format("--repeats takes the number of runs a side, 2 to {}, not '{}'", kMost,
                    base::Printable(*text)));
  return rounds;
}

ComparePlan ComparePlanOf(const Arguments& arguments) {
  ComparePlan plan;
  plan.files = arguments.positional;
  if (plan.files.size() < 2)
    throw base::UsageError(
        "`pipesim compare` takes two or more reports: pipesim compare before.json after.json\n"
        "--interleave runs experiments instead: pipesim compare a.yaml b.yaml --interleave");
  plan.interleave = arguments.Has("interleave");
  if (const auto what = arguments.Last("rerun")) {
    if (*what != "unsure")
      throw base::UsageError(
          fmt::format("--rerun takes `unsure`, not '{}'", base::Printable(*what)));
    plan.rerun = true;
  }
  plan.rounds = ReadRounds(arguments);
  plan.gate = ReadCompareGate(arguments);
  CheckFlags(arguments, plan);
  CheckTwice(plan.files);
  const auto experiments = static_cast<std::size_t>(
      std::count_if(plan.files.begin(), plan.files.end(), IsExperimentFile));
  plan.experiments = experiments > 0;
  if (experiments > 0 && experiments < plan.files.size())
    throw base::UsageError(
        "reports (.json) and experiments (.yaml) cannot be mixed; run the "
        "experiments with --export json=FILE, or give only experiments");
  if (plan.experiments && !plan.interleave)
    throw base::UsageError(
        fmt::format("'{}' is an experiment, not a report; --interleave runs it and the others in "
                    "turn: pipesim compare {} --interleave",
                    base::Printable(plan.files[0]), base::ShellJoin(plan.files)));
  return plan;
}

Side ReadSide(const std::string& which) {
  const std::string file = ReportFile(which, StateFolder()).string();
  return report::SideOf(report::ReadReport(file), which);
}

/// Throws base::EnvironmentError where A has no rate to compare with.
void CheckFirst(const Side& a) {
  const bool any = std::any_of(a.points.begin(), a.points.end(),
                               [](const compare::Point& point) { return point.rate.has_value(); });
  if (any) return;
  throw base::EnvironmentError(
      base::Printable(a.name) +
      ": no point of this sweep has a rate, so there is nothing to compare with; run it again");
}

std::vector<compare::Comparison> CompareAll(const std::vector<Side>& sides,
                                            const compare::Rules& rules) {
  std::vector<compare::Comparison> comparisons;
  for (std::size_t side = 1; side < sides.size(); ++side) {
    comparisons.push_back(compare::CompareSides(sides, side, rules));
    if (!comparisons.back().points.empty()) continue;
    throw base::EnvironmentError(fmt::format(
        "{} and {} have no configuration in common, so there is nothing to compare; they differ "
        "in\n  {}\n(there: {}, here: {})",
        base::Printable(sides[0].name), base::Printable(sides[side].name),
        compare::WhyNothingMatches(sides[0], sides[side]), base::Printable(sides[0].name),
        base::Printable(sides[side].name)));
  }
  return comparisons;
}

// ---- runs in turn

/// Configurations that run in turn: a point of the first side and those that are compared with it.
struct RunGroup {
  std::vector<std::pair<std::size_t, std::size_t>>
      members;  ///< side and point, the first side first
};

std::vector<RunGroup> GroupsOf(const std::vector<compare::Comparison>& comparisons,
                               bool only_unsure) {
  std::map<std::size_t, RunGroup> of_point;
  for (const compare::Comparison& comparison : comparisons)
    for (const compare::PointComparison& point : comparison.points) {
      const bool wanted = point.call && (!only_unsure || *point.call == compare::Call::kUnsure);
      if (!wanted || point.difference->exact) continue;
      RunGroup& group = of_point[point.a];
      if (group.members.empty()) group.members.emplace_back(0, point.a);
      group.members.emplace_back(comparison.side, point.b);
    }
  std::vector<RunGroup> groups;
  for (auto& [point, group] : of_point) groups.push_back(std::move(group));
  return groups;
}

/// What users typed, without what the present run sets itself.
std::vector<std::pair<std::string, std::string>> SettingsToRun(const Side& side,
                                                               const compare::Point& point) {
  const auto is_axis = [&](const std::string& key) {
    return std::any_of(side.axes.begin(), side.axes.end(), [&](const auto& axis) {
      return key == axis.first || key.starts_with(axis.first + ".");
    });
  };
  std::vector<std::pair<std::string, std::string>> settings;
  const auto add_typed = [&](const compare::Settings& values, const std::map<std::string, std::string>& origins) {
    for (const auto& [key, value] : values) {
      const auto origin = origins.find(key);
      const bool typed = origin != origins.end() && (origin->second == "file" || origin->second == "flag");
      if (typed && !is_axis(key) && key != "run.repeats" && key != "version") settings.emplace_back(key, value);
    }
  };
  add_typed(side.settings, side.origins);
  add_typed(point.settings, point.origins);
  settings.insert(settings.end(), point.at.begin(), point.at.end());
  return settings;
}

void CheckCanRun(const std::vector<Side>& sides) {
  for (const Side& side : sides) {
    if (side.predicted)
      throw base::UsageError(fmt::format(
          "'{}' is a prediction, which is the same each time; only runs can be run again",
          base::Printable(side.name)));
    const auto version = side.circumstances.find("version");
    const auto first = sides[0].circumstances.find("version");
    if (version != side.circumstances.end() && first != sides[0].circumstances.end() &&
        version->second != first->second)
      throw base::UsageError(fmt::format(
          "'{}' and '{}' were made by pipesim {} and {}; running both with this one would compare "
          "nothing. Repeat each with its own program: pipesim run ... --repeats {}",
          base::Printable(sides[0].name), base::Printable(side.name), first->second,
          version->second, kRerunRounds));
  }
}

std::string NameOfMember(const std::vector<Side>& sides, std::size_t side, std::size_t point) {
  const std::string& name = sides[side].points[point].name;
  return fmt::format("{} ({}{})", compare::LetterOf(side), sides[side].name,
                     name.empty() ? "" : ", " + name);
}

/// New figures of a point; a side of one run is replaced as a whole.
void Replace(std::vector<Side>& sides, std::size_t side, std::size_t point,
             const std::vector<report::Document>& runs) {
  Side fresh = report::SideOf(Combined(runs), sides[side].name);
  if (!sides[side].is_sweep) {
    sides[side] = std::move(fresh);
    return;
  }
  compare::Point& old = sides[side].points[point];
  fresh.points[0].at = old.at;
  fresh.points[0].name = old.name;
  fresh.points[0].settings = std::move(old.settings);
  fresh.points[0].origins = std::move(old.origins);
  old = std::move(fresh.points[0]);
  old.promises.clear();
}

class Comparing {
 public:
  Comparing(const Arguments& arguments, const ComparePlan& plan)
      : arguments_(arguments), plan_(plan) {
    report_.rules.threshold = plan.gate.threshold;
  }

  void Do() {
    if (plan_.experiments)
      RunExperiments();
    else
      ReadReports();
  }

  /// Without comparisons where nothing was left to compare.
  report::CompareReport& report() { return report_; }

 private:
  bool Show() const { return !arguments_.Has("quiet"); }

  void Judge() { report_.comparisons = CompareAll(report_.sides, report_.rules); }

  void Note(const RunsInTurn& runs, std::size_t asked) {
    report::Interleaving& sum =
        report_.interleaving ? *report_.interleaving : report_.interleaving.emplace();
    sum.rounds_asked += asked;
    sum.rounds_done += runs.FewestDone();
    report_.interrupted = report_.interrupted || runs.interrupted;
    report_.failures.insert(report_.failures.end(), runs.failures.begin(), runs.failures.end());
  }

  void ReadReports() {
    for (const std::string& file : plan_.files) report_.sides.push_back(ReadSide(file));
    CheckFirst(report_.sides.front());
    Judge();
    if (!plan_.interleave && !plan_.rerun) return;
    CheckCanRun(report_.sides);
    const std::size_t rounds = plan_.rounds.value_or(plan_.rerun ? kRerunRounds : kRounds);
    base::StopFlag stop;
    const InterruptHandler interrupt(stop, InterruptHandler::Second::kIsAsTheFirst);
    for (const RunGroup& group : GroupsOf(report_.comparisons, plan_.rerun))
      if (!stop.IsSet()) RunGroupAgain(group, rounds, stop);
    Judge();
  }

  void RunGroupAgain(const RunGroup& group, std::size_t rounds, const base::StopFlag& stop) {
    std::vector<Contestant> contestants;
    for (const auto& [side, point] : group.members)
      contestants.push_back(ContestantOfSettings(
          arguments_, NameOfMember(report_.sides, side, point),
          SettingsToRun(report_.sides[side], report_.sides[side].points[point])));
    RunsInTurn runs;
    RunInTurn(contestants, rounds, stop, Show(), runs);
    Note(runs, rounds);
    if (runs.FewestDone() == 0) return;
    for (std::size_t i = 0; i < group.members.size(); ++i)
      Replace(report_.sides, group.members[i].first, group.members[i].second, runs.of_each[i]);
  }

  void RunExperiments() {
    std::vector<Contestant> contestants;
    for (std::size_t i = 0; i < plan_.files.size(); ++i)
      contestants.push_back(
          ContestantOfFile(arguments_, fmt::format("{} ({})", compare::LetterOf(i), plan_.files[i]),
                           plan_.files[i]));
    base::StopFlag stop;
    const InterruptHandler interrupt(stop, InterruptHandler::Second::kIsAsTheFirst);
    RunsInTurn runs;
    std::size_t asked = plan_.rounds.value_or(kRounds);
    RunInTurn(contestants, asked, stop, Show(), runs);
    TakeSides(runs);
    const bool go_on = plan_.rerun && !runs.interrupted && runs.failures.empty();
    if (go_on && !GroupsOf(report_.comparisons, true).empty()) {
      RunInTurn(contestants, kRerunRounds, stop, Show(), runs);
      asked += kRerunRounds;
      TakeSides(runs);
    }
    Note(runs, asked);
  }

  void TakeSides(const RunsInTurn& runs) {
    if (runs.FewestDone() == 0) return;
    report_.sides.clear();
    for (std::size_t i = 0; i < plan_.files.size(); ++i)
      report_.sides.push_back(report::SideOf(Combined(runs.of_each[i]), plan_.files[i]));
    Judge();
  }

  const Arguments& arguments_;
  const ComparePlan& plan_;
  report::CompareReport report_;
};

/// Where something is UNSURE and can be run: the command that settles it.
void AddNextCommand(const Arguments& arguments, const ComparePlan& plan,
                    report::CompareReport& report) {
  const bool any = compare::TallyOf(report.comparisons).unsure > 0;
  const bool all_run = std::none_of(report.sides.begin(), report.sides.end(),
                                    [](const Side& side) { return side.predicted; });
  if (!any || !all_run || report.interrupted) return;
  Arguments again = arguments;
  std::erase_if(again.options, [](const Argument& argument) {
    return argument.option->name == "rerun" || argument.option->name == "repeats";
  });
  report.next_argv = WithChanges(again, {});
  report.next_text = "more runs in turn settle what is UNSURE";
  report.next_argv.insert(report.next_argv.end(), {"--rerun", "unsure"});
  if (plan.rerun || plan.rounds)
    report.next_argv.insert(report.next_argv.end(),
                            {"--repeats", std::to_string(std::max(kRounds, 2 * plan.rounds.value_or(kRerunRounds)))});
}

ExitCode CodeOf(const report::CompareReport& report, const RequirementResult& gate) {
  if (report.interrupted) return ExitCode::kInterrupted;
  return report.failures.empty() ? gate.code : ExitCode::kRunFailed;
}

ExitCode NothingToCompare(const report::CompareReport& report) {
  for (const std::string& failure : report.failures)
    base::PrintError("pipesim: " + base::Printable(failure) + "\n");
  base::PrintError(
      fmt::format("pipesim: {} before each side had a run, so there is nothing to "
                  "compare\n",
                  report.interrupted ? "interrupted" : "the runs ended"));
  return report.interrupted ? ExitCode::kInterrupted : ExitCode::kRunFailed;
}

bool NeedsTorchForRuns(const Arguments& arguments, const ComparePlan& plan) {
  if (!plan.experiments) return plan.interleave || plan.rerun;
  return std::any_of(plan.files.begin(), plan.files.end(), [&](const std::string& file) {
    return NeedsTorch(ExperimentOfFile(arguments, file));
  });
}

}  // namespace

ExitCode Compare(const Arguments& arguments) {
  const ComparePlan plan = ComparePlanOf(arguments);
  if (arguments.Has("needs-libtorch")) {
    PrintOut(NeedsTorchForRuns(arguments, plan) ? "yes\n" : "no\n");
    return ExitCode::kOk;
  }
  Exports exports(arguments);
  Comparing comparing(arguments, plan);
  comparing.Do();
  LeaveOnStopSignalAfter(1);
  report::CompareReport& report = comparing.report();
  if (report.comparisons.empty()) return NothingToCompare(report);
  report.context = ReadContext();
  report.context.argv = arguments.typed;
  AddNextCommand(arguments, plan, report);
  const RequirementResult gate = CheckGate(plan.gate, report.sides, report.comparisons);
  return Deliver(arguments, exports, {report::ToJson(report), gate.lines, CodeOf(report, gate)});
}

}  // namespace pipesim::app
