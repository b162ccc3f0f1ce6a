// What the text promises beyond the golden examples.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <regex>
#include <sstream>

#include "examples.h"
#include "support/schema.h"
#include "text_checks.h"

namespace pipesim::tests {
namespace {

using report::Detail;
using report::Document;
using report::ToJson;
using report::ToText;
using testing::HasSubstr;
using testing::Not;

std::vector<std::string> Lines(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

TEST(Text, TheFirst24LinesHoldVerdictRatesStepsAndLadder) {
  for (const auto& run : {IoBound(), ComputeBound(), Inconclusive()}) {
    auto lines = Lines(ToText(ToJson(run), {}));
    ASSERT_GT(lines.size(), 24u);
    lines.resize(24);
    EXPECT_THAT(lines, testing::Contains(testing::StartsWith("  IO ")));
  }
}

TEST(Text, BriefStopsAfterTheCommandToRunNextAndTheRate) {
  const auto lines = Lines(ToText(ToJson(IoBound()), {.detail = Detail::kBrief}));
  ASSERT_GE(lines.size(), 3u);
  EXPECT_EQ(lines[lines.size() - 3],
            "  pipesim imagenet.yaml --batch 256 --model mlp --storage nvme --workers 6");
  EXPECT_THAT(lines.back(), testing::StartsWith("4,680 samples/s"));
}

TEST(Text, BriefIsTheBeginningOfTheWhole) {
  const Document document = ToJson(IoBound());
  EXPECT_THAT(ToText(document, {}),
              testing::StartsWith(ToText(document, {.detail = Detail::kBrief})));
}

TEST(Text, TheCommandIsQuotedForTheShellAndNeverWrapped) {
  report::RunReport run = IoBound();
  run.next_argv = {"pipesim", "my file's.yaml",     "--set", "device={emulated: {base: 5ms}}",
                   "--data",  std::string(100, 'd')};
  EXPECT_THAT(Lines(ToText(ToJson(run), {})),
              testing::Contains("  pipesim 'my file'\\''s.yaml' --set 'device={emulated: {base: "
                                "5ms}}' --data " +
                                std::string(100, 'd')));
}

TEST(Text, APrecisionThatNobodyChoseIsAssumed) {
  const auto with = [](spec::Origin origin) {
    report::RunReport run = ComputeBound();
    run.experiment.settings["model.precision"] = {"fp32", origin};
    return ToText(ToJson(run), {});
  };
  EXPECT_THAT(with(spec::Origin::kDefault), HasSubstr("ram, fp32."));
  EXPECT_THAT(with(spec::Origin::kFlag), Not(HasSubstr("fp32")));
  // A recorded step has none.
  report::RunReport run = ComputeBound();
  run.experiment.settings["model.precision"] = {"fp32", spec::Origin::kDefault};
  run.experiment.settings["device.step.base"] = {"1ms", spec::Origin::kFile};
  EXPECT_THAT(ToText(ToJson(run), {}), Not(HasSubstr("fp32")));
}

/// Large figures have other signs: "+965 ×".
void Enlarge(Document& value) {
  if (value.is_number_float()) value = value.get<double>() * 1000;
  if (value.is_structured())
    for (Document& child : value) Enlarge(child);
}

TEST(Text, AsciiLocalesGetAsciiOfEveryKind) {
  for (const char* name : {"predict", "size", "sweep_two_axes", "tune"}) {
    std::ifstream file(PIPESIM_SOURCE_DIR "/tests/golden/documents/" + std::string(name) + ".json");
    Document document = Document::parse(file);
    Enlarge(document);
    const std::string text = ToText(document, {.detail = Detail::kFull, .utf8 = false});
    EXPECT_TRUE(std::all_of(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 0x80; }))
        << text;
  }
}

TEST(Text, AUtilizationTooSmallForItsDigitsIsNotZero) {
  std::ifstream file(PIPESIM_SOURCE_DIR "/tests/golden/documents/size.json");
  Document document = Document::parse(file);
  EXPECT_THAT(ToText(document, {}), testing::AllOf(HasSubstr("AU <0.001, "), Not(HasSubstr("AU 0.00"))));
  document["best"] = document["answer"];
  document["answer"] = nullptr;
  document["solve"]["answer_is"] = "least";
  EXPECT_THAT(ToText(document, {}), HasSubstr("alone cannot reach samples_per_s>=900: AU <0.001, "));
  document["best"]["accelerator_utilization"] = 0.25;
  EXPECT_THAT(ToText(document, {}), HasSubstr(": about AU 0.250, "));
}

TEST(Text, APredictionSaysWhichEpochsItSimulated) {
  std::ifstream file(PIPESIM_SOURCE_DIR "/tests/golden/documents/predict.json");
  Document document = Document::parse(file);
  const auto text = [&] { return std::regex_replace(ToText(document, {}), std::regex("\\s+"), " "); };
  EXPECT_THAT(text(), Not(HasSubstr("in proportion")));
  document["prediction"]["shortened_epochs"] = {{"steps", 5005}, {"simulated_steps", 492}};
  EXPECT_THAT(text(), HasSubstr("epochs of 492 steps, their cache in proportion, stand for those of 5,005."));
}

TEST(Text, AsciiLocalesGetAsciiAlone) {
  report::RunReport run = Inconclusive();
  run.experiment.name = "données";
  run.measurement.warnings = {{"x", "µs, × and 漢字"}};
  const std::string text = ToText(ToJson(run), {.detail = Detail::kFull, .utf8 = false});
  EXPECT_THAT(text, HasSubstr("1,200 samples/s +-31 %"));
  EXPECT_THAT(text, HasSubstr("+-31 % to +-5 %"));
  EXPECT_THAT(text, HasSubstr("us, x and ??"));
  EXPECT_TRUE(std::all_of(text.begin(), text.end(),
                          [](char c) { return static_cast<unsigned char>(c) < 0x80; }));
  EXPECT_TRUE(KeepsTheRules(text));
}

TEST(Text, ColourOnlyRepeatsWhatTheWordsSay) {
  const Document document = ToJson(IoBound());
  std::string coloured = ToText(document, {.detail = Detail::kFull, .colour = true});
  EXPECT_THAT(coloured, HasSubstr("\x1b[1;33mio-bound"));
  for (std::size_t at; (at = coloured.find('\x1b')) != std::string::npos;)
    coloured.erase(at, coloured.find('m', at) - at + 1);
  EXPECT_EQ(coloured, ToText(document, {.detail = Detail::kFull}));
}

TEST(Text, ControlCharactersFromNamesNeverReachTheTerminal) {
  report::RunReport run = IoBound();
  const std::string evil = "\x1b[2Jgone\r\n\x07\xc2\x9b";
  run.measurement.failure = evil;
  run.measurement.result.stopped_by = trace::EndReason::kFailed;
  run.measurement.bad_sample_count = 1;
  run.measurement.bad_samples = {{evil, evil}};
  run.measurement.warnings = {{evil, evil}};
  run.measurement.effective.device_name = evil;
  run.context.argv = {evil};
  run.context.host = evil;
  run.next_argv = {"pipesim", evil};
  run.experiment.settings[evil] = {evil, spec::Origin::kModel};
  run.experiment.model.name = evil;
  run.experiment.storage.preset = evil;
  run.diagnosis.headline = evil;
  run.diagnosis.evidence = {{evil, evil, 1, {}}};
  run.diagnosis.missing = {{evil, evil}};
  run.diagnosis.what_if[0].change = evil;
  run.diagnosis.recommendation->text = evil;
  run.diagnosis.recommendation->pytorch = evil;
  run.diagnosis.ladder.push_back({evil, 1, 2, evil, diagnose::Full::kNo, false});
  EXPECT_TRUE(KeepsTheRules(ToText(ToJson(run), {.detail = Detail::kFull})));
  run.measurement.result.stopped_by = trace::EndReason::kEnough;
  EXPECT_TRUE(KeepsTheRules(ToText(ToJson(run), {.detail = Detail::kFull})));
}

TEST(Text, AnInterruptedRunSaysSoFirstAndShowsWhatItHas) {
  report::RunReport run = IoBound();
  run.measurement.result.stopped_by = trace::EndReason::kInterrupted;
  const auto lines = Lines(ToText(ToJson(run), {}));
  EXPECT_EQ(lines[0], "interrupted after 183 measured steps");
  EXPECT_THAT(lines, testing::Contains(testing::StartsWith("Until then: io-bound")));
  EXPECT_THAT(lines, testing::Contains(testing::StartsWith("4,680 samples/s")));
}

TEST(Text, ChangesToTrainingAreMarked) {
  EXPECT_THAT(ToText(ToJson(ComputeBound()), {}),
              HasSubstr("+9 %  compute-bound  changes training"));
}

TEST(Text, MoreWarningsThanThreeWaitForFull) {
  report::RunReport run = IoBound();
  run.measurement.warnings.assign(5, {"swap", "Memory is short."});
  EXPECT_THAT(ToText(ToJson(run), {}), HasSubstr("Note: 2 more with --full.\n"));
  EXPECT_THAT(ToText(ToJson(run), {.detail = Detail::kFull}), Not(HasSubstr("more with --full")));
}

TEST(Text, WorkerTableOfManyWorkersKeepsItsColumns) {
  report::RunReport run = IoBound();
  for (double* part : {&run.measurement.workers.read_s, &run.measurement.workers.wall_s})
    *part *= 1000;
  run.measurement.workers.count = 128;
  const std::string text = ToText(ToJson(run), {});
  EXPECT_THAT(text,
              HasSubstr("Where a worker's time goes (mean of 128)   163.8 s   100 %  per batch"));
  EXPECT_TRUE(KeepsTheRules(text));
}

TEST(Text, OfRealFilesShowsTheDiskAndWhatWasCached) {
  report::RunReport run = IoBound();
  run.experiment.storage.kind = spec::StorageKind::kFiles;
  run.experiment.storage.file_cache = spec::FileCacheState::kCold;
  run.measurement.resources.page_cached_fraction = 0.02;
  run.measurement.resources.disk = measure::Disk{.name = "sda",
                                                 .reads_per_s = 4712,
                                                 .read_bytes_per_s = 527.3e6,
                                                 .await_s = 1.52e-3,
                                                 .utilization = 0.97,
                                                 .queue_length = 7.16};
  run.measurement.result.judged_epochs = measure::EpochRange{1, 3};
  run.measurement.result.epochs.push_back({});
  const Document document = ToJson(run);
  EXPECT_THAT(ToText(document, {}),
              HasSubstr("        disk sda: 527 MB/s, 4,710 reads/s of 1.52 ms, 97 % in use"));
  const std::string full = ToText(document, {.detail = Detail::kFull});
  EXPECT_THAT(full, HasSubstr("page cache at the start: 2 % of the files' bytes"));
  EXPECT_THAT(full, HasSubstr("disk sda: 7.16 requests in queue and device on average"));
  EXPECT_THAT(full, HasSubstr("measured and judged: epochs 1 to 3"));
}

TEST(Text, UnknownLaunchIsSaidNotGuessed) {
  report::RunReport run = IoBound();
  run.measurement.device->launch_s.reset();
  run.measurement.result.accelerator_utilization.reset();
  const std::string text = ToText(ToJson(run), {});
  EXPECT_THAT(text, HasSubstr("busy       computes, launches included"));
  EXPECT_THAT(text, HasSubstr("AU n/a"));
  EXPECT_THAT(text, Not(HasSubstr("\n  launch")));
}

TEST(Text, SurvivesADocumentWithAnythingMissing) {
  const Document whole = ToJson(IoBound());
  for (const auto& [section, content] : whole.items()) {
    Document without = whole;
    without.erase(section);
    EXPECT_TRUE(KeepsTheRules(ToText(without, {.detail = Detail::kFull}))) << section;
    without[section] = "not what it should be";
    EXPECT_TRUE(KeepsTheRules(ToText(without, {.detail = Detail::kFull}))) << section;
  }
  EXPECT_TRUE(KeepsTheRules(ToText(Document::object(), {})));
}

double AnyTime() {
  return *rc::gen::weightedOneOf<double>(
      {{1, rc::gen::just(0.0)},
       {4, rc::gen::apply(
               [](int mantissa, int exponent) { return mantissa * std::pow(10.0, exponent); },
               rc::gen::inRange(0, 1000), rc::gen::inRange(-8, 4))}});
}

std::string AnyText() {
  return *rc::gen::container<std::string>(rc::gen::weightedElement<char>(
      {{8, 'a'}, {3, ' '}, {1, '\x1b'}, {1, '\xff'}, {1, '\n'}, {1, '9'}, {1, '%'}, {1, '.'}}));
}

/// Any measurement that the types can hold, times and counts independent of one another.
report::RunReport AnyRun() {
  report::RunReport run = *rc::gen::element(IoBound(), ComputeBound(), Inconclusive(), NoWorkers());
  measure::Measurement& m = run.measurement;
  m.result.stopped_by = static_cast<trace::EndReason>(*rc::gen::inRange(0, 8));
  m.result.steps = *rc::gen::inRange<std::int64_t>(0, 1'000'000'000);
  m.result.samples_per_s = AnyTime() * 1e4;
  m.result.samples_per_s_interval = measure::Interval{0, AnyTime() * 1e4, 0.95, AnyText()};
  m.result.step_time = measure::StepTime{AnyTime(), AnyTime(), AnyTime(), AnyTime()};
  m.result.warmup_s = AnyTime();
  m.result.measured_s = AnyTime();
  m.result.time_to_first_batch_s = AnyTime();
  for (double* part :
       {&m.consumer.starved_s, &m.consumer.h2d_s, &m.consumer.host_s, &m.consumer.compute_s,
        &m.consumer.sync_s, &m.consumer.contended_s, &m.workers.startup_s, &m.workers.read_s,
        &m.workers.prepare_s, &m.workers.collate_s, &m.workers.contended_s, &m.workers.idle_s,
        &m.workers.blocked_on_consumer_s, &m.workers.blocked_on_order_s})
    *part = AnyTime();
  m.consumer.other_s = AnyTime() - AnyTime();
  if (m.device)
    for (double* part : {&m.device->busy_s, &m.device->starved_s, &m.device->transfer_s,
                         &m.device->sync_s, &m.device->other_s})
      *part = AnyTime();
  m.resources.storage_bytes_per_s = AnyTime() * 1e7;
  m.resources.reads_per_s = AnyTime() * 1e6;
  m.resources.cores_used = AnyTime();
  m.resources.foreign_cores = AnyTime();
  m.failure = AnyText();
  m.warnings = {{"any", AnyText()}, {"any", AnyText()}};
  m.effective.device_name = AnyText();
  run.experiment.storage.preset = AnyText();
  run.experiment.settings[AnyText()] = {AnyText(), spec::Origin::kModel};
  diagnose::Diagnosis& d = run.diagnosis;
  d.headline = AnyText();
  d.evidence = {{AnyText(), AnyText(), AnyTime(), {}}, {AnyText(), "", 0, AnyTime()}};
  for (diagnose::WhatIf& change : d.what_if) {
    change.change = AnyText();
    change.samples_per_s = AnyTime() * 1e5;
    change.gain = AnyTime() - 1;
    change.feasible_here = *rc::gen::element<std::optional<bool>>(true, false, std::nullopt);
    change.takes = static_cast<diagnose::Takes>(*rc::gen::inRange(0, 5));
    change.then = diagnose::Verdict::kCpuContention;
  }
  for (diagnose::LadderRow& row : d.ladder) {
    row.limit = AnyTime() * 1e7;
    row.full = static_cast<diagnose::Full>(*rc::gen::inRange(0, 4));
    row.is_limit = *rc::gen::arbitrary<bool>();
  }
  if (d.recommendation) d.recommendation->text = AnyText();
  if (d.enough) d.enough->bytes_per_worker = *rc::gen::inRange<std::int64_t>(0, 1LL << 50);
  return run;
}

RC_GTEST_PROP(Text, AnyRunKeepsTheRulesAndFitsTheSchema, ()) {
  const Document document = ToJson(AnyRun());
  const auto fits = FitsSchema(document);
  if (!fits) RC_FAIL(fits.message());
  for (const bool utf8 : {true, false}) {
    const auto kept = KeepsTheRules(ToText(document, {.detail = Detail::kFull, .utf8 = utf8}));
    if (!kept) RC_FAIL(kept.message());
  }
}

}  // namespace
}  // namespace pipesim::tests
