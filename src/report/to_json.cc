// The document of one run: context, what was asked for, what applied, and the sections in order.
#include <fmt/format.h>

#include <charconv>
#include <string>

#include "report/json_parts.h"
#include "report/report.h"
#include "report/warning_texts.h"
#include "spec/words.h"

namespace pipesim::report {
namespace {

std::string_view TextOf(Reality reality) {
  switch (reality) {
    case Reality::kReal:
      return "real";
    case Reality::kEmulated:
      return "emulated";
    case Reality::kPredicted:
      break;
  }
  return "predicted";
}

/// The setting as the user wrote it; `auto` has been resolved to a device by now.
std::string RequestedDevice(const spec::Experiment& experiment) {
  const auto setting = experiment.settings.find("device.name");
  if (setting != experiment.settings.end()) return setting->second.text;
  return spec::ToText(experiment.device.Id());
}

std::string_view TextOf(cost::Source source) {
  switch (source) {
    case cost::Source::kFree:
    case cost::Source::kStated:
      return "stated";
    case cost::Source::kEstimated:
      return "roofline";
    case cost::Source::kProfile:
      return "table";
    case cost::Source::kRun:
      break;
  }
  return "measured";
}

/// The source of a step's cost; null where the step was run.
Document DeviceCost(const RunReport& report) {
  if (report.prediction) return TextOf(report.prediction->step);
  const spec::Device& device = report.experiment.device;
  if (device.kind != spec::DeviceKind::kEmulated) return nullptr;
  return TextOf(device.step_base ? cost::Source::kStated : cost::Source::kEstimated);
}

Document StorageUsed(const spec::Storage& storage) {
  const bool files = storage.kind == spec::StorageKind::kFiles;
  return {{"kind", WordOf(spec::kStorageKinds, storage.kind)},
          {"name", files ? TextValue(storage.path.string()) : TextOrNull(storage.preset)},
          {"direct", files ? Document(storage.direct) : Document(nullptr)},
          {"file_cache", files ? Document(WordOf(spec::kFileCacheStates, storage.file_cache))
                               : Document(nullptr)}};
}

Document ProgramSection(const Context& context) {
  return {{"version", TextValue(context.version)},
          {"commit", TextOrNull(context.commit)},
          {"build", TextOrNull(context.build)}};
}

Document ContextSection(const Context& context) {
  return {{"date", TextValue(context.date)},
          {"host", TextValue(context.host)},
          {"cpu", TextValue(context.cpu)},
          {"os", TextValue(context.os)},
          {"load_average_1min", NumberValue(context.load_average_1min)},
          {"argv", TextArray(context.argv)},
          {"libtorch_version", TextOrNull(context.libtorch_version)}};
}

Document FailureSection(const measure::Measurement& measurement) {
  Document items = Document::array();
  for (const trace::DataFault& fault : measurement.bad_samples)
    items.push_back({{"item", TextValue(fault.item)}, {"reason", TextValue(fault.reason)}});
  return {{"failure", TextOrNull(measurement.failure)},
          {"bad_sample_count", measurement.bad_sample_count},
          {"bad_samples", items}};
}

Document WarningsSection(const measure::Measurement& measurement) {
  Document array = Document::array();
  for (const measure::Warning& warning : measurement.warnings) {
    const auto* bad = std::get_if<measure::warnings::BadSamples>(&warning.facts);
    const std::string text =
        bad != nullptr ? BadSamplesText(*bad, measurement.bad_samples) : WarningText(warning);
    array.push_back({{"code", TextValue(warning.code)}, {"text", TextValue(text)}});
  }
  return array;
}

Document NumbersArray(const std::vector<double>& numbers) {
  Document array = Document::array();
  for (const double number : numbers) array.push_back(NumberValue(number));
  return array;
}

/// Four digits: a chart shows no more, and the lines are a large part of the document.
Document LineArray(const measure::OverTime::Line& line) {
  Document array = Document::array();
  for (const std::optional<double>& value : line) array.push_back(NumberValue(value));
  for (Document& value : array) {
    if (value.is_null()) continue;
    const std::string digits = fmt::format("{:.4g}", value.get<double>());
    double rounded = 0;
    std::from_chars(digits.data(), digits.data() + digits.size(), rounded);
    value = rounded;
  }
  return array;
}

Document GpuLines(const std::optional<measure::OverTime::Gpu>& gpu) {
  if (!gpu) return nullptr;
  return {{"utilization", LineArray(gpu->utilization)},
          {"memory_bytes", LineArray(gpu->memory_bytes)},
          {"power_w", LineArray(gpu->power_w)},
          {"sm_clock_mhz", LineArray(gpu->sm_clock_mhz)},
          {"memory_clock_mhz", LineArray(gpu->memory_clock_mhz)}};
}

Document OverTimeSection(const std::optional<measure::OverTime>& lines) {
  if (!lines) return nullptr;
  return {{"slice_s", NumberValue(lines->slice_s)},
          {"samples_per_s", LineArray(lines->samples_per_s)},
          {"device_busy", LineArray(lines->device_busy)},
          {"starved", LineArray(lines->starved)},
          {"occupancy", LineArray(lines->occupancy)},
          {"cores_used", LineArray(lines->cores_used)},
          {"storage_bytes_per_s", LineArray(lines->storage_bytes_per_s)},
          {"gpu", GpuLines(lines->gpu)},
          {"epoch_begins_s", NumbersArray(lines->epoch_begins_s)}};
}

Document RepeatsSection(const std::vector<measure::Result>& repeats) {
  Document array = Document::array();
  for (const measure::Result& repeat : repeats) array.push_back(ResultSection(repeat));
  return array;
}

}  // namespace

Document HeadOf(const Context& context, std::string_view kind) {
  return {{"pipesim", ProgramSection(context)},
          {"schema_version", kSchemaVersion},
          {"kind", kind},
          {"context", ContextSection(context)}};
}

Document ExperimentSection(const spec::Experiment& experiment) {
  return SettingsSection(experiment.settings);
}

Document SettingsSection(const std::map<std::string, spec::Experiment::Setting>& settings) {
  Document section = Document::object();
  for (const auto& [path, setting] : settings)
    section[TextValue(path).get<std::string>()] = {{"value", TextValue(setting.text)},
                                                   {"origin", spec::ToText(setting.origin)}};
  return section;
}

namespace {
Document ShortenedEpochs(const std::optional<predict::Notes::Epochs>& epochs) {
  if (!epochs) return nullptr;
  return {{"steps", epochs->steps}, {"simulated_steps", epochs->simulated}};
}
}  // namespace

Document PredictionSection(const std::optional<predict::Notes>& prediction) {
  if (!prediction) return nullptr;
  return {{"profile", TextValue(prediction->profile)},
          {"profile_source", TextOrNull(prediction->profile_source)},
          {"from", TextOrNull(prediction->from)},
          {"cores", NumberValue(prediction->cores)},
          {"cores_from", TextValue(prediction->cores_from)},
          {"shortened_epochs", ShortenedEpochs(prediction->shortened)}};
}

Document EffectiveSection(const RunReport& report) {
  const spec::Experiment& asked = report.experiment;
  const trace::Effective& effective = report.measurement.effective;
  const bool known = effective.device.IsChosen();  // the run got as far as having a device
  return {{"workers", asked.loader.workers},
          {"batch_size", asked.loader.batch_size},
          {"prefetch_factor", asked.loader.prefetch_factor},
          {"storage", StorageUsed(asked.storage)},
          {"prepare", WordOf(spec::kPrepareKinds, asked.prepare.kind)},
          {"model", TextOrNull(asked.model.name)},
          {"model_parameters",
           effective.model_parameters > 0 ? Document(effective.model_parameters) : nullptr},
          {"device_requested", RequestedDevice(asked)},
          {"device", known ? TextValue(spec::ToText(effective.device)) : nullptr},
          {"device_name", TextOrNull(effective.device_name)},
          {"device_asynchronous", known ? Document(effective.device_asynchronous) : nullptr},
          {"device_cost", DeviceCost(report)},
          {"pinned", known ? Document(effective.pinned) : nullptr},
          {"compute_threads",
           effective.compute_threads > 0 ? Document(effective.compute_threads) : nullptr},
          {"cpus", effective.cpus}};
}

Document ToJson(const RunReport& report) {
  const measure::Measurement& measured = report.measurement;
  const Context& context = report.context;
  Document result = ResultSection(measured.result);
  result.update(FailureSection(measured));
  Document reality = {{"storage", TextOf(report.storage)},
                      {"prepare", TextOf(report.prepare)},
                      {"device", TextOf(report.device)},
                      {"engine", TextOf(report.engine)}};
  if (report.experiment.loader.HasProcesses())
    reality["workers"] =
        TextOf(report.engine == Reality::kReal ? Reality::kEmulated : Reality::kPredicted);
  return {{"pipesim", ProgramSection(context)},
          {"schema_version", kSchemaVersion},
          {"kind", "run"},
          {"context", ContextSection(context)},
          {"experiment", ExperimentSection(report.experiment)},
          {"effective", EffectiveSection(report)},
          {"reality", reality},
          {"prediction", PredictionSection(report.prediction)},
          {"result", result},
          {"consumer", ConsumerSection(measured.consumer)},
          {"device", DeviceSection(measured.device)},
          {"workers", WorkersSection(measured.workers)},
          {"queue", QueueSection(measured.queue)},
          {"pin", PinSection(measured.pin)},
          {"transfer", TransferSection(measured.transfer)},
          {"memory", MemorySection(measured.memory)},
          {"resources", ResourcesSection(measured.resources)},
          {"demands", DemandsSection(measured.demands)},
          {"ladder", LadderSection(report.diagnosis)},
          {"diagnosis", DiagnosisSection(report.diagnosis, report.next_argv)},
          {"warnings", WarningsSection(measured)},
          {"samples",
           {{"step_time_s", NumbersArray(measured.step_time_samples_s)},
            {"occupancy", NumbersArray(measured.occupancy_samples)}}},
          {"over_time", OverTimeSection(measured.over_time)},
          {"repeats", RepeatsSection(report.repeats)}};
}

}  // namespace pipesim::report
