#include "diagnose/evidence.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "diagnose/contention.h"
#include "diagnose/doubt.h"
#include "diagnose/texts.h"
#include "diagnose/timeline.h"
#include "diagnose/what_if.h"

namespace pipesim::diagnose {
namespace {

using Clauses = std::vector<Evidence>;

/// "SUBJECT 75 % of DOMAIN" for a time of a wall time; nothing when there was no such time.
void AddShare(Clauses& clauses, std::string field, double seconds, double wall_s,
              std::string_view before, std::string_view after) {
  if (!(wall_s > 0) || !(seconds > 0)) return;
  clauses.push_back({fmt::format("{} {} {}", before, ShareText(seconds / wall_s), after),
                     std::move(field), seconds, wall_s});
}

void AddStarved(Clauses& clauses, const measure::Measurement& m) {
  if (m.device) {
    AddShare(clauses, "device.starved_s", m.device->starved_s, m.device->wall_s,
             fmt::format("the {} is starved", TrainerWord(m)), "of the time");
  } else {
    AddShare(clauses, "consumer.starved_s", m.consumer.starved_s, m.consumer.wall_s,
             "training waits for data", "of the time");
  }
}

/// At 0 workers the training loop loads by itself, and the shares are of its own time.
void AddLoadingPart(Clauses& clauses, const measure::Measurement& m, std::string field,
                    double seconds, std::string_view what) {
  if (m.workers.count == 0) {
    AddShare(clauses, std::move(field), seconds, m.consumer.wall_s, "the training loop spends",
             fmt::format("of its time in {}", what));
  } else {
    AddShare(clauses, std::move(field), seconds, m.workers.wall_s, "workers spend",
             fmt::format("of their time in {}", what));
  }
}

void AddLargestLoadingPart(Clauses& clauses, const measure::Measurement& m) {
  const auto& w = m.workers;
  struct Part {
    std::string_view field, what;
    double seconds;
  };
  const Part parts[] = {{"workers.read_s", "read", w.read_s},
                        {"workers.prepare_s", "prepare", w.prepare_s},
                        {"workers.collate_s", "collate", w.collate_s}};
  const auto& largest =
      *std::max_element(std::begin(parts), std::end(parts),
                        [](const Part& a, const Part& b) { return a.seconds < b.seconds; });
  AddLoadingPart(clauses, m, std::string(largest.field), largest.seconds, largest.what);
}

/// "free data would give only +0.3 %", pointing at the row of the what-if table.
void AddGain(Clauses& clauses, const std::vector<WhatIf>& rows, std::optional<std::size_t> row,
             std::string_view before) {
  if (!row) return;
  clauses.push_back({fmt::format("{} {}", before, GainText(rows[*row].gain)),
                     fmt::format("diagnosis.what_if[{}].gain", *row),
                     rows[*row].gain,
                     {}});
}

std::optional<std::size_t> BestWorkersRow(const std::vector<WhatIf>& rows) {
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (!rows[i].set.empty() && rows[i].set.front().first == "loader.workers") return i;
  }
  return std::nullopt;
}

void AddSettingGain(Clauses& clauses, const Decision& decision, const std::vector<WhatIf>& rows) {
  if (!decision.setting) return;
  const auto& text = decision.setting->setting.text;
  AddGain(clauses, rows, FindRow(rows, text), text + " gives");
}

void AddStorageUse(Clauses& clauses, const Question& q) {
  const auto& r = q.measurement.resources;
  if (const auto limit = q.scenario.storage_bytes_per_s; limit && *limit > 0) {
    const double reads_limit = q.scenario.storage_reads_per_s.value_or(0);
    if (reads_limit <= 0 || r.storage_bytes_per_s / *limit >= r.reads_per_s / reads_limit) {
      clauses.push_back({"storage delivers " + OfRateText(r.storage_bytes_per_s, *limit),
                         "resources.storage_bytes_per_s", r.storage_bytes_per_s, limit});
      return;
    }
  }
  if (const auto limit = q.scenario.storage_reads_per_s; limit && *limit > 0) {
    clauses.push_back({fmt::format("storage serves {} of its {} reads/s", CountText(r.reads_per_s),
                                   CountText(*limit)),
                       "resources.reads_per_s", r.reads_per_s, limit});
  }
}

void AddCores(Clauses& clauses, const Question& q) {
  const auto used = q.measurement.resources.cores_used;
  if (!used || !(q.scenario.cores > 0)) return;
  clauses.push_back({fmt::format("{:.1f} of {:.3g} cores are busy", *used, q.scenario.cores),
                     "resources.cores_used", *used, q.scenario.cores});
}

Clauses LoaderEvidence(const Question& q, const Decision& d, const std::vector<WhatIf>& rows) {
  Clauses clauses;
  AddStarved(clauses, q.measurement);
  AddLargestLoadingPart(clauses, q.measurement);
  AddSettingGain(clauses, d, rows);
  return clauses;
}

/// What sharing cores does to the steps of a CPU.
void AddStepBesideWorkers(Clauses& clauses, const Question& q) {
  if (q.measurement.effective.device_asynchronous) return;
  const auto& alone_s = q.measurement.demands.step_s;
  const double steps = static_cast<double>(q.measurement.result.steps);
  if (StepIsKnownAlone(q.measurement) && alone_s && steps > 0) {
    const double beside_s = q.measurement.consumer.compute_s / steps;
    clauses.push_back({fmt::format("a step takes {:.3g} ms beside the workers, {:.3g} ms alone",
                                   1e3 * beside_s, 1e3 * *alone_s),
                       "consumer.compute_s",
                       beside_s,
                       {}});
    return;
  }
  const auto& waits = q.measurement.resources.trainer_contended_fraction;
  if (!waits) return;
  clauses.push_back({fmt::format("the trainer's threads wait for a core {} of the time they want one",
                                 ShareText(*waits)),
                     "resources.trainer_contended_fraction",
                     *waits,
                     {}});
}

Clauses ContentionEvidence(const Question& q, const Decision& d, const std::vector<WhatIf>& rows) {
  Clauses clauses;
  const auto& c = q.measurement.consumer;
  AddShare(clauses, "consumer.contended_s", c.contended_s, c.wall_s,
           "the training thread waits for a core", "of the time");
  AddStepBesideWorkers(clauses, q);
  clauses.push_back(
      {fmt::format("{} threads share {:.3g} cores", RunnableThreads(q.scenario), q.scenario.cores),
       "resources.cores",
       q.scenario.cores,
       {}});
  AddSettingGain(clauses, d, rows);
  return clauses;
}

Clauses IoEvidence(const Question& q, const std::vector<WhatIf>& rows) {
  Clauses clauses;
  AddLoadingPart(clauses, q.measurement, "workers.read_s", q.measurement.workers.read_s, "read");
  AddStorageUse(clauses, q);
  const auto workers = BestWorkersRow(rows);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (!rows[i].change.starts_with("all in page cache")) continue;
    AddGain(clauses, rows, i, "free storage would give");
    if (workers) AddGain(clauses, rows, workers, "more workers only");
    break;
  }
  return clauses;
}

