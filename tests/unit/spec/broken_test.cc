// Invalid files. Each lists its expected problems in its first lines,
//   #! LINE:COLUMN part of the message => suggestion
// and exactly these must be found. Files that are not text are generated here.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <sstream>

#include "base/clock.h"
#include "base/files.h"
#include "base/text.h"
#include "support.h"

namespace pipesim::spec {
namespace {

using testing::HasSubstr;

struct Expected {
  int line = 0, column = 0;
  std::string what, suggestion;
};

std::vector<Expected> ExpectedIn(const std::string& yaml) {
  constexpr std::string_view kMark = "#! ";
  std::vector<Expected> all;
  std::istringstream lines(yaml);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t arrow = line.rfind(" =>");
    if (!line.starts_with(kMark) || arrow == std::string::npos) continue;
    Expected expected;
    char colon = 0;
    std::istringstream words(line.substr(kMark.size(), arrow - kMark.size()));
    words >> expected.line >> colon >> expected.column >> std::ws;
    std::getline(words, expected.what);
    expected.suggestion = base::Trim(std::string_view(line).substr(arrow + 3));
    all.push_back(expected);
  }
  return all;
}

std::vector<std::filesystem::path> BrokenFiles() {
  std::vector<std::filesystem::path> files;
  const auto folder = std::filesystem::path(PIPESIM_SOURCE_DIR) / "tests/unit/spec/broken";
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  return files;
}

class Broken : public testing::TestWithParam<std::filesystem::path> {};

TEST_P(Broken, IsReportedWithPlaceAndSuggestion) {
  const std::string yaml = base::ReadFile(GetParam());
  const auto expected = ExpectedIn(yaml);
  ASSERT_FALSE(expected.empty()) << "the file says nothing of what is wrong with it";
  std::vector<base::Problem> problems;
  const base::Duration begin = base::ThreadCpuTime();
  try {
    ReadExperiment({.file = GetParam(), .overrides = {}}, ProjectFolders());
  } catch (const base::ConfigError& error) {
    problems = error.problems();
  }
  EXPECT_LT(base::ThreadCpuTime() - begin, std::chrono::milliseconds(100));
  const std::string shown = base::FormatProblems(problems);
  ASSERT_EQ(problems.size(), expected.size()) << shown;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ(problems[i].source, GetParam().string());
    EXPECT_EQ(problems[i].line, expected[i].line) << shown;
    EXPECT_EQ(problems[i].column, expected[i].column) << shown;
    EXPECT_THAT(problems[i].what, HasSubstr(expected[i].what));
    EXPECT_EQ(problems[i].suggestion, expected[i].suggestion);
    EXPECT_GE(problems[i].width, 1);
  }
}

