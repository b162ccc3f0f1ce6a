// The grammar of an axis' values.
#include <algorithm>
#include <charconv>

#include "base/text.h"
#include "spec/sweep.h"

namespace pipesim::spec {
namespace {

using AxisValues = std::vector<std::vector<AxisValue>>;
using AxisTexts = std::vector<std::string>;

/// A piece of the text with its own place.
struct AxisPiece {
  std::string_view text;
  Place place;
};

AxisPiece PieceOf(const AxisPiece& whole, std::size_t begin, std::size_t size) {
  AxisPiece piece{whole.text.substr(begin, size), whole.place};
  piece.place.column += base::CountCharacters(whole.text.substr(0, begin));
  piece.place.width = std::max(1, base::CountCharacters(piece.text));
  return piece;
}

/// Splits at `separator` outside quotes and brackets.
std::vector<AxisPiece> SplitPieces(const AxisPiece& whole, char separator) {
  std::vector<AxisPiece> pieces;
  std::size_t begin = 0;
  int depth = 0;
  char quote = '\0';
  for (std::size_t i = 0; i < whole.text.size(); ++i) {
    const char c = whole.text[i];
    if (quote != '\0') {
      if (c == quote) quote = '\0';
    } else if (c == '"' || c == '\'') {
      quote = c;
    } else if (c == '{' || c == '[') {
      ++depth;
    } else if (c == '}' || c == ']') {
      --depth;
    } else if (c == separator && depth == 0) {
      pieces.push_back(PieceOf(whole, begin, i - begin));
      begin = i + 1;
    }
  }
  pieces.push_back(PieceOf(whole, begin, whole.text.size() - begin));
  return pieces;
}

/// A number with its unit, exact: mantissa / 10^decimals.
struct AxisNumber {
  std::int64_t mantissa = 0;
  int decimals = 0;
  std::string_view unit;
};

constexpr int kMostDecimals = 9;
constexpr std::int64_t kLargestMantissa = 1'000'000'000'000'000;  // ten times as much still fits

std::optional<AxisNumber> ReadAxisNumber(std::string_view text) {
  AxisNumber number;
  std::size_t at = 0;
  bool digits = false, point = false;
  for (; at < text.size(); ++at) {
    const char c = text[at];
    if (c == '.' && !point) {
      point = true;
    } else if (c >= '0' && c <= '9') {
      digits = true;
      if (number.mantissa >= kLargestMantissa || number.decimals == kMostDecimals)
        return std::nullopt;
      number.mantissa = number.mantissa * 10 + (c - '0');
      if (point) ++number.decimals;
    } else {
      break;
    }
  }
  number.unit = text.substr(at);
  const bool digit_in_unit = std::any_of(number.unit.begin(), number.unit.end(),
                                         [](char c) { return c >= '0' && c <= '9'; });
  if (!digits || digit_in_unit) return std::nullopt;
  return number;
}

/// nullopt: too large.
std::optional<std::int64_t> MantissaAt(const AxisNumber& number, int decimals) {
  std::int64_t mantissa = number.mantissa;
  for (int i = number.decimals; i < decimals; ++i) {
    if (mantissa >= kLargestMantissa) return std::nullopt;
    mantissa *= 10;
  }
  return mantissa;
}

std::string AxisNumberText(AxisNumber number) {
  while (number.decimals > 0 && number.mantissa % 10 == 0) {
    number.mantissa /= 10;
    --number.decimals;
  }
  std::string text = std::to_string(number.mantissa);
  if (number.decimals > 0) {
    const auto decimals = static_cast<std::size_t>(number.decimals);
    if (text.size() <= decimals) text.insert(0, decimals + 1 - text.size(), '0');
    text.insert(text.size() - decimals, 1, '.');
  }
  return text + std::string(number.unit);
}

void RangeProblem(Reading& reading, const AxisPiece& piece, std::string what) {
  reading.Problem(piece.place, base::Quoted(piece.text) + ": " + std::move(what),
                  "1:8:1, 64:512:*2 or 1ms:5ms:1ms");
}

void TooManyValues(Reading& reading, const AxisPiece& piece) {
  RangeProblem(reading, piece, "more than " + std::to_string(kMostAxisValues) + " values");
}

/// The parts of `a:b:step`.
struct RangeParts {
  AxisNumber from, to, step;
  bool geometric = false;
};

/// The values of a range whose parts were read; reports what is wrong with them.
AxisTexts StepsOf(Reading& reading, const AxisPiece& piece, const RangeParts& range) {
  const int decimals =
      std::max({range.from.decimals, range.to.decimals, range.geometric ? 0 : range.step.decimals});
  const auto from = MantissaAt(range.from, decimals), to = MantissaAt(range.to, decimals);
  const auto step = range.geometric ? range.step.mantissa : MantissaAt(range.step, decimals);
  if (!from || !to || !step) return RangeProblem(reading, piece, "too large a number"), AxisTexts{};
  const std::string_view unit = range.to.unit;
  AxisTexts texts;
  if (!range.geometric) {
    for (std::int64_t at = *from; at <= *to; at += *step) {
      if (texts.size() == kMostAxisValues) return TooManyValues(reading, piece), AxisTexts{};
      texts.push_back(AxisNumberText({at, decimals, unit}));
    }
    return texts;
  }
  // The factor's decimals add up from step to step, so the number of exact steps is limited.
  AxisNumber at{*from, decimals, unit};
  AxisNumber end{*to, decimals, unit};
  while (at.mantissa <= end.mantissa) {
    texts.push_back(AxisNumberText(at));
    const auto scaled = MantissaAt(end, at.decimals + range.step.decimals);
    if (!scaled || at.mantissa > kLargestMantissa / range.step.mantissa)
      return RangeProblem(reading, piece, "its values need too many digits"), AxisTexts{};
    at.mantissa *= range.step.mantissa;
    at.decimals += range.step.decimals;
    end = {*scaled, at.decimals, unit};
  }
  return texts;
}

bool IsNothing(const AxisNumber& number) { return number.mantissa == 0; }

/// The values of a range, or the piece itself; empty after a problem.
AxisTexts ValuesOf(Reading& reading, const AxisPiece& piece) {
  const std::vector<AxisPiece> parts = SplitPieces(piece, ':');
  const auto from = ReadAxisNumber(parts[0].text);
  if (parts.size() == 1 || !from) return {std::string(piece.text)};
  if (parts.size() != 3)
    return RangeProblem(reading, piece, "a range is FROM:TO:STEP"), AxisTexts{};
  RangeParts range;
  range.geometric = parts[2].text.starts_with('*');
  const auto to = ReadAxisNumber(parts[1].text);
  const auto step = ReadAxisNumber(parts[2].text.substr(range.geometric ? 1 : 0));
  if (!to || !step) {
    RangeProblem(reading, !to ? parts[1] : parts[2], "not a number of a range");
    return {};
  }
  range.from = *from;
  range.to = *to;
  range.step = *step;
  if (range.from.unit.empty() && IsNothing(range.from)) range.from.unit = range.to.unit;
  const std::string_view step_unit = range.geometric ? std::string_view() : range.to.unit;
  if (range.from.unit != range.to.unit || range.step.unit != step_unit) {
    RangeProblem(reading, piece,
                 range.geometric ? "FROM and TO need the same unit, a factor none"
                                 : "FROM, TO and STEP need the same unit");
    return {};
  }
  const auto one = MantissaAt({1, 0, {}}, range.step.decimals);
  if (range.geometric && (IsNothing(range.from) || range.step.mantissa <= *one)) {
    RangeProblem(reading, piece, "a factor must be above 1, and FROM above 0");
    return {};
  }
  if (!range.geometric && IsNothing(range.step)) {
    RangeProblem(reading, parts[2], "a step must be above 0");
    return {};
  }
  AxisTexts texts = StepsOf(reading, piece, range);
  if (texts.empty() && !reading.HasProblems()) RangeProblem(reading, piece, "FROM is above TO");
  return texts;
}

void AppendZipped(Reading& reading, const AxisPiece& piece, std::size_t zipped, AxisValues& out) {
  const std::vector<AxisPiece> parts = SplitPieces(piece, '+');
  if (parts.size() != zipped) {
    reading.Problem(piece.place,
                    base::Quoted(piece.text) + " has " + std::to_string(parts.size()) +
                        (parts.size() == 1 ? " value" : " values") + " for " +
                        std::to_string(zipped) + " keys",
                    "one value per key: 1+2");
    return;
  }
  std::vector<AxisValue> values;
  for (const AxisPiece& part : parts) {
    if (part.text.empty()) reading.Problem(part.place, "a value is missing here", "1+2,3+4");
    values.push_back({std::string(part.text), part.place, std::string(part.text)});
  }
  out.push_back(std::move(values));
}

}  // namespace

std::vector<std::vector<AxisValue>> ParseAxisValues(Reading& reading, std::string_view text,
                                                    const Place& place, std::size_t zipped) {
  AxisValues values;
  for (const AxisPiece& piece : SplitPieces({text, place}, ',')) {
    if (piece.text.empty()) {
      reading.Problem(piece.place, "a value is missing here", "0,1,2");
    } else if (zipped > 1) {
      AppendZipped(reading, piece, zipped, values);
    } else {
      for (const std::string& value : ValuesOf(reading, piece))
        values.push_back({{value, piece.place, value}});
    }
  }
  return values;
}

}  // namespace pipesim::spec
