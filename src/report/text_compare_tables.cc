// The tables of a comparison: two columns for one pair, one row for each of many points.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "report/text_compare.h"

namespace pipesim::report {
namespace {

constexpr std::size_t kLabelWidth = 20, kSideWidth = 15, kChangeWidth = 12;
constexpr double kLeastPercent = 0.0005;  // less is rounding of the same figure

std::string PairLine(const std::string& label, const std::string& a, const std::string& b,
                     const std::string& change, const std::string& interval) {
  std::string line = PadRight(label, kLabelWidth) + PadLeft(a, kSideWidth) +
                     PadLeft(b, kSideWidth) + PadLeft(change, kChangeWidth);
  if (!interval.empty()) line += "   " + interval;
  return line.substr(0, line.find_last_not_of(' ') + 1);
}

std::string RateWithNoise(View side, bool utf8) {
  const auto rate = side.At("samples_per_s").Number();
  if (!rate) return "failed";
  const auto half = side.At("half_width").Number();
  return Significant(*rate, 4) + (half ? (utf8 ? " ±" : " +-") + Noise(*half) : "");
}

std::string ClockTitle(const std::string& clock, const std::string& of) {
  const std::string whose = clock == "consumer"   ? "consumer"
                            : clock == "emulated" ? "emulated device"
                                                  : "GPU timeline";
  return "  " + whose + (of == "sample" ? ", of a sample" : ", of a step");
}

/// Ticks of a column, which add up to its printed total.
std::vector<std::int64_t> Column(const std::vector<View>& stages, std::string_view field,
                                 const TimeScale& scale) {
  std::vector<double> seconds;
  double total = 0;
  for (const View stage : stages) {
    seconds.push_back(std::max(stage.At(field).NumberOr(0), 0.0));
    total += seconds.back();
  }
  return Apportion(scale.Ticks(total), seconds);
}

std::string SignedTicks(const TimeScale& scale, std::int64_t ticks) {
  if (ticks == 0) return scale.Text(0);
  return (ticks > 0 ? "+" : "-") + scale.Text(std::abs(ticks));
}

void AddStages(const Sheet& sheet, View where) {
  const std::vector<View> stages = where.At("stages").Items();
  if (stages.empty()) return;
  double total_a = 0, total_b = 0;
  for (const View stage : stages) {
    total_a += stage.At("a_s").NumberOr(0);
    total_b += stage.At("b_s").NumberOr(0);
  }
  TimeScale scale = TimeScale::For(std::max(total_a, total_b));
  scale.decimals = std::max(scale.decimals, 2);  // small stages still show
  const auto a = Column(stages, "a_s", scale), b = Column(stages, "b_s", scale);
  const std::string unit = " " + std::string(scale.unit);
  std::int64_t sum_a = 0, sum_b = 0;
  for (std::size_t i = 0; i < stages.size(); ++i) sum_a += a[i], sum_b += b[i];
  sheet.page.Add(
      PairLine(ClockTitle(where.At("clock").Text(), where.At("of").Text()), "", "", "", ""));
  const auto row = [&](const std::string& name, std::int64_t of_a, std::int64_t of_b) {
    sheet.page.Add(PairLine("    " + name, scale.Text(of_a) + unit, scale.Text(of_b) + unit,
                            SignedTicks(scale, of_b - of_a) + unit, ""));
  };
  for (std::size_t i = 0; i < stages.size(); ++i)
    if (a[i] != 0 || b[i] != 0) row(stages[i].At("name").Text(), a[i], b[i]);
  row("together", sum_a, sum_b);
}

void AddDemands(const Sheet& sheet, View demands) {
  const std::vector<View> moves = demands.Items();
  if (moves.empty()) return;
  sheet.page.AddBlank();
  sheet.page.Add("What a sample asks of each part, without waiting");
  for (const View move : moves) {
    const double a = move.At("a_s").NumberOr(0), b = move.At("b_s").NumberOr(0);
    sheet.page.Add(PairLine("  " + move.At("name").Text(), Seconds(a, 3), Seconds(b, 3),
                            a > 0 ? ChangeText(b / a - 1) : "", ""));
  }
}

std::string UtilizationText(const std::optional<double>& share) {
  return share ? Percent(*share) : "n/a";
}

std::string PointsChange(std::optional<double> a, std::optional<double> b) {
  if (!a || !b) return "";
  const auto whole = [](double share) { return std::lround(std::clamp(share, -1e9, 1e9) * 100); };
  const long points = whole(*b) - whole(*a);
  return points == 0 ? "0 points" : fmt::format("{:+} points", points);
}

/// Samples/s are the mean of several runs, times those of one. Then both do not fit together where the runs differ.
bool TimesAreOfOthers(View a, View b, double step_a_s, double step_b_s) {
  constexpr double kApart = 0.02;
  const double of_a = a.At("samples_per_s").NumberOr(0) * step_a_s, of_b = b.At("samples_per_s").NumberOr(0) * step_b_s;
  const bool repeated = a.At("unit").Text() == "repeats" || b.At("unit").Text() == "repeats";
  return repeated && std::abs(of_b - of_a) > kApart * of_a;
}

}  // namespace

std::string ShareText(double share) {
  const double percent = share * 100;
  if (percent >= 9.95) return Fixed(std::round(percent), 0) + " %";
  if (percent > 0 && percent < kLeastPercent) return "<0.001 %";
  return (percent >= 0.05 || percent == 0 ? Fixed(percent, 1) : Significant(percent, 1)) + " %";
}

std::string ChangeText(double change) {
  const bool shown = std::abs(change) * 100 >= kLeastPercent;
  return (!shown ? "" : change > 0 ? "+" : "-") + ShareText(std::abs(change));
}

std::string IntervalText(View point) {
  const auto low = point.At("change_interval.low").Number();
  const auto high = point.At("change_interval.high").Number();
  if (!low || !high) return "";
  const auto bound = [](double value) {
    const double percent = value * 100;
    const bool whole = std::abs(percent) >= 9.95;
    return (percent > 0 ? "+" : "") + Fixed(whole ? std::round(percent) : percent, whole ? 0 : 1);
  };
  return bound(*low) + " .. " + bound(*high) + " %";
}

void AddPairTable(const Sheet& sheet, View point, const std::string& b_letter) {
  const View a = point.At("a"), b = point.At("b");
  const bool exact = point.At("exact").IsTrue();
  sheet.page.AddBlank();
  sheet.page.Add(PairLine("", "A", b_letter, "change", exact ? "predicted" : "95 % interval"));
  sheet.page.Add(PairLine("  samples/s", RateWithNoise(a, sheet.utf8), RateWithNoise(b, sheet.utf8),
                          ChangeText(point.At("change").NumberOr(0)), IntervalText(point)));
  const auto step_a = a.At("step_time_s").Number(), step_b = b.At("step_time_s").Number();
  if (step_a && step_b && *step_a > 0)
    sheet.page.Add(PairLine("  step time", Seconds(*step_a, 4), Seconds(*step_b, 4),
                            ChangeText(*step_b / *step_a - 1), ""));
  AddStages(sheet, point.At("where"));
  const auto au_a = a.At("accelerator_utilization").Number();
  const auto au_b = b.At("accelerator_utilization").Number();
  if (au_a || au_b)
    sheet.page.Add(PairLine("  AU", UtilizationText(au_a), UtilizationText(au_b),
                            PointsChange(au_a, au_b), ""));
  sheet.page.Add(PairLine("  verdict", a.At("bottleneck").Text(), b.At("bottleneck").Text(),
                          point.At("verdict_changed").IsTrue() ? "CHANGED" : "same", ""));
  if (!exact) sheet.page.Add("  noise floor " + ShareText(point.At("noise_floor").NumberOr(0)));
  if (step_a && step_b && TimesAreOfOthers(a, b, *step_a, *step_b))
    sheet.page.Add("  samples/s of all runs, times of each side's run of median rate");
  if (sheet.full) AddDemands(sheet, point.At("demands"));
}

void AddChangedSettings(const Sheet& sheet) {
  for (const View comparison : sheet.document.At("comparisons").Items()) {
    const std::vector<View> changed = comparison.At("changed").Items();
    if (changed.empty()) continue;
    sheet.page.AddBlank();
    sheet.page.Add("Settings that differ in " + comparison.At("b").Text());
    for (const View change : changed) {
      const auto value = [&](std::string_view side) {
        const std::string text = change.At(side).Text();
        return text.empty() ? std::string("absent") : text;
      };
      sheet.page.Add(
          fmt::format("  {}: {}, in A {}", change.At("key").Text(), value("b"), value("a")),
          Style::kPlain, "    ");
    }
  }
}

namespace {

struct PointRow {
  std::string name, a, b, change, interval, call, verdict;
  int rank = 0;  ///< what a reader must see comes first
};

int RankOf(View point) {
  const std::string call = point.At("call").Text(), regression = point.At("regression").Text();
  if (call.empty() || regression == "yes") return 0;
  if (call == "SLOWER") return 1;
  if (regression == "open" || call == "UNSURE") return 2;
  return call == "FASTER" ? 3 : 4;
}

std::string PlainRate(View side) {
  const auto rate = side.At("samples_per_s").Number();
  return rate ? Significant(*rate, 4) : "failed";
}

PointRow RowOf(View document, View comparison, View point) {
  PointRow row;
  row.name = point.At("name").Text();
  const bool several = document.At("comparisons").Items().size() > 1;
  if (several || row.name.empty())
    row.name = comparison.At("b").Text() + " against A" + (row.name.empty() ? "" : ", " + row.name);
  row.a = PlainRate(point.At("a"));
  row.b = PlainRate(point.At("b"));
  if (const auto change = point.At("change").Number()) row.change = ChangeText(*change);
  row.interval = point.At("exact").IsTrue() ? "predicted" : IntervalText(point);
  row.call = point.At("call").Text();
  if (row.call.empty()) row.call = point.At("b.failure").Text() + point.At("a.failure").Text();
  const std::string a = point.At("a.bottleneck").Text(), b = point.At("b.bottleneck").Text();
  if (point.At("verdict_changed").IsTrue() && !a.empty() && !b.empty())
    row.verdict = a + " became " + b;
  row.rank = RankOf(point);
  return row;
}

std::vector<PointRow> RowsOf(View document) {
  std::vector<PointRow> rows;
  for (const View comparison : document.At("comparisons").Items())
    for (const View point : comparison.At("points").Items())
      rows.push_back(RowOf(document, comparison, point));
  return rows;
}

std::string NoiseText(View document) {
  double low = 1, high = 0;
  bool exact = true;
  for (const View comparison : document.At("comparisons").Items())
    for (const View point : comparison.At("points").Items()) {
      if (point.At("exact").IsTrue()) continue;
      exact = false;
      const double floor = point.At("noise_floor").NumberOr(high);
      low = std::min(low, floor);
      high = std::max(high, floor);
    }
  if (exact) return "predictions have no noise";
  if (low < high) return fmt::format("noise floor {} to {}", ShareText(low), ShareText(high));
  return "noise floor " + ShareText(high);
}

}  // namespace

void AddPointsTable(const Sheet& sheet) {
  constexpr std::size_t kShownRows = 20;
  std::vector<PointRow> rows = RowsOf(sheet.document);
  std::size_t left_out = 0, changed = 0;
  for (const PointRow& row : rows) changed += row.verdict.empty() ? 0 : 1;
  if (!sheet.full && rows.size() > kShownRows) {
    std::stable_sort(rows.begin(), rows.end(), [](const PointRow& one, const PointRow& other) {
      return one.rank < other.rank;
    });
    left_out = rows.size() - kShownRows;
    rows.resize(kShownRows);
  }
  std::size_t width = 5;
  for (const PointRow& row : rows) width = std::max(width, base::DisplayWidth(row.name));
  width = std::min<std::size_t>(width, 32);
  const auto line = [&](const PointRow& row) {
    return fmt::format("  {} {} {} {} {}  {}", PadRight(row.name, width), PadLeft(row.a, 8),
                       PadLeft(row.b, 8), PadLeft(row.change, 8), PadLeft(row.interval, 15),
                       row.call);
  };
  sheet.page.AddBlank();
  sheet.page.Add(line({"point", "A",
                       rows.empty()                                          ? "B"
                       : sheet.document.At("comparisons").Items().size() > 1 ? "other"
                                                                             : "B",
                       "change", "95 % interval", "call", ""}));
  for (const PointRow& row : rows) {
    sheet.page.Add(line(row), Style::kPlain, "    ");
    if (!row.verdict.empty()) sheet.page.Add("    " + row.verdict, Style::kPlain, "    ");
  }
  if (left_out > 0) sheet.page.Add(fmt::format("  {} more points; --full shows them", left_out));
  sheet.page.Add(fmt::format("  {}; {}", NoiseText(sheet.document),
                             changed == 0   ? "no verdict changed"
                             : changed == 1 ? "1 verdict changed"
                                            : fmt::format("{} verdicts changed", changed)));
}

}  // namespace pipesim::report
