#include <algorithm>
#include <cctype>

#include "diagnose/verdicts.h"
#include "report/compare_report.h"
#include "report/size_report.h"
#include "report/sweep_report.h"
#include "report/text_parts.h"
#include "report/tune_report.h"

namespace pipesim::report {

spec::DeviceId DeviceOf(View document) {
  return spec::ParseDevice(document.At("effective.device").Text()).value_or(spec::DeviceId{});
}

bool IsOpen(View document) {
  const auto* row = diagnose::FindVerdict(document.At("diagnosis.bottleneck").Text());
  return row && row->verdict == diagnose::Verdict::kInconclusive;
}

std::string DeviceWord(View document) { return DeviceOf(document).IsCuda() ? "GPU" : "device"; }

std::int64_t Accelerators(View document) {
  const double most = 1e6;  // a foreign file may hold any number
  return static_cast<std::int64_t>(
      std::clamp(document.At("result.accelerators").NumberOr(1), 1.0, most));
}

bool Meets(View document) { return Setting(document, "run.barrier") == "true"; }

bool HasMeasurement(View document) {
  return document.At("result.steps").NumberOr(0) > 0 &&
         document.At("result.samples_per_s").IsPresent();
}

TimeScale StepScale(View document) {
  return TimeScale::For(document.At("result.step_time_s.mean").NumberOr(0));
}

std::string ReasonMissing(View document, std::string_view signal) {
  for (const View missing : document.At("diagnosis.missing").Items())
    if (missing.At("signal").Text().starts_with(signal)) return missing.At("reason").Text();
  return {};
}

std::string Capitalised(std::string text) {
  if (!text.empty()) text[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(text[0])));
  return text;
}

namespace {

std::string TextOfKind(const Document& report, const TextOptions& options) {
  Page page(options.colour);
  const Sheet sheet{View(&report, options.utf8), page, options.utf8,
                    options.detail == Detail::kFull};
  const std::string kind = sheet.document.At("kind").Text();
  if (kind == "size") return SizeText(report, options);
  if (kind == "tune") return TuneText(report, options);
  if (kind == "sweep") return SweepText(report, options);
  if (kind == "compare") return CompareText(report, options);
  AddVerdict(sheet);
  AddProof(sheet);
  if (options.detail == Detail::kBrief) {
    AddRate(sheet);
    return page.Take();
  }
  AddRates(sheet);
  AddSteps(sheet);
  AddLadder(sheet);
  AddWorkers(sheet);
  if (sheet.full) AddHostSide(sheet);
  if (sheet.full) AddEachWorker(sheet);
  AddWhatIf(sheet);
  AddEnough(sheet);
  AddNotes(sheet);
  if (sheet.full) AddDetails(sheet);
  AddMore(sheet);
  return page.Take();
}

}  // namespace

std::string ToText(const Document& report, const TextOptions& options) {
  const std::string text = TextOfKind(report, options);
  return options.utf8 ? text : ToAscii(text);
}

}  // namespace pipesim::report
