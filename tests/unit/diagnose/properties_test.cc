// What holds for any run, however odd its numbers.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>

#include "diagnose/demands.h"
#include "unit/diagnose/run_builder.h"

namespace pipesim::diagnose::testing {
namespace {

/// Seconds from nothing to 100 s, or unknown.
rc::Gen<std::optional<double>> Seconds() {
  return rc::gen::map(rc::gen::pair(rc::gen::inRange(0, 6), rc::gen::inRange(0, 10000)),
                      [](const std::pair<int, int>& drawn) -> std::optional<double> {
                        if (drawn.first == 0) return std::nullopt;
                        if (drawn.first == 1) return 0.0;
                        return drawn.second * std::pow(10.0, -drawn.first);
                      });
}

double Known() { return (*Seconds()).value_or(0); }

MadeRun AnyRun() {
  MadeRun run;
  auto& e = run.experiment;
  auto& m = run.measurement;
  e.loader.workers = *rc::gen::inRange(0, 20);
  e.loader.batch_size = *rc::gen::inRange(1, 512);
  e.dataset.samples = *rc::gen::inRange(1, 100000);
  e.dataset.shape = {3, 8, 8};
  e.storage.kind = *rc::gen::element(spec::StorageKind::kNone, spec::StorageKind::kEmulated,
                                     spec::StorageKind::kFiles);
  if (*rc::gen::arbitrary<bool>()) e.storage.bandwidth = base::BytesPerSecond{1 + 1e6 * Known()};
  if (*rc::gen::arbitrary<bool>()) e.storage.iops_per_s = 1 + 1e3 * Known();
  e.prepare.kind = *rc::gen::element(spec::PrepareKind::kNone, spec::PrepareKind::kBurn,
                                     spec::PrepareKind::kWait);
  e.transfer.overlap = *rc::gen::arbitrary<bool>();
  e.training.sync_every = *rc::gen::inRange(0, 2);
  e.device.in_flight = *rc::gen::inRange(1, 4);
  auto& d = m.demands;
  d.batch_samples = *rc::gen::inRange(0, 512);
  d.reads = *rc::gen::inRange(0, 512);
  d.bytes = 1e5 * d.reads;
  for (auto* part : {&d.read_s, &d.read_cpu_s, &d.prepare_cpu_s, &d.prepare_wait_s, &d.collate_s,
                     &d.pin_s, &d.h2d_s, &d.host_s, &d.step_s, &d.step_cpu_s, &d.sync_s}) {
    *part = *Seconds();
  }
  m.effective.device_asynchronous = *rc::gen::arbitrary<bool>();
  m.effective.compute_threads = *rc::gen::inRange(0, 9);
  m.resources.cores = *rc::gen::inRange(0, 9);
  m.result.steps = *rc::gen::inRange(0, 100);
  m.result.samples_per_s = *Seconds();
  if (m.result.samples_per_s && *rc::gen::arbitrary<bool>()) {
    m.result.samples_per_s_interval =
        measure::Interval{*m.result.samples_per_s / 2, *m.result.samples_per_s * 2, 0.95, "any"};
  }
  auto& c = m.consumer;
  for (double* part : {&c.starved_s, &c.compute_s, &c.contended_s, &c.host_s}) *part = Known();
  c.wall_s = c.starved_s + c.compute_s + c.contended_s + c.host_s;
  if (m.effective.device_asynchronous && *rc::gen::arbitrary<bool>()) {
    auto& device = m.device.emplace();
    device.busy_s = Known();
    device.starved_s = Known();
    if (*rc::gen::arbitrary<bool>()) device.launch_s = Known();
    device.wall_s = device.busy_s + device.starved_s + device.launch_s.value_or(0);
  }
  m.workers.count = e.loader.workers;
  m.workers.read_s = Known();
  m.workers.contended_s = Known();
  m.workers.wall_s = m.workers.read_s + m.workers.contended_s;
  return run;
}

std::string Told(const Diagnosis& d) {
  std::string text = std::string(ToText(d.bottleneck)) + "|" + d.headline;
  for (const auto& item : d.evidence) text += "|" + item.text + item.field;
  for (const auto& row : d.what_if) text += "|" + row.change + std::to_string(row.gain);
  for (const auto& out : d.ruled_out) text += "|" + out;
  for (const auto& missing : d.missing) text += "|" + missing.reason;
  return text + "|" + d.recommendation->text;
}

RC_GTEST_PROP(AnyDiagnosis, EndsInAVerdictWithFiniteGains, ()) {
  const MadeRun run = AnyRun();
  const Diagnosis d = run.DiagnoseBy(PredictByBounds);
  for (const auto& row : d.what_if) {
    RC_ASSERT(std::isfinite(row.gain));
    RC_ASSERT(row.gain >= -1);
    if (row.gain_interval) {
      RC_ASSERT(row.gain_interval->low <= row.gain && row.gain <= row.gain_interval->high);
    }
  }
  RC_ASSERT(!d.headline.empty());
  RC_ASSERT(d.recommendation && !d.recommendation->text.empty());
  RC_ASSERT((d.bottleneck == Verdict::kInconclusive) == (d.confidence == Confidence::kNone));
  RC_ASSERT((d.bottleneck == Verdict::kInconclusive) == !d.missing.empty() ||
            d.confidence == Confidence::kLow);
}

RC_GTEST_PROP(AnyDiagnosis, IsTheSameEachTime, ()) {
  const MadeRun run = AnyRun();
  RC_ASSERT(Told(run.DiagnoseBy(PredictByBounds)) ==
            Told(run.DiagnoseBy(PredictByBounds)));
}

RC_GTEST_PROP(AnyVariant, LosesNothingByAFreeDemand, ()) {
  const MadeRun run = AnyRun();
  const Variant s = run.Now();
  const double now = PredictByBounds(s);
  for (const Demand demand : kDemands) {
    RC_ASSERT(PredictByBounds(Free(s, demand)) >= now * (1 - 1e-12));
    RC_ASSERT(PredictByBounds(Scaled(s, demand, 0.5)) >= now * (1 - 1e-12));
    RC_ASSERT(PredictByBounds(Scaled(s, demand, 2)) <= now * (1 + 1e-12));
  }
}

RC_GTEST_PROP(AnyVariant, HasEachDemandInItsDataOrInItsCompute, ()) {
  const Variant s = AnyRun().Now();
  const Variant neither = FreeCompute(FreeData(s));
  for (const Demand demand : kDemands) RC_ASSERT(!IsThere(neither, demand));
}

RC_GTEST_PROP(AnyVariant, GainsNothingByFewerCoresOrWorkers, ()) {
  const MadeRun run = AnyRun();
  Variant s = run.Now();
  s.settings.loader.workers += 2;
  s.pipeline.machine.cores += 1;
  Variant less = s;
  less.settings.loader.workers -= 1;
  RC_ASSERT(PredictByBounds(less) <= PredictByBounds(s));
  less = s;
  less.pipeline.machine.cores /= 2;
  RC_ASSERT(PredictByBounds(less) <= PredictByBounds(s));
}

}  // namespace
}  // namespace pipesim::diagnose::testing
