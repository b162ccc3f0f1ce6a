#include "spec/units_text.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace pipesim::spec {
namespace {

using base::Bytes;
using base::BytesPerSecond;
using base::Duration;

template <class T>
T Good(const Parsed<T>& parsed) {
  const auto* bad = std::get_if<BadText>(&parsed);
  if (bad != nullptr) ADD_FAILURE() << bad->what;
  return bad == nullptr ? std::get<T>(parsed) : T{};
}
template <class T>
BadText Bad(const Parsed<T>& parsed) {
  const auto* bad = std::get_if<BadText>(&parsed);
  if (bad == nullptr) ADD_FAILURE() << "was taken";
  return bad == nullptr ? BadText{} : *bad;
}

TEST(UnitsText, DurationsAreExactNanoseconds) {
  EXPECT_EQ(Good(ParseDuration("8ms")), Duration(8'000'000));
  EXPECT_EQ(Good(ParseDuration("1.5us")), Duration(1500));
  EXPECT_EQ(Good(ParseDuration("2µs")), Duration(2000));
  EXPECT_EQ(Good(ParseDuration("0.1s")), Duration(100'000'000));
  EXPECT_EQ(Good(ParseDuration("2min")), Duration(120'000'000'000));
  EXPECT_EQ(Good(ParseDuration("1.5h")), Duration(5'400'000'000'000));
  EXPECT_EQ(Good(ParseDuration("0")), Duration(0));
}

TEST(UnitsText, BytesAreDecimalOrBinary) {
  EXPECT_EQ(Good(ParseBytes("110KiB")).count, 112'640);
  EXPECT_EQ(Good(ParseBytes("110kB")).count, 110'000);
  EXPECT_EQ(Good(ParseBytes("1.5GiB")).count, 1'610'612'736);
  EXPECT_EQ(Good(ParseBytes("784B")).count, 784);
}

TEST(UnitsText, RatesAreBytesOrBitsPerSecond) {
  EXPECT_EQ(Good(ParseRate("550MB/s")).per_s, 550e6);
  EXPECT_EQ(Good(ParseRate("100Mbit/s")).per_s, 12.5e6);
  EXPECT_EQ(Good(ParseRate("1GiB/s")).per_s, 1073741824.0);
}

TEST(UnitsText, CountsAndSharesHaveTheirOwnUnits) {
  EXPECT_EQ(Good(ParseCount("64k")), 64'000);
  EXPECT_EQ(Good(ParseCount("1.5M")), 1'500'000);
  EXPECT_EQ(Good(ParsePerSecond("98k")), 98'000);
  EXPECT_EQ(Good(ParseShare("90%")), 0.9);
  EXPECT_EQ(Good(ParseShare("0.25")), 0.25);
}

struct Slip {
  const char* text;
  const char* suggestion;
};

TEST(UnitsText, TyposInDurationsGetASuggestion) {
  for (const auto& [text, suggestion] : {Slip{"8", "8ms or 8s"},
                                         {"8 m", "8min or 8ms"},
                                         {"8m", "8min or 8ms"},
                                         {"8 ms", "8ms"},
                                         {"10sec", "10s"},
                                         {"10S", "10s"},
                                         {".5s", "0.5s"},
                                         {"1_000ns", "1000ns"},
                                         {"1e3ms", "1000ms"},
                                         {"010ms", "10ms"},
                                         {"-1s", ""},
                                         {"nan", ""},
                                         {".inf", ""},
                                         {"", ""}}) {
    EXPECT_EQ(Bad(ParseDuration(text)).suggestion, suggestion) << text;
  }
}

TEST(UnitsText, TyposInSizesGetASuggestion) {
  EXPECT_EQ(Bad(ParseBytes("1Mb")).suggestion, "1MB");
  EXPECT_EQ(Bad(ParseBytes("4K")).suggestion, "4kB or 4KiB");
  EXPECT_EQ(Bad(ParseBytes("784")).suggestion, "784B");
  EXPECT_EQ(Bad(ParseBytes("8")).suggestion, "8MB or 8GB");
  EXPECT_EQ(Bad(ParseBytes("1,024B")).suggestion, "1024B");
  EXPECT_EQ(Bad(ParseRate("550MB")).suggestion, "550MB/s");
  EXPECT_EQ(Bad(ParseRate("100Mbps")).suggestion, "100Mbit/s");
  EXPECT_EQ(Bad(ParseCount("4K")).suggestion, "4k");
  EXPECT_EQ(Bad(ParseCount("1.5")).suggestion, "1");
  EXPECT_EQ(Bad(ParseCount("1,281,167")).suggestion, "1281167");
  EXPECT_EQ(Bad(ParseShare("90")).suggestion, "90%");
}

TEST(UnitsText, OverflowAndUnderflowAreRefused) {
  Bad(ParseDuration("300000000h"));             // over 2^63 ns
  Bad(ParseDuration("0.1ns"));                  // less than one
  Bad(ParseDuration("99999999999999999999s"));  // more digits than 64 bits hold
  Bad(ParseBytes("9223372036854775808B"));
}

TEST(UnitsText, TheShortestTextIsChosen) {
  EXPECT_EQ(ToText(Duration(0)), "0");
  EXPECT_EQ(ToText(Duration(1'500'000)), "1.5ms");
  EXPECT_EQ(ToText(Duration(200'000)), "200us");
  EXPECT_EQ(ToText(Duration(3'600'000'000'000)), "1h");
  EXPECT_EQ(ToText(Duration(10'000'000'000)), "10s");
  EXPECT_EQ(ToText(Bytes{112'640}), "110KiB");
  EXPECT_EQ(ToText(Bytes{784}), "784B");
  EXPECT_EQ(ToText(BytesPerSecond{550e6}), "550MB/s");
}

RC_GTEST_PROP(UnitsText, DurationsReadBackAsWritten, ()) {
  const Duration value(*rc::gen::inRange<std::int64_t>(0, std::int64_t{1} << 62));
  RC_ASSERT(std::get<Duration>(ParseDuration(ToText(value))) == value);
}

RC_GTEST_PROP(UnitsText, SizesReadBackAsWritten, ()) {
  const Bytes value{*rc::gen::inRange<std::int64_t>(0, std::int64_t{1} << 62)};
  RC_ASSERT(std::get<Bytes>(ParseBytes(ToText(value))) == value);
}

RC_GTEST_PROP(UnitsText, RatesReadBackAsWritten, (double whole, std::uint32_t parts)) {
  const BytesPerSecond value{std::abs(std::fmod(whole, 1e12)) + 1.0 / (1.0 + parts)};
  RC_ASSERT(std::get<BytesPerSecond>(ParseRate(ToText(value))) == value);
}

RC_GTEST_PROP(UnitsText, NoTextBreaksTheParsers, (const std::string& text)) {
  ParseDuration(text);
  ParseBytes(text);
  ParseRate(text);
  ParsePerSecond(text);
  ParseCount(text);
  ParseShare(text);
}

}  // namespace
}  // namespace pipesim::spec
