// A comparison's report: sides from documents, its schema, and a text within the page.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <regex>
#include <sstream>

#include "base/error.h"
#include "examples.h"
#include "report/compare_report.h"
#include "report/view.h"
#include "support/schema.h"

namespace pipesim::report {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

Document SlowReport() { return ToJson(tests::IoBound()); }

Document ComparedOf(const std::vector<Document>& documents,
                    std::optional<double> threshold = std::nullopt) {
  CompareReport report;
  report.context.version = "0.1.0";
  report.rules.threshold = threshold;
  int number = 0;
  for (const Document& document : documents)
    report.sides.push_back(SideOf(document, "report" + std::to_string(++number) + ".json"));
  for (std::size_t side = 1; side < report.sides.size(); ++side)
    report.comparisons.push_back(compare::CompareSides(report.sides, side, report.rules));
  return ToJson(report);
}

/// The same run at `factor` times the rate.
Document Scaled(Document document, double factor) {
  auto& rate = document["result"]["samples_per_s"];
  rate = rate.get<double>() * factor;
  auto& interval = document["result"]["samples_per_s_interval"];
  for (const char* end : {"low", "high"}) interval[end] = interval[end].get<double>() * factor;
  return document;
}

std::size_t WidestLine(const std::string& text) {
  std::size_t widest = 0;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) widest = std::max(widest, line.size());
  return widest;
}

TEST(CompareDocument, FitsItsSchema) {
  EXPECT_TRUE(tests::FitsSchema(ComparedOf({SlowReport(), Scaled(SlowReport(), 2)}), "compare"));
  EXPECT_TRUE(tests::FitsSchema(ComparedOf({SlowReport(), ToJson(tests::ComputeBound())}, 0.05),
                                "compare"));
  EXPECT_TRUE(tests::FitsSchema(
      ComparedOf({SlowReport(), Scaled(SlowReport(), 2), Scaled(SlowReport(), 0.5)}), "compare"));
}

TEST(CompareDocument, TakesTheNoiseOfOneRunFromItsOwnInterval) {
  const Document run = SlowReport();
  const compare::Side side = SideOf(run, "run.json");
  const View result(&run["result"], true);
  const double rate = *result.At("samples_per_s").Number();
  const double half = (*result.At("samples_per_s_interval.high").Number() -
                       *result.At("samples_per_s_interval.low").Number()) /
                      2;
  EXPECT_EQ(side.points[0].rate->unit, compare::Unit::kBlocks);
  EXPECT_NEAR(*side.points[0].rate->RelativeHalfWidth(), half / rate, 1e-9);
}

TEST(CompareDocument, TakesRepeatsWhereThereAreSome) {
  Document run = SlowReport();
  for (const double rate : {4600., 4680., 4700.}) {
    Document repeat = run["result"];
    repeat["samples_per_s"] = rate;
    run["repeats"].push_back(repeat);
  }
  const compare::Estimate rate = *SideOf(run, "run.json").points[0].rate;
  EXPECT_EQ(rate.unit, compare::Unit::kRepeats);
  EXPECT_EQ(rate.count, 3u);
  EXPECT_NEAR(rate.rate, std::cbrt(4600. * 4680 * 4700), 1e-6);
}

TEST(CompareDocument, RefusesWhatHasNoRateToCompare) {
  EXPECT_THROW(SideOf(ToJson(tests::OutOfMemory()), "oom.json"), base::EnvironmentError);
  EXPECT_THROW(SideOf(ToJson(tests::NothingMeasured()), "none.json"), base::EnvironmentError);
  try {
    SideOf(ToJson(tests::OutOfMemory()), "oom.json");
  } catch (const base::EnvironmentError& error) {
    EXPECT_THAT(error.what(), AllOf(HasSubstr("oom.json"), HasSubstr("did not finish"),
                                    HasSubstr("run it again")));
  }
}

/// Three repeats; the times are those of `document`, the median one.
Document Repeated(Document document, const std::vector<double>& factors) {
  for (const double factor : factors) document["repeats"].push_back(Scaled(document, factor)["result"]);
  return document;
}

