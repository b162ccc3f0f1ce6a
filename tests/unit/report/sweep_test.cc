// A sweep's report: journal records read back, its schema, its text within the page.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "report/csv.h"
#include "report/html.h"
#include "report/sweep_report.h"
#include "report/sweep_settings.h"
#include "support/schema.h"

namespace pipesim::report {
namespace {

using sweep::Outcome;
using sweep::PointResult;
using testing::AllOf;
using testing::HasSubstr;

spec::SweepAxis AxisOf(const std::string& key, std::size_t values) {
  spec::SweepAxis axis{{key}, {}};
  for (std::size_t i = 0; i < values; ++i) {
    const std::string value = std::to_string(i + 1);
    axis.values.push_back({{value, {}, value}});
  }
  return axis;
}

Outcome Ran(double rate) {
  Outcome outcome;
  outcome.status = sweep::Status::kOk;
  outcome.samples_per_s = rate;
  outcome.samples_per_s_low = rate * 0.99;
  outcome.samples_per_s_high = rate * 1.01;
  outcome.step_time_s = 1 / rate;
  outcome.accelerator_utilization = 0.5;
  outcome.bottleneck = "loader-bound";
  outcome.confidence = "high";
  outcome.workers = 1;
  outcome.queued_bytes = 77'000'000;
  return outcome;
}

SweepReport ReportOf(std::vector<spec::SweepAxis> axes) {
  SweepReport report;
  report.context.version = "0.1.0";
  report.sweep.axes = std::move(axes);
  for (const spec::SweepAxis& axis : report.sweep.axes)
    report.axis_names.push_back(axis.keys[0].substr(axis.keys[0].rfind('.') + 1));
  for (std::size_t point = 0; point < report.sweep.Points(); ++point)
    report.results.push_back({point, Ran(1000 + 100 * static_cast<double>(point)), std::nullopt});
  report.points_asked = report.results.size();
  return report;
}

Document DocumentOf(SweepReport report) {
  report.analysis = sweep::Analyse(report.sweep, report.results);
  return ToJson(report);
}

std::size_t LongestLine(const std::string& text) {
  std::size_t longest = 0;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) longest = std::max(longest, line.size());
  return longest;
}

RC_GTEST_PROP(SweepRecords, ReadBackAsTheyWere, (std::size_t point, const std::string& reason)) {
  PointResult result{.point = point % 1'000'000,
                     .run = Ran(*rc::gen::inRange(1, 1'000'000) / 7.),
                     .predicted = std::nullopt};
  result.run->wall_s = 1 / 3.;
  result.run->limit_s = 2;
  if (*rc::gen::arbitrary<bool>()) {
    result.predicted = Outcome{};
    result.predicted->status = sweep::Status::kOutOfMemory;
  }
  const std::string record = PointRecord(result);
  RC_ASSERT(record.find('\n') == std::string::npos);
  RC_ASSERT(ReadPointRecord(record) == result);
  // Texts of the world outside come back safe to print.
  result.run->reason = reason;
  RC_ASSERT(ReadPointRecord(PointRecord(result)).has_value());
}

TEST(SweepRecords, OfAnOlderJournalHaveNoLimit) {
  Document record = Document::parse(PointRecord({.point = 1, .run = Ran(10), .predicted = {}}));
  record["run"].erase("limit_s");
  EXPECT_EQ(ReadPointRecord(record.dump())->run, Ran(10));
}

TEST(SweepRecords, OtherLinesAreNone) {
  for (const char* text : {"", "7", "[]", "{}", "{\"point\":-1}", "{\"point\":1}", "{\"poi"})
    EXPECT_FALSE(ReadPointRecord(text)) << text;
  // Beyond the points of any sweep, so that readers refuse it.
  EXPECT_GT(ReadPointRecord("{\"point\":4.3e32,\"predicted\":1}").value().point, 1'000'000'000U);
  EXPECT_FALSE(ReadIdentityRecord("{\"point\":1}"));
  const sweep::Identity identity{{"a", "1"}, {"b.c", ""}};
  EXPECT_EQ(ReadIdentityRecord(IdentityRecord(identity, {})), identity);
}

TEST(SweepDocument, FitsItsSchemaWithAndWithoutResults) {
  SweepReport report = ReportOf({AxisOf("loader.workers", 3), AxisOf("loader.batch_size", 2)});
  EXPECT_TRUE(tests::FitsSchema(DocumentOf(report), "sweep"));
  report.results[2].predicted = Ran(1250);
  EXPECT_TRUE(tests::FitsSchema(DocumentOf(report), "sweep"));
  report.results.clear();
  const Document empty = DocumentOf(report);
  EXPECT_TRUE(tests::FitsSchema(empty, "sweep"));
  EXPECT_THAT(ToText(empty, {}), HasSubstr("no point ended with a result"));
}

/// Storage brings its latency; odd points have the second storage.
SweepReport ReportOfStorages() {
  SweepReport report = ReportOf({AxisOf("loader.workers", 2), AxisOf("storage", 2)});
  const auto setting = [](const std::string& text) {
    return spec::Experiment::Setting{text, spec::Origin::kPreset};
  };
  report.settings.shared = {{"run.seed", setting("7")}};
  report.settings.sets = {{{"storage.latency", setting("11ms")}, {"storage.iops", setting("90")}},
                          {{"storage.latency", setting("45us")}}};
  report.settings.of_point = {0, 1, 0, 1};
  return report;
}

TEST(SweepDocument, SaysWhichSettingsEachPointHas) {
  Document document = DocumentOf(ReportOfStorages());
  EXPECT_TRUE(tests::FitsSchema(document, "sweep"));
  EXPECT_EQ(document["experiment"].size(), 1u);
  EXPECT_EQ(document["sweep"]["settings"]["sets"][1]["storage.latency"]["value"], "45us");
  document["points"].erase(0);  // a shard holds some of the points
  const std::vector<View> settings = SettingsOfPoints(View(&document, true));
  ASSERT_EQ(settings.size(), 3u);
  EXPECT_EQ(settings[0].Member("storage.latency").At("value").Text(), "45us");
  EXPECT_EQ(settings[1].Member("storage.latency").At("value").Text(), "11ms");
}

TEST(SweepDocument, OfAnOlderPipesimHasNoSettingsOfItsPoints) {
  Document document = DocumentOf(ReportOfStorages());
  document["sweep"].erase("settings");
  EXPECT_TRUE(tests::FitsSchema(document, "sweep"));
  EXPECT_THAT(RenderCsv(document), AllOf(HasSubstr("run.seed"), testing::Not(HasSubstr("storage.latency"))));
  document["sweep"]["settings"] = {{"sets", {Document::object(), Document::object()}}, {"of_points", {9, 9, 9, 9}}};
  EXPECT_FALSE(SettingsOfPoints(View(&document, true))[0].IsPresent());
}

TEST(SweepCsv, EveryRowHasTheSettingsOfItsPoint) {
  std::istringstream csv(RenderCsv(DocumentOf(ReportOfStorages())));
  std::vector<std::string> ends;
  for (std::string line; std::getline(csv, line);) {
    std::size_t at = line.size();
    for (int cells = 0; cells < 3; ++cells) at = line.rfind(',', at - 1);
    ends.push_back(line.substr(at + 1, line.size() - at - 2));  // without the carriage return
  }
  EXPECT_THAT(ends, testing::ElementsAre("run.seed,storage.iops,storage.latency", "7,90,11ms", "7,,45us",
                                         "7,90,11ms", "7,,45us"));
}

TEST(SweepHtml, ItsSettingsSayWhatVaries) {
  const std::string page = RenderHtml(DocumentOf(ReportOfStorages()));
  const auto row = [](const std::string& path, const std::string& value, const std::string& from) {
    return path + "</th><td class=\"long\" data-label=\"value\">" + value + "</td><td data-label=\"from\">" + from +
           "</td>";
  };
  EXPECT_THAT(page, HasSubstr(row("run.seed", "7", "preset")));
  EXPECT_THAT(page, HasSubstr(row("storage.latency", "varies: 11ms, 45us", "preset")));
  EXPECT_THAT(page, HasSubstr(row("loader.workers", "varies: 1, 2", "axis")));
}

TEST(SweepHtml, MapsSayHowWideTheyAreSoThatTheyFitThePage) {
  const auto widest = [](std::size_t columns) {
    const std::string page =
        RenderHtml(DocumentOf(ReportOf({AxisOf("loader.workers", 3), AxisOf("loader.batch_size", columns)})));
    const std::string_view kStyle = "<div class=\"maps\" style=\"--widest:";
    const std::size_t at = page.find(kStyle);
    return at == std::string::npos ? 0 : std::stoi(page.substr(at + kStyle.size()));
  };
  // "workers", and "loader" in each column; around each 1.4.
  EXPECT_EQ(widest(3), 31);
  EXPECT_EQ(widest(8), 68);
}

/// How high a label of the chart stands.
double HeightOfLabel(const std::string& page, const std::string& name) {
  const std::size_t text = page.find(">" + name + "</text>");
  const std::string_view kY = " y=\"";
  return std::stod(page.substr(page.rfind(kY, text) + kY.size()));
}

TEST(SweepHtml, TheNamesOfNeighbouringPointsDoNotOverlap) {
  const auto apart = [](std::size_t values, std::size_t enough) {
    SweepReport report = ReportOf({AxisOf("loader.workers", values)});
    for (PointResult& result : report.results) result.run = Ran(1000);
    report.analysis = sweep::Analyse(report.sweep, report.results);
    report.analysis.best = values - 1;
    report.analysis.enough = sweep::Enough{.point = enough, .workers = 1, .prefetch_factor = 2, .share = 1};
    const std::string page = RenderHtml(ToJson(report));
    return HeightOfLabel(page, "enough") - HeightOfLabel(page, "best");
  };
  EXPECT_GT(apart(12, 10), 25);
  EXPECT_EQ(apart(12, 2), 0);
}

TEST(SweepText, ManyAxesLeaveOutColumnsRatherThanWrap) {
  const std::string text = ToText(
      DocumentOf(
          ReportOf({AxisOf("loader.prefetch_factor", 2), AxisOf("loader.batch_size", 2),
                    AxisOf("limits.compute_threads", 2), AxisOf("limits.worker_threads", 2)})),
      {.utf8 = false});
  EXPECT_LE(LongestLine(text), 80u) << text;
  EXPECT_THAT(text, AllOf(HasSubstr("loader-bound"), HasSubstr("Gain of the next step")));
}

TEST(SweepText, WideMapsUseACharacterForEachPoint) {
  const std::string text = ToText(
      DocumentOf(ReportOf({AxisOf("loader.workers", 5), AxisOf("loader.batch_size", 30)})), {});
  EXPECT_LE(LongestLine(text), 82u) << text;  // the sign ± has two bytes
  EXPECT_THAT(text, AllOf(HasSubstr("l loader"), HasSubstr("more points; --full shows them")));
}

TEST(SweepText, AFailedPointKeepsItsRowAndReason) {
  SweepReport report = ReportOf({AxisOf("loader.workers", 2)});
  report.results[1].run = Outcome{};
  report.results[1].run->status = sweep::Status::kOutOfMemory;
  report.results[1].run->reason = "asked 9.1 GiB, 7.4 free";
  EXPECT_THAT(ToText(DocumentOf(report), {}),
              AllOf(HasSubstr("2  oom  asked 9.1 GiB, 7.4 free"), HasSubstr("1 ok, 1 failed")));
}

TEST(SweepText, HostileNumbersAreHarmless) {
  Document document = DocumentOf(ReportOf({AxisOf("loader.workers", 2)}));
  document["points"][0]["position"][0] = 1e300;
  document["points"][1]["position"] = "text";
  document["steps"][0]["from"] = -5;
  document["sweep"]["axes"][0].erase("labels");
  document["summary"]["wall_s"] = -9.3e18;
  EXPECT_THAT(ToText(document, {}), HasSubstr("samples/s"));
}

}  // namespace
}  // namespace pipesim::report
