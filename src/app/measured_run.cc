#include "app/measured_run.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/text.h"
#include "report/view.h"

namespace pipesim::app {
namespace {

using report::View;
using predict::MeasuredRun;
using spec::Origin;

/// The settings to keep: the others follow from them.
std::optional<Origin> OriginToKeep(std::string_view text) {
  for (const Origin origin :
       {Origin::kFile, Origin::kFlag, Origin::kEnvironment, Origin::kData}) {
    if (spec::ToText(origin) == text) return origin;
  }
  return std::nullopt;
}

void ReadSettings(View document, MeasuredRun& run) {
  for (const auto& [path, setting] : document.At("experiment").Members()) {
    const std::string value = setting.At("value").Text();
    run.texts[path] = value;
    auto origin = OriginToKeep(setting.At("origin").Text());
    if (path == "name") origin = origin.value_or(Origin::kDefault);
    if (!origin) continue;
    run.settings.push_back({path, value, "--from " + base::Printable(run.source), *origin});
  }
}

void ReadDemands(View document, MeasuredRun& run) {
  const View demands = document.At("demands");
  const auto seconds = [&](std::string_view name) { return demands.At(name).Number(); };
  run.batch_samples = demands.At("batch_samples").NumberOr(0);
  if (run.batch_samples <= 0) return;
  run.reads = demands.At("reads").NumberOr(0);
  run.step_s = seconds("step_s");
  run.prepare_cpu_s = seconds("prepare_cpu_s");
  run.collate_s = seconds("collate_s");
  run.copying_bytes_per_s = demands.At("copying_bytes_per_s").Number();
  run.pin_s = seconds("pin_s");
  run.h2d_s = seconds("h2d_s");
  run.host_s = seconds("host_s");
  run.read_s = seconds("read_s");
}

}  // namespace

predict::MeasuredRun ReadMeasuredRun(const std::string& file) {
  return MeasuredRunOf(report::ReadReport(file), file);
}

predict::MeasuredRun MeasuredRunOf(const report::Document& document, const std::string& file) {
  const View view(&document, true);
  if (const std::string kind = view.At("kind").Text(); kind != "run")
    throw base::EnvironmentError(fmt::format(
        "{}: a report of kind '{}'; a prediction starts from a run", base::Printable(file), kind));
  MeasuredRun run;
  run.source = file;
  ReadSettings(view, run);
  if (run.texts.empty())
    throw base::EnvironmentError(
        fmt::format("{}: holds no experiment to predict; give a file written by --export json=FILE",
                    base::Printable(file)));
  const View effective = view.At("effective");
  run.device = spec::ParseDevice(effective.At("device").Text()).value_or(spec::DeviceId{});
  run.device_name = effective.At("device_name").Text();
  constexpr std::int64_t kMostThreads = 1 << 20;  // a foreign file may hold any number
  run.compute_threads = static_cast<int>(
      std::clamp<std::int64_t>(effective.At("compute_threads").Whole(), 0, kMostThreads));
  run.pinned = effective.At("pinned").IsTrue();
  run.cores = view.At("resources.cores").Number();
  if (run.cores && *run.cores <= 0) run.cores.reset();
  run.foreign_cores = view.At("resources.foreign_cores").Number();
  run.device_memory_bytes = view.At("memory.device_total_bytes").Number();
  ReadDemands(view, run);
  return run;
}

}  // namespace pipesim::app
