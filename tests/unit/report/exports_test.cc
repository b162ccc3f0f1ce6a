// Every export format: what its readers need, and what a hostile document must not do to it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>
#include <set>

#include "examples.h"
#include "report/csv.h"
#include "report/event_file.h"
#include "report/markdown.h"
#include "report/sweep_report.h"
#include "report/tensorboard.h"

namespace pipesim::tests {
namespace {

using report::Document;
using report::ExportedFile;
using report::Exporter;
using report::ToJson;
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

// ---- CSV

/// RFC 4180, section 2, as a reader.
std::vector<std::vector<std::string>> ReadCsv(const std::string& text) {
  std::vector<std::vector<std::string>> rows{{""}};
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted && c == '"' && i + 1 < text.size() && text[i + 1] == '"')
      rows.back().back() += text[++i];
    else if (c == '"')
      quoted = !quoted;
    else if (c == ',' && !quoted)
      rows.back().emplace_back();
    else if (c == '\n' && !quoted)
      rows.push_back({""});
    else if (c != '\r' || quoted)
      rows.back().back() += c;
  }
  EXPECT_FALSE(quoted);
  EXPECT_THAT(rows.back(), ElementsAre("")) << "the last line must end";
  rows.pop_back();
  return rows;
}

/// The cells of a column, without its title.
std::vector<std::string> Column(const Document& document, const std::string& name) {
  const auto rows = ReadCsv(report::RenderCsv(document));
  const auto at = std::find(rows[0].begin(), rows[0].end(), name) - rows[0].begin();
  std::vector<std::string> cells;
  for (std::size_t i = 1; i < rows.size(); ++i) {
    EXPECT_EQ(rows[i].size(), rows[0].size());
    cells.push_back(at < std::ssize(rows[i]) ? rows[i][static_cast<std::size_t>(at)] : "no column");
  }
  return cells;
}

TEST(Csv, HasOneRowForARunWithFiguresAndSettings) {
  const Document document = ToJson(IoBound());
  EXPECT_THAT(Column(document, "samples_per_s"), ElementsAre("4680.073126142595"));
  EXPECT_THAT(Column(document, "steps"), ElementsAre("183"));
  EXPECT_THAT(Column(document, "bottleneck"), ElementsAre("io-bound"));
  EXPECT_THAT(Column(document, "device_busy_s"), ElementsAre("2.8365"));
  EXPECT_THAT(Column(document, "loader.workers"), ElementsAre("4"));
  EXPECT_THAT(Column(document, "step_time_p99_s"), ElementsAre("")) << "unknown is empty";
}

TEST(Csv, HasTheSameFiguresForEveryRun) {
  const auto figures = [](const report::RunReport& report) {
    auto titles = ReadCsv(report::RenderCsv(ToJson(report)))[0];
    titles.erase(std::find(titles.begin(), titles.end(), "failure") + 1, titles.end());
    return titles;
  };
  EXPECT_EQ(figures(IoBound()), figures(NoWorkers())) << "without a device's clock";
  EXPECT_EQ(figures(IoBound()), figures(NothingMeasured()));
}

TEST(Csv, HasARowForEachRepeatAndThePartsBesideTheMedianOne) {
  report::RunReport run = IoBound();
  for (const double rate : {4000.0, *run.measurement.result.samples_per_s, 5000.0}) {
    run.repeats.push_back(run.measurement.result);
    run.repeats.back().samples_per_s = rate;
  }
  const Document document = ToJson(run);
  EXPECT_THAT(Column(document, "repeat"), ElementsAre("1", "2", "3"));
  EXPECT_THAT(Column(document, "samples_per_s"),
              ElementsAre("4000.0", "4680.073126142595", "5000.0"));
  EXPECT_THAT(Column(document, "device_busy_s"), ElementsAre("", "2.8365", ""));
}

TEST(Csv, QuotesByRfc4180) {
  Document document = ToJson(IoBound());
  document["experiment"]["name"]["value"] = "a, \"b\" c";
  EXPECT_THAT(Column(document, "name"), ElementsAre("a, \"b\" c"));
  EXPECT_THAT(report::RenderCsv(document), HasSubstr("\r\n\"a, \"\"b\"\" c\","));
}

TEST(Csv, KeepsTextsFromBecomingFormulas) {
  Document document = ToJson(IoBound());
  document["experiment"]["name"]["value"] = "=cmd|' /C calc'!A0";
  document["effective"]["device_name"] = "@SUM(1+1)";
  document["experiment"]["model.name"]["value"] = "-1e3";  // a number stays one
  EXPECT_THAT(Column(document, "name"), ElementsAre("'=cmd|' /C calc'!A0"));
  EXPECT_THAT(Column(document, "device_name"), ElementsAre("'@SUM(1+1)"));
  EXPECT_THAT(Column(document, "model.name"), ElementsAre("-1e3"));
}

