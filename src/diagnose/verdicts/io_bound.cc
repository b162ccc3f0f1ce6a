#include <fmt/core.h>

#include <cmath>

#include "base/number_text.h"
#include "diagnose/clauses.h"
#include "diagnose/recommend.h"
#include "diagnose/texts.h"
#include "diagnose/what_if.h"

namespace pipesim::diagnose::io_bound {
namespace {

std::string Headline(const Findings& found) { return Limits("storage limits", found.question); }

/// The limit of the storage that its use comes nearest to; both absent: there is none, or it is not used.
struct NearestLimit {
  std::optional<double> bytes_per_s, reads_per_s;
};
NearestLimit NearestLimitOf(const Question& q) {
  const auto& r = q.measurement.resources;
  const cost::StorageLimits limits = q.now.pipeline.storage.Limits();
  const auto share = [](double used, const std::optional<double>& limit) {
    return limit && *limit > 0 ? used / *limit : 0;
  };
  const bool parallel = share(r.reads_per_s, limits.parallel_reads_per_s) >
                        share(r.reads_per_s, limits.reads_per_s);
  const auto& reads = parallel ? limits.parallel_reads_per_s : limits.reads_per_s;
  const double of_bytes = share(r.storage_bytes_per_s, limits.bytes_per_s);
  const double of_reads = share(r.reads_per_s, reads);
  NearestLimit nearest;
  if (of_bytes > 0 && of_bytes >= of_reads) nearest.bytes_per_s = limits.bytes_per_s;
  else if (of_reads > 0) nearest.reads_per_s = reads;
  return nearest;
}

void AddStorageUse(Clauses& clauses, const Question& q) {
  const auto& r = q.measurement.resources;
  const NearestLimit nearest = NearestLimitOf(q);
  if (nearest.bytes_per_s) {
    clauses.push_back(
        {"storage delivers " + OfRateText(r.storage_bytes_per_s, *nearest.bytes_per_s),
         "resources.storage_bytes_per_s", r.storage_bytes_per_s, nearest.bytes_per_s});
  } else if (nearest.reads_per_s) {
    clauses.push_back(
        {fmt::format("storage serves {} of its {} reads/s", base::Significant(r.reads_per_s, 3),
                     base::Significant(*nearest.reads_per_s, 3)),
         "resources.reads_per_s", r.reads_per_s, nearest.reads_per_s});
  }
}

std::optional<std::size_t> BestWorkersRow(const std::vector<WhatIf>& rows) {
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (!rows[i].set.empty() && rows[i].set.front().first == "loader.workers") return i;
  }
  return std::nullopt;
}

Clauses EvidenceOf(const Findings& found) {
  Clauses clauses;
  const auto& m = found.question.measurement;
  const auto& rows = found.what_if;
  AddLoadingPart(clauses, m, "workers.read_s", m.workers.read_s, "read");
  AddStorageUse(clauses, found.question);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (!rows[i].change.starts_with("all in page cache")) continue;
    AddGain(clauses, rows, i, "free storage would give");
    AddLittleGain(clauses, rows, BestWorkersRow(rows), "more workers");
    break;
  }
  return clauses;
}

/// " (from 150 MB/s to at least 500 MB/s)": what it would deliver if it did not limit; reads that come in bursts need
/// more. Empty where that is not known.
std::string NeededText(const Question& q) {
  const double rate = q.predict(Free(q.now, Demand::kStorage));
  const auto& d = q.measurement.demands;
  if (!std::isfinite(rate) || d.batch_samples <= 0) return "";
  const double batches_per_s = rate / static_cast<double>(d.batch_samples);
  const NearestLimit now = NearestLimitOf(q);
  if (now.bytes_per_s && batches_per_s * d.bytes > *now.bytes_per_s)
    return fmt::format(" (from {} to at least {})", RateText(*now.bytes_per_s), RateText(batches_per_s * d.bytes));
  if (now.reads_per_s && batches_per_s * d.reads > *now.reads_per_s)
    return fmt::format(" (from {} reads/s to at least {})", base::Significant(*now.reads_per_s, 3),
                       base::Significant(batches_per_s * d.reads, 3));
  const bool unknown = !now.bytes_per_s && !now.reads_per_s;  // of real files
  return unknown && d.bytes > 0 ? fmt::format(" (at least {})", RateText(batches_per_s * d.bytes)) : "";
}

Recommendation Remedy(const Findings& found) {
  return FromBest("faster storage" + NeededText(found.question) + " or the data in memory", found, Demand::kStorage);
}

}  // namespace

const VerdictPage kPage = {
    .headline = Headline,
    .evidence = EvidenceOf,
    .remedy = Remedy,
    .meaning =
        "Storage cannot deliver samples as fast as training takes them, whatever the number of "
        "workers.",
    .decided = "No setting gains 5 %, and of all demands made free in turn storage gains most.",
    .signs =
        {
            "workers spend most of their time in read",
            "storage delivers nearly all of its bandwidth or reads/s; more workers change little",
        },
    .flags =
        {
            "--storage PRESET with a faster storage, to see what it would give",
            "--set storage.bandwidth=1GB/s, to find how fast is fast enough",
        },
    .pytorch =
        {
            "keep the data on local NVMe, in memory (/dev/shm), or in the page cache after the "
            "first epoch",
            "store fewer bytes: resized images, better compression; larger files read in sequence "
            "(WebDataset shards) where reads/s are the limit",
        },
};

}  // namespace pipesim::diagnose::io_bound
