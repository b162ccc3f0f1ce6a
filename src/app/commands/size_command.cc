// The least storage, cores or workers that reach a target, by predictions.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "advise/axis.h"
#include "app/command_line/arguments.h"
#include "app/command_line/output.h"
#include "app/delivery.h"
#include "app/prediction_input.h"
#include "app/process/interrupt.h"
#include "app/requirements.h"
#include "app/session.h"
#include "base/memory.h"
#include "base/standard_streams.h"
#include "base/text.h"
#include "measure/repeats.h"
#include "predict/effort.h"
#include "predict/predict.h"
#include "report/size_report.h"

namespace pipesim::app {
namespace {

using advise::Axis;
using advise::Metric;
using base::ExitCode;

std::string AxisNames() {
  std::vector<std::string> names;
  for (const Axis& axis : advise::Axes()) names.emplace_back(axis.name);
  return base::Join(names, ", ");
}

const Axis& AxisOf(const Arguments& arguments) {
  const auto named = arguments.Last("solve");
  if (!named)
    throw base::UsageError("`pipesim size` needs what to solve for: --solve AXIS; the axes are: " +
                           AxisNames());
  if (const Axis* axis = advise::FindAxis(*named)) return *axis;
  std::vector<std::string> names;
  for (const Axis& axis : advise::Axes()) names.emplace_back(axis.name);
  const auto near = base::Nearest(*named, names);
  throw base::UsageError(fmt::format("--solve does not take '{}'{}; the axes are: {}",
                                     base::Printable(*named),
                                     near ? "; did you mean " + *near + "?" : "", AxisNames()));
}

Requirements::Limit TargetOf(const Arguments& arguments) {
  const auto text = arguments.Last("target");
  if (!text)
    throw base::UsageError("`pipesim size` needs a target: --target 'au>=0.9' or "
                           "--target 'samples_per_s>=5000'");
  const Requirements::Limit limit = ReadLimit("--target", *text, LimitKind::kLower);
  if (limit.value <= 0)
    throw base::UsageError(fmt::format("--target takes a limit above 0, not '{}'", base::Printable(*text)));
  return limit;
}

/// Of an epoch.
std::int64_t SamplesOfEach(const spec::Experiment& asked) {
  return asked.dataset.samples / asked.run.accelerators;
}

/// Samples of an accelerator's epoch to predict. A longer epoch than this is as good and takes longer to predict, and a
/// search predicts many; not beside a cache, whose size counts against the data set's.
std::int64_t EnoughOfEach(const spec::Experiment& asked) {
  constexpr std::int64_t kLongEpochs = 2;
  const std::int64_t each = SamplesOfEach(asked);
  const bool has_cache =
      asked.storage.kind == spec::StorageKind::kFiles || asked.storage.cache.policy != spec::CachePolicy::kNone;
  if (has_cache) return each;
  return std::min(each, kLongEpochs * predict::FewestOfLongEpoch(asked.loader) * asked.loader.batch_size);
}

/// What makes `asked` that of a value. Accelerators that meet are judged by whole epochs without their
/// first steps, so that each keeps its steps: MLPerf Storage's data set grows with them likewise.
Changes ChangesTo(const Axis& axis, double value, const spec::Experiment& asked, std::int64_t samples_of_each) {
  Changes changes{{std::string(axis.path), advise::SettingText(axis, value)}};
  if (!asked.run.barrier) return changes;
  const std::int64_t accelerators =
      axis.path == "run.accelerators" ? std::llround(value) : asked.run.accelerators;
  const std::int64_t samples = samples_of_each * accelerators;
  if (samples != asked.dataset.samples) changes.emplace_back("dataset.samples", std::to_string(samples));
  return changes;
}

/// The predictions of one search.
class Sizing {
 public:
  Sizing(const Axis& axis, const ExperimentReader& reader, const predict::Basis& basis,
         const base::StopFlag& stop)
      : axis_(axis), reader_(reader), basis_(basis), quick_(ForSearch(basis)), stop_(stop) {}

  std::optional<advise::Rates> RatesAt(double value) {
    const predict::Prediction prediction =
        predict::PredictRates(ExperimentAt(value), quick_, &stop_);
    const measure::Measurement& measured = prediction.measurement;
    if (!measure::Finished(measured.result)) {
      failure_ = measured.failure;
      return std::nullopt;
    }
    const auto& meeting = measured.result.meeting;
    return advise::Rates{meeting ? meeting->samples_per_s : *measured.result.samples_per_s,
                         measured.result.JudgedUtilization()};
  }
  predict::Prediction WholeAt(double value) const {
    return predict::Predict(ExperimentAt(value), basis_, &stop_);
  }
  /// Why the last value that could not run could not.
  const std::string& failure() const { return failure_; }

