// The document itself: its schema, its order, and what must never get into it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "diagnose/verdicts.h"
#include "examples.h"
#include "report/view.h"
#include "support/schema.h"

namespace pipesim::tests {
namespace {

using report::Document;
using report::ToJson;
using trace::EndReason;

TEST(Schema, RefusesAKeyThatIsNotInIt) {
  Document document = ToJson(IoBound());
  document["result"]["samples_per_second"] = 1;
  EXPECT_FALSE(FitsSchema(document));
}

TEST(Schema, RefusesAMissingKey) {
  Document document = ToJson(IoBound());
  document["consumer"].erase("other_s");
  EXPECT_FALSE(FitsSchema(document));
}

TEST(Schema, RefusesANumberWrittenAsText) {
  Document document = ToJson(IoBound());
  document["result"]["samples_per_s"] = "4680";
  EXPECT_FALSE(FitsSchema(document));
}

TEST(Schema, RefusesAnUnknownVerdict) {
  Document document = ToJson(IoBound());
  document["diagnosis"]["bottleneck"] = "disk-bound";
  EXPECT_FALSE(FitsSchema(document));
}

TEST(Schema, NamesEveryVerdictOfTheTable) {
  std::ifstream file(PIPESIM_SOURCE_DIR "/docs/schema/run.schema.json");
  const nlohmann::json names = nlohmann::json::parse(file)["definitions"]["verdict"]["enum"];
  ASSERT_EQ(names.size(), diagnose::kVerdicts.size());
  for (std::size_t i = 0; i < names.size(); ++i) EXPECT_EQ(names[i], diagnose::kVerdicts[i].name);
}

TEST(Schema, RefusesNullWhereAValueIsAlwaysKnown) {
  Document document = ToJson(IoBound());
  document["result"]["steps"] = nullptr;
  EXPECT_FALSE(FitsSchema(document));
}

TEST(Document, ListsItsSectionsInTheOrderOfTheDesign) {
  const Document document = ToJson(IoBound());
  std::vector<std::string> sections;
  for (const auto& [name, section] : document.items()) sections.push_back(name);
  EXPECT_THAT(sections, testing::ElementsAre("pipesim", "schema_version", "kind", "context",
                                             "experiment", "effective", "reality", "prediction",
                                             "result", "consumer", "device", "workers", "queue",
                                             "pin", "transfer", "memory", "resources", "demands",
                                             "ladder", "diagnosis", "warnings", "samples",
                                             "over_time", "repeats"));
}

TEST(Document, EveryEndHasItsStatus) {
  const auto status = [](EndReason reason) {
    report::RunReport run = IoBound();
    run.measurement.result.stopped_by = reason;
    const Document document = ToJson(run);
    EXPECT_TRUE(FitsSchema(document));
    return document["result"]["status"].get<std::string>();
  };
  for (const EndReason reason : {EndReason::kDuration, EndReason::kSteps, EndReason::kEpochs,
                                 EndReason::kEnough, EndReason::kMaxDuration})
    EXPECT_EQ(status(reason), "ok");
  EXPECT_EQ(status(EndReason::kInterrupted), "interrupted");
  EXPECT_EQ(status(EndReason::kFailed), "failed");
  EXPECT_EQ(status(EndReason::kOutOfMemory), "oom");
}

TEST(Document, UnknownIsNullAndNeverZero) {
  report::RunReport run = Inconclusive();
  run.measurement.device.reset();
  run.measurement.resources.cores_used.reset();
  const Document document = ToJson(run);
  EXPECT_TRUE(document["device"].is_null());
  EXPECT_TRUE(document["pin"].is_null());
  EXPECT_TRUE(document["resources"]["cores_used"].is_null());
  EXPECT_TRUE(document["demands"]["step_s"].is_null());
  EXPECT_TRUE(document["workers"]["contended_s"].is_null()) << "named in workers.unmeasured";
}

TEST(Document, NumbersThatAreNotFiniteBecomeNull) {
  report::RunReport run = IoBound();
  run.measurement.result.samples_per_s = std::numeric_limits<double>::quiet_NaN();
  run.measurement.result.samples_per_s_interval->high = std::numeric_limits<double>::infinity();
  run.diagnosis.what_if[0].gain = std::numeric_limits<double>::infinity();
  const Document document = ToJson(run);
  EXPECT_TRUE(document["result"]["samples_per_s"].is_null());
  EXPECT_TRUE(document["result"]["samples_per_s_interval"].is_null());
  EXPECT_TRUE(document["diagnosis"]["what_if"][0]["gain"].is_null());
  EXPECT_TRUE(FitsSchema(document));
}

TEST(Document, BytesThatAreNoUtf8AreReplacedEverywhere) {
  report::RunReport run = IoBound();
  const std::string bad = "a\xff\xfe.jpg";
  run.measurement.failure = bad;
  run.measurement.bad_samples = {{bad, bad}};
  run.measurement.warnings = {{bad, bad}};
  run.context.argv = {bad};
  run.context.host = bad;
  run.next_argv = {"pipesim", bad};
  run.experiment.settings[bad] = {bad, spec::Origin::kFile};
  run.experiment.storage.kind = spec::StorageKind::kFiles;
  run.experiment.storage.path = bad;
  run.diagnosis.headline = bad;
  run.diagnosis.recommendation->set = {{bad, bad}};
  const Document document = ToJson(run);
  EXPECT_NO_THROW(document.dump()) << "the strict writer takes it";
  EXPECT_EQ(document["result"]["failure"], "a\xef\xbf\xbd\xef\xbf\xbd.jpg");
  EXPECT_TRUE(FitsSchema(document));
}

/// The value at "diagnosis.what_if[0].gain" and the like.
const Document* Resolve(const Document& document, std::string path) {
  for (char& c : path)
    if (c == '.' || c == '[') c = '/';
  std::erase(path, ']');
  const Document::json_pointer pointer("/" + path);
  return document.contains(pointer) ? &document.at(pointer) : nullptr;
}

TEST(Document, EvidenceNamesFieldsThatAreThere) {
  for (const auto& run : {IoBound(), ComputeBound(), Inconclusive()}) {
    const Document document = ToJson(run);
    for (const Document& item : document["diagnosis"]["evidence"])
      EXPECT_NE(Resolve(document, item["field"]), nullptr) << item["field"];
  }
}

TEST(Document, RepeatsCarryTheirOwnResults) {
  report::RunReport run = IoBound();
  run.repeats = {run.measurement.result, run.measurement.result};
  const Document document = ToJson(run);
  ASSERT_EQ(document["repeats"].size(), 2u);
  EXPECT_EQ(document["repeats"][1]["steps"], 183);
  EXPECT_TRUE(FitsSchema(document));
}

TEST(Document, EveryPartThatARunCanHaveFitsTheSchema) {
  report::RunReport run = IoBound();
  run.measurement.pin = measure::Pin{10, 2, 0.25, 1, 6.5, 0.25};
  run.measurement.result.epochs = {{0, 4680, 0.2, 0.7, 0.5}, {1, 4680, 0.2, 0.7, std::nullopt}};
  run.measurement.step_time_samples_s.assign(4096, 0.05);
  run.measurement.occupancy_samples = {1, 2, 3};
  run.measurement.demands.step_s = 0.0155;
  run.measurement.device->launch_s.reset();
  run.diagnosis.model_error = -0.02;
  run.diagnosis.what_if[0].then.reset();
  run.experiment.device.kind = spec::DeviceKind::kEmulated;
  EXPECT_TRUE(FitsSchema(ToJson(run)));
}

TEST(Document, AnEmptyReportFitsTheSchema) { EXPECT_TRUE(FitsSchema(ToJson(report::RunReport{}))); }

std::string Refusal(const std::string& text) {
  try {
    report::Parse(text, "old.json");
  } catch (const base::EnvironmentError& error) {
    return error.what();
  }
  return "accepted";
}

TEST(Parse, TakesWhatTheJsonExporterWrote) {
  const Document document = ToJson(IoBound());
  const std::string text = report::Exporters()[0].render(document);
  EXPECT_EQ(report::Parse(text, "run.json"), document);
}

TEST(Parse, NamesTheFileAndWhatIsWrong) {
  EXPECT_THAT(Refusal("{"), testing::StartsWith("old.json: not JSON"));
  EXPECT_THAT(Refusal("[]"), testing::HasSubstr("not a report of pipesim"));
  EXPECT_THAT(Refusal(R"({"pipesim": {}, "kind": "dance", "schema_version": 1})"),
              testing::HasSubstr("unknown kind 'dance'"));
  EXPECT_THAT(Refusal(R"({"pipesim": {}, "kind": "run", "schema_version": 99})"),
              testing::HasSubstr("another report format"));
}

TEST(Parse, RefusesWhatTheSchemaDoesNotAllowAndSaysWhere) {
  const auto edited = [](const char* pointer, const Document& value) {
    Document document = ToJson(IoBound());
    document[Document::json_pointer(pointer)] = value;
    return Refusal(document.dump());
  };
  EXPECT_THAT(edited("/result/samples_per_s", "fast"),
              testing::AllOf(testing::StartsWith("old.json: edited, or written by another version"),
                             testing::HasSubstr("result.samples_per_s: \"fast\": ")));
  EXPECT_THAT(edited("/result/steps", -3), testing::HasSubstr("(result.steps: -3: "));
  EXPECT_THAT(edited("/diagnosis/bottleneck", "foo-bound"),
              testing::HasSubstr("(diagnosis.bottleneck: \"foo-bound\": "));
  EXPECT_THAT(edited("/demands/step_s", -0.5), testing::HasSubstr("(demands.step_s: -0.5: "));
  EXPECT_THAT(edited("/result/step_time_s/mean", -1),
              testing::HasSubstr("(result.step_time_s.mean: -1: "));
  EXPECT_THAT(edited("/result/surprise", 1), testing::HasSubstr("surprise"));
  EXPECT_EQ(edited("/result/steps", 3), "accepted");
}

TEST(Parse, RefusesNestingThatNoReportHas) {
  const std::string deep = std::string(100'000, '[') + std::string(100'000, ']');
  EXPECT_THAT(Refusal(deep), testing::HasSubstr("nested too deeply"));
}

TEST(Exporters, JsonIsIndentedByTwoAndEndsInANewline) {
  const std::string text = report::Exporters()[0].render(ToJson(IoBound()));
  EXPECT_EQ(report::Exporters()[0].name, "json");
  EXPECT_THAT(text, testing::StartsWith("{\n  \"pipesim\": {\n    \"version\""));
  EXPECT_THAT(text, testing::EndsWith("}\n"));
}

TEST(Exporters, TextIsTheFullTextWithoutColour) {
  const Document document = ToJson(IoBound());
  EXPECT_EQ(report::Exporters()[1].name, "text");
  EXPECT_EQ(report::Exporters()[1].render(document),
            report::ToText(document, {.detail = report::Detail::kFull}));
}

}  // namespace
}  // namespace pipesim::tests
