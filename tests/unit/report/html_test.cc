// The HTML report: one safe page that says what the text says, for documents of every kind.
#include "report/html.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "base/text.h"
#include "examples.h"
#include "report/html_svg.h"
#include "report/html_text.h"
#include "support/markup.h"
#include "support/schema.h"

namespace pipesim::tests {
namespace {

using report::Document;
using report::RenderHtml;
using report::RunReport;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

/// A real document of tests/golden/documents.
Document Example(const std::string& name) {
  std::ifstream file(PIPESIM_SOURCE_DIR "/tests/golden/documents/" + name + ".json");
  return Document::parse(file);
}

std::vector<std::pair<std::string, Document>> Examples() {
  std::vector<std::pair<std::string, Document>> documents;
  for (const char* name : {"predict", "sweep_one_axis", "sweep_two_axes", "size", "tune"})
    documents.emplace_back(name, Example(name));
  Document threads = Example("tune");
  threads["tuned"]["settings"]["compute_threads"] = 2;
  documents.emplace_back("tune to two threads", threads);
  for (report::RunReport (*make)() : {&IoBound, &ComputeBound, &Inconclusive, &OutOfMemory,
                                      &NothingMeasured, &NoWorkers})
    documents.emplace_back("run", report::ToJson(make()));
  return documents;
}

TEST(Html, ExamplesFitTheirSchemas) {
  for (const auto& [name, document] : Examples())
    EXPECT_TRUE(FitsSchema(document, document["kind"])) << name;
}

TEST(Html, ShowsPowerAndClocksOverTimeWhereTheyWereRead) {
  RunReport run = IoBound();
  measure::OverTime lines;
  lines.slice_s = 5;
  lines.samples_per_s = {4'600, 4'700};
  lines.gpu = measure::OverTime::Gpu{};
  lines.gpu->power_w = {52, std::nullopt};
  lines.gpu->sm_clock_mhz = {2'460, 2'445};
  run.measurement.over_time = lines;
  const Document document = report::ToJson(run);
  EXPECT_TRUE(FitsSchema(document, "run"));
  const std::string page = RenderHtml(document);
  EXPECT_TRUE(IsWellFormed(page));
  EXPECT_THAT(page, HasSubstr("GPU power over time:  from 52.0 W"));
  EXPECT_THAT(page, HasSubstr("2,445 MHz"));
  EXPECT_THAT(page, Not(HasSubstr("GPU memory in use")));
}

TEST(Html, IsOneWellFormedPageWithoutScriptThatForbidsIt) {
  for (const auto& [name, document] : Examples()) {
    const std::string page = RenderHtml(document);
    SCOPED_TRACE(name);
    EXPECT_TRUE(IsWellFormed(page));
    EXPECT_THAT(page, HasSubstr("http-equiv=\"Content-Security-Policy\" content=\"default-src 'none';"));
    EXPECT_THAT(page, Not(HasSubstr("<script")));
    EXPECT_THAT(page, Not(HasSubstr("http://")));
    EXPECT_THAT(page, Not(HasSubstr("https://")));
    for (const std::string& tag : ReadMarkup(page).tags)
      EXPECT_THAT(tag, Not(testing::ContainsRegex(" on[a-z]+=\""))) << "an event handler";
    EXPECT_LT(page.size(), 300'000u);
  }
}

/// Words of text that a page must have; rulers, bars and marks of the text layout are not words.
std::vector<std::string> WordsOf(const std::string& text) {
  std::vector<std::string> words;
  std::istringstream stream(text);
  for (std::string word; stream >> word;) {
    const bool letters = word.find_first_of("0123456789abcdefghijklmnopqrstuvwxyz") != std::string::npos;
    if (letters) words.push_back(word);
  }
  return words;
}

TEST(Html, SaysEverythingThatTheFullTextSays) {
  // Headings that the page words otherwise, and units that stand in a column's title.
  const std::set<std::string> other_wording = {"per", "times", "worker", "hits", "first", "ahead"};
  for (const auto& [name, document] : Examples()) {
    SCOPED_TRACE(name);
    const std::string text = " " + ReadMarkup(RenderHtml(document)).text + " ";
    for (const std::string& word :
         WordsOf(report::ToText(document, {.detail = report::Detail::kFull})))
      if (!other_wording.contains(word)) {
        EXPECT_THAT(text, HasSubstr(word));
      }
  }
}

/// Puts `text` in place of every text of the document but those that choose what is shown.
void Poison(Document& value, const std::string& key, const std::string& text) {
  static const std::set<std::string> kChosen = {"kind",   "status", "bottleneck", "metric",
                                                "origin", "engine", "device",     "full"};
  if (value.is_string() && !kChosen.contains(key)) value = text;
  if (value.is_array())
    for (Document& each : value) Poison(each, key, text);
  if (value.is_object())
    for (auto& [name, member] : value.items()) Poison(member, name, text);
}

TEST(Html, TextsOfUsersAreTextAndNeverMarkup) {
  const std::string hostile =
      "</script><script>alert(1)</script><img src=x onerror=alert(2)>\"'&amp; \xE2\x80\xAE" "evil "
      "\xFF\xC0\xAF --> ]]>";
  for (auto& [name, document] : Examples()) {
    SCOPED_TRACE(name);
    Poison(document, "", hostile);
    document["experiment"][hostile] = {{"value", hostile}, {"origin", "flag"}};
    const std::string page = RenderHtml(document);
    EXPECT_TRUE(IsWellFormed(page));
    EXPECT_THAT(page, Not(HasSubstr("<script")));
    EXPECT_THAT(page, Not(HasSubstr("<img")));
    EXPECT_THAT(page, HasSubstr("&lt;/script&gt;&lt;script&gt;alert(1)"));
    EXPECT_THAT(page, HasSubstr("&quot;&#39;&amp;amp;"));
    EXPECT_THAT(page, Not(HasSubstr("\xE2\x80\xAE"))) << "a right-to-left override";
    EXPECT_FALSE(base::FirstUnreadableByte(page)) << "invalid UTF-8";
  }
}

/// The pointers of all values in the document.
void PlacesIn(const Document& value, const Document::json_pointer& at,
              std::vector<Document::json_pointer>& places) {
  places.push_back(at);
  // Long lists of numbers are alike.
  if (value.is_array())
    for (std::size_t i = 0; i < std::min<std::size_t>(value.size(), 3); ++i)
      PlacesIn(value[i], at / i, places);
  if (value.is_object())
    for (const auto& [name, member] : value.items()) PlacesIn(member, at / name, places);
}

TEST(Html, MissingAndWrongValuesNeverThrowNorBreakThePage) {
  const std::vector<Document> values = {nullptr, "text", -1, 1e308, 0, true, Document::array(),
                                        Document::object(), Document::array({nullptr, "x", -5, 1e300})};
  std::size_t next = 0, pages = 0;
  for (const auto& [name, document] : Examples()) {
    std::vector<Document::json_pointer> places;
    PlacesIn(document, Document::json_pointer(), places);
    for (const Document::json_pointer& place : places) {
      if (place.empty() || place.to_string() == "/kind") continue;
      Document edited = document;
      edited[place] = values[next++ % values.size()];  // each place meets one, each kind of place all
      ASSERT_NO_THROW({
        const std::string page = RenderHtml(edited);
        ASSERT_TRUE(IsWellFormed(page)) << name << " " << place << " " << edited[place];
        ASSERT_EQ(page.find("nan"), std::string::npos) << name << " " << place;
        ASSERT_EQ(page.find("\"inf"), std::string::npos) << name << " " << place;
      }) << name << " " << place;
      ++pages;
    }
  }
  EXPECT_GT(pages, 1000u);
}

TEST(Html, AnEmptyDocumentAndAnUnknownKindAreAPage) {
  EXPECT_TRUE(IsWellFormed(RenderHtml(Document::object())));
  EXPECT_TRUE(IsWellFormed(RenderHtml({{"kind", "dance"}})));
  EXPECT_TRUE(IsWellFormed(RenderHtml({{"kind", "run"}})));
  EXPECT_TRUE(IsWellFormed(RenderHtml(nullptr)));
}

TEST(Html, EveryMarkHasATooltip) {
  const std::set<std::string> marks = {"busy",  "starved", "bar", "bar-bound", "hit",
                                       "point", "tried",   "ring", "warmup"};
  std::size_t found = 0;
  for (const char* name : {"predict", "sweep_one_axis", "size", "tune"}) {
    const std::string page = RenderHtml(Example(name));
    for (const char* tag : {"<rect class=\"", "<circle class=\""})
      for (std::size_t at = page.find(tag); at != std::string::npos; at = page.find(tag, at + 1)) {
        const std::size_t from = at + std::string(tag).size(), end = page.find('>', at);
        if (!marks.contains(page.substr(from, page.find('"', from) - from))) continue;
        const bool swatch = page.substr(at - 30, 30).find("aria-hidden=\"true\"") != std::string::npos;
        if (swatch) continue;  // the word stands beside it
        ++found;
        EXPECT_EQ(page.substr(end + 1, 7), "<title>") << page.substr(at, 200);
      }
  }
  EXPECT_GT(found, 300u);
}

TEST(Html, TheReasonOfAFailedPointWrapsOverTheColumnsOfItsFigures) {
  Document document = Example("sweep_one_axis");
  Document& point = document["points"][0];
  Document& outcome = point[point["run"].is_null() ? "predicted" : "run"];
  outcome["status"] = "failed";
  outcome["samples_per_s"] = nullptr;
  outcome["reason"] = "the run's process was killed";
  const std::string page = RenderHtml(document);
  EXPECT_TRUE(IsWellFormed(page));
  EXPECT_THAT(page, HasSubstr("<td class=\"long\" colspan=\"6\">failed the run"));
}

TEST(Html, PicturesHaveALabelThatSaysWhatTheyShow) {
  const std::string page = RenderHtml(report::ToJson(IoBound()));
  EXPECT_THAT(page, HasSubstr("aria-label=\"Where a step goes (GPU timeline): starved 70 %, busy 28 %, "
                              "launch 1 %, transfer 1 %\""));
  for (const std::string& tag : ReadMarkup(page).tags)
    if (tag.starts_with("svg ") && tag.find("role=\"img\"") != std::string::npos) {
      EXPECT_THAT(tag, HasSubstr("aria-label=\""));
    }
}

TEST(Html, TriedGainsStandBesideThePromisedOnes) {
  Document document = report::ToJson(IoBound());
  Document& row = document["diagnosis"]["what_if"][3];
  row["tried"] = {{"samples_per_s", 4700}, {"gain", 0.004},
                  {"gain_interval", {{"low", -0.01}, {"high", 0.02}, {"level", 0.95}, {"method", "t"}}},
                  {"refutes", true}};
  const std::string page = RenderHtml(document);
  EXPECT_THAT(page, HasSubstr("tried, +0.4 % (-1 % to +2 %)"));
  EXPECT_THAT(page, HasSubstr("refuted"));
  EXPECT_THAT(RenderHtml(report::ToJson(IoBound())), Not(HasSubstr("class=\"tried\"")));
}

TEST(Html, AComparisonShowsEachPointsChangeWithItsInterval) {
  const auto point = [](const char* name, double change, double low, double high, const char* call) {
    return Document{{"name", name},
                    {"call", call},
                    {"change", change},
                    {"change_interval", {{"low", low}, {"high", high}}},
                    {"noise_floor", 0.009},
                    {"a", {{"samples_per_s", 6150}}},
                    {"b", {{"samples_per_s", 5660}}}};
  };
  Document comparison = Document::object();
  comparison["points"] = Document::array({point("workers 2", -0.08, -0.089, -0.071, "SLOWER"),
                                          point("workers 4 </td>", -0.001, -0.007, 0.006, "SAME")});
  Document document = {{"kind", "compare"}, {"overall", {{"call", "SLOWER"}}}};
  document["comparisons"] = Document::array();
  document["comparisons"].push_back(comparison);
  const std::string page = RenderHtml(document);
  EXPECT_TRUE(IsWellFormed(page));
  EXPECT_THAT(page, HasSubstr("<b>SLOWER</b>: 2 points"));
  EXPECT_THAT(page, HasSubstr("<title>workers 2: -8 % (-9 % to -7 %)</title>"));
  EXPECT_THAT(page, HasSubstr("<title>noise: -0.9 % to +0.9 %</title>"));
  EXPECT_THAT(page, HasSubstr("workers 4 &lt;/td&gt;"));
}

TEST(Html, EscapesWhatMarkupIsMadeOf) {
  EXPECT_EQ(report::Escaped("a<b>&\"'\x01"), "a&lt;b&gt;&amp;&quot;&#39;\xEF\xBF\xBD");
}

TEST(Svg, TicksAreRoundAndNoMoreThanAsked) {
  EXPECT_THAT(report::Ticks(0, 1, 5), ElementsAre(0, 0.5, 1));
  EXPECT_THAT(report::Ticks(0, 2.3, 5), ElementsAre(0, 0.5, 1, 1.5, 2));
  EXPECT_THAT(report::Ticks(-0.5, 8.9, 5), ElementsAre(0, 2, 4, 6, 8));
  EXPECT_TRUE(report::Ticks(1, 1, 5).empty());
  for (double span = 1e-9; span < 1e12; span *= 1.7) {
    const auto ticks = report::Ticks(0, span, 5);
    EXPECT_LE(ticks.size(), 5u);
    EXPECT_GE(ticks.size(), 2u) << span;
  }
}

TEST(Svg, RoundsAxesUpToRoundValues) {
  EXPECT_DOUBLE_EQ(report::RoundedUp(4683), 5000);
  EXPECT_DOUBLE_EQ(report::RoundedUp(0.011), 0.012);
  EXPECT_DOUBLE_EQ(report::RoundedUp(9.5), 10);
  EXPECT_DOUBLE_EQ(report::RoundedUp(0), 1);
}

TEST(Svg, AnAxisOfTimeHasOneUnit) {
  EXPECT_EQ(report::AxisTime(0, 0.2), "0 ms");
  EXPECT_EQ(report::AxisTime(0.05, 0.2), "50 ms");
  EXPECT_EQ(report::AxisTime(0.5, 7), "0.5 s");
}

TEST(Svg, LinesBreakWhereAPointIsMissing) {
  const std::string line =
      report::PolyLine({{0, 0.5}, {0.25, 1}, {0.5, std::nullopt}, {0.75, 0}}, 0, 10, "line", false);
  EXPECT_THAT(line, HasSubstr("d=\"M0 500L250 0M750 1000\""));
}

}  // namespace
}  // namespace pipesim::tests