// ---- a sweep of 2 workers × 2 storages, with hostile labels

report::SweepReport SweepOf(const std::vector<std::string>& storages) {
  report::SweepReport sweep;
  sweep.context.version = "0.1.0";
  sweep.context.date = "2026-01-31T12:00:00Z";
  spec::SweepAxis workers{{"loader.workers"}, {}}, storage{{"storage"}, {}};
  for (const char* value : {"8", "2"}) workers.values.push_back({{value, {}, value}});
  for (const std::string& value : storages) storage.values.push_back({{value, {}, value}});
  sweep.sweep.axes = {workers, storage};
  sweep.axis_names = {"workers", "storage"};
  for (std::size_t point = 0; point < sweep.sweep.Points(); ++point) {
    sweep::Outcome outcome;
    outcome.status = sweep::Status::kOk;
    outcome.samples_per_s = 1000 + 100 * static_cast<double>(point);
    outcome.bottleneck = "io-bound";
    sweep.results.push_back({point, outcome, std::nullopt});
  }
  sweep.points_asked = sweep.results.size();
  sweep.analysis = sweep::Analyse(sweep.sweep, sweep.results);
  return sweep;
}

TEST(Csv, HasARowForEachPointWithItsAxes) {
  const Document document = ToJson(SweepOf({"hdd", "nvme"}));
  EXPECT_THAT(Column(document, "point"), ElementsAre("0", "1", "2", "3"));
  EXPECT_THAT(Column(document, "loader.workers"), ElementsAre("8", "8", "2", "2"));
  EXPECT_THAT(Column(document, "storage"), ElementsAre("hdd", "nvme", "hdd", "nvme"));
  EXPECT_THAT(Column(document, "samples_per_s"),
              ElementsAre("1000.0", "1100.0", "1200.0", "1300.0"));
  EXPECT_THAT(Column(document, "predicted_samples_per_s"), ElementsAre("", "", "", ""));
}

// ---- Markdown

TEST(Markdown, GivesVerdictWhyNextAndTables) {
  const std::string text = report::RenderMarkdown(ToJson(IoBound()));
  EXPECT_THAT(text, StartsWith("### **io-bound** (confidence high): storage limits training"));
  EXPECT_THAT(text, HasSubstr("\n- Storage delivers 527 of its 550 MB/s\n"));
  EXPECT_THAT(text,
              HasSubstr("```sh\npipesim imagenet.yaml --batch 256 --model mlp --storage nvme"));
  EXPECT_THAT(text, HasSubstr("| starved: waits for a batch | 38.3 ms | 70 % |"));
  EXPECT_THAT(text, HasSubstr("| storage x2 | 8,284 | +77 % |"));
  EXPECT_THAT(text, Not(HasSubstr("prefetch 2 to 4 |"))) << "below 1 %";
}

TEST(Markdown, SaysFirstThatARunFailed) {
  EXPECT_THAT(report::RenderMarkdown(ToJson(OutOfMemory())), StartsWith("### **out of memory**: "));
}

TEST(Markdown, ShowsNamesAsTextAndLinksNobody) {
  EXPECT_EQ(report::MarkdownText("a|b"), "a&#124;b");
  EXPECT_EQ(report::MarkdownText("<script>&"), "&lt;script&gt;&amp;");
  EXPECT_EQ(report::MarkdownText("*x* `y` [z](u)"), "\\*x\\* \\`y\\` \\[z\\](u)");
  EXPECT_EQ(report::MarkdownText("@user #12"), "@<!-- -->user #<!-- -->12");
  EXPECT_EQ(report::MarkdownText("http://e a: b"), "http:<!-- -->//e a: b");
  EXPECT_EQ(report::MarkdownText("www.e.org"), "www<!-- -->.e.org");
  EXPECT_EQ(report::MarkdownText("two\nlines"), "two lines");
}

TEST(Markdown, EndsABlockOnlyWhereItIsMeantTo) {
  EXPECT_EQ(report::MarkdownBlock("x\n", "sh"), "```sh\nx\n```\n");
  EXPECT_EQ(report::MarkdownBlock("a ```` b\n", ""), "`````\na ```` b\n`````\n");
}

TEST(Markdown, KeepsTheCellsOfATableApart) {
  const std::string text = report::RenderMarkdown(ToJson(SweepOf({"a|b", "c"})));
  EXPECT_THAT(text, HasSubstr("| 2 | a&#124;b |"));
}

// ---- TensorBoard

TEST(Crc32c, IsThatOfRfc3720) {
  EXPECT_EQ(report::Crc32c("123456789"), 0xE3069283U);
  EXPECT_EQ(report::Crc32c(std::string(32, '\0')), 0x8A9136AAU);
  EXPECT_EQ(report::Crc32c(std::string(32, '\xff')), 0x62A8AB43U);
}

