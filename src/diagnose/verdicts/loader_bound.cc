#include <fmt/core.h>

#include <algorithm>
#include <iterator>

#include "diagnose/clauses.h"
#include "diagnose/recommend.h"
#include "diagnose/what_if.h"

namespace pipesim::diagnose::loader_bound {
namespace {

std::string Headline(const Findings& found) {
  const Question& q = found.question;
  const auto& setting = found.decision.setting;
  const bool workers = setting && setting->setting.set.front().first == "loader.workers";
  if (q.now.settings.loader.workers == 0) return Limits("loading in the training loop holds back", q);
  if (!workers) return Limits("a loader setting holds back", q);
  const bool one = q.now.settings.loader.workers == 1;
  return Limits(
      fmt::format("{} worker{}{} {} too few and hold{} back", q.now.settings.loader.workers, one ? "" : "s",
                  q.now.settings.accelerators > 1 ? " each" : "", one ? "is" : "are", one ? "s" : ""),
      q);
}

void AddLargestLoadingPart(Clauses& clauses, const measure::Measurement& m) {
  const auto& w = m.workers;
  struct Part {
    std::string_view field, what;
    double seconds;
  };
  const Part parts[] = {{"workers.read_s", "read", w.read_s},
                        {"workers.prepare_s", "prepare", w.prepare_s},
                        {"workers.collate_s", "collate", w.collate_s},
                        {"workers.send_s", "sending to the trainer", w.send_s}};
  const auto& largest =
      *std::max_element(std::begin(parts), std::end(parts),
                        [](const Part& a, const Part& b) { return a.seconds < b.seconds; });
  AddLoadingPart(clauses, m, std::string(largest.field), largest.seconds, largest.what);
}

Clauses EvidenceOf(const Findings& found) {
  Clauses clauses;
  AddStarved(clauses, found.question.measurement);
  AddLargestLoadingPart(clauses, found.question.measurement);
  AddSettingGain(clauses, found);
  return clauses;
}

Recommendation Remedy(const Findings& found) {
  return FromDecided("feed training faster: ", found);
}

}  // namespace

const VerdictPage kPage = {
    .headline = Headline,
    .evidence = EvidenceOf,
    .remedy = Remedy,
    .meaning =
        "A setting of the loader holds training back: with the same storage, cores and device, "
        "another setting would feed it faster. Most often there are too few workers.",
    .decided =
        "A loader setting alone (workers up to max(cores, 4 x now), further where they wait, "
        "prefetch_factor, dispatch, in_order, persistent_workers) is predicted to gain 5 % or more. "
        "Decided before all others but fewer threads that gain more.",
    .signs =
        {
            "training is starved, yet neither the storage nor the cores are full",
            "workers are busy all the time: blocked is near 0 %, the queue is empty",
            "one worker's time for a batch, divided by the workers, is longer than a step",
        },
    .flags =
        {
            "--workers N, with N from the report's 'Enough'",
            "--prefetch 4, where batches differ much in cost",
        },
    .pytorch =
        {
            "DataLoader(dataset, batch_size=B, num_workers=N, prefetch_factor=2)",
            "DataLoader(..., num_workers=N, persistent_workers=True), when the first batch of each "
            "epoch is slow",
        },
};

}  // namespace pipesim::diagnose::loader_bound
