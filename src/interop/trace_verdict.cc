#include "interop/trace_verdict.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "base/number_text.h"
#include "base/text.h"
#include "diagnose/diagnosis.h"
#include "interop/duration_text.h"
#include "spec/yaml_tree.h"

namespace pipesim::interop {
namespace {

using diagnose::Verdict;

constexpr double kGainThatCounts = diagnose::Thresholds{}.gain_that_counts;
/// Taking a batch over from a worker process costs the training loop time that the trace shows as
/// waiting; more workers do not save it (docs/import.md). A wait below this share of a step may be no
/// more than that.
constexpr double kHandOver = 0.10;

double GainOf(double time_s, double wall_s) {
  return wall_s > time_s ? wall_s / (wall_s - time_s) - 1 : INFINITY;
}

struct Cause {
  Verdict verdict;
  double time_s = 0;
  double gain = 0;
  std::string headline;
};

constexpr const char* kInput =
    "the loader starves training; whether storage, CPU work or too few workers is not in the trace";
constexpr const char* kTurns = "loading and training take turns: the DataLoader has no workers";

Cause Loading(const TraceSummary& t, double waited_s) {
  const bool turns = LoadsItself(t);
  Cause cause{turns ? Verdict::kLoaderBound : Verdict::kInconclusive, waited_s,
              GainOf(waited_s, t.wall_s), turns ? kTurns : kInput};
  if (!turns && waited_s < kHandOver * t.wall_s) cause.gain = 0;
  return cause;
}

/// The host waits for the device in every step.
bool ReadsBack(const TraceSummary& t) { return t.host_syncs >= t.steps; }

/// The host's own time.
double OwnSeconds(const TraceSummary& t) { return std::max(0.0, t.wall_s - t.sync_s - t.loader_s); }

/// The host starts kernels too late. If it also waits for the device, and has less work of its own
/// than the device, it would run ahead without those waits.
Cause Launching(const TraceSummary& t) {
  const double gaps_s = t.idle_s - t.starved_s;
  const double own_s = OwnSeconds(t);
  const double without_s = std::max(own_s, t.busy_s);
  const double gain = without_s > 0 ? t.wall_s / without_s - 1 : 0;
  const bool reads = ReadsBack(t) && gain >= kGainThatCounts && own_s < t.busy_s;
  if (reads)
    return {Verdict::kSyncBound, gaps_s, std::min(gain, GainOf(gaps_s, t.wall_s)),
            "the host waits for the device in every step, which then waits for the host"};
  return {Verdict::kLaunchBound, gaps_s, GainOf(gaps_s, t.wall_s),
          "the device waits for the host to start its kernels"};
}

std::vector<Cause> CausesOf(const TraceSummary& t) {
  if (t.kernels == 0) return {Loading(t, t.loader_s)};
  return {Loading(t, t.starved_s),
          {Verdict::kH2dBound, t.copying_s, GainOf(t.copying_s, t.wall_s),
           std::string("the device waits for copies of its input") +
               (t.pageable ? ", from pageable memory" : "")},
          Launching(t)};
}

std::vector<std::string> SharesOf(const TraceSummary& t) {
  std::vector<std::pair<double, std::string>> parts;
  if (t.kernels == 0) {
    parts = {{t.loader_s, "waits for a batch"}, {t.wall_s - t.loader_s, "computes on the CPU"}};
  } else {
    parts = {{t.busy_s, "kernels"},
             {t.starved_s, "idle, the host waits for a batch"},
             {t.copying_s, "copies, no kernel runs"},
             {t.idle_s - t.starved_s, "idle, the host is at work"}};
  }
  std::stable_sort(parts.begin(), parts.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  std::vector<std::string> shares;
  for (const auto& [time_s, what] : parts)
    if (time_s > 0) shares.push_back(what + " " + base::Percent(time_s / t.wall_s));
  return shares;
}

std::string NameOf(const TraceVerdict& verdict) {
  if (verdict.verdict == Verdict::kInconclusive) return "input side";
  return std::string(diagnose::ToText(verdict.verdict));
}

std::vector<std::string> Lines(const TraceSummary& t, const TraceVerdict& v,
                               const std::string& source) {
  const double mean_s = t.wall_s / static_cast<double>(t.steps);
  std::vector<std::string> lines;
  lines.push_back(fmt::format("{}: {} steps of {}{}", base::Printable(source), base::WithCommas(t.steps),
                              base::Seconds(mean_s, 3),
                              t.device_name.empty() ? "" : " on " + base::Printable(t.device_name)));
  lines.push_back("verdict: " + NameOf(v) + ": " + v.headline);
  lines.push_back("a step: " + base::Join(v.shares, ", "));
  if (v.gain > 0 && std::isfinite(v.gain))
    lines.push_back("without that: " + base::Gain(v.gain) + " steps a second");
  if (!t.broken.empty()) lines.push_back("the trace " + t.broken + "; this is what came before");
  if (t.kernels > 0)
    lines.push_back("the profiler slows the host: gaps between kernels are shorter without it");
  return lines;
}

/// One worker that needs a step's time for a batch starves training as the trace shows it; without
/// workers the wait is the loading itself.
std::string PrepareText(const TraceSummary& t, const TraceVerdict& v) {
  const auto steps = static_cast<double>(t.steps);
  if (LoadsItself(t)) return "{kind: wait, cost: " + DurationText(t.loader_s / steps) + "}";
  if (v.verdict != Verdict::kInconclusive) return "none";
  return "{kind: wait, cost: " + DurationText(t.wall_s / steps) + "}";
}

/// Where the host waits for the device in every step, its work while the device idles comes before the launches that
/// the device overlaps. Else it runs ahead as far as its own time allows.
std::string GpuText(const TraceSummary& t) {
  const auto steps = static_cast<double>(t.steps);
  const double own_s = OwnSeconds(t);
  const double before_s = ReadsBack(t) ? std::min(own_s, t.idle_s - t.starved_s) : 0;
  std::string text = ReadsBack(t) ? "model: {sync_every: 1}\n" : "";
  text += "device:\n  name: \"cuda:0\"\n  step: {base: " + DurationText((t.busy_s + t.copying_s) / steps);
  if (before_s > 0) text += ", host: " + DurationText(before_s / steps);
  return text + ", launch: " + DurationText((own_s - before_s) / steps) + ", with_copies: true}\n";
}

/// Of a CPU, too, the loop goes on when the step is done.
std::string DeviceText(const TraceSummary& t) {
  if (t.kernels > 0) return GpuText(t);
  const double step_s = std::max(0.0, t.wall_s - t.loader_s) / static_cast<double>(t.steps);
  return "model: {sync_every: 1}\ndevice: {emulated: {base: " + DurationText(step_s) + "}}\n";
}

}  // namespace

bool LoadsItself(const TraceSummary& trace) { return trace.loader.starts_with("_SingleProcess"); }

TraceVerdict Judge(const TraceSummary& trace) {
  TraceVerdict verdict{.verdict = Verdict::kComputeBound,
                       .headline = trace.kernels > 0 ? "the device computes nearly all the time"
                                                     : "training on the CPU takes nearly all the time"};
  verdict.shares = SharesOf(trace);
  for (const Cause& cause : CausesOf(trace)) {
    if (cause.gain < kGainThatCounts || cause.gain <= verdict.gain) continue;
    verdict.verdict = cause.verdict;
    verdict.gain = cause.gain;
    verdict.headline = cause.headline;
  }
  return verdict;
}

std::string VerdictText(const TraceSummary& trace, const TraceVerdict& verdict,
                        const std::string& source) {
  return base::Join(Lines(trace, verdict, source), "\n") + "\n";
}

std::string ExperimentText(const TraceSummary& trace, const TraceVerdict& verdict,
                           const std::string& source) {
  std::string text;
  for (const std::string& line : Lines(trace, verdict, source)) text += "# " + line + "\n";
  const bool turns = LoadsItself(trace);
  const bool starved = turns || verdict.verdict == Verdict::kInconclusive;
  text +=
      "# not in the trace: the batch size (one sample stands for a batch), storage and CPU work of "
      "loading\n";
  if (!turns) text += "# not in the trace: the number of workers (1 stands for all of them)\n";
  if (!starved) text += "# not in the trace: how long loading a batch takes, since training hides it\n";
  text += "version: 1\nname: " +
          spec::QuoteYaml(std::filesystem::path(source).filename().replace_extension().stem().string()) +
          "\n";
  text += "dataset: {samples: 100000, sample_bytes: 1B, shape: [1], dtype: uint8}\n";
  text += "storage: none\nprepare: " + PrepareText(trace, verdict) + "\n";
  text += fmt::format("loader: {{workers: {}, batch_size: 1}}\n", turns ? 0 : 1);
  text += DeviceText(trace);
  return text;
}

}  // namespace pipesim::interop