Clauses CpuEvidence(const Question& q, const std::vector<WhatIf>& rows) {
  Clauses clauses;
  const auto& w = q.measurement.workers;
  // Workers that prepare and workers that wait for a core to prepare ask for the same thing.
  AddLoadingPart(clauses, q.measurement, "workers.prepare_s", w.prepare_s, "prepare");
  if (w.contended_s > w.prepare_s) {
    clauses.clear();
    AddLoadingPart(clauses, q.measurement, "workers.contended_s", w.contended_s,
                   "waiting for a core");
  }
  AddCores(clauses, q);
  AddGain(clauses, rows, FindRow(rows, kPrepareHalf), "prepare twice as fast would give");
  return clauses;
}

Clauses HostEvidence(Verdict verdict, const Question& q, const std::vector<WhatIf>& rows) {
  Clauses clauses;
  const auto& m = q.measurement;
  const auto& c = m.consumer;
  if (verdict == Verdict::kH2dBound) {
    if (m.device) {
      AddShare(clauses, "device.transfer_s", m.device->transfer_s, m.device->wall_s,
               fmt::format("the {} waits for copies", TrainerWord(m)), "of the time");
    } else {
      AddShare(clauses, "consumer.h2d_s", c.h2d_s, c.wall_s, "copies take", "of each step");
    }
    AddGain(clauses, rows, FindRow(rows, kFreeCopies), "free copies would give");
  } else if (verdict == Verdict::kLaunchBound && m.device && m.device->launch_s) {
    AddShare(clauses, "device.launch_s", *m.device->launch_s, m.device->wall_s,
             fmt::format("the {} waits for the host to launch", TrainerWord(m)), "of the time");
  } else if (verdict == Verdict::kSyncBound) {
    AddShare(clauses, "consumer.sync_s", c.sync_s, c.wall_s, "the training loop waits for results",
             "of the time");
    AddGain(clauses, rows, FindRow(rows, kNoSync), "without it");
  }
  if (verdict == Verdict::kLaunchBound || verdict == Verdict::kHostBound) {
    AddShare(clauses, "consumer.host_s", c.host_s, c.wall_s, "the host's own work takes",
             "of each step");
  }
  return clauses;
}

