#include <fmt/core.h>

#include "diagnose/clauses.h"
#include "diagnose/recommend.h"
#include "diagnose/what_if.h"

namespace pipesim::diagnose::cpu_bound {
namespace {

/// Worker processes spend most of their work on their batches' way to the trainer's process.
bool SendingIsMost(const measure::Workers& workers) {
  return workers.send_s > workers.prepare_s + workers.collate_s;
}

/// Preparing a sample is mostly waiting, which no core shortens.
bool WaitingIsMost(const Variant& now) {
  const cost::Prepare& prepare = now.pipeline.prepare;
  return prepare.WaitSeconds(1) > prepare.WorkSeconds(1, now.WorkerThreads());
}

std::string Headline(const Findings& found) {
  if (SendingIsMost(found.question.measurement.workers))
    return Limits("sending batches to the trainer's process limits", found.question);
  if (WaitingIsMost(found.question.now)) return Limits("waiting while samples are prepared limits", found.question);
  return Limits("preparing samples on the CPU limits", found.question);
}

void AddCores(Clauses& clauses, const Question& q) {
  const auto used = q.measurement.resources.cores_used;
  if (!used || !(q.now.cores() > 0)) return;
  clauses.push_back({fmt::format("{:.1f} of {:.3g} cores are busy", *used, q.now.cores()),
                     "resources.cores_used", *used, q.now.cores()});
}

Clauses EvidenceOf(const Findings& found) {
  Clauses clauses;
  const auto& m = found.question.measurement;
  const auto& w = m.workers;
  if (SendingIsMost(w)) {
    AddLoadingPart(clauses, m, "workers.send_s", w.send_s, "sending to the trainer");
    AddCores(clauses, found.question);
    return clauses;
  }
  // Workers that prepare and workers that wait for a core to prepare lack the same thing.
  if (w.contended_s > w.prepare_s) {
    AddLoadingPart(clauses, m, "workers.contended_s", w.contended_s, "waiting for a core");
  } else {
    AddLoadingPart(clauses, m, "workers.prepare_s", w.prepare_s, "prepare");
  }
  AddCores(clauses, found.question);
  AddGain(clauses, found.what_if, FindRow(found.what_if, kPrepareHalf),
          "prepare twice as fast would give");
  return clauses;
}

/// " or more cores", where these gain, by themselves or with more workers that use them.
std::string MoreCores(const Findings& found) {
  const Question& q = found.question;
  bool alone = false, with_workers = false;
  for (const WhatIf& row : found.what_if) {
    if (row.takes != Takes::kDevice || !SetsPath(row.set, "limits.cpus")) continue;
    if (row.gain < q.thresholds.gain_that_counts) continue;
    (SetsPath(row.set, "loader.workers") ? with_workers : alone) = true;
  }
  if (!alone && !with_workers) return {};
  return fmt::format(" or more cores{} ({:.3g} allowed here)", alone ? "" : " and workers", q.now.cores());
}

Recommendation Remedy(const Findings& found) {
  const Variant& now = found.question.now;
  const std::string cores = MoreCores(found);
  if (SendingIsMost(found.question.measurement.workers))
    return FromBest("fewer tensors in a batch, or smaller ones (uint8)" + (cores.empty() ? "" : "," + cores), found,
                    Demand::kLoadingCpu);
  if (WaitingIsMost(now))
    return FromBest("shorter waits in prepare (keep what it waits for closer, or ask for several samples at once)",
                    found, Demand::kLoadingCpu);
  return FromBest("cheaper prepare (decode ahead of time, smaller images, augment on the device)" + cores, found,
                  Demand::kLoadingCpu);
}

}  // namespace

const VerdictPage kPage = {
    .headline = Headline,
    .evidence = EvidenceOf,
    .remedy = Remedy,
    .meaning = "Decoding, transforming and collating samples takes more CPU than there is, or longer than "
               "the workers that are allowed can hide.",
    .decided =
        "No setting gains 5 %, and of all demands made free in turn prepare and collate gain "
        "most.",
    .signs =
        {
            "workers spend most of their time in prepare, or waiting for a core to prepare",
            "all allowed cores are busy with loading; more workers change nothing",
        },
    .flags =
        {
            "--prepare 2ms with a smaller cost, to see what cheaper work would give",
            "--cpus N with more cores, where the machine has them",
        },
    .pytorch =
        {
            "decode and resize once, ahead of time; use libjpeg-turbo or DALI; augment on the GPU",
            "torch.set_num_threads(1) in each worker (PyTorch's own default), so that workers do "
            "not oversubscribe",
        },
};

}  // namespace pipesim::diagnose::cpu_bound
