// Runs or predicts every point of a sweep, keeps them in a journal, and reports the answer.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <memory>

#include "app/command_line/arguments.h"
#include "app/delivery.h"
#include "app/process/interrupt.h"
#include "app/progress_line.h"
#include "app/session.h"
#include "app/commands/sweep_journal.h"
#include "app/commands/sweep_plan.h"
#include "app/commands/sweep_points.h"
#include "base/memory.h"
#include "base/standard_streams.h"
#include "base/text.h"
#include "report/sweep_report.h"

namespace pipesim::app {
namespace {

using base::ExitCode;
using sweep::Engine;
using sweep::PointResult;

// ---- the points

/// Keeps finished points and says on stderr how far it is.
class Progressing {
 public:
  Progressing(const SweepPoints& points, const SweepPlan& plan, sweep::Journal* journal,
              PointResults& done)
      : points_(points),
        journal_(journal),
        done_(done),
        line_(stderr, isatty(STDERR_FILENO) != 0),
        show_(plan.show),
        begin_(std::chrono::steady_clock::now()) {
    for (const std::size_t point :
         sweep::OrderOf(points.sweep().Points(), points.first().run.seed, plan.shard)) {
      ++asked_;
      if (!done.contains(point)) left_.push_back(point);
    }
    all_left_ = left_.size();
  }

  const std::vector<std::size_t>& left() const { return left_; }
  std::size_t asked() const { return asked_; }

  void Keep(PointResult result) {
    if (journal_ != nullptr) journal_->Append(report::PointRecord(result));
    done_[result.point] = std::move(result);
    ++finished_;
  }
  /// Before a real run.
  void ShowRun(std::size_t point) {
    if (show_)
      base::PrintError(fmt::format("point {} of {}: {}{}\n", done_.size() + 1, asked_,
                                   base::Printable(points_.NameOf(point)), Remaining()));
  }
  void ShowPredicted(std::size_t predicted) {
    if (!show_) return;
    line_.ShowPreparing("predicting" + Remaining(predicted),
                        static_cast<double>(predicted) / static_cast<double>(all_left_));
  }

 private:
  /// ", about 3 min left"; empty at the beginning.
  std::string Remaining(std::optional<std::size_t> finished = std::nullopt) const {
    const auto count = static_cast<double>(finished.value_or(finished_));
    if (count == 0) return "";
    const std::chrono::duration<double> gone = std::chrono::steady_clock::now() - begin_;
    const double left_s = gone.count() / count * (static_cast<double>(all_left_) - count);
    return left_s < 90 ? fmt::format(", about {:.0f} s left", left_s)
                       : fmt::format(", about {:.0f} min left", left_s / 60);
  }