 private:
  spec::Experiment ExperimentAt(double value) const {
    return reader_.With(ChangesTo(axis_, value, reader_.asked(), EnoughOfEach(reader_.asked())));
  }

  const Axis& axis_;
  const ExperimentReader& reader_;
  const predict::Basis& basis_;
  const predict::Basis quick_;
  const base::StopFlag& stop_;
  std::string failure_;
};

/// nullopt: nothing could be predicted.
std::optional<report::SizeReport> Solve(const Axis& axis, const Requirements::Limit& target,
                                        const ExperimentReader& reader,
                                        const predict::Basis& basis, Sizing& sizing) {
  report::SizeReport report;
  report.context = ReadContext();
  report.experiment = reader.asked();
  report.target = target.text;
  report.axis = &axis;
  const Metric metric = target.metric == "au" ? Metric::kUtilization : Metric::kSamplesPerSecond;
  report.question = advise::QuestionOf(axis, reader.asked(), metric, target.value);
  const auto rates_of = [&](double value) { return sizing.RatesAt(value); };
  report.found = advise::FindSize(report.question, rates_of);
  if (!report.found.best) return std::nullopt;
  if (auto& neighbor = report.found.neighbor; neighbor && !neighbor->rates && !sizing.RatesAt(neighbor->value))
    neighbor->failure = sizing.failure();
  const double diagnosed = report.found.answer.value_or(*report.found.ample).value;
  predict::Prediction whole = sizing.WholeAt(diagnosed);
  report.prediction = std::move(whole.notes);
  report.diagnosis = std::move(whole.diagnosis);
  const double cores = predict::Resolve(reader.asked(), basis).notes.cores;
  report.present.value = advise::PresentValue(axis, reader.asked()).value_or(cores);
  report.present.rates = sizing.RatesAt(report.present.value);
  const auto reached = report.present.rates ? report.present.rates->Of(metric) : std::nullopt;
  report.present.meets = reached && *reached >= target.value;
  return report;
}

/// The command that predicts the answer; without an answer, the same question with what the
/// diagnosis recommends.
std::vector<std::string> NextOf(const Arguments& arguments, const report::SizeReport& report) {
  const auto& answer = report.found.answer;
  if (answer)
    return WithChanges(ForCommand(arguments, "predict"),
                       ChangesTo(*report.axis, answer->value, report.experiment,
                                 SamplesOfEach(report.experiment)));
  if (!report.diagnosis.recommendation) return {};
  Changes others = report.diagnosis.recommendation->set;
  std::erase_if(others, [&](const auto& change) { return change.first == report.axis->path; });
  return others.empty() ? std::vector<std::string>() : WithChanges(arguments, others);
}

}  // namespace

ExitCode Size(const Arguments& arguments) {
  const Axis& axis = AxisOf(arguments);
  const Requirements::Limit target = TargetOf(arguments);
  const predict::Basis basis = BasisOf(arguments);
  const ExperimentReader reader(PredictionRequest(arguments, basis));
  if (arguments.Has("needs-libtorch")) return PrintOut("no\n"), ExitCode::kOk;
  base::KeepFreedMemory();
  Exports exports(arguments);
  base::StopFlag stop;
  const InterruptHandler interrupt(stop, InterruptHandler::Second::kLeaves);
  Sizing sizing(axis, reader, basis, stop);
  auto report = Solve(axis, target, reader, basis, sizing);
  if (stop.IsSet()) {
    base::PrintError("pipesim: interrupted before the answer was found\n");
    return ExitCode::kInterrupted;
  }
  if (!report) {
    base::PrintError(
        fmt::format("pipesim: no value of {} can run: {}\n", axis.name, sizing.failure()));
    return ExitCode::kRunFailed;
  }
  report->context.argv = arguments.typed;
  report->next_argv = NextOf(arguments, *report);
  ExportAndPrint(arguments, exports, report::ToJson(*report));
  return report->found.answer ? ExitCode::kOk : ExitCode::kThresholdMissed;
}

}  // namespace pipesim::app
