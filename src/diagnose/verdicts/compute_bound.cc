#include "base/number_text.h"
#include "diagnose/clauses.h"
#include "diagnose/recommend.h"
#include "diagnose/shared_cores.h"
#include "diagnose/timeline.h"
#include "diagnose/what_if.h"

namespace pipesim::diagnose::compute_bound {
namespace {

/// Free data would gain less than what counts: nothing to fix in the input pipeline.
bool IsHealthy(const Question& q) {
  const double now = q.predict(q.now);
  return Gain(now, q.predict(FreeData(q.now))) < q.thresholds.gain_that_counts;
}

/// Other programs hold training back, which the headline says first.
bool HasCompany(const Findings& found) { return !OthersClause(found.question, found.what_if).empty(); }

std::string Headline(const Findings& found) {
  const Question& q = found.question;
  if (!IsHealthy(q)) return Limits("the step itself limits", q);
  const bool never = TimelineOf(q.measurement).Share(Side::kInput) < 0.01;
  return (HasCompany(found) ? "" : "healthy; ") + Training(q) +
         (never ? " never waits for data" : " hardly waits for data");
}

void AddBusy(Clauses& clauses, const measure::Measurement& m) {
  if (m.device) {
    AddShare(clauses, "device.busy_s", m.device->busy_s, m.device->wall_s, "the device computes",
             "of the time");
    return;
  }
  AddShare(clauses, "consumer.compute_s", m.consumer.compute_s, m.consumer.wall_s, "",
           "of each step is training");
  if (!clauses.empty()) clauses.front().text.erase(0, 1);
}

Clauses EvidenceOf(const Findings& found) {
  Clauses clauses;
  const auto& m = found.question.measurement;
  AddBusy(clauses, m);
  const auto full = m.queue.full_fraction;
  if (!full || m.workers.count == 0 || *full < 0.5) {
    // With a wide window the queue need not be full for training never to wait.
    AddStarved(clauses, m);
  } else {
    clauses.push_back({"the queue is full " + base::Percent(*full) + " of the time",
                       "queue.full_fraction",
                       *full,
                       {}});
  }
  const auto row = FindRow(found.what_if, kFreeData);
  const bool little = row && found.what_if[*row].gain < found.question.thresholds.gain_that_counts;
  // A full queue and a gain from free data: not the data, but the cores that loading it takes.
  const bool takes_cores = !little && !m.effective.device_asynchronous && full && *full >= 0.5;
  if (little) {
    AddLittleGain(clauses, found.what_if, row, "free data would give");
  } else {
    AddGain(clauses, found.what_if, row,
            takes_cores ? "loading takes cores from training: without it" : "free data would give");
  }
  return clauses;
}

Recommendation Remedy(const Findings& found) {
  if (!IsHealthy(found.question))
    return FromBest("a faster device, a smaller model or lower precision", found, Demand::kStep);
  const std::string nothing = "nothing to fix in the input pipeline";
  return {.text = HasCompany(found)
                      ? "end the other programs or give them other cores; " + nothing
                      : nothing};
}

}  // namespace

const VerdictPage kPage = {
    .headline = Headline,
    .evidence = EvidenceOf,
    .remedy = Remedy,
    .meaning =
        "The training step itself is the limit. On a GPU users call this GPU-bound; without one, "
        "the CPU trains. If free data would gain less than 5 %, the input pipeline is healthy.",
    .decided = "No setting gains 5 %, and of all demands made free in turn the step gains most.",
    .signs =
        {
            "the device, or the CPU that trains, is busy with steps; the queue is full",
            "free data would gain next to nothing",
        },
    .flags =
        {
            "nothing to fix in the input pipeline",
            "--device PRESET, to see what another device would give",
            "--set model.precision=bf16, --batch 2B: both change training",
        },
    .pytorch =
        {
            "nothing to change in DataLoader(...); fewer num_workers may do as well",
            "torch.autocast('cuda', dtype=torch.bfloat16), torch.compile(model), a smaller model",
        },
};

}  // namespace pipesim::diagnose::compute_bound
