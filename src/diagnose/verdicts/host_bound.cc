#include "diagnose/clauses.h"
#include "diagnose/recommend.h"

namespace pipesim::diagnose::host_bound {
namespace {

std::string Headline(const Findings& found) {
  return Limits("the training loop's own work limits", found.question);
}

Clauses EvidenceOf(const Findings& found) {
  Clauses clauses;
  AddHostWork(clauses, found.question.measurement);
  return clauses;
}

Recommendation Remedy(const Findings& found) {
  return FromBest("less work in the training loop between steps", found, Demand::kOtherHost);
}

}  // namespace

const VerdictPage kPage = {
    .headline = Headline,
    .evidence = EvidenceOf,
    .remedy = Remedy,
    .meaning = "The training thread's own work between steps holds training back.",
    .decided =
        "No setting gains 5 %, and of all demands made free in turn other host work gains most.",
    .signs =
        {
            "the training thread's own work (host) takes a large part of each step",
        },
    .flags =
        {
            "none: it is the training loop's code",
        },
    .pytorch =
        {
            "move logging, metrics and checkpoints off the training loop's path",
        },
};

}  // namespace pipesim::diagnose::host_bound
