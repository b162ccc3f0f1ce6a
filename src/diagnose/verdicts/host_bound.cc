#include "diagnose/clauses.h"
#include "diagnose/recommend.h"

namespace pipesim::diagnose::host_bound {
namespace {

/// Whether it is mostly taking batches over from worker processes.
bool Receives(const measure::Consumer& consumer) {
  return 2 * consumer.receive_s.value_or(0) > consumer.host_s;
}

std::string Headline(const Findings& found) {
  if (Receives(found.question.measurement.consumer))
    return Limits("taking batches over from worker processes limits", found.question);
  return Limits("the training loop's own work limits", found.question);
}

Clauses EvidenceOf(const Findings& found) {
  Clauses clauses;
  const measure::Consumer& consumer = found.question.measurement.consumer;
  if (Receives(consumer))
    AddReceiving(clauses, consumer);
  else
    AddHostWork(clauses, found.question.measurement);
  return clauses;
}

Recommendation Remedy(const Findings& found) {
  if (Receives(found.question.measurement.consumer))
    return FromBest("fewer tensors in a batch, or larger batches: the trainer's process pays for "
                    "each tensor of each batch",
                    found, Demand::kOtherHost);
  return FromBest("less work in the training loop between steps", found, Demand::kOtherHost);
}

}  // namespace

const VerdictPage kPage = {
    .headline = Headline,
    .evidence = EvidenceOf,
    .remedy = Remedy,
    .meaning = "The training thread's own work between steps holds training back: the loop's code, or "
               "taking batches over from worker processes.",
    .decided =
        "No setting gains 5 %, and of all demands made free in turn other host work gains most.",
    .signs =
        {
            "the training thread's own work (host) takes a large part of each step",
            "`consumer.receive_s`: taking batches over from worker processes is most of it",
        },
    .flags =
        {
            "none: it is the training loop's code",
        },
    .pytorch =
        {
            "move logging, metrics and checkpoints off the training loop's path",
            "with worker processes: fewer tensors in a batch (stack what belongs together), larger "
            "batches",
        },
};

}  // namespace pipesim::diagnose::host_bound
