#include "diagnose/demands.h"

#include <algorithm>
#include <initializer_list>
#include <stdexcept>

#include "cost/rates.h"

namespace pipesim::diagnose {

Verdict VerdictOf(Demand demand) {
  const auto found = std::find_if(kVerdicts.begin(), kVerdicts.end(),
                                  [&](const auto& row) { return row.demand == demand; });
  if (found == kVerdicts.end()) throw std::logic_error("a demand without a verdict");
  return found->verdict;
}

namespace {
/// Whether taking a batch over from a worker process costs anything.
bool Receives(const Variant& v) {
  const cost::HandOver& hand_over = v.pipeline.hand_over;
  return hand_over.processes && v.settings.loader.workers > 0 &&
         (hand_over.receive.Mean(v.pipeline.samples.prepared) > base::Duration::zero() ||
          !hand_over.receive_wait.IsZero());
}
}  // namespace

Variant Scaled(Variant v, Demand demand, double factor) {
  cost::Pipeline& p = v.pipeline;
  switch (demand) {
    case Demand::kStorage:
      p.storage = p.storage.Scaled(factor);
      break;
    case Demand::kLoadingCpu:
      p.storage = p.storage.WithCpuScaled(factor);
      p.prepare = p.prepare.Scaled(factor);
      p.collate = p.collate.Scaled(factor);
      p.hand_over.ScaleSending(factor);
      break;
    case Demand::kTransfer:
      p.transfer = p.transfer.Scaled(factor);
      p.pin = p.pin.Scaled(factor);
      if (v.HasPinThread()) p.hand_over.ScaleReceiving(factor);
      break;
    case Demand::kLaunch:
      if (v.on_cpu()) break;
      cost::Scale(p.host.step, factor);
      cost::Scale(p.step.launch, factor);
      cost::Scale(p.step.launch_unlocked, factor);
      cost::Scale(p.step.gap, factor);
      break;
    case Demand::kSync:
      if (factor == 0) v.settings.sync_every = 0;
      cost::Scale(p.host.read_back, factor);
      break;
    case Demand::kOtherHost:
      if (v.on_cpu()) cost::Scale(p.host.step, factor);
      if (!v.HasPinThread()) p.hand_over.ScaleReceiving(factor);
      break;
    case Demand::kStep:
      p.step = p.step.Scaled(factor);
      if (factor == 0) p.machine.pool_spin.reset();  // nothing to spin for
      break;
  }
  return v;
}

bool IsThere(const Variant& v, Demand demand) {
  const cost::Pipeline& p = v.pipeline;
  const auto zero = base::Duration::zero();
  const double stored_bytes = p.samples.stored.in_units.Mean();
  switch (demand) {
    case Demand::kStorage:
      return p.storage.AloneSeconds(1, stored_bytes) > 0;
    case Demand::kLoadingCpu:
      return p.prepare.AloneSeconds(1, 1) > 0 || p.collate.Mean(p.samples.prepared, 1) > zero ||
             p.storage.CpuSeconds(1, stored_bytes) > 0;
    case Demand::kTransfer:
      return p.transfer.Time(p.samples.prepared, true) > zero ||
             (v.Pins() && p.pin.Time(p.samples.prepared) > zero) ||
             (v.HasPinThread() && Receives(v));
    case Demand::kLaunch:
      return !v.on_cpu() && (p.host.step > zero || p.step.launch > zero);
    case Demand::kOtherHost:
      return (v.on_cpu() && p.host.step > zero) || (!v.HasPinThread() && Receives(v));
    case Demand::kSync:
      return v.settings.sync_every > 0;
    case Demand::kStep:
      return p.step.Mean(v.settings.loader.batch_size) > zero;
  }
  throw std::logic_error("unknown demand");
}

namespace {
/// Without the demands whose time these sides show.
Variant WithoutSides(Variant v, std::initializer_list<Side> sides) {
  for (const VerdictRow& row : kVerdicts)
    if (row.demand && std::find(sides.begin(), sides.end(), row.side) != sides.end())
      v = Free(v, *row.demand);
  return v;
}
}  // namespace

Variant FreeData(const Variant& variant) {
  Variant free = WithoutSides(variant, {Side::kInput, Side::kTransfer});
  free.settings.loader.workers = 0;  // nobody to start, to wake up or to share cores with
  return free;
}

Variant FreeCompute(const Variant& variant) {
  return WithoutSides(variant, {Side::kHost, Side::kCompute});
}

}  // namespace pipesim::diagnose
