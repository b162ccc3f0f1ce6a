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
    "the loader starves training; whether storage, CPU work, handing batches over or too few workers is not in the "
    "trace";
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

bool IsStarvedByWorkers(const TraceVerdict& v) { return v.verdict == Verdict::kInconclusive; }

/// What the experiment says beyond the trace, and what it leaves open.
std::vector<std::string> Assumptions(const TraceSummary& t, const TraceVerdict& v) {
  std::vector<std::string> lines = {"not in the trace: the batch size; one sample stands for a batch"};
  if (LoadsItself(t)) {
    lines.push_back("assumed: loading computes on one core all the time; the trace does not tell that from waiting "
                    "(prepare: {kind: wait}, with which more workers gain more)");
    lines.push_back("not in the trace: the bytes of a batch; handing them over costs workers more than is predicted");
  } else if (IsStarvedByWorkers(v)) {
    lines.push_back("not in the trace: what the workers do, and how many there are");
    lines.push_back(fmt::format("assumed: a batch comes every {}, whatever the number of workers; no change to loading "
                                "is predicted",
                                base::Seconds(t.wall_s / static_cast<double>(t.steps), 3)));
  } else {
    lines.push_back("not in the trace: how long loading takes, since training hides it; it is left out, so the gain "
                    "of a faster step is an upper bound");
  }
  if (t.kernels == 0)
    lines.push_back("assumed: training uses all cores, as PyTorch does; after torch.set_num_threads(N) predict with "
                    "--threads N");
  lines.push_back("not in the trace: the number of cores; predict takes this machine's, else --cpus N");
  lines.push_back("`pipesim record FILE.py:make_loader` measures what is not in the trace");
  return lines;
}

/// Without workers the wait is the loading itself. Of workers only the rate is known: a source that serves one batch at
/// a time, so that no number of workers gains. A thread stands for them: what processes cost is in the trace's times.
std::string LoadingText(const TraceSummary& t, const TraceVerdict& v) {
  const auto steps = static_cast<double>(t.steps);
  if (LoadsItself(t))
    return "storage: none\nprepare: {kind: burn, cost: " + DurationText(t.loader_s / steps) +
           "}\nloader: {kind: process, workers: 0, batch_size: 1}\n";
  const std::string storage = IsStarvedByWorkers(v)
                                  ? "{latency: " + DurationText(t.wall_s / steps) + ", queue_depth: 1}"
                                  : std::string("none");
  return "storage: " + storage + "\nprepare: none\nloader: {workers: 1, batch_size: 1, opaque: true}\n";
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

/// On a CPU the step takes cores from loading.
std::string DeviceText(const TraceSummary& t) {
  if (t.kernels > 0) return GpuText(t);
  const double step_s = std::max(0.0, t.wall_s - t.loader_s) / static_cast<double>(t.steps);
  return "device: {name: cpu, step: {per_sample: " + DurationText(step_s) + "}}\n";
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
  return base::Join(Lines(trace, verdict, source), "\n") + "\n" +
         base::Join(Assumptions(trace, verdict), "\n") + "\n";
}

std::string ExperimentText(const TraceSummary& trace, const TraceVerdict& verdict,
                           const std::string& source) {
  std::string text;
  for (const std::string& line : Lines(trace, verdict, source)) text += "# " + line + "\n";
  for (const std::string& line : Assumptions(trace, verdict)) text += "# " + line + "\n";
  text += "version: 1\nname: " +
          spec::QuoteYaml(std::filesystem::path(source).filename().replace_extension().stem().string()) +
          "\n";
  text += "dataset: {samples: 100000, sample_bytes: 1B, shape: [1], dtype: uint8}\n";
  return text + LoadingText(trace, verdict) + DeviceText(trace);
}

}  // namespace pipesim::interop