  const SweepPoints& points_;
  sweep::Journal* const journal_;
  PointResults& done_;
  ProgressLine line_;
  const bool show_;
  const std::chrono::steady_clock::time_point begin_;
  std::vector<std::size_t> left_;  ///< in their order
  std::size_t asked_ = 0, all_left_ = 0, finished_ = 0;
};

void PredictAll(const SweepPoints& points, const base::StopFlag& stop, Progressing& progress) {
  std::size_t predicted = 0;
  points.Predict(progress.left(), stop, [&](std::size_t point, const sweep::Outcome& outcome) {
    progress.Keep({.point = point, .run = std::nullopt, .predicted = outcome});
    progress.ShowPredicted(++predicted);
  });
}

/// Predictions come first: they would take cores from the runs.
void RunAll(const SweepPoints& points, Engine engine, const base::StopFlag& stop,
            Progressing& progress) {
  std::map<std::size_t, sweep::Outcome> predicted;
  if (engine == Engine::kBoth)
    points.Predict(progress.left(), stop, [&](std::size_t point, const sweep::Outcome& outcome) {
      predicted[point] = outcome;
      progress.ShowPredicted(predicted.size());
    });
  for (const std::size_t point : progress.left()) {
    if (stop.IsSet()) return;
    progress.ShowRun(point);
    PointResult result{.point = point, .run = points.Run(point, stop), .predicted = {}};
    if (!result.run) return;
    if (predicted.contains(point)) result.predicted = predicted[point];
    progress.Keep(std::move(result));
  }
}

// ---- the answer

/// What to change for the setting that is enough, else for the best one.
Changes NextChanges(const SweepPoints& points, const report::SweepReport& report) {
  const sweep::Analysis& analysis = report.analysis;
  const auto& enough = analysis.enough;
  if (enough->point) return points.ChangesAt(report.results[*enough->point].point);
  Changes changes = points.ChangesAt(report.results[*analysis.best].point);
  const auto set = [&](const std::string& key, std::int64_t value) {
    std::erase_if(changes, [&](const auto& change) { return change.first == key; });
    changes.emplace_back(key, std::to_string(value));
  };
  set("loader.workers", enough->workers);
  set("loader.prefetch_factor", enough->prefetch_factor);
  return changes;
}

void AddNext(const Arguments& arguments, const SweepPoints& points, report::SweepReport& report) {
  const sweep::Analysis& analysis = report.analysis;
  if (!analysis.best) return;
  const bool predicted = report.engine == Engine::kPredict;
  const bool smaller = analysis.enough->point != analysis.best;
  report.next_text = smaller ? "confirm the smaller setting" : "the whole report of this point";
  report.next_argv = WithChanges(ForCommand(arguments, predicted ? "predict" : "run"),
                                 NextChanges(points, report));
}

report::SweepReport ReportOf(const Arguments& arguments, const SweepPoints& points,
                             const SweepPlan& plan, const sweep::PointSettings& settings,
                             const PointResults& done, bool interrupted) {
  report::SweepReport report;
  report.context = ReadContext();
  report.context.argv = arguments.typed;
  report.experiment = points.first();
  report.settings = settings;
  report.sweep = points.sweep();
  for (const spec::SweepAxis& axis : report.sweep.axes) report.axis_names.push_back(points.AxisName(axis));
  report.engine = plan.engine;
  report.repeats = points.repeats();
  report.shard = plan.shard;
  report.points_asked = PointsAsked(points, plan);
  for (const auto& [point, result] : done) report.results.push_back(result);
  report.analysis = sweep::Analyse(report.sweep, report.results);
  if (const auto best = report.analysis.best; best && plan.engine == Engine::kPredict) {
    PointResult& result = report.results[*best];
    points.FindEnough(result.point, *result.predicted);
    report.analysis = sweep::Analyse(report.sweep, report.results);
  }
  report.interrupted = interrupted;
  if (plan.journal) report.journal = plan.journal->string();
  AddNext(arguments, points, report);
  return report;
}

ExitCode CodeOf(const report::SweepReport& report) {
  if (report.interrupted) return ExitCode::kInterrupted;
  const bool all_ok = std::all_of(report.results.begin(), report.results.end(),
                                  [](const PointResult& result) { return result.main().ok(); });
  return all_ok && report.results.size() == report.points_asked ? ExitCode::kOk
                                                                : ExitCode::kRunFailed;
}

std::string DryRunText(const SweepPoints& points, const SweepPlan& plan) {
  auto order = sweep::OrderOf(points.sweep().Points(), points.first().run.seed, plan.shard);
  if (plan.engine == Engine::kPredict) std::sort(order.begin(), order.end());  // as SweepPoints::Predict
  std::string text =
      fmt::format("{} of {} points, {} repeat{} each, engine {}, seed {}\n", order.size(),
                  points.sweep().Points(), points.repeats(), points.repeats() == 1 ? "" : "s",
                  report::EngineWord(plan.engine), points.first().run.seed);
  const PointResults done = DonePoints(points, plan);
  std::erase_if(order, [&](std::size_t point) { return done.contains(point); });
  if (plan.journal) text += "Journal: " + base::Printable(plan.journal->string()) + "\n";
  if (!done.empty()) text += fmt::format("{} done, {} left to run\n", done.size(), order.size());
  for (std::size_t i = 0; i < order.size(); ++i)
    text += fmt::format("{:>4}  {}\n", i + 1, base::Printable(points.NameOf(order[i])));
  return text;
}

bool AnyNeedsTorch(const SweepPoints& points) {
  for (std::size_t point = 0; point < points.sweep().Points(); ++point)
    if (NeedsTorch(points.At(point))) return true;
  return false;
}

report::SweepReport SweepInterruptibly(const Arguments& arguments, const SweepPoints& points,
                                       const SweepPlan& plan) {
  PointResults done;
  const sweep::PointSettings settings = points.Settings();
  const report::SweepReport empty = ReportOf(arguments, points, plan, settings, done, false);
  if (plan.merge)
    return ReportOf(arguments, points, plan, settings, MergeShards(points, plan, empty), false);
  const std::unique_ptr<sweep::Journal> journal = OpenJournal(points, plan, empty, done);
  base::StopFlag stop;
  const InterruptHandler interrupt(stop, InterruptHandler::Second::kLeaves);
  Progressing progress(points, plan, journal.get(), done);
  if (plan.engine == Engine::kPredict)
    PredictAll(points, stop, progress);
  else
    RunAll(points, plan.engine, stop, progress);
  return ReportOf(arguments, points, plan, settings, done, stop.IsSet() && done.size() < progress.asked());
}

}  // namespace

ExitCode Sweep(const Arguments& arguments) {
  const Engine engine = EngineOf(arguments);
  const SweepPoints points(arguments, BasisOf(arguments), engine != Engine::kPredict);
  if (arguments.Has("needs-libtorch")) {
    PrintOut(engine != Engine::kPredict && AnyNeedsTorch(points) ? "yes\n" : "no\n");
    return ExitCode::kOk;
  }
  const SweepPlan plan = PlanOf(arguments, points.first());
  if (plan.shard_from_slurm && plan.show)
    base::PrintError(fmt::format("shard {} of {}, from SLURM_ARRAY_TASK_ID\n", plan.shard.index,
                                 plan.shard.count));
  if (arguments.Has("dry-run")) {
    PrintOut(DryRunText(points, plan));
    return ExitCode::kOk;
  }
  base::KeepFreedMemory();
  Exports exports(arguments);
  const report::SweepReport report = SweepInterruptibly(arguments, points, plan);
  return Deliver(arguments, exports, {report::ToJson(report), {}, CodeOf(report)});
}

}  // namespace pipesim::app
