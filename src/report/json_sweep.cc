#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/error.h"
#include "base/text.h"
#include "report/json_parts.h"
#include "report/sweep_report.h"
#include "report/view.h"

namespace pipesim::report {
namespace {

using sweep::Outcome;
using sweep::PointResult;
using sweep::Status;

Document EnoughOfOutcome(const Outcome& outcome) {
  if (!outcome.enough_share) return nullptr;
  return {{"workers", outcome.enough_workers},
          {"prefetch_factor", outcome.enough_prefetch_factor},
          {"share_of_best", NumberValue(outcome.enough_share)}};
}

Document OutcomeValue(const std::optional<Outcome>& outcome) {
  if (!outcome) return nullptr;
  return {{"status", ToText(outcome->status)},
          {"reason", TextOrNull(outcome->reason)},
          {"samples_per_s", NumberValue(outcome->samples_per_s)},
          {"samples_per_s_low", NumberValue(outcome->samples_per_s_low)},
          {"samples_per_s_high", NumberValue(outcome->samples_per_s_high)},
          {"step_time_s", NumberValue(outcome->step_time_s)},
          {"accelerator_utilization", NumberValue(outcome->accelerator_utilization)},
          {"bottleneck", TextOrNull(outcome->bottleneck)},
          {"confidence", TextOrNull(outcome->confidence)},
          {"workers", outcome->workers},
          {"queued_bytes", outcome->queued_bytes},
          {"enough", EnoughOfOutcome(*outcome)},
          {"wall_s", NumberValue(outcome->wall_s)},
          {"limit_s", NumberValue(outcome->limit_s)}};
}

std::optional<Outcome> ReadOutcome(View value) {
  if (!value.IsPresent()) return std::nullopt;
  Outcome outcome;
  outcome.status = sweep::StatusNamed(value.At("status").Text());
  outcome.reason = value.At("reason").Text();
  outcome.samples_per_s = value.At("samples_per_s").Number();
  outcome.samples_per_s_low = value.At("samples_per_s_low").Number();
  outcome.samples_per_s_high = value.At("samples_per_s_high").Number();
  outcome.step_time_s = value.At("step_time_s").Number();
  outcome.accelerator_utilization = value.At("accelerator_utilization").Number();
  outcome.bottleneck = value.At("bottleneck").Text();
  outcome.confidence = value.At("confidence").Text();
  outcome.workers = value.At("workers").Whole();
  outcome.queued_bytes = value.At("queued_bytes").Whole();
  outcome.enough_workers = value.At("enough.workers").Whole();
  outcome.enough_prefetch_factor = value.At("enough.prefetch_factor").Whole();
  outcome.enough_share = value.At("enough.share_of_best").Number();
  outcome.wall_s = value.At("wall_s").Number();
  outcome.limit_s = value.At("limit_s").Number();
  return outcome;
}

/// A value without members where the record is not JSON.
Document ParsedRecord(std::string_view record) {
  return Document::parse(record, nullptr, /*allow_exceptions=*/false);
}

std::string OneLine(const Document& value) {
  return value.dump(-1, ' ', false, Document::error_handler_t::replace);
}

Document ResultValue(const PointResult& result) {
  return {{"point", result.point},
          {"run", OutcomeValue(result.run)},
          {"predicted", OutcomeValue(result.predicted)}};
}

Document AxisSection(const spec::SweepAxis& axis, const std::string& name) {
  Document values = Document::array(), labels = Document::array();
  for (std::size_t at = 0; at < axis.values.size(); ++at) {
    Document texts = Document::array();
    for (const spec::AxisValue& value : axis.values[at]) texts.push_back(TextValue(value.text));
    values.push_back(std::move(texts));
    labels.push_back(TextValue(axis.LabelAt(at)));
  }
  return {{"name", TextValue(name)},
          {"keys", TextArray(axis.keys)},
          {"labels", labels},
          {"values", values}};
}

/// null where all points share all settings.
Document SettingsOfPoints(const sweep::PointSettings& settings) {
  if (settings.sets.empty()) return nullptr;
  Document sets = Document::array();
  for (const sweep::SettingMap& set : settings.sets) sets.push_back(SettingsSection(set));
  return {{"sets", std::move(sets)}, {"of_points", settings.of_point}};
}

Document SweepSection(const SweepReport& report) {
  Document axes = Document::array();
  for (std::size_t i = 0; i < report.sweep.axes.size(); ++i)
    axes.push_back(AxisSection(report.sweep.axes[i], report.axis_names[i]));
  return {{"engine", EngineWord(report.engine)},
          {"axes", axes},
          {"repeats", report.repeats},
          {"seed", report.experiment.run.seed},
          {"points", report.sweep.Points()},
          {"settings", SettingsOfPoints(report.settings)},
          {"shard", {{"index", report.shard.index}, {"count", report.shard.count}}}};
}

Document PointsSection(const SweepReport& report) {
  Document points = Document::array();
  for (std::size_t i = 0; i < report.results.size(); ++i) {
    const PointResult& result = report.results[i];
    Document point = ResultValue(result);
    Document position = Document::array();
    for (const std::size_t at : report.sweep.PositionOf(result.point)) position.push_back(at);
    point["position"] = position;
    point["pareto"] = bool{report.analysis.pareto[i]};
    point["prediction_error"] = NumberValue(sweep::PredictionErrorOf(result));
    points.push_back(std::move(point));
  }
  return points;
}

Document SummarySection(const SweepReport& report) {
  std::size_t ok = 0;
  std::optional<double> wall_s;
  for (const PointResult& result : report.results) {
    if (result.main().ok()) ++ok;
    if (result.main().wall_s) wall_s = wall_s.value_or(0) + *result.main().wall_s;
  }
  return {{"asked", report.points_asked},
          {"done", report.results.size()},
          {"ok", ok},
          {"failed", report.results.size() - ok},
          {"interrupted", report.interrupted},
          {"wall_s", NumberValue(wall_s)}};
}

Document PointOrNull(const SweepReport& report, std::optional<std::size_t> index) {
  if (!index) return nullptr;
  return report.results[*index].point;
}

Document EnoughSection(const SweepReport& report) {
  const auto& enough = report.analysis.enough;
  if (!enough) return nullptr;
  return {{"point", PointOrNull(report, enough->point)},
          {"workers", enough->workers},
          {"prefetch_factor",
           enough->prefetch_factor > 0 ? Document(enough->prefetch_factor) : Document(nullptr)},
          {"share_of_best", NumberValue(enough->share)}};
}

Document StepsSection(const SweepReport& report) {
  Document steps = Document::array();
  for (const sweep::AxisStep& step : report.analysis.steps)
    steps.push_back({{"axis", step.axis}, {"from", step.from}, {"gain", NumberValue(step.gain)}});
  return steps;
}

Document ErrorSection(const std::optional<sweep::PredictionError>& error) {
  if (!error) return nullptr;
  return {{"compared", error->compared},
          {"mean", NumberValue(error->mean)},
          {"worst", NumberValue(error->worst)},
          {"verdicts_agree", error->verdicts_agree}};
}

/// What the points come to.
void AddAnswer(const SweepReport& report, Document& document) {
  document["summary"] = SummarySection(report);
  document["best"] = PointOrNull(report, report.analysis.best);
  document["enough"] = EnoughSection(report);
  document["prediction_error"] = ErrorSection(report.analysis.error);
  document["steps"] = StepsSection(report);
  document["points"] = PointsSection(report);
  document["journal"] = TextOrNull(report.journal);
  document["next"] = {{"text", TextOrNull(report.next_text)},
                      {"argv", TextArray(report.next_argv)}};
}

/// The axes of a document, as far as its points need them.
spec::Sweep SweepOf(View document) {
  spec::Sweep sweep;
  for (const View axis : document.At("sweep.axes").Items()) {
    spec::SweepAxis& one = sweep.axes.emplace_back();
    one.keys = axis.At("keys").Texts();
    for (const View values : axis.At("values").Items()) {
      auto& texts = one.values.emplace_back();
      for (const std::string& text : values.Texts()) texts.push_back({.text = text, .place = {}, .typed = {}});
      texts.resize(one.keys.size());
    }
  }
  return sweep;
}

[[noreturn]] void RefuseJournal(const std::filesystem::path& file, const std::string& why) {
  throw base::EnvironmentError(base::Printable(file.string()) + ": " + why);
}

}  // namespace

std::string_view EngineWord(sweep::Engine engine) {
  switch (engine) {
    case sweep::Engine::kRun:
      return "run";
    case sweep::Engine::kPredict:
      return "predict";
    case sweep::Engine::kBoth:
      break;
  }
  return "both";
}

Document ToJson(const SweepReport& report) {
  Document document = HeadOf(report.context, "sweep");
  document["experiment"] = SettingsSection(report.settings.shared);
  document["sweep"] = SweepSection(report);
  AddAnswer(report, document);
  return document;
}

Document ReadSweepJournal(const std::filesystem::path& file) {
  const bool written = sweep::IsBeingWritten(file);
  const std::vector<std::string> records = sweep::ReadJournal(file);
  if (records.empty() || !ReadIdentityRecord(records.front()))
    RefuseJournal(file, "not the journal of a sweep");
  Document first = ParsedRecord(records.front());
  if (!first.contains("report") || !first["report"].is_object())
    RefuseJournal(file, "the journal of an older pipesim, which holds no report; the same `pipesim "
                        "sweep` with --resume --export json=FILE writes one");
  Document document = std::move(first["report"]);
  const View view(&document, true);
  SweepReport report;
  report.sweep = SweepOf(view);
  std::map<std::size_t, PointResult> results;
  for (std::size_t i = 1; i < records.size(); ++i) {
    const auto result = ReadPointRecord(records[i]);
    if (!result || result->point >= report.sweep.Points())
      RefuseJournal(file, fmt::format("line {} is no point of this sweep", i + 1));
    results[result->point] = *result;
  }
  for (const auto& [point, result] : results) report.results.push_back(result);
  report.points_asked = view.At("summary.asked").Size();
  report.interrupted = !written && report.results.size() < report.points_asked;
  report.analysis = sweep::Analyse(report.sweep, report.results);
  report.journal = file.string();
  AddAnswer(report, document);
  return document;
}

std::string IdentityRecord(const sweep::Identity& identity, const SweepReport& empty) {
  Document values = Document::object();
  for (const auto& [name, value] : identity)
    values[TextValue(name).get<std::string>()] = TextValue(value);
  Document record = Document::object();
  record["sweep"] = std::move(values);
  record["report"] = ToJson(empty);
  return OneLine(record);
}

std::optional<sweep::Identity> ReadIdentityRecord(std::string_view record) {
  const Document document = ParsedRecord(record);
  const View values = View(&document, true).At("sweep");
  if (!values.IsPresent()) return std::nullopt;
  sweep::Identity identity;
  for (const auto& [name, value] : values.Members()) identity[name] = value.Text();
  return identity;
}

std::string PointRecord(const PointResult& result) { return OneLine(ResultValue(result)); }

std::optional<PointResult> ReadPointRecord(std::string_view record) {
  const Document document = ParsedRecord(record);
  const View view(&document, true);
  const std::int64_t point = view.At("point").Whole(-1);
  PointResult result;
  result.run = ReadOutcome(view.At("run"));
  result.predicted = ReadOutcome(view.At("predicted"));
  if (point < 0 || (!result.run && !result.predicted)) return std::nullopt;
  result.point = static_cast<std::size_t>(point);
  return result;
}

}  // namespace pipesim::report
