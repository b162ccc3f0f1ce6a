#include "diagnose/shared_cores.h"

#include <fmt/core.h>

#include <cmath>

#include "base/number_text.h"
#include "spec/cpu_list.h"

namespace pipesim::diagnose {

namespace {

Variant Alone(Variant v) {
  v.pipeline.machine.others = {};
  return v;
}

}  // namespace

bool SharesCores(const cost::Machine& machine) {
  constexpr double kLeast = measure::warnings::ForeignCpu::kLeastShare;
  return machine.others.held > 0 && machine.others.held >= kLeast * machine.Processors();
}

std::optional<Setting> OtherCpus(const Variant& now) {
  const cost::Machine& machine = now.pipeline.machine;
  const auto count = static_cast<std::size_t>(machine.Processors());
  if (!SharesCores(machine) || count == 0 || machine.idle_cpus.size() < count) return std::nullopt;
  std::vector<int> chosen = machine.idle_cpus;
  chosen.resize(count);
  const std::string cpus = spec::CpuRangesText(chosen);
  return Setting{.text = "to the idle cpus " + cpus, .set = {{"limits.cpus", cpus}}, .change = Alone};
}

std::optional<Setting> PassiveWait(const Variant& now) {
  const cost::Machine& machine = now.pipeline.machine;
  const bool spins = machine.pool_spin || machine.barrier_slice;
  const bool has_quota = machine.cores < machine.Processors();
  if (!SharesCores(machine) && !has_quota) return std::nullopt;
  if (!now.on_cpu() || now.ComputeThreads() < 2 || !spins ||
      now.settings.limits.omp_wait == spec::OmpWait::kPassive)
    return std::nullopt;
  const auto change = [](Variant after) {
    after.settings.limits.omp_wait = spec::OmpWait::kPassive;
    cost::Step& step = after.pipeline.step;
    step = step.WithSleepingPool(after.settings.loader.batch_size,
                                 after.pipeline.machine.barrier_wake_up);
    return after;
  };
  return Setting{.text = "omp_wait default to passive",
                 .set = {{"limits.omp_wait", "passive"}},
                 .change = change};
}

std::optional<Setting> WithoutOtherPrograms(const Variant& now) {
  if (now.pipeline.machine.others.wanted == 0) return std::nullopt;
  return Setting{.text = std::string(kWithoutOthers), .set = {}, .change = Alone};
}

std::vector<Lever> SharedCoresLevers(const Question& q) {
  std::vector<Lever> levers;
  if (auto passive = PassiveWait(q.now))
    levers.push_back({.setting = *std::move(passive), .feasible_here = true});
  if (auto idle = OtherCpus(q.now))
    levers.push_back({.setting = *std::move(idle), .feasible_here = true});
  if (auto without = WithoutOtherPrograms(q.now))
    levers.push_back({.setting = *std::move(without), .takes = Takes::kDevice});
  return levers;
}

std::string OthersClause(const Question& q, const std::vector<WhatIf>& rows) {
  const auto at = FindRow(rows, kWithoutOthers);
  if (!at || rows[*at].gain < q.thresholds.gain_that_counts) return {};
  const double gain = rows[*at].gain;
  constexpr double kManyTimes = 2;
  const double held = q.now.pipeline.machine.others.held;
  constexpr double kTenth = 0.1;
  return fmt::format("other programs take {:.{}f} of {:.3g} cores; without them training would be {}",
                     held, held < kTenth ? 2 : 1, q.now.pipeline.machine.Processors(),
                     gain < kManyTimes ? base::Percent(gain) + " faster"
                                       : fmt::format("{:.0f} times as fast", 1 + gain));
}

}  // namespace pipesim::diagnose
