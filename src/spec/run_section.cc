// The `run:` section: how long, how often, how precisely.
#include <array>
#include <limits>

#include "spec/key_rule.h"
#include "spec/sections.h"
#include "spec/words.h"

namespace pipesim::spec {
namespace {

constexpr int kMostAccelerators = 1024;
constexpr std::int64_t kMostSteps = std::int64_t{1} << 40;

constexpr auto kRunKeys = std::to_array<KeyRule>({
    {{"run.duration", "duration", "auto",
      "measured time after warm-up; auto: until precise enough"},
     [](const Experiment& e) { return OrWord(e.run.duration, "auto"); }},
    {{"run.steps", "count", "none", "maximum steps, warm-up included"},
     [](const Experiment& e) { return OrWord(e.run.steps, "none"); }},
    {{"run.epochs", "count", "none", "maximum epochs, warm-up included"},
     [](const Experiment& e) { return OrWord(e.run.epochs, "none"); }},
    {{"run.warmup", "duration", "auto", "time excluded at the start; auto: MSER-5"},
     [](const Experiment& e) { return OrWord(e.run.warmup, "auto"); }},
    {{"run.seed", "count", "1", "seed of all random draws"},
     [](const Experiment& e) { return std::to_string(e.run.seed); }},
    {{"run.repeats", "count", "1", "number of runs; repeat r uses seed + r"},
     [](const Experiment& e) { return CountText(e.run.repeats); }},
    {{"run.accelerators", "count", "1", "predict: identical trainers sharing storage and cores"},
     [](const Experiment& e) { return CountText(e.run.accelerators); }},
    {{"run.barrier", "true|false", "false", "predict: all accelerators meet after every step"},
     [](const Experiment& e) { return YesNo(e.run.barrier); }},
    {{"run.probes", "auto|off", "auto", "auto: try changes for a fifth of the measured time"},
     [](const Experiment& e) { return WordOf(kProbes, e.run.probes); }},
    {{"run.min_duration", "duration", "5s", "duration auto: minimum measured time"},
     [](const Experiment& e) { return ToText(e.run.min_duration); }},
    {{"run.min_steps", "count", "1", "duration auto: minimum steps after warm-up"},
     [](const Experiment& e) { return CountText(e.run.min_steps); }},
    {{"run.max_noise", "share", "2%", "duration auto: 95 % half-width over the mean"},
     [](const Experiment& e) { return NumberText(e.run.max_noise); }},
    {{"run.max_duration", "duration", "60s", "duration auto: maximum measured time"},
     [](const Experiment& e) { return ToText(e.run.max_duration); }},
});

}  // namespace

std::span<const KeyRule> RunKeys() { return kRunKeys; }

void ReadRun(Reading& reading, const Node& section, Run& out) {
  MapReader reader(reading, section, "run");
  reader.Time("duration", out.duration, "auto");
  reader.Count("steps", out.steps, 1, kMostSteps, "none");
  reader.Count("epochs", out.epochs, 1, kMostSteps, "none");
  reader.Time("warmup", out.warmup, "auto");
  std::int64_t seed = 1;
  if (reader.Count("seed", seed, 0, std::numeric_limits<std::int64_t>::max())) {
    out.seed = static_cast<std::uint64_t>(seed);
  }
  reader.Count("repeats", out.repeats, 1, 10'000);
  ReadWord(reader, "probes", kProbes, out.probes);
  reader.Count("accelerators", out.accelerators, 1, kMostAccelerators);
  reader.Flag("barrier", out.barrier);
  reader.Time("min_duration", out.min_duration);
  reader.Count("min_steps", out.min_steps, 1, kMostSteps);
  reader.Share("max_noise", out.max_noise);
  reader.Time("max_duration", out.max_duration);
  reader.Finish();
}

}  // namespace pipesim::spec
