// The diagnosis and the ladder.
#include "diagnose/timeline.h"
#include "report/json_parts.h"

namespace pipesim::report {
namespace {

/// null for an upper bound.
Document TakesValue(diagnose::Takes takes) {
  switch (takes) {
    case diagnose::Takes::kFlag:
      return "flag";
    case diagnose::Takes::kCode:
      return "code";
    case diagnose::Takes::kMemory:
      return "memory";
    case diagnose::Takes::kDevice:
      return "device";
    case diagnose::Takes::kNothing:
      break;
  }
  return nullptr;
}

Document FullValue(diagnose::Full full) {
  switch (full) {
    case diagnose::Full::kYes:
      return "yes";
    case diagnose::Full::kNo:
      return "no";
    case diagnose::Full::kUnsure:
      return "unsure";
    case diagnose::Full::kUnknown:
      break;
  }
  return nullptr;
}

Document VerdictOrNull(const std::optional<diagnose::Verdict>& verdict) {
  if (!verdict) return nullptr;
  return diagnose::ToText(*verdict);
}

Document EvidenceValue(const std::vector<diagnose::Evidence>& evidence) {
  Document array = Document::array();
  for (const diagnose::Evidence& item : evidence)
    array.push_back({{"text", TextValue(item.text)},
                     {"field", TextValue(item.field)},
                     {"value", NumberValue(item.value)},
                     {"limit", NumberValue(item.limit)}});
  return array;
}

Document MissingValue(const std::vector<diagnose::Missing>& missing) {
  Document array = Document::array();
  for (const diagnose::Missing& item : missing)
    array.push_back({{"signal", TextValue(item.signal)}, {"reason", TextValue(item.reason)}});
  return array;
}

Document TriedValue(const std::optional<diagnose::TriedGain>& tried) {
  if (!tried) return nullptr;
  return {{"samples_per_s", NumberValue(tried->samples_per_s)},
          {"gain", NumberValue(tried->gain)},
          {"gain_interval", IntervalValue(tried->gain_interval)},
          {"refutes", tried->refutes}};
}

Document WhatIfValue(const std::vector<diagnose::WhatIf>& changes) {
  Document array = Document::array();
  for (const diagnose::WhatIf& change : changes)
    array.push_back(
        {{"change", TextValue(change.change)},
         {"set", SettingsValue(change.set)},
         {"samples_per_s", NumberValue(change.samples_per_s)},
         {"gain", NumberValue(change.gain)},
         {"gain_interval", IntervalValue(change.gain_interval)},
         {"then", VerdictOrNull(change.then)},
         {"takes", TakesValue(change.takes)},
         {"changes_training", change.changes_training},
         {"feasible_here", change.feasible_here ? Document(*change.feasible_here) : nullptr},
         {"tried", TriedValue(change.tried)}});
  return array;
}

Document RecommendationValue(const std::optional<diagnose::Recommendation>& recommendation,
                             const std::vector<std::string>& next_argv) {
  if (!recommendation) return nullptr;
  return {{"argv", TextArray(next_argv)},
          {"set", SettingsValue(recommendation->set)},
          {"pytorch", TextOrNull(recommendation->pytorch)},
          {"text", TextValue(recommendation->text)},
          {"samples_per_s", NumberValue(recommendation->samples_per_s)},
          {"gain", NumberValue(recommendation->gain)},
          {"tried", recommendation->tried}};
}

Document EnoughValue(const std::optional<diagnose::EnoughWorkers>& enough) {
  if (!enough) return nullptr;
  return {{"workers", enough->workers},
          {"prefetch_factor", enough->prefetch_factor},
          {"share_of_best", NumberValue(enough->share_of_best)},
          {"bytes_per_worker", enough->bytes_per_worker},
          {"more_may_gain", enough->more_may_gain}};
}

Document ObservedValue(const std::optional<diagnose::ObservedCheck>& observed) {
  if (!observed) return nullptr;
  Document quantities = Document::array();
  for (const diagnose::ObservedQuantity& one : observed->quantities)
    quantities.push_back({{"name", TextValue(one.name)},
                          {"observed", NumberValue(one.observed)},
                          {"described", NumberValue(one.described)},
                          {"differs", one.differs}});
  return {{"differs", observed->Differs()},
          {"quantities", quantities},
          {"mend", TextArray(observed->mend)}};
}

}  // namespace

Document LadderSection(const diagnose::Diagnosis& diagnosis) {
  Document array = Document::array();
  for (const diagnose::LadderRow& row : diagnosis.ladder)
    array.push_back({{"resource", TextValue(row.resource)},
                     {"used", NumberValue(row.used)},
                     {"limit", NumberValue(row.limit)},
                     {"unit", TextValue(row.unit)},
                     {"full", FullValue(row.full)},
                     {"is_limit", row.is_limit}});
  return array;
}

Document DiagnosisSection(const diagnose::Diagnosis& diagnosis,
                          const std::vector<std::string>& next_argv) {
  Document candidates = Document::array();
  for (const diagnose::Verdict verdict : diagnosis.candidates)
    candidates.push_back(diagnose::ToText(verdict));
  return {
      {"bottleneck", diagnose::ToText(diagnosis.bottleneck)},
      {"confidence", ToText(diagnosis.confidence)},
      {"side", diagnosis.side ? Document(diagnose::ToText(*diagnosis.side)) : Document(nullptr)},
      {"second", VerdictOrNull(diagnosis.second)},
      {"headline", TextValue(diagnosis.headline)},
      {"evidence", EvidenceValue(diagnosis.evidence)},
      {"ruled_out", TextArray(diagnosis.ruled_out)},
      {"candidates", candidates},
      {"missing", MissingValue(diagnosis.missing)},
      {"what_if", WhatIfValue(diagnosis.what_if)},
      {"recommendation", RecommendationValue(diagnosis.recommendation, next_argv)},
      {"enough", EnoughValue(diagnosis.enough)},
      {"model_error", NumberValue(diagnosis.model_error)},
      {"observed", ObservedValue(diagnosis.observed)},
      {"probes_s", NumberValue(diagnosis.probes_s)}};
}

}  // namespace pipesim::report
