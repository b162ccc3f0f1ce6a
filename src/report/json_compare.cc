// The document of a comparison.
#include "report/compare_report.h"
#include "report/json_parts.h"

namespace pipesim::report {
namespace {

using compare::Comparison;
using compare::Move;
using compare::Point;
using compare::PointComparison;
using compare::Side;

Document RegressionValue(const std::optional<compare::Regression>& regression) {
  if (!regression) return nullptr;
  switch (*regression) {
    case compare::Regression::kYes:
      return "yes";
    case compare::Regression::kOpen:
      return "open";
    case compare::Regression::kNo:
      break;
  }
  return "no";
}

Document PointSideValue(const Point& point) {
  Document value = {
      {"samples_per_s", nullptr}, {"half_width", nullptr}, {"unit", nullptr}, {"count", nullptr}};
  if (point.rate)
    value = {{"samples_per_s", NumberValue(point.rate->rate)},
             {"half_width", NumberValue(point.rate->RelativeHalfWidth())},
             {"unit", compare::ToText(point.rate->unit)},
             {"count", point.rate->count}};
  value["step_time_s"] = NumberValue(point.step_time_s);
  value["accelerator_utilization"] = NumberValue(point.accelerator_utilization);
  value["bottleneck"] = TextOrNull(point.bottleneck);
  value["confidence"] = TextOrNull(point.confidence);
  value["failure"] = TextOrNull(point.failure);
  return value;
}

Document MovesValue(const std::vector<Move>& moves) {
  Document array = Document::array();
  for (const Move& move : moves)
    array.push_back({{"name", TextValue(move.name)},
                     {"a_s", NumberValue(move.a_s)},
                     {"b_s", NumberValue(move.b_s)},
                     {"difference_s", NumberValue(move.b_s - move.a_s)}});
  return array;
}

Document StepMovesValue(const std::optional<compare::StepMoves>& step) {
  if (!step) return nullptr;
  return {{"clock", TextValue(step->clock)},
          {"of", step->per_sample ? "sample" : "step"},
          {"stages", MovesValue(step->moves)}};
}

Document PromisedValue(const std::optional<compare::Promised>& promised) {
  if (!promised) return nullptr;
  return {{"samples_per_s", NumberValue(promised->samples_per_s)},
          {"error", NumberValue(promised->error)}};
}

Document ChangeInterval(const compare::Difference& difference) {
  if (!difference.low || difference.exact) return nullptr;
  return {{"low", NumberValue(difference.low)},
          {"high", NumberValue(difference.high)},
          {"level", 0.95},
          {"method", "Welch's t on log rates"}};
}

Document PointComparisonValue(const PointComparison& point, const Point& a, const Point& b) {
  Document value = {{"name", TextValue(a.name)}};
  Document at = Document::object();
  for (const auto& [key, text] : a.at) at[TextValue(key).get<std::string>()] = TextValue(text);
  value["at"] = at;
  value["call"] = point.call ? Document(compare::ToText(*point.call)) : Document(nullptr);
  const auto& difference = point.difference;
  value["change"] = difference ? NumberValue(difference->change) : nullptr;
  value["change_interval"] = difference ? ChangeInterval(*difference) : Document(nullptr);
  value["noise_floor"] = difference ? NumberValue(difference->noise_floor) : nullptr;
  value["exact"] = difference && difference->exact;
  value["regression"] = RegressionValue(point.regression);
  value["a"] = PointSideValue(a);
  value["b"] = PointSideValue(b);
  value["verdict_changed"] = point.verdict_changed;
  value["where"] = StepMovesValue(point.step);
  value["demands"] = MovesValue(point.demands);
  value["promised"] = PromisedValue(point.promised);
  return value;
}

Document ChangedValue(const std::vector<compare::ChangedSetting>& changed) {
  Document array = Document::array();
  for (const compare::ChangedSetting& each : changed)
    array.push_back({{"key", TextValue(each.key)},
                     {"name", TextValue(compare::ShortName(each.key))},
                     {"a", TextOrNull(each.a)},
                     {"b", TextOrNull(each.b)}});
  return array;
}

Document CautionsValue(const std::vector<compare::Caution>& cautions) {
  Document array = Document::array();
  for (const compare::Caution& caution : cautions)
    array.push_back({{"code", caution.code}, {"text", TextValue(caution.text)}});
  return array;
}

Document ComparisonValue(const std::vector<Side>& sides, const Comparison& comparison) {
  Document points = Document::array();
  for (const PointComparison& point : comparison.points)
    points.push_back(PointComparisonValue(point, sides[0].points[point.a],
                                          sides[comparison.side].points[point.b]));
  return {{"a", "A"},
          {"b", compare::LetterOf(comparison.side)},
          {"changed", ChangedValue(comparison.changed)},
          {"cautions", CautionsValue(comparison.cautions)},
          {"points", points},
          {"only_a", TextArray(comparison.only_a)},
          {"only_b", TextArray(comparison.only_b)}};
}

Document SidesValue(const std::vector<Side>& sides) {
  Document array = Document::array();
  for (std::size_t i = 0; i < sides.size(); ++i) {
    Document circumstances = Document::object();
    for (const auto& [name, value] : sides[i].circumstances) circumstances[name] = TextValue(value);
    array.push_back({{"letter", compare::LetterOf(i)},
                     {"name", TextValue(sides[i].name)},
                     {"kind", sides[i].is_sweep ? "sweep" : "run"},
                     {"predicted", sides[i].predicted},
                     {"circumstances", circumstances},
                     {"points", sides[i].points.size()}});
  }
  return array;
}

Document OverallValue(const CompareReport& report) {
  const compare::Tally tally = compare::TallyOf(report.comparisons);
  const bool judged = report.rules.threshold.has_value();
  return {{"call", compare::ToText(tally.Overall())},
          {"points", tally.points},
          {"faster", tally.faster},
          {"slower", tally.slower},
          {"same", tally.same},
          {"unsure", tally.unsure},
          {"failed", tally.failed},
          {"regressions", judged ? Document(tally.regressions) : Document(nullptr)},
          {"open", judged ? Document(tally.open) : Document(nullptr)},
          {"missing", tally.missing}};
}

Document InterleavingValue(const std::optional<Interleaving>& interleaving) {
  if (!interleaving) return nullptr;
  return {{"rounds_asked", interleaving->rounds_asked}, {"rounds_done", interleaving->rounds_done}};
}

}  // namespace

Document ToJson(const CompareReport& report) {
  Document comparisons = Document::array();
  for (const Comparison& comparison : report.comparisons)
    comparisons.push_back(ComparisonValue(report.sides, comparison));
  Document document = HeadOf(report.context, "compare");
  document["rules"] = {{"alpha", compare::kAlpha},
                       {"fewest", compare::kFewest},
                       {"threshold", NumberValue(report.rules.threshold)}};
  document["overall"] = OverallValue(report);
  document["sides"] = SidesValue(report.sides);
  document["comparisons"] = comparisons;
  document["interleaved"] = InterleavingValue(report.interleaving);
  document["interrupted"] = report.interrupted;
  document["failures"] = TextArray(report.failures);
  document["next"] = {{"text", TextOrNull(report.next_text)},
                      {"argv", TextArray(report.next_argv)}};
  return document;
}

}  // namespace pipesim::report
