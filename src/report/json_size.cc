#include "diagnose/what_if.h"
#include "report/json_parts.h"
#include "report/size_report.h"

namespace pipesim::report {
namespace {

using advise::Metric;
using advise::SizeTry;

Document TryValue(const SizeReport& report, const SizeTry& attempt) {
  const auto& rates = attempt.rates;
  return {{"value", NumberValue(attempt.value)},
          {"setting", advise::SettingText(*report.axis, attempt.value)},
          {"meets", attempt.meets},
          {"samples_per_s", rates ? NumberValue(rates->samples_per_s) : nullptr},
          {"accelerator_utilization", rates ? NumberValue(rates->utilization) : nullptr},
          {"failure", TextOrNull(attempt.failure)}};
}

Document TryOrNull(const SizeReport& report, const std::optional<SizeTry>& attempt) {
  return attempt ? TryValue(report, *attempt) : nullptr;
}

Document Tries(const SizeReport& report) {
  Document array = Document::array();
  for (const SizeTry& attempt : report.found.tried) array.push_back(TryValue(report, attempt));
  return array;
}

/// How far the answer lies above the target, the present value above the answer, and what is left
/// to gain on the side of the data.
Document Headroom(const SizeReport& report) {
  const auto& answer = report.found.answer;
  if (!answer) return nullptr;
  const auto reached = answer->rates->Of(report.question.metric);
  const auto& rows = report.diagnosis.what_if;
  const auto free = diagnose::FindRow(rows, diagnose::kFreeData);
  std::optional<double> over, gain;
  if (reached) over = *reached / report.question.target - 1;
  if (free) gain = rows[*free].gain;
  return {{"over_target", NumberValue(over)},
          {"present_over_answer",
           answer->value > 0 ? NumberValue(report.present.value / answer->value) : nullptr},
          {"free_data_gain", NumberValue(gain)}};
}

Document Binds(const diagnose::Diagnosis& diagnosis) {
  return {{"bottleneck", diagnose::ToText(diagnosis.bottleneck)},
          {"confidence", diagnose::ToText(diagnosis.confidence)},
          {"second", diagnosis.second ? Document(diagnose::ToText(*diagnosis.second)) : nullptr},
          {"headline", TextValue(diagnosis.headline)}};
}

Document Next(const SizeReport& report) {
  const auto& recommended = report.diagnosis.recommendation;
  const bool predicts = report.found.answer.has_value();
  return {{"text", predicts ? Document("the whole prediction at this value")
                            : TextOrNull(recommended ? recommended->text : "")},
          {"argv", TextArray(report.next_argv)}};
}

}  // namespace

Document ToJson(const SizeReport& report) {
  Document document = HeadOf(report.context, "size");
  const bool utilization = report.question.metric == Metric::kUtilization;
  document["experiment"] = ExperimentSection(report.experiment);
  document["prediction"] = PredictionSection(report.prediction);
  document["target"] = {{"text", TextValue(report.target)},
                        {"metric", utilization ? "accelerator_utilization" : "samples_per_s"},
                        {"value", NumberValue(report.question.target)}};
  document["solve"] = {{"name", report.axis->name},
                       {"key", report.axis->path},
                       {"answer_is", report.question.falls ? "most" : "least"},
                       {"whole", report.axis->whole}};
  document["answer"] = TryOrNull(report, report.found.answer);
  document["neighbor"] = TryOrNull(report, report.found.neighbor);
  document["present"] = TryValue(report, report.present);
  document["best"] = TryOrNull(report, report.found.best);
  document["headroom"] = Headroom(report);
  document["binds"] = Binds(report.diagnosis);
  document["next"] = Next(report);
  document["tried"] = Tries(report);
  return document;
}

}  // namespace pipesim::report
