#include "diagnose/clauses.h"
#include "diagnose/recommend.h"
#include "diagnose/what_if.h"

namespace pipesim::diagnose::sync_bound {
namespace {

std::string Headline(const Findings& found) {
  return Limits("reading results back from the device limits", found.question);
}

Clauses EvidenceOf(const Findings& found) {
  Clauses clauses;
  const auto& c = found.question.measurement.consumer;
  AddShare(clauses, "consumer.sync_s", c.sync_s, c.wall_s, "the training loop waits for results",
           "of the time");
  AddGain(clauses, found.what_if, FindRow(found.what_if, kNoSync), "without it");
  return clauses;
}

Recommendation Remedy(const Findings& found) {
  return FromRow("read results back less often", found, kNoSync);
}

}  // namespace

const VerdictPage kPage = {
    .headline = Headline,
    .evidence = EvidenceOf,
    .remedy = Remedy,
    .meaning =
        "The training loop reads results back from the device so often that the device runs dry.",
    .decided =
        "No setting gains 5 %, and of all demands made free in turn reading results back gains "
        "most. The part of that wait in which the step itself runs counts as the step.",
    .signs =
        {
            "the training loop waits for results (sync), and the device idles after each",
        },
    .flags =
        {
            "--set model.sync_every=0, or a larger n",
        },
    .pytorch =
        {
            "no loss.item(), print(loss) or .cpu() in every step: add up on the device, read every "
            "n steps",
        },
};

}  // namespace pipesim::diagnose::sync_bound
