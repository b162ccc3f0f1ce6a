#include "report/format.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <numeric>

#include "base/number_text.h"
#include "base/text.h"
#include "report/page.h"
#include "report/view.h"

namespace pipesim::tests {
namespace {

using namespace report;

TEST(View, WholeNumbersAreBounded) {
  const Document document = Document::parse(R"({"a": 1e308, "b": -1e308, "c": -3, "d": "x"})");
  const View view(&document, true);
  EXPECT_EQ(view.At("a").Whole(), 9'000'000'000'000'000);
  EXPECT_EQ(view.At("b").Whole(), -9'000'000'000'000'000);
  EXPECT_EQ(view.At("c").Size(), 0u);
  EXPECT_EQ(view.At("d").Whole(), 0);
  EXPECT_EQ(view.At("d").Size(1), 1u);
}

TEST(Significant, RoundsToItsDigitsWithThousandsCommas) {
  EXPECT_EQ(Significant(4683, 3), "4,680");
  EXPECT_EQ(Significant(54.68, 3), "54.7");
  EXPECT_EQ(Significant(0.2204, 2), "0.22");
  EXPECT_EQ(Significant(3, 3), "3.00");
  EXPECT_EQ(Significant(-1234.5, 3), "-1,230");
  EXPECT_EQ(Significant(1'281'167, 4), "1,281,000");
  EXPECT_EQ(Significant(0, 3), "0");
}

TEST(Significant, RoundingMayGainADigit) {
  EXPECT_EQ(Significant(999.6, 3), "1,000");
  EXPECT_EQ(Significant(9.996, 3), "10.0");
}

TEST(Count, PrintsWholeNumbersInFull) {
  EXPECT_EQ(Count(8), "8");
  EXPECT_EQ(Count(1'281'167), "1,281,167");
  EXPECT_EQ(Count(2.5), "2.50");
}

TEST(Seconds, PicksASuitableUnit) {
  EXPECT_EQ(Seconds(10.01, 3), "10.0 s");
  EXPECT_EQ(Seconds(0.22, 2), "0.22 s");
  EXPECT_EQ(Seconds(0.002, 2), "2.0 ms");
  EXPECT_EQ(Seconds(350e-6, 3), "350 us");
  EXPECT_EQ(Seconds(0, 3), "0 s");
}

TEST(TimeScale, OfASumBeyondAnyNumberIsSeconds) {
  const double beyond = std::numeric_limits<double>::infinity();
  EXPECT_EQ(TimeScale::For(1).Fitting(beyond).unit, "s");
  EXPECT_EQ(base::Significant(std::nan(""), 3), "nan");
}

TEST(Amount, IsDecimalAndLimitsShareAUnit) {
  EXPECT_EQ(Amount(2 * 256 * 150'528), "77 MB");
  EXPECT_EQ(Amount(784), "784 B");
  EXPECT_EQ(Amount(1'500'000), "1.5 MB");
  EXPECT_EQ(RateOf(527.1e6, 550e6), "527 of 550 MB/s");
  EXPECT_EQ(RateOf(50e6, 2e9), "0.0500 of 2.00 GB/s");
  EXPECT_EQ(RateOf(3.8e6, 25.6e9), "3.8 MB/s of 26 GB/s");
  EXPECT_EQ(BinaryAmount(4.0 * 21000 * 21000), "1,682.3 MiB");
  EXPECT_EQ(BinaryAmount(4.0 * 51200 * 51200), "9.77 GiB");
  EXPECT_EQ(BinaryAmount(4096), "4.0 KiB");
  EXPECT_EQ(AmountOf(0.9 * 1024 * 1024 * 1024, 8.0 * 1024 * 1024 * 1024), "0.9 of 8.0 GiB");
}

TEST(Spaced, SplitsQuantitiesAndNothingElse) {
  EXPECT_EQ(Spaced("784B"), "784 B");
  EXPECT_EQ(Spaced("1.6ms"), "1.6 ms");
  EXPECT_EQ(Spaced("2%"), "2 %");
  EXPECT_EQ(Spaced("64"), "64");
  EXPECT_EQ(Spaced("auto"), "auto");
  EXPECT_EQ(Spaced("{mean: 2ms}"), "{mean: 2ms}");
}

TEST(Percent, ShowsSmallSharesAsBelowOne) {
  EXPECT_EQ(Percent(0.283), "28 %");
  EXPECT_EQ(Percent(0.004), "<1 %");
  EXPECT_EQ(Percent(0.005), "1 %");
  EXPECT_EQ(Percent(0), "0 %");
}

TEST(Gain, CarriesItsSignAndADecimalBelowOnePerCent) {
  EXPECT_EQ(Gain(1.55), "+155 %");
  EXPECT_EQ(Gain(9.99), "+999 %");
  EXPECT_EQ(Gain(31), "32.0 ×");
  EXPECT_EQ(Gain(964.92), "966 ×");
  EXPECT_EQ(Gain(3588.4), "3,590 ×");
  EXPECT_EQ(Gain(-0.08), "-8 %");
  EXPECT_EQ(Gain(0.003), "+0.3 %");
  EXPECT_EQ(Gain(0.0001), "0 %");
  EXPECT_EQ(Gain(0), "0 %");
}

TEST(Bar, HasTwentyColumnsForTheWhole) {
  EXPECT_EQ(Bar(1), std::string(20, '#'));
  EXPECT_EQ(Bar(0.28), "######");  // 5.6 columns
  EXPECT_EQ(Bar(0.024), ".");      // below half a column
  EXPECT_EQ(Bar(0.025), "#");
  EXPECT_EQ(Bar(0), "");
}

TEST(WholePercents, PlainRoundingWhereItAddsUp) {
  EXPECT_EQ(WholePercents(std::vector{38.3, 15.5, 0.6, 0.3}),
            (std::vector<std::string>{"70 %", "28 %", "1 %", "1 %"}));
}

TEST(WholePercents, ABelowOneShareReplacesTheLastPerCent) {
  EXPECT_EQ(WholePercents(std::vector{196.6, 15.5, 0.6, 0.3}),
            (std::vector<std::string>{"92 %", "7 %", "<1 %", "<1 %"}));
}

TEST(WholePercents, ThreeThirdsAddUpToAHundred) {
  EXPECT_EQ(WholePercents(std::vector{1.0, 1.0, 1.0}),
            (std::vector<std::string>{"34 %", "33 %", "33 %"}));
}

TEST(WholePercents, ZeroStaysZero) {
  EXPECT_EQ(WholePercents(std::vector{0.0, 0.0}), (std::vector<std::string>{"0 %", "0 %"}));
}

/// Parts of very different sizes, some of them 0.
rc::Gen<std::vector<double>> AnyParts() {
  const auto part =
      rc::gen::apply([](int mantissa, int exponent) { return mantissa * std::pow(10.0, exponent); },
                     rc::gen::inRange(0, 1000), rc::gen::inRange(-6, 6));
  return rc::gen::container<std::vector<double>>(rc::gen::weightedOneOf<double>(
      {{3, part}, {1, rc::gen::just(0.0)}, {1, rc::gen::just(1.0)}}));
}

RC_GTEST_PROP(Apportion, AddsUpAndMovesNoPartByAWholeUnit, ()) {
  const auto parts = *AnyParts();
  const auto total = *rc::gen::inRange<std::int64_t>(0, 1'000'000);
  const double sum = std::accumulate(parts.begin(), parts.end(), 0.0);
  const auto whole = Apportion(total, parts);
  RC_ASSERT(std::accumulate(whole.begin(), whole.end(), std::int64_t{0}) == (sum > 0 ? total : 0));
  for (std::size_t i = 0; i < parts.size(); ++i) {
    RC_ASSERT(whole[i] >= 0);
    if (parts[i] == 0) RC_ASSERT(whole[i] == 0);
    if (sum > 0) {
      const double exact = parts[i] / sum * static_cast<double>(total);
      RC_ASSERT(std::abs(static_cast<double>(whole[i]) - exact) < 1 + 1e-6);
    }
  }
}

RC_GTEST_PROP(WholePercents, AddUpToAHundredOrATraceBelow, ()) {
  const auto parts = *AnyParts();
  const double sum = std::accumulate(parts.begin(), parts.end(), 0.0);
  const auto texts = WholePercents(parts);
  RC_ASSERT(texts.size() == parts.size());
  int whole = 0, traces = 0;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (texts[i] == "<1 %")
      ++traces;
    else
      whole += std::stoi(texts[i]);
    RC_ASSERT((texts[i] == "0 %") == (parts[i] == 0));
  }
  if (sum > 0) RC_ASSERT(whole == 100 || (whole == 99 && traces > 0));
}

RC_GTEST_PROP(Significant, ReadsBackWithinItsDigits, ()) {
  const double value = *rc::gen::inRange(1, 1'000'000'000) / 1e4;
  std::string text = Significant(value, 3);
  std::erase(text, ',');
  RC_ASSERT(std::abs(std::stod(text) / value - 1) <= 0.005 + 1e-12);
}

TEST(Wrap, BreaksAtSpacesAndIndentsWhatFollows) {
  EXPECT_EQ(Wrap("one two three", 8, "  "), (std::vector<std::string>{"one two", "  three"}));
}

TEST(Wrap, KeepsNumbersWithTheirUnits) {
  EXPECT_EQ(Wrap("it takes 70 % of it", 12, ""),
            (std::vector<std::string>{"it takes", "70 % of it"}));
  EXPECT_EQ(Wrap("it needs 144 GB of it", 13, ""),
            (std::vector<std::string>{"it needs", "144 GB of it"}));
}

TEST(Wrap, CutsWordsLongerThanALineAtWholeCharacters) {
  EXPECT_EQ(Wrap("ééééé", 2, ""), (std::vector<std::string>{"éé", "éé", "é"}));
}

TEST(Wrap, CountsWideCharactersTwice) {
  EXPECT_EQ(Wrap("漢字漢字", 4, ""), (std::vector<std::string>{"漢字", "漢字"}));
}

TEST(FirstColumns, HoldWholeCharacters) {
  EXPECT_EQ(FirstColumns("abc", 2), "ab");
  EXPECT_EQ(FirstColumns("ééé", 2), "éé");
  EXPECT_EQ(FirstColumns("漢字", 3), "漢");
  EXPECT_EQ(FirstColumns("ab", 9), "ab");
}

TEST(Wrap, EndsWhereTheIndentLeavesNoRoom) {
  EXPECT_EQ(Wrap("ab cd", 3, "    "), (std::vector<std::string>{"ab", "    c", "    d"}));
  EXPECT_EQ(Wrap("漢字", 1, ""), (std::vector<std::string>{"漢", "字"}));
}

RC_GTEST_PROP(Wrap, KeepsTheWidthAndEveryWord, ()) {
  const auto words = *rc::gen::container<std::vector<std::string>>(
      rc::gen::container<std::string>(rc::gen::elementOf(std::string("ab9%Z"))));
  const auto columns = static_cast<std::size_t>(*rc::gen::inRange(4, 90));
  const std::string text = base::Join(words, " ");
  std::string without_spaces;
  for (const std::string& line : Wrap(text, columns, "  ")) {
    RC_ASSERT(base::DisplayWidth(line) <= columns);
    without_spaces += line;
  }
  std::string expected = text;
  std::erase(expected, ' ');
  std::erase(without_spaces, ' ');
  RC_ASSERT(without_spaces == expected);
}

TEST(Page, ColoursWholeLinesOnlyWhenAsked) {
  Page plain(false), coloured(true);
  plain.Add("verdict", Style::kBad);
  coloured.Add("verdict", Style::kBad);
  EXPECT_EQ(plain.Take(), "verdict\n");
  EXPECT_EQ(coloured.Take(), "\x1b[1;31mverdict\x1b[0m\n");
}

TEST(Page, LeavesCommandsOnOneLine) {
  Page page(false);
  page.AddCommand(std::string(200, 'x'));
  EXPECT_EQ(page.Take(), "  " + std::string(200, 'x') + "\n");
}

}  // namespace
}  // namespace pipesim::tests
