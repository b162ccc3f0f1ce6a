#include "spec/units_text.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>
#include <span>

#include "base/text.h"

namespace pipesim::spec {
namespace {

struct Unit {
  std::string_view name;
  std::int64_t factor;  ///< of the base unit: ns, bytes, bytes per second, one
};
struct Slip {
  std::string_view wrong;
  std::string_view meant;  ///< one unit, or two joined by " or "
};

constexpr std::int64_t kSecond = 1'000'000'000;
constexpr std::array<Unit, 7> kDurationUnits{{{"ns", 1},
                                              {"us", 1'000},
                                              {"µs", 1'000},
                                              {"ms", 1'000'000},
                                              {"s", kSecond},
                                              {"min", 60 * kSecond},
                                              {"h", 3600 * kSecond}}};
constexpr std::array<Slip, 22> kDurationSlips{
    {{"m", "min or ms"}, {"M", "min or ms"}, {"Min", "min"}, {"mins", "min"}, {"minute", "min"},
     {"minutes", "min"}, {"sec", "s"},       {"secs", "s"},  {"second", "s"}, {"seconds", "s"},
     {"S", "s"},         {"msec", "ms"},     {"MS", "ms"},   {"mS", "ms"},    {"millis", "ms"},
     {"usec", "us"},     {"uS", "us"},       {"u", "us"},    {"H", "h"},      {"hr", "h"},
     {"hour", "h"},      {"hours", "h"}}};

constexpr std::array<Unit, 9> kByteUnits{{{"B", 1},
                                          {"kB", 1'000},
                                          {"MB", 1'000'000},
                                          {"GB", 1'000'000'000},
                                          {"TB", 1'000'000'000'000},
                                          {"KiB", std::int64_t{1} << 10},
                                          {"MiB", std::int64_t{1} << 20},
                                          {"GiB", std::int64_t{1} << 30},
                                          {"TiB", std::int64_t{1} << 40}}};
constexpr std::array<Slip, 26> kByteSlips{
    {{"b", "B"},         {"byte", "B"},      {"bytes", "B"},      {"k", "kB or KiB"},
     {"K", "kB or KiB"}, {"m", "MB"},        {"M", "MB or MiB"},  {"g", "GB"},
     {"G", "GB or GiB"}, {"T", "TB or TiB"}, {"KB", "kB or KiB"}, {"kb", "kB"},
     {"Kb", "kB"},       {"mb", "MB"},       {"Mb", "MB"},        {"mB", "MB"},
     {"gb", "GB"},       {"Gb", "GB"},       {"gB", "GB"},        {"tb", "TB"},
     {"Tb", "TB"},       {"Ki", "KiB"},      {"kiB", "KiB"},      {"Mi", "MiB"},
     {"Gi", "GiB"},      {"Ti", "TiB"}}};

constexpr std::array<Unit, 12> kRateUnits{{{"B/s", 1},
                                           {"kB/s", 1'000},
                                           {"MB/s", 1'000'000},
                                           {"GB/s", 1'000'000'000},
                                           {"TB/s", 1'000'000'000'000},
                                           {"KiB/s", std::int64_t{1} << 10},
                                           {"MiB/s", std::int64_t{1} << 20},
                                           {"GiB/s", std::int64_t{1} << 30},
                                           {"TiB/s", std::int64_t{1} << 40},
                                           {"kbit/s", 125},
                                           {"Mbit/s", 125'000},
                                           {"Gbit/s", 125'000'000}}};
constexpr std::array<Slip, 20> kRateSlips{{{"MB", "MB/s"},
                                           {"GB", "GB/s"},
                                           {"kB", "kB/s"},
                                           {"B", "B/s"},
                                           {"MiB", "MiB/s"},
                                           {"GiB", "GiB/s"},
                                           {"KiB", "KiB/s"},
                                           {"Mbps", "Mbit/s"},
                                           {"Gbps", "Gbit/s"},
                                           {"kbps", "kbit/s"},
                                           {"MBps", "MB/s"},
                                           {"GBps", "GB/s"},
                                           {"Mbit", "Mbit/s"},
                                           {"Gbit", "Gbit/s"},
                                           {"Mb/s", "MB/s or Mbit/s"},
                                           {"Gb/s", "GB/s or Gbit/s"},
                                           {"KB/s", "kB/s"},
                                           {"kb/s", "kB/s or kbit/s"},
                                           {"M", "MB/s"},
                                           {"G", "GB/s"}}};

constexpr std::array<Unit, 3> kCountUnits{{{"", 1}, {"k", 1'000}, {"M", 1'000'000}}};
constexpr std::array<Slip, 6> kCountSlips{
    {{"K", "k"}, {"m", "M"}, {"kB", "k"}, {"KB", "k"}, {"MB", "M"}, {"%", ""}}};

/// The parts of a number with a unit.
struct Decimal {
  std::string_view digits;  ///< whole and fraction, as written
  std::int64_t whole = 0;
  std::string_view fraction;  ///< digits after the point
  std::string_view unit;      ///< the rest
};

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

std::string FixedText(double value) {
  std::array<char, 400> buffer;
  const auto end =
      std::to_chars(buffer.data(), buffer.data() + buffer.size(), value, std::chars_format::fixed);
  return end.ec == std::errc() ? std::string(buffer.data(), end.ptr) : std::string();
}

/// Guesses the meaning of a text that does not begin with a plain decimal number.
std::string GuessNumber(std::string_view text) {
  std::string cleaned;
  for (const char c : text) {
    if (c != '_' && c != ',' && c != '\'' && c != ' ') cleaned += c;
  }
  if (cleaned.starts_with('+')) cleaned.erase(0, 1);
  if (cleaned.size() > 1 && cleaned[0] == '.' && IsDigit(cleaned[1]))
    cleaned.insert(cleaned.begin(), '0');
  while (cleaned.size() > 1 && cleaned[0] == '0' && IsDigit(cleaned[1])) cleaned.erase(0, 1);
  double value = 0;
  const auto end = std::from_chars(cleaned.data(), cleaned.data() + cleaned.size(), value);
  if (end.ec != std::errc() || !IsDigit(cleaned[0]) || !(value >= 0 && value < 1e15)) return "";
  return FixedText(value) + cleaned.substr(static_cast<std::size_t>(end.ptr - cleaned.data()));
}

BadText NotANumber(std::string_view text) {
  std::string guess = GuessNumber(text);
  if (guess == text) guess.clear();
  return {base::Quoted(text) + " is not a plain number", guess};
}

/// Digits, an optional point and more digits, then the unit. No sign, no exponent, no separators.
Parsed<Decimal> SplitNumber(std::string_view text) {
  if (text.starts_with('-')) return BadText{base::Quoted(text) + " is negative", ""};
  std::size_t end = 0;
  while (end < text.size() && IsDigit(text[end])) ++end;
  if (end == 0) return NotANumber(text);
  if (end > 1 && text[0] == '0') return NotANumber(text);  // 010: octal or ten?
  Decimal number;
  if (std::from_chars(text.data(), text.data() + end, number.whole).ec != std::errc()) {
    return BadText{base::Quoted(text) + " is too large", ""};
  }
  if (end < text.size() && text[end] == '.') {
    std::size_t stop = end + 1;
    while (stop < text.size() && IsDigit(text[stop])) ++stop;
    number.fraction = text.substr(end + 1, stop - end - 1);
    if (number.fraction.empty() || number.fraction.size() > 400) return NotANumber(text);
    end = stop;
  }
  number.digits = text.substr(0, end);
  number.unit = text.substr(end);
  const std::string_view rest = number.unit;
  const bool exponent = rest.size() >= 2 && (rest[0] == 'e' || rest[0] == 'E') &&
                        (IsDigit(rest[1]) || rest[1] == '-' || rest[1] == '+');
  if (exponent || rest.find_first_of(",_'") == 0) return NotANumber(text);
  return number;
}

std::string UnitList(std::span<const Unit> units) {
  std::string list;
  for (const Unit& unit : units) {
    if (unit.name.empty() || unit.name == "µs") continue;
    if (!list.empty()) list += ' ';
    list += unit.name;
  }
  return list;
}

std::string WithDigits(std::string_view digits, std::string_view meant) {
  const std::size_t join = meant.find(" or ");
  if (join == std::string_view::npos) return std::string(digits) + std::string(meant);
  return std::string(digits) + std::string(meant.substr(0, join)) + " or " + std::string(digits) +
         std::string(meant.substr(join + 4));
}

BadText BadUnit(std::string_view text, const Decimal& number, std::span<const Unit> units,
                std::span<const Slip> slips, std::string_view usual) {
  const std::string_view unit = base::Trim(number.unit);
  if (unit.empty() && number.unit.empty()) {
    return {base::Quoted(text) + " has no unit", WithDigits(number.digits, usual)};
  }
  for (const Unit& known : units) {
    if (known.name == unit) {
      return {base::Quoted(text) + " has a space before its unit", WithDigits(number.digits, unit)};
    }
  }
  std::string suggestion;
  const auto slip = std::find_if(slips.begin(), slips.end(),
                                 [&](const Slip& candidate) { return candidate.wrong == unit; });
  if (slip != slips.end()) {
    suggestion = WithDigits(number.digits, slip->meant);
  } else {
    std::vector<std::string> names;
    for (const Unit& known : units) names.emplace_back(known.name);
    if (const auto near = base::Nearest(unit, names); near && !near->empty()) {
      suggestion = WithDigits(number.digits, *near);
    }
  }
  return {base::Quoted(unit) + " is not a unit here (" + UnitList(units) + ")", suggestion};
}

const Unit* FindUnit(std::span<const Unit> units, std::string_view name) {
  const auto found =
      std::find_if(units.begin(), units.end(), [&](const Unit& unit) { return unit.name == name; });
  return found == units.end() ? nullptr : &*found;
}

/// whole.fraction × factor to the nearest integer; nullopt on overflow.
std::optional<std::int64_t> Scale(const Decimal& number, std::int64_t factor) {
  std::int64_t scaled = 0;
  if (__builtin_mul_overflow(number.whole, factor, &scaled)) return std::nullopt;
  if (number.fraction.empty()) return scaled;
  // 18 digits fit 64 bits. Any further digit is below half a unit for every factor here.
  const std::string_view digits = number.fraction.substr(0, 18);
  std::int64_t fraction = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), fraction);
  const long double part = static_cast<long double>(fraction) * static_cast<long double>(factor) /
                           std::pow(10.0L, static_cast<long double>(digits.size()));
  if (__builtin_add_overflow(scaled, std::llround(part), &scaled)) return std::nullopt;
  return scaled;
}

bool IsZero(const Decimal& number) {
  return number.whole == 0 && number.fraction.find_first_not_of('0') == std::string_view::npos;
}

struct Grammar {
  std::span<const Unit> units;
  std::span<const Slip> slips;
  std::string_view usual;  ///< the unit to suggest when there is none
  bool zero_needs_unit;
  std::string_view smallest;
};

Parsed<std::int64_t> ParseAmount(std::string_view text, const Grammar& grammar) {
  const auto split = SplitNumber(text);
  if (const auto* bad = std::get_if<BadText>(&split)) return *bad;
  const Decimal& number = std::get<Decimal>(split);
  if (!grammar.zero_needs_unit && number.unit.empty() && IsZero(number)) return std::int64_t{0};
  const Unit* unit = FindUnit(grammar.units, number.unit);
  if (unit == nullptr) return BadUnit(text, number, grammar.units, grammar.slips, grammar.usual);
  const auto amount = Scale(number, unit->factor);
  if (!amount) return BadText{base::Quoted(text) + " is too large", ""};
  if (*amount == 0 && !IsZero(number)) {
    return BadText{base::Quoted(text) + " is less than " + std::string(grammar.smallest), ""};
  }
  return *amount;
}

Parsed<double> ParseReal(std::string_view text, const Grammar& grammar) {
  const auto split = SplitNumber(text);
  if (const auto* bad = std::get_if<BadText>(&split)) return *bad;
  const Decimal& number = std::get<Decimal>(split);
  if (!grammar.zero_needs_unit && number.unit.empty() && IsZero(number)) return 0.0;
  const Unit* unit = FindUnit(grammar.units, number.unit);
  if (unit == nullptr) return BadUnit(text, number, grammar.units, grammar.slips, grammar.usual);
  double value = 0;
  std::from_chars(number.digits.data(), number.digits.data() + number.digits.size(), value);
  return value * static_cast<double>(unit->factor);
}

/// `value` in `unit`, exactly; the factor is a power of ten wherever there is a remainder.
std::string InUnit(std::int64_t value, const Unit& unit) {
  std::string text = std::to_string(value / unit.factor);
  const std::int64_t rest = value % unit.factor;
  if (rest != 0) {
    std::string fraction = std::to_string(unit.factor + rest).substr(1);  // with its leading zeros
    while (fraction.back() == '0') fraction.pop_back();
    text += '.' + fraction;
  }
  return text + std::string(unit.name);
}

bool IsPowerOfTen(std::int64_t value) {
  while (value % 10 == 0) value /= 10;
  return value == 1;
}

std::string Shortest(std::int64_t value, std::span<const Unit> units) {
  std::string best;
  for (const Unit& unit : units) {
    const bool whole = value % unit.factor == 0;
    if (unit.name == "µs" || (!whole && !IsPowerOfTen(unit.factor))) continue;
    const std::string text = InUnit(value, unit);
    const bool as_short = whole && text.size() == best.size();
    if (best.empty() || text.size() < best.size() || as_short) best = text;
  }
  return best;
}

}  // namespace

Parsed<base::Duration> ParseDuration(std::string_view text) {
  const auto amount = ParseAmount(text, {kDurationUnits, kDurationSlips, "ms or s", false, "1 ns"});
  if (const auto* bad = std::get_if<BadText>(&amount)) return *bad;
  return base::Duration(std::get<std::int64_t>(amount));
}

Parsed<base::Bytes> ParseBytes(std::string_view text) {
  // One or two digits are no number of bytes that anybody means; 784 are those of a digit's image.
  const std::string_view usual = text.size() > 2 ? "B" : "MB or GB";
  const auto amount = ParseAmount(text, {kByteUnits, kByteSlips, usual, false, "1 B"});
  if (const auto* bad = std::get_if<BadText>(&amount)) return *bad;
  return base::Bytes{std::get<std::int64_t>(amount)};
}

Parsed<base::BytesPerSecond> ParseRate(std::string_view text) {
  const auto value = ParseReal(text, {kRateUnits, kRateSlips, "MB/s", true, ""});
  if (const auto* bad = std::get_if<BadText>(&value)) return *bad;
  return base::BytesPerSecond{std::get<double>(value)};
}

Parsed<double> ParsePerSecond(std::string_view text) {
  return ParseReal(text, {kCountUnits, kCountSlips, "", true, ""});
}

Parsed<std::int64_t> ParseCount(std::string_view text) {
  const auto split = SplitNumber(text);
  if (const auto* number = std::get_if<Decimal>(&split)) {
    const Unit* unit = FindUnit(kCountUnits, number->unit);
    // "1.5k" is whole, "1.5" and "1.0001k" are not.
    if (unit != nullptr && !number->fraction.empty()) {
      const auto scaled = Scale(*number, unit->factor);
      const std::size_t places = unit->factor == 1'000 ? 3 : unit->factor == 1'000'000 ? 6 : 0;
      if (!scaled || number->fraction.size() > places) {
        return BadText{base::Quoted(text) + " is not a whole number",
                       std::to_string(number->whole)};
      }
    }
  }
  return ParseAmount(text, {kCountUnits, kCountSlips, "", true, "1"});
}

Parsed<double> ParseShare(std::string_view text) {
  const auto split = SplitNumber(text);
  if (const auto* bad = std::get_if<BadText>(&split)) return *bad;
  const Decimal& number = std::get<Decimal>(split);
  if (!number.unit.empty() && number.unit != "%") {
    return BadText{base::Quoted(text) + " is not a share", std::string(number.digits) + "%"};
  }
  double value = 0;
  std::from_chars(number.digits.data(), number.digits.data() + number.digits.size(), value);
  const bool per_cent = number.unit == "%";
  if (value > (per_cent ? 100 : 1)) {
    return BadText{base::Quoted(text) + " is more than the whole",
                   !per_cent && value <= 100 ? std::string(number.digits) + "%" : ""};
  }
  return per_cent ? value / 100 : value;
}

std::string ToText(base::Duration value) {
  if (value == base::Duration::zero()) return "0";
  return Shortest(value.count(), kDurationUnits);
}

std::string ToText(base::Bytes value) { return Shortest(value.count, kByteUnits); }

std::string ToText(base::BytesPerSecond value) {
  std::string best;
  for (const Unit& unit : kRateUnits) {
    if (unit.name.find("bit") != std::string_view::npos) continue;
    const auto factor = static_cast<double>(unit.factor);
    const std::string digits = FixedText(value.per_s / factor);
    const auto back = ParseRate(digits + std::string(unit.name));
    const auto* rate = std::get_if<base::BytesPerSecond>(&back);
    if (rate == nullptr || *rate != value) continue;
    const std::string text = digits + std::string(unit.name);
    if (best.empty() || text.size() < best.size()) best = text;
  }
  return best.empty() ? FixedText(value.per_s) + "B/s" : best;
}

}  // namespace pipesim::spec
