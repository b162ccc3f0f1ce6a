#include "diagnose/ladder.h"

namespace pipesim::diagnose {
namespace {

Full Fullness(std::optional<double> utilization, const Question& q) {
  if (!utilization) return Full::kUnknown;
  const double noise = RelativeHalfWidth(q.measurement).value_or(0);
  const double near = q.thresholds.model_error;
  if (*utilization * (1 - noise) >= 1 - near) return Full::kYes;
  return *utilization * (1 + noise) < 1 - 2 * near ? Full::kNo : Full::kUnsure;
}

Rung GpuRung(const Question& q) {
  Rung rung{.resource = "GPU", .used = {}, .limit = {}, .unit = "fraction"};
  if (!q.scenario.device_asynchronous) return rung;  // none: the CPU trains
  rung.used = q.measurement.result.accelerator_utilization;
  rung.limit = 1;
  rung.full = Fullness(rung.used, q);
  return rung;
}

Rung CpuRung(const Question& q) {
  const auto& r = q.measurement.resources;
  Rung rung{.resource = "CPU", .used = r.cores_used, .limit = {}, .unit = "cores"};
  if (q.scenario.cores > 0) rung.limit = q.scenario.cores;
  // Cores that other programs use are full all the same.
  if (rung.used && rung.limit)
    rung.full = Fullness((*rung.used + r.foreign_cores.value_or(0)) / *rung.limit, q);
  return rung;
}

/// Bandwidth or reads, whichever is nearer to its limit.
Rung IoRung(const Question& q) {
  const auto& r = q.measurement.resources;
  Rung rung{.resource = "IO", .used = r.storage_bytes_per_s, .limit = {}, .unit = "bytes/s"};
  const Scenario& s = q.scenario;
  const bool described = q.experiment.storage.kind != spec::StorageKind::kFiles;
  const auto share = [](double used, std::optional<double> limit) {
    return limit && *limit > 0 ? used / *limit : 0;
  };
  rung.limit = s.storage_bytes_per_s;
  for (const auto& limit : {s.storage_reads_per_s, s.storage_parallel_reads}) {
    if (share(r.reads_per_s, limit) > share(*rung.used, rung.limit)) {
      rung.used = r.reads_per_s;
      rung.limit = limit;
      rung.unit = "reads/s";
    }
  }
  std::optional<double> utilization = r.storage_utilization;
  if (!utilization && rung.limit) utilization = share(*rung.used, rung.limit);
  // A described storage without a limit cannot be full; of a real one the limit is not known.
  const bool unlimited = described && !rung.limit;
  rung.full = unlimited ? Full::kNo : Fullness(utilization, q);
  return rung;
}

}  // namespace

std::vector<Rung> Ladder(const Question& q, Verdict verdict) {
  std::vector<Rung> rungs = {GpuRung(q), CpuRung(q), IoRung(q)};
  const bool on_gpu = q.scenario.device_asynchronous;
  rungs[0].is_limit = verdict == Verdict::kComputeBound && on_gpu;
  rungs[1].is_limit = verdict == Verdict::kCpuBound || verdict == Verdict::kCpuContention ||
                      (verdict == Verdict::kComputeBound && !on_gpu);
  rungs[2].is_limit = verdict == Verdict::kIoBound;
  return rungs;
}

}  // namespace pipesim::diagnose
