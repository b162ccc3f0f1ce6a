#include "diagnose/ladder.h"

#include <algorithm>

#include "measure/rates.h"

namespace pipesim::diagnose {
namespace {

Full Fullness(std::optional<double> utilization, const Question& q) {
  if (!utilization) return Full::kUnknown;
  const double noise = measure::RelativeHalfWidth(q.measurement.result).value_or(0);
  const double near = q.thresholds.model_error;
  if (*utilization * (1 - noise) >= 1 - near) return Full::kYes;
  return *utilization * (1 + noise) < 1 - 2 * near ? Full::kNo : Full::kUnsure;
}

LadderRow GpuRow(const Question& q) {
  LadderRow row{.resource = "GPU", .used = {}, .limit = {}, .unit = "fraction"};
  if (q.now.on_cpu()) return row;  // none: the CPU trains
  row.used = q.measurement.result.accelerator_utilization;
  row.limit = 1;
  row.full = Fullness(row.used, q);
  return row;
}

LadderRow CpuRow(const Question& q) {
  const auto& r = q.measurement.resources;
  LadderRow row{.resource = "CPU", .used = r.cores_used, .limit = {}, .unit = "cores"};
  if (q.now.cores() > 0) row.limit = q.now.cores();
  // Processors that other programs use are busy, too; under a quota there may be more of them than cores.
  const double processors = q.now.pipeline.machine.Processors();
  if (row.used && row.limit)
    row.full = Fullness(std::max(*row.used / *row.limit, (*row.used + r.foreign_cores.value_or(0)) / processors), q);
  return row;
}

/// Bandwidth or reads, whichever is nearer to its limit.
LadderRow IoRow(const Question& q) {
  const auto& r = q.measurement.resources;
  LadderRow row{.resource = "IO", .used = r.storage_bytes_per_s, .limit = {}, .unit = "bytes/s"};
  const cost::StorageLimits limits = q.now.pipeline.storage.Limits();
  const bool described = q.experiment.storage.kind != spec::StorageKind::kFiles;
  const auto share = [](double used, std::optional<double> limit) {
    return limit && *limit > 0 ? used / *limit : 0;
  };
  row.limit = limits.bytes_per_s;
  for (const auto& limit : {limits.reads_per_s, limits.parallel_reads_per_s}) {
    if (share(r.reads_per_s, limit) > share(*row.used, row.limit)) {
      row.used = r.reads_per_s;
      row.limit = limit;
      row.unit = "reads/s";
    }
  }
  std::optional<double> utilization = r.storage_utilization;
  if (!utilization && row.limit) utilization = share(*row.used, row.limit);
  // An emulated storage without a limit cannot be full; the limit of a real one is unknown.
  const bool unlimited = described && !row.limit;
  row.full = unlimited ? Full::kNo : Fullness(utilization, q);
  return row;
}

}  // namespace

std::vector<LadderRow> Ladder(const Question& q, Verdict verdict) {
  std::vector<LadderRow> rows = {GpuRow(q), CpuRow(q), IoRow(q)};
  auto fills = RowOf(verdict).fills;
  const bool cpu_trains = q.now.on_cpu();
  if (fills == LadderResource::kTrainer && cpu_trains) fills = LadderResource::kCores;
  rows[0].is_limit = fills == LadderResource::kTrainer;
  rows[1].is_limit = fills == LadderResource::kCores;
  rows[2].is_limit = fills == LadderResource::kStorage;
  return rows;
}

}  // namespace pipesim::diagnose
