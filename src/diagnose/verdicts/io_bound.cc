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

void AddStorageUse(Clauses& clauses, const Question& q) {
  const auto& r = q.measurement.resources;
  const cost::StorageLimits limits = q.now.pipeline.storage.Limits();
  if (const auto limit = limits.bytes_per_s; limit && *limit > 0) {
    const double reads_limit = limits.reads_per_s.value_or(0);
    if (reads_limit <= 0 || r.storage_bytes_per_s / *limit >= r.reads_per_s / reads_limit) {
      clauses.push_back({"storage delivers " + OfRateText(r.storage_bytes_per_s, *limit),
                         "resources.storage_bytes_per_s", r.storage_bytes_per_s, limit});
      return;
    }
  }
  if (const auto limit = limits.reads_per_s; limit && *limit > 0) {
    clauses.push_back(
        {fmt::format("storage serves {} of its {} reads/s", base::Significant(r.reads_per_s, 3),
                     base::Significant(*limit, 3)),
         "resources.reads_per_s", r.reads_per_s, limit});
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
    AddGain(clauses, rows, BestWorkersRow(rows), "more workers only");
    break;
  }
  return clauses;
}

/// How fast storage can get before something else limits.
Recommendation Remedy(const Findings& found) {
  const Question& q = found.question;
  const double rate = q.predict(Free(q.now, Demand::kStorage));
  const auto& d = q.measurement.demands;
  std::string text = "faster storage";
  if (std::isfinite(rate) && d.bytes > 0 && d.batch_samples > 0) {
    const double useful = rate / static_cast<double>(d.batch_samples) * d.bytes;
    const auto& now = q.now.pipeline.storage.bandwidth;
    text += fmt::format(" (useful up to {}{})", RateText(useful),
                        now ? ", now " + RateText(now->per_s) : std::string());
  }
  text += " or the data in memory";
  return FromBest(std::move(text), found, Demand::kStorage);
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