INSTANTIATE_TEST_SUITE_P(Files, Broken, testing::ValuesIn(BrokenFiles()), [](const auto& param) {
  std::string name = param.param.stem().string();
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

TEST(NoText, BinaryDataIsRefused) {
  const auto problems =
      ProblemsOf(std::string("name: x\n\x7f"
                             "ELF\0\1\2",
                             15));
  ASSERT_EQ(problems.size(), 1U);
  EXPECT_EQ(problems[0].line, 2);
  EXPECT_EQ(problems[0].column, 1);
}

TEST(NoText, Latin1IsRefused) {
  const auto problems = ProblemsOf(
      "name: gr\xf6\xdf"
      "e\n");
  ASSERT_EQ(problems.size(), 1U);
  EXPECT_EQ(problems[0].column, 9);
  EXPECT_EQ(problems[0].suggestion, "a text file in UTF-8");
}

TEST(NoText, AByteOrderMarkIsSkipped) { EXPECT_EQ(Read("\xEF\xBB\xBFname: x").name, "x"); }

TEST(NoText, AnEmptyFileIsRefused) {
  const auto path = std::filesystem::temp_directory_path() / "pipesim-empty-file-test.yaml";
  std::ofstream(path) << "# nothing but a comment\n";
  EXPECT_THROW(ReadExperiment({.file = path, .overrides = {}}, ProjectFolders()),
               base::ConfigError);
  std::filesystem::remove(path);
}

// Texts that cost naive parsers excessive time or memory. The bound on CPU time is generous.
TEST(Hostile, TextsAreRefusedInBoundedTime) {
  const auto repeated = [](std::string_view part, std::size_t bytes) {
    std::string text;
    while (text.size() + part.size() <= bytes) text += part;
    return text;
  };
  std::vector<std::string> texts{", ", "{", "]",  "? ", "&a *a", "!", "%",
                                 "|",  ">", "\"", "'",  "@",     "`"};
  for (const char* part : {"[",   "{",   "- ",  "? ",    "{a: ", "[[]",  "\"",   "'",
                           "&a ", "!!",  "|\n", "a: ",   ": ",   ", ",   "#",    "\n",
                           "*a ", "{? ", "-",   "a:\n ", "x",    "- - ", "!<a> "}) {
    texts.push_back(repeated(part, 100'000));
    texts.push_back("name: " + repeated(part, 100'000));
  }
  std::string deep;
  for (int i = 0; i < 400; ++i) deep += std::string(static_cast<std::size_t>(i), ' ') + "a:\n";
  texts.push_back(deep);
  std::string wide;
  for (int i = 0; i < 20'000; ++i) wide.append("k").append(std::to_string(i)).append(": 1\n");
  texts.push_back(wide);
  texts.push_back(std::string((1 << 20) + 1, 'x'));
  for (const std::string& text : texts) {
    const base::Duration begin = base::ThreadCpuTime();
    ProblemsOf(text);
    const base::Duration took = base::ThreadCpuTime() - begin;
    EXPECT_LT(took, std::chrono::milliseconds(500)) << text.substr(0, 40);
  }
}

/// Reading must return an experiment or throw ConfigError.
void ReadsOrReports(const std::string& text) {
  for (const auto& problem : ProblemsOf(text)) {
    RC_ASSERT(!problem.what.empty());
    RC_ASSERT(problem.line >= 0);
    RC_ASSERT(problem.column >= 1 || problem.line == 0);
  }
}

RC_GTEST_PROP(Fuzz, RandomBytesAreReadOrReported, (const std::string& bytes)) {
  ReadsOrReports(bytes);
}

RC_GTEST_PROP(Fuzz, RandomYamlMarksAreReadOrReported, ()) {
  ReadsOrReports(*rc::gen::container<std::string>(
      rc::gen::elementOf(std::string("abc:-?{}[],#&*!|>'\"%@ \n\n  019.~"))));
}

RC_GTEST_PROP(Fuzz, MutatedExperimentsAreReadOrReported, ()) {
  const auto files = BrokenFiles();
  std::string text = base::ReadFile(*rc::gen::elementOf(files));
  const int changes = *rc::gen::inRange(1, 6);
  for (int i = 0; i < changes && !text.empty(); ++i) {
    const auto at = *rc::gen::inRange<std::size_t>(0, text.size());
    switch (*rc::gen::inRange(0, 3)) {
      case 0:
        text[at] = *rc::gen::elementOf(std::string(":-{}[],#&*!|>'\"% \n\t09az\x80"));
        break;
      case 1:
        text.erase(at, *rc::gen::inRange<std::size_t>(1, 9));
        break;
      default:
        text.insert(at, text.substr(*rc::gen::inRange<std::size_t>(0, text.size()), 30));
    }
  }
  ReadsOrReports(text);
}

RC_GTEST_PROP(Fuzz, RandomFlagsAreReadOrReported, (const std::string& value)) {
  const auto key = *rc::gen::elementOf(Keys());
  try {
    Read("", {Set(std::string(key.path), value)});
  } catch (const base::ConfigError& error) {
    RC_ASSERT(!error.problems().empty());
  }
}

}  // namespace
}  // namespace pipesim::spec