template <class Value>
Value Raw(const std::string& bytes, std::size_t at) {
  Value value{};
  if (at + sizeof value <= bytes.size()) std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

std::uint32_t Unmasked(std::uint32_t masked) {
  const std::uint32_t rotated = masked - 0xA282EAD8U;
  return rotated >> 17 | rotated << 15;
}

/// The messages of a file, its lengths and checksums checked.
std::vector<std::string> Records(const std::string& bytes) {
  std::vector<std::string> records;
  for (std::size_t at = 0; at < bytes.size();) {
    const auto length = Raw<std::uint64_t>(bytes, at);
    EXPECT_EQ(Unmasked(Raw<std::uint32_t>(bytes, at + 8)), report::Crc32c(bytes.substr(at, 8)));
    if (length > bytes.size()) break;
    records.push_back(bytes.substr(at + 12, length));
    at += 12 + length;
    EXPECT_EQ(Unmasked(Raw<std::uint32_t>(bytes, at)), report::Crc32c(records.back()));
    at += 4;
  }
  return records;
}

TEST(EventFile, FramesItsRecordsWithMaskedChecksums) {
  report::EventFile file(1.5);
  file.AddScalar("rate", 2.5, 300, 0.25);
  const auto records = Records(file.bytes());
  ASSERT_EQ(records.size(), 2u);
  EXPECT_THAT(records[0], EndsWith("brain.Event:2"));
  // Event{wall_time: 2.5, step: 300, summary {value {tag: "rate", simple_value: 0.25}}}
  const std::string expected(
      "\x09\0\0\0\0\0\0\x04\x40"
      "\x10\xac\x02"
      "\x2a\x0d\x0a\x0b\x0a\x04rate"
      "\x15\0\0\x80\x3e",
      27);
  EXPECT_EQ(records[1], expected);
}

std::vector<std::string> FoldersOf(const std::vector<ExportedFile>& files) {
  std::vector<std::string> folders;
  for (const ExportedFile& file : files) {
    EXPECT_THAT(file.path, HasSubstr("events.out.tfevents."));
    EXPECT_THAT(file.path, EndsWith(report::kEventFileEnd));
    EXPECT_FALSE(Records(file.content).empty());
    const std::size_t slash = file.path.find('/');
    folders.push_back(slash == std::string::npos ? "" : file.path.substr(0, slash));
    EXPECT_LE(std::count(file.path.begin(), file.path.end(), '/'), 1) << file.path;
  }
  return folders;
}

TEST(TensorBoard, WritesOneSubRunForEachSeriesOverTheWorkers) {
  const auto files = report::RenderTensorBoard(ToJson(SweepOf({"hdd", "nvme"})));
  EXPECT_THAT(FoldersOf(files), ElementsAre("storage=hdd,measured", "storage=nvme,measured", ""));
}

TEST(TensorBoard, KeepsFoldersInsideAndApart) {
  const auto files = report::RenderTensorBoard(ToJson(SweepOf({"../a/b", "../a_b", ".."})));
  const auto folders = FoldersOf(files);
  EXPECT_EQ(std::set(folders.begin(), folders.end()).size(), folders.size());
  for (const std::string& folder : folders) EXPECT_THAT(folder, Not(StartsWith(".")));
}

// ---- all formats

void RenderAll(const Document& document) {
  for (const Exporter& exporter : report::Exporters()) {
    if (exporter.render != nullptr) exporter.render(document);
    if (exporter.render_folder != nullptr) exporter.render_folder(document);
  }
}

TEST(Exporters, TakeDocumentsWithPartsMissingOrOfTheWrongType) {
  for (const Document& whole :
       {ToJson(IoBound()), ToJson(NothingMeasured()), ToJson(SweepOf({"a"}))}) {
    for (const auto& [name, part] : whole.items()) {
      for (const Document& wrong : {Document(nullptr), Document(1e300), Document("x"),
                                    Document::array({1, nullptr, "x"}), Document::object()}) {
        Document document = whole;
        document[name] = wrong;
        EXPECT_NO_THROW(RenderAll(document)) << name;
        if (!part.is_object()) continue;
        for (const auto& [member, value] : part.items()) {
          document = whole;
          document[name][member] = wrong;
          EXPECT_NO_THROW(RenderAll(document)) << name << "." << member;
        }
      }
    }
  }
}

TEST(Exporters, HaveOneFunctionEach) {
  for (const Exporter& exporter : report::Exporters())
    EXPECT_EQ((exporter.render != nullptr) + (exporter.render_folder != nullptr) +
                  (exporter.write_trace != nullptr),
              1)
        << exporter.name;
}

}  // namespace
}  // namespace pipesim::tests
