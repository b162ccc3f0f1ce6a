#include "base/text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <array>
#include <cstdio>

namespace pipesim::base {
namespace {

using testing::ElementsAre;

const std::vector<std::string> kKeys = {"workers", "batch_size", "prefetch_factor",
                                        "shuffle", "timeout",    "queue"};

TEST(NearestTest, FindsALikelyTypo) {
  EXPECT_EQ(Nearest("wrokers", kKeys), "workers");  // two letters swapped
  EXPECT_EQ(Nearest("worker", kKeys), "workers");   // one left out
  EXPECT_EQ(Nearest("prefech_factor", kKeys), "prefetch_factor");
  EXPECT_EQ(Nearest("batch-size", kKeys), "batch_size");
  EXPECT_EQ(Nearest("batch", kKeys), "batch_size");  // a stem
}

TEST(NearestTest, OfSeveralWithTheStemPrefersTheOneWithTheFewestEdits) {
  const std::vector<std::string> keys = {"worker_launch", "worker_memory", "workers", "worker_startup"};
  EXPECT_EQ(Nearest("worker", keys), "workers");
}

TEST(NearestTest, FindsNothingWhenNothingIsNear) {
  EXPECT_EQ(Nearest("colour", kKeys), std::nullopt);
  EXPECT_EQ(Nearest("x", kKeys), std::nullopt);
  EXPECT_EQ(Nearest("", kKeys), std::nullopt);
  EXPECT_EQ(Nearest("workers", {}), std::nullopt);
}

TEST(ShellQuoteTest, QuotesOnlyWhatNeedsIt) {
  EXPECT_EQ(ShellQuote("--set=a.b/c:1,2"), "--set=a.b/c:1,2");
  EXPECT_EQ(ShellQuote("au>=0.9"), "'au>=0.9'");
  EXPECT_EQ(ShellQuote(""), "''");
  EXPECT_EQ(ShellQuote("it's"), "'it'\\''s'");
  const std::vector<std::string> words = {"pipesim", "my file.yaml"};
  EXPECT_EQ(ShellJoin(words), "pipesim 'my file.yaml'");
}

std::string WhatTheShellSees(const std::string& line) {
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(("printf %s " + line).c_str(), "r"),
                                                   pclose);
  std::string seen;
  std::array<char, 4096> block;
  while (const std::size_t size = fread(block.data(), 1, block.size(), pipe.get()))
    seen.append(block.data(), size);
  return seen;
}

TEST(ShellQuoteTest, IsParsedBackByARealShell) {
  for (const std::string word : {"plain", "a b", "$HOME", "`id`", "x'y\"z", "\\n", "~", "*",
                                 "{a,b}", "!1", "#", "a\nb", "é", "-n"})
    EXPECT_EQ(WhatTheShellSees(ShellQuote(word)), word);
}

TEST(SplitTest, KeepsEmptyParts) {
  EXPECT_THAT(Split("a,,b,", ','), ElementsAre("a", "", "b", ""));
  EXPECT_THAT(Split("", ','), ElementsAre(""));
}

RC_GTEST_PROP(SplitTest, JoinPutsItBack, (std::string text)) {
  RC_ASSERT(Join(Split(text, ','), ",") == text);
}

TEST(TrimTest, RemovesWhitespace) {
  EXPECT_EQ(Trim(" \t a b \r\n"), "a b");
  EXPECT_EQ(Trim(" \n"), "");
}

TEST(WholeNumberTest, TakesTheWholeTextOrNothing) {
  EXPECT_EQ(WholeNumber<int>("42"), 42);
  EXPECT_EQ(WholeNumber<int>("-3"), -3);
  for (const char* text : {"", "4 ", "4x", "4.0", "+4", "99999999999"})
    EXPECT_EQ(WholeNumber<int>(text), std::nullopt) << text;
}

TEST(PrintableTest, ReplacesControlCharactersAndInvalidUtf8) {
  EXPECT_EQ(Printable("\x1b[31mred"), "\uFFFD[31mred");
  EXPECT_EQ(Printable("a\nb"), "a\uFFFDb");
  EXPECT_EQ(Printable("caf\u00E9 \u4E2D"), "caf\u00E9 \u4E2D");
  EXPECT_EQ(Printable("\xff"), "\uFFFD");
  EXPECT_EQ(Printable("\xc3"), "\uFFFD");                      // cut off
  EXPECT_EQ(Printable("\xc0\xaf"), "\uFFFD\uFFFD");            // overlong
  EXPECT_EQ(Printable("\xed\xa0\x80"), "\uFFFD\uFFFD\uFFFD");  // half of a surrogate pair
  EXPECT_EQ(Printable("a\u202Eb"), "a\uFFFDb");                // would reverse the following text
}

RC_GTEST_PROP(PrintableTest, IsPrintableOnceAndForAll, (std::string text)) {
  const std::string printable = Printable(text);
  RC_ASSERT(Printable(printable) == printable);
}

TEST(FirstUnreadableByteTest, FindsBinaryDataAndBrokenCharacters) {
  EXPECT_EQ(FirstUnreadableByte("name: \xC3\xA9t\xC3\xA9\n\ttab\r\n"), std::nullopt);
  EXPECT_EQ(FirstUnreadableByte("ab\x01"), 2u);
  EXPECT_EQ(FirstUnreadableByte("ab\x7F"), 2u);
  EXPECT_EQ(FirstUnreadableByte("\xC3\xA9\xC3"), 2u);      // cut short
  EXPECT_EQ(FirstUnreadableByte("a\xED\xA0\x80"), 1u);     // half of a surrogate pair
  EXPECT_EQ(FirstUnreadableByte("\xF4\x90\x80\x80"), 0u);  // beyond Unicode
}

TEST(CountCharactersTest, CountsCodePointsNotBytes) {
  EXPECT_EQ(CountCharacters("\xC3\xA9t\xC3\xA9"), 3);
  EXPECT_EQ(CountCharacters(""), 0);
}

TEST(QuotedTest, CutsAndCleans) {
  EXPECT_EQ(Quoted("a\nb"),
            "'a\xEF\xBF\xBD"
            "b'");
  EXPECT_EQ(Quoted(std::string(61, 'x')), "'" + std::string(60, 'x') + "...'");
}

TEST(DisplayWidthTest, CountsColumns) {
  EXPECT_EQ(DisplayWidth("abc"), 3u);
  EXPECT_EQ(DisplayWidth("\u00E9"), 1u);
  EXPECT_EQ(DisplayWidth("e\u0301"), 1u);  // a combining accent
  EXPECT_EQ(DisplayWidth("\u4E2D\u6587"), 4u);
}

}  // namespace
}  // namespace pipesim::base