Clauses ComputeEvidence(const Question& q, const std::vector<WhatIf>& rows) {
  Clauses clauses;
  const auto& m = q.measurement;
  if (m.device) {
    AddShare(clauses, "device.busy_s", m.device->busy_s, m.device->wall_s, "the device computes",
             "of the time");
  } else {
    AddShare(clauses, "consumer.compute_s", m.consumer.compute_s, m.consumer.wall_s, "",
             "of each step is training");
    if (!clauses.empty()) clauses.front().text.erase(0, 1);
  }
  const auto full = m.queue.full_fraction;
  if (!full || m.workers.count == 0 || *full < 0.5) {
    // With a wide window the queue need not be full for training never to wait.
    AddStarved(clauses, m);
  } else {
    clauses.push_back({fmt::format("the queue is full {} of the time", ShareText(*full)),
                       "queue.full_fraction",
                       *full,
                       {}});
  }
  const auto row = FindRow(rows, kFreeData);
  const bool little = row && rows[*row].gain < q.thresholds.gain_that_counts;
  AddGain(clauses, rows, row, little ? "free data would give only" : "free data would give");
  return clauses;
}

Clauses InconclusiveEvidence(const Question& q) {
  Clauses clauses;
  const auto timeline = TimelineOf(q.measurement);
  if (CertainSide(timeline, q.thresholds.side_share) == Side::kInput) {
    AddStarved(clauses, q.measurement);
  }
  const auto& result = q.measurement.result;
  if (result.steps < q.thresholds.min_steps) {
    clauses.push_back(
        {fmt::format("{} steps were measured, {} are needed", result.steps, q.thresholds.min_steps),
         "result.steps", static_cast<double>(result.steps),
         static_cast<double>(q.thresholds.min_steps)});
  }
  if (const auto error = ModelError(q); error && std::abs(*error) > q.thresholds.model_error) {
    clauses.push_back({fmt::format("the model of this run is {} off", GainText(*error)),
                       "diagnosis.model_error", *error, q.thresholds.model_error});
  }
  return clauses;
}

Clauses BalancedEvidence(const Question& q, const std::vector<WhatIf>& rows) {
  Clauses clauses;
  AddGain(clauses, rows, FindRow(rows, kFreeData), "free data alone would give");
  AddGain(clauses, rows, FindRow(rows, kFreeTraining), "free training alone");
  AddStarved(clauses, q.measurement);
  return clauses;
}

}  // namespace

std::vector<Evidence> EvidenceFor(Verdict verdict, const Question& q, const Decision& d,
                                  const std::vector<WhatIf>& rows) {
  switch (verdict) {
    case Verdict::kLoaderBound:
      return LoaderEvidence(q, d, rows);
    case Verdict::kCpuContention:
      return ContentionEvidence(q, d, rows);
    case Verdict::kIoBound:
      return IoEvidence(q, rows);
    case Verdict::kCpuBound:
      return CpuEvidence(q, rows);
    case Verdict::kH2dBound:
    case Verdict::kLaunchBound:
    case Verdict::kSyncBound:
    case Verdict::kHostBound:
      return HostEvidence(verdict, q, rows);
    case Verdict::kComputeBound:
      return ComputeEvidence(q, rows);
    case Verdict::kBalanced:
      return BalancedEvidence(q, rows);
    case Verdict::kInconclusive:
      return InconclusiveEvidence(q);
  }
  return {};
}

}  // namespace pipesim::diagnose