TEST(CompareText, AnUnsureComparisonNamesTheSideThatIsKnownLessWell) {
  const Document steady = Repeated(SlowReport(), {0.99, 1, 1.01}), wild = Repeated(SlowReport(), {0.6, 1, 1.9});
  const std::string text = ToText(ComparedOf({steady, wild}), {});
  EXPECT_THAT(text, HasSubstr("UNSURE"));
  EXPECT_THAT(text, testing::ContainsRegex("B is known to ±[0-9]+ % from 3"));
  EXPECT_THAT(ToText(ComparedOf({wild, steady}), {}), testing::ContainsRegex("A is known to ±[0-9]+ % from 3"));
}

TEST(CompareText, SaysWhoseTimesItShowsWhereRunsDiffer) {
  const std::string says = "times of each side's run of median rate";
  const Document steady = Repeated(SlowReport(), {0.99, 1, 1.01}), wild = Repeated(SlowReport(), {0.9, 1, 1.9});
  EXPECT_THAT(ToText(ComparedOf({steady, wild}), {}), HasSubstr(says));
  EXPECT_THAT(ToText(ComparedOf({steady, steady}), {}), Not(HasSubstr(says)));
}

TEST(CompareText, StaysOnThePageAndSaysWhatIsNotAlikeFirst) {
  Document other = Scaled(SlowReport(), 0.5);
  other["context"]["host"] = "another";
  for (const bool full : {false, true})
    for (const Document& document :
         {ComparedOf({SlowReport(), other}), ComparedOf({SlowReport(), other, Scaled(other, 3)})}) {
      const std::string text =
          ToText(document, {.detail = full ? Detail::kFull : Detail::kNormal, .utf8 = false});
      EXPECT_LE(WidestLine(text), 80u) << text;
      EXPECT_THAT(text, AllOf(HasSubstr("SLOWER"), HasSubstr("Note  Different machines: ")));
      EXPECT_LT(text.find("Different machines"), text.find("samples/s  "));
    }
}

/// The numbers in front of "ms" on each line of the table of stages.
std::vector<std::vector<double>> StageRows(const std::string& text) {
  std::vector<std::vector<double>> rows;
  const std::regex row("^    \\w+ +([-+0-9.,]+) ms +([-+0-9.,]+) ms +([-+0-9.,]+) ms$");
  std::istringstream lines(text);
  std::smatch found;
  for (std::string line; std::getline(lines, line);)
    if (std::regex_match(line, found, row))
      rows.push_back({std::stod(found[1]), std::stod(found[2]), std::stod(found[3])});
  return rows;
}

RC_GTEST_PROP(CompareText, StagesAndDifferencesAddUpAsPrinted, ()) {
  Document a = SlowReport(), b = SlowReport();
  const double steps = a["result"]["steps"].get<double>();
  for (Document* document : {&a, &b})
    for (const char* stage : {"busy_s", "starved_s", "launch_s", "transfer_s", "sync_s", "other_s"})
      (*document)["device"][stage] = steps * *rc::gen::inRange(0, 100'000) * 1e-7;
  a["device"]["busy_s"] = steps * 0.010;  // in ms
  const auto rows = StageRows(ToText(ComparedOf({a, b}), {.utf8 = false}));
  RC_ASSERT(rows.size() >= 2);
  for (std::size_t column = 0; column < 3; ++column) {
    double sum = 0;
    for (std::size_t i = 0; i + 1 < rows.size(); ++i) sum += rows[i][column];
    RC_ASSERT(std::abs(sum - rows.back()[column]) < 1e-6);
  }
  for (const auto& row : rows) RC_ASSERT(std::abs(row[1] - row[0] - row[2]) < 1e-6);
}

TEST(CompareText, HostileDocumentsAreHarmless) {
  Document document = ComparedOf({SlowReport(), Scaled(SlowReport(), 2)});
  document["comparisons"][0]["points"][0]["a"] = "text";
  document["comparisons"][0]["points"][0]["where"]["stages"][0]["a_s"] = 1e300;
  document["sides"][0]["name"] = "\x1b[31mred";
  EXPECT_THAT(ToText(document, {}), HasSubstr("samples/s"));
  document["comparisons"] = Document::array();
  EXPECT_EQ(ToText(document, {}), "nothing was compared\n");
}

}  // namespace
}  // namespace pipesim::report
