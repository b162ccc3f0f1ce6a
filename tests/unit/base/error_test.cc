#include "base/error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.h"

namespace pipesim::base {
namespace {

std::string Format(Problem problem) { return FormatProblems({std::move(problem)}); }

TEST(FormatProblemsTest, ShowsPlaceLineCaretAndSuggestion) {
  EXPECT_EQ(Format({.source = "a.yaml",
                    .line = 3,
                    .column = 11,
                    .source_line = "loader: {wrokers: 4}",
                    .width = 7,
                    .what = "unknown key 'wrokers'",
                    .suggestion = "workers"}),
            "a.yaml:3:11: error: unknown key 'wrokers'\n"
            "loader: {wrokers: 4}\n"
            "          ^~~~~~~\n"
            "  suggestion: workers\n");
}

TEST(FormatProblemsTest, ACommandLineHasNoLineNumber) {
  EXPECT_EQ(Format({.source = "command line",
                    .line = 0,
                    .column = 11,
                    .source_line = "--workers four",
                    .width = 4,
                    .what = "'four' is not a count",
                    .suggestion = ""}),
            "command line: error: 'four' is not a count\n"
            "--workers four\n"
            "          ^~~~\n");
  EXPECT_EQ(Format({.source = "command line", .source_line = "", .what = "bad", .suggestion = ""}),
            "command line: error: bad\n");
}

TEST(FormatProblemsTest, QuotedInputCannotWriteToTheTerminal) {
  EXPECT_EQ(Format({.source = "a\x1b.yaml",
                    .source_line = "",
                    .what = "unknown key 'b\x1b[31m\xfe'",
                    .suggestion = "\x1b"}),
            "a\uFFFD.yaml: error: unknown key 'b\uFFFD[31m\uFFFD'\n  suggestion: \uFFFD\n");
}

TEST(FormatProblemsTest, KeepsTheOrder) {
  const Problem first{.source = "a", .line = 2, .source_line = "", .what = "x", .suggestion = ""};
  const Problem second{.source = "a", .line = 1, .source_line = "", .what = "y", .suggestion = "z"};
  EXPECT_EQ(FormatProblems({first, second}), "a:2: error: x\na:1: error: y\n  suggestion: z\n");
}

// The text above the caret and its underline.
std::string MarkedText(const std::string& formatted) {
  const std::vector<std::string> lines = Split(formatted, '\n');
  const std::string &source = lines.at(1), &caret = lines.at(2);
  const std::size_t from = caret.find('^'), to = caret.size();
  std::string marked;
  std::size_t column = 0;
  for (std::string_view rest = source; !rest.empty();) {
    const Utf8Char c = FirstChar(rest);
    if (column >= from && column < to) marked += rest.substr(0, c.size);
    column += static_cast<std::size_t>(DisplayWidth(c.code));
    rest.remove_prefix(c.size);
  }
  return marked;
}

std::string Marked(std::string line, int column, int width) {
  return MarkedText(Format({.source = "f",
                            .line = 1,
                            .column = column,
                            .source_line = std::move(line),
                            .width = width,
                            .what = "bad",
                            .suggestion = ""}));
}

TEST(FormatProblemsTest, TheCaretStandsUnderTheRightCharacter) {
  EXPECT_EQ(Marked("name: caf\u00E9 oops", 12, 4), "oops");
  EXPECT_EQ(Marked("\t\tx: oops", 6, 4), "oops");
  EXPECT_EQ(Marked("\u4E2D\u6587: oops", 5, 4), "oops");
  EXPECT_EQ(Marked("bad \xff byte: oops", 13, 4), "oops");
  EXPECT_EQ(Marked("\u4E2D\u6587: 1", 1, 2), "\u4E2D\u6587");
}

TEST(FormatProblemsTest, TheCaretStaysWithinTheLine) {
  EXPECT_EQ(Marked("short: oops", 8, 400), "oops");
  const std::string beyond = Format({.source = "f",
                                     .line = 1,
                                     .column = 40,
                                     .source_line = "key:",
                                     .what = "a value is missing",
                                     .suggestion = ""});
  EXPECT_EQ(Split(beyond, '\n').at(2), "    ^");
}

TEST(FormatProblemsTest, ALongLineIsShownAroundTheCaret) {
  const std::string filler(500, 'x');
  for (const int before : {0, 10, 300, 500}) {
    const std::string line = filler.substr(0, static_cast<std::size_t>(before)) + "OOPS" +
                             filler.substr(static_cast<std::size_t>(before));
    EXPECT_EQ(Marked(line, before + 1, 4), "OOPS") << before;
    const std::string text = Format({.source = "f",
                                     .line = 1,
                                     .column = before + 1,
                                     .source_line = line,
                                     .width = 4,
                                     .what = "bad",
                                     .suggestion = ""});
    EXPECT_LE(Split(text, '\n').at(1).size(), 80u);
    EXPECT_LE(Split(text, '\n').at(2).size(), 80u);
  }
}

TEST(FormatProblemsTest, ControlCharactersFromTheFileAreReplaced) {
  const std::string text = Format({.source = "f\x1b]0;x\x07",
                                   .line = 1,
                                   .column = 1,
                                   .source_line = "\x1b[2J: 1",
                                   .what = "bad",
                                   .suggestion = ""});
  EXPECT_THAT(text, testing::Not(testing::HasSubstr("\x1b")));
}

TEST(ConfigErrorTest, CarriesEveryProblem) {
  const ConfigError error({{.source = "a", .source_line = "", .what = "x", .suggestion = ""},
                           {.source = "a", .source_line = "", .what = "y", .suggestion = ""}});
  EXPECT_EQ(error.problems().size(), 2u);
  EXPECT_STREQ(error.what(), "a: error: x\na: error: y\n");
}

}  // namespace
}  // namespace pipesim::base
