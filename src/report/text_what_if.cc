// The what-if table, and how many workers are enough.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "report/text_parts.h"

namespace pipesim::report {
namespace {

constexpr double kShownAlone = 0.01;  // changes that matter less share one line
constexpr std::size_t kChangeWidth = 26, kShortestChange = 21;

std::string TakesText(View change) {
  std::string takes = change.At("takes").Text();
  if (takes == "flag" || takes == "device") takes = "a " + takes;
  if (takes.empty()) takes = "-";  // an upper bound
  if (change.At("changes_training").IsTrue()) takes = "changes training";
  if (change.At("tried.refutes").IsTrue()) return "refuted";
  const View feasible = change.At("feasible_here");
  return feasible.IsPresent() && !feasible.IsTrue() ? takes + ", not here" : takes;
}

/// A gain that may be none, as far as this run shows.
bool IsNoise(View change) {
  const auto low = change.At("gain_interval.low").Number();
  const auto high = change.At("gain_interval.high").Number();
  return low && high && *low <= 0 && *high >= 0;
}

}  // namespace

std::vector<ShownChange> ShownChanges(View document) {
  // While the verdict is open, the interval of a gain says more than its estimate.
  const bool open = IsOpen(document);
  std::vector<ShownChange> changes;
  for (const View change : document.At("diagnosis.what_if").Items()) {
    ShownChange shown{change};
    shown.as_interval = open && change.At("gain_interval").IsPresent();
    const double gain =
        change.At(shown.as_interval ? "gain_interval.high" : "gain").NumberOr(1);
    const bool noise = !shown.as_interval && IsNoise(change);
    shown.small =
        (noise || std::abs(gain) < kShownAlone) && !change.At("tried").IsPresent();
    shown.noise = noise && std::abs(gain) >= kShownAlone;
    // It cannot reach the gain that counts.
    const bool out = shown.as_interval && change.At("gain_interval.high").NumberOr(1) <
                                              diagnose::Thresholds{}.gain_that_counts;
    shown.takes = out ? "ruled out" : TakesText(change);
    changes.push_back(std::move(shown));
  }
  return changes;
}

std::string SmallChangesText(const std::vector<ShownChange>& changes) {
  std::vector<std::string> small, unknown;
  for (const ShownChange& each : changes)
    if (each.small) (each.noise ? unknown : small).push_back(each.change.At("change").Text());
  std::vector<std::string> parts;
  if (!small.empty()) parts.push_back(base::Join(small, ", ") + ": below 1 %" + (small.size() > 1 ? " each" : ""));
  if (!unknown.empty()) parts.push_back(base::Join(unknown, ", ") + ": gain or loss, this run is too noisy to say");
  return base::Join(parts, "; ");
}

std::string WhatIfTitle(View document, const std::vector<ShownChange>& changes) {
  const bool differs = document.At("diagnosis.observed.differs").IsTrue();
  const auto any = [&](auto&& is) { return std::any_of(changes.begin(), changes.end(), is); };
  const char* more = "";
  if (any([](const ShownChange& each) { return each.as_interval && !each.small; }))
    more = "; interval of the gain";
  else if (any([](const ShownChange& each) { return each.change.At("tried").IsPresent(); }))
    more = "; tried: measured after it";
  return "What if (predicted from this run's costs" +
         std::string(differs ? ", which are not your system's" : "") + more + ")";
}

namespace {

/// The change in its column; a longer one gets lines of its own above the row.
std::string ChangeCell(const Sheet& sheet, const std::string& change, std::size_t width) {
  std::vector<std::string> lines = Wrap("  " + change, width + 2, "    ");
  for (std::size_t i = 0; i + 1 < lines.size(); ++i) sheet.page.Add(lines[i]);
  return PadRight(lines.back(), width + 2);
}

std::size_t WidestChange(const std::vector<ShownChange>& changes) {
  std::size_t widest = kShortestChange;
  for (const ShownChange& each : changes)
    widest = std::max(widest, base::DisplayWidth(each.change.At("change").Text()));
  return std::min(widest, kChangeWidth);
}

bool AnyTried(const std::vector<ShownChange>& changes) {
  return std::any_of(changes.begin(), changes.end(), [](const ShownChange& each) {
    return each.change.At("tried").IsPresent();
  });
}

/// The measured gain beside the predicted one; the column is there if anything was tried.
std::string TriedCell(View change, bool column) {
  if (!column) return "";
  const auto gain = change.At("tried.gain").Number();
  return fmt::format(" {:>8}", gain ? Gain(*gain) : "");
}

void AddRows(const Sheet& sheet, const std::vector<ShownChange>& changes) {
  const bool tried = AnyTried(changes);
  const std::size_t width = WidestChange(changes);
  if (!changes.empty())
    sheet.page.Add(PadRight("  change", width + 2) + " samples/s    gain" +
                   (tried ? "    tried" : "") + "  then           takes");
  for (const ShownChange& each : changes) {
    const View change = each.change;
    const std::string then = change.At("then").Text();
    const auto rate = change.At("samples_per_s").Number(), gain = change.At("gain").Number();
    const std::string row = ChangeCell(sheet, change.At("change").Text(), width) +
                            fmt::format("{:>10} {:>7}{}  {:<15}", rate ? Significant(*rate, 4) : "n/a",
                                        gain ? Gain(*gain) : "n/a", TriedCell(change, tried),
                                        then.empty() ? "n/a" : then);
    // What it takes goes on in its own column.
    sheet.page.Add(row + each.takes, Style::kPlain, std::string(base::DisplayWidth(row), ' '));
  }
}

/// Rows with the interval of their gain.
void AddIntervals(const Sheet& sheet, const std::vector<ShownChange>& changes) {
  const std::size_t width = WidestChange(changes);
  for (const ShownChange& each : changes) {
    const View change = each.change;
    const auto low = change.At("gain_interval.low").Number();
    const auto high = change.At("gain_interval.high").Number();
    const auto gain = change.At("gain").Number();
    const std::string range = low && high ? fmt::format("{:>7} .. {:>7}", Gain(*low), Gain(*high))
                                          : fmt::format("{:>18}", gain ? Gain(*gain) : "n/a");
    sheet.page.Add(ChangeCell(sheet, change.At("change").Text(), width) + range + "   " +
                   each.takes);
  }
}

/// MLPerf Storage leaves each epoch's first step out, which more workers may make longer: its AU is another aim.
constexpr const char* kOfRateOnly = " This is of all samples/s; for AU as MLPerf Storage counts: pipesim size.";

/// "Enough: 5 workers and prefetch 2 reach 98 % of the best; more only costs memory."
std::string EnoughText(const Sheet& sheet, View enough) {
  const View effective = sheet.document.At("effective");
  const double workers = enough.At("workers").NumberOr(0), now = effective.At("workers").NumberOr(0);
  const double prefetch = enough.At("prefetch_factor").NumberOr(0);
  const double prefetch_now = effective.At("prefetch_factor").NumberOr(0);
  std::string line = "Enough: " + Count(workers) + (workers == 1 ? " worker" : " workers");
  if (Accelerators(sheet.document) > 1) line += " for each accelerator";
  if (workers > 0) line += " and prefetch " + Count(prefetch);
  const bool as_now = workers == now && (workers == 0 || prefetch == prefetch_now);
  if (as_now) line += ", as now";
  const double of_best = enough.At("share_of_best").NumberOr(0);
  const std::string share = Percent(of_best);
  if (enough.At("more_may_gain").IsTrue()) return line + "; more may gain and were not looked at.";
  if (share == "100 %") return line + "; more workers add nothing.";
  line += (as_now ? ", reach " : " reach ") + share + " of the best";
  const bool more = now > workers || now * prefetch_now > workers * prefetch;
  constexpr double kNearlyAll = 0.975;
  if (more && of_best < kNearlyAll)
    return line + "; more costs memory and gains " + Percent(1 / of_best - 1) + " at most.";
  return line + (more ? "; more only costs memory." : ".");
}

}  // namespace

void AddWhatIf(const Sheet& sheet) {
  const std::vector<ShownChange> changes = ShownChanges(sheet.document);
  if (changes.empty()) return;
  std::vector<ShownChange> shown;
  bool intervals = false;
  for (const ShownChange& each : changes) {
    if (each.small) continue;
    intervals |= each.as_interval;
    shown.push_back(each);
  }
  sheet.page.AddBlank();
  sheet.page.Add(WhatIfTitle(sheet.document, changes), Style::kStrong);
  if (intervals)
    AddIntervals(sheet, shown);
  else
    AddRows(sheet, shown);
  const std::string small = SmallChangesText(changes);
  if (!small.empty()) sheet.page.Add("  " + small, Style::kPlain, "    ");
}

void AddEnough(const Sheet& sheet) {
  const View enough = sheet.document.At("diagnosis.enough");
  const std::string pytorch = sheet.document.At("diagnosis.recommendation.pytorch").Text();
  if (!enough.IsPresent() && pytorch.empty()) return;
  sheet.page.AddBlank();
  if (enough.IsPresent()) {
    const bool judged_by_au = sheet.document.At("result.mlperf.au").Number().has_value();
    sheet.page.Add(EnoughText(sheet, enough) + (judged_by_au ? kOfRateOnly : ""), Style::kPlain, "  ");
    const auto bytes = enough.At("bytes_per_worker").Number();
    if (bytes && *bytes > 0 && enough.At("workers").NumberOr(0) > 0)
      sheet.page.Add("  Each worker keeps " + Amount(*bytes) + " of finished batches in memory.");
  }
  if (!pytorch.empty()) sheet.page.Add("In PyTorch: " + pytorch);
}

}  // namespace pipesim::report
