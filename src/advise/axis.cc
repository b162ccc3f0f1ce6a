#include "advise/axis.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "base/error.h"
#include "spec/units_text.h"

namespace pipesim::advise {
namespace {

constexpr std::string_view kBandwidth = "storage.bandwidth", kIops = "storage.iops",
                           kCpus = "limits.cpus", kWorkers = "loader.workers",
                           kAccelerators = "run.accelerators";

constexpr std::array<Axis, 5> kAxes{{{kBandwidth, kBandwidth, false, true},
                                     {kIops, kIops, false},
                                     {kCpus, kCpus},
                                     {kWorkers, kWorkers},
                                     {"accelerators", kAccelerators}}};

// More than any machine has; a search ends long before, where the next part limits.
constexpr double kMostWorkers = 1024, kMostCpus = 4096, kMostAccelerators = 1024;
// A search may move this far from the present bandwidth or IOPS.
constexpr double kFarthest = 1e6;

[[noreturn]] void RefuseAxis(std::string what, std::string remedy) {
  base::Problem problem;
  problem.source = "--solve";
  problem.what = std::move(what);
  problem.suggestion = std::move(remedy);
  throw base::ConfigError({std::move(problem)});
}

/// The present limit of the emulated storage.
double StorageLimit(const Axis& axis, const spec::Experiment& experiment) {
  switch (experiment.storage.kind) {
    case spec::StorageKind::kNone:
      RefuseAxis(fmt::format("{} needs a storage, and this experiment has none", axis.path),
                 "--storage sata-ssd");
    case spec::StorageKind::kFiles:
      RefuseAxis(fmt::format("{} cannot be set on real files", axis.path),
                 "an emulated storage: --storage sata-ssd");
    case spec::StorageKind::kEmulated:
      break;
  }
  if (const auto now = PresentValue(axis, experiment)) return *now;
  RefuseAxis(fmt::format("this storage has no {}: it is unlimited", axis.path),
             fmt::format("a starting value: --set {}={}", axis.path,
                         axis.is_rate ? "500MB/s" : "10k"));
}

}  // namespace

std::span<const Axis> Axes() { return kAxes; }

const Axis* FindAxis(std::string_view name) {
  for (const Axis& axis : kAxes) {
    const std::string_view last_word = axis.path.substr(axis.path.rfind('.') + 1);
    if (axis.name == name || axis.path == name || last_word == name) return &axis;
  }
  return nullptr;
}

std::string SettingText(const Axis& axis, double value) {
  if (axis.is_rate) return spec::ToText(base::BytesPerSecond{value});
  return fmt::format("{:.12g}", axis.whole ? std::round(value) : value);
}

std::optional<double> PresentValue(const Axis& axis, const spec::Experiment& experiment) {
  if (axis.path == kWorkers) return experiment.loader.workers;
  if (axis.path == kAccelerators) return experiment.run.accelerators;
  if (axis.path == kIops) return experiment.storage.iops_per_s;
  if (axis.path == kCpus) {
    if (experiment.limits.cpu_count) return *experiment.limits.cpu_count;
    const auto listed = static_cast<double>(experiment.limits.cpu_list.size());
    return listed > 0 ? std::optional(listed) : std::nullopt;
  }
  if (experiment.storage.bandwidth) return experiment.storage.bandwidth->per_s;
  return std::nullopt;
}

SizeQuestion QuestionOf(const Axis& axis, const spec::Experiment& experiment, Metric metric,
                        double target) {
  SizeQuestion question{.metric = metric, .target = target, .whole = axis.whole};
  if (!axis.whole) {
    question.start = StorageLimit(axis, experiment);
    question.least = question.start / kFarthest;
    question.most = question.start * kFarthest;
  } else if (axis.path == kWorkers) {
    question.least = spec::NeedsWorkers(experiment) ? 1 : 0;
    question.most = kMostWorkers;
  } else if (axis.path == kCpus) {
    question.most = kMostCpus;
  } else {
    question.most = kMostAccelerators;
    // Accelerators share storage and cores: each gets less, all together more.
    question.falls = metric == Metric::kUtilization;
  }
  return question;
}

}  // namespace pipesim::advise
