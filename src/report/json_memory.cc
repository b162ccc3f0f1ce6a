#include "report/json_parts.h"
#include "report/memory_report.h"

namespace pipesim::report {

Document ToJson(const MemoryReport& report) {
  Document document = HeadOf(report.context, "memory");
  const spec::Experiment& experiment = report.experiment;
  document["experiment"] = report.matmul ? Document(nullptr) : ExperimentSection(experiment);
  document["question"] = {
      {"what", report.matmul ? "matmul" : "training step"},
      {"model", report.matmul ? Document(nullptr) : TextOrNull(experiment.model.name)},
      {"size", report.matmul.value_or(experiment.loader.batch_size)}};
  document["device"] = {{"name", TextValue(report.device)},
                        {"device_name", TextOrNull(report.device_name)},
                        {"described_by", report.reality == Reality::kReal ? "this machine" : "a preset"},
                        {"memory_bytes", report.memory.count}};
  Document parts = Document::array();
  for (const cost::MemoryPart& part : report.plan.parts)
    parts.push_back({{"what", TextValue(part.what)}, {"bytes", NumberValue(part.bytes)}});
  document["parts"] = std::move(parts);
  document["left_out"] = TextArray(report.plan.left_out);
  document["total_bytes"] = NumberValue(report.plan.Total());
  document["free_bytes"] = report.free.count;
  document["fits"] = report.Fits();
  document["largest"] = report.largest > 0 ? Document(report.largest) : nullptr;
  return document;
}

}  // namespace pipesim::report
