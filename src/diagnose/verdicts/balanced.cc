#include <fmt/core.h>

#include "diagnose/clauses.h"
#include "diagnose/recommend.h"
#include "diagnose/what_if.h"

namespace pipesim::diagnose::balanced {
namespace {

std::string Headline(const Findings& found) {
  return fmt::format("no single part limits {}; only several changes together would gain",
                     Training(found.question));
}

Clauses EvidenceOf(const Findings& found) {
  Clauses clauses;
  const auto& rows = found.what_if;
  AddGain(clauses, rows, FindRow(rows, kFreeData), "free data alone would give");
  AddGain(clauses, rows, FindRow(rows, kFreeCompute), "free compute alone");
  AddStarved(clauses, found.question.measurement);
  return clauses;
}

Recommendation Remedy(const Findings& found) {
  const auto pair = PairRow(found.what_if);
  const double least = found.question.thresholds.gain_that_counts;
  if (!pair || found.what_if[*pair].gain < least)
    return {.text = "nothing gains alone, and no two changes that flags can make"};
  const std::string& change = found.what_if[*pair].change;
  return FromRow("nothing gains alone, two changes do: " + change, found, change);
}

}  // namespace

const VerdictPage kPage = {
    .headline = Headline,
    .evidence = EvidenceOf,
    .remedy = Remedy,
    .meaning =
        "No single part limits training: several limit it equally, and only changing them "
        "together would help.",
    .decided =
        "The best single gain is below 5 %, and the best pair gains 10 % or more. If no pair "
        "does, three or more parts limit equally, and the confidence is low.",
    .signs =
        {
            "loading takes about as long as training; each hides the other",
        },
    .flags =
        {
            "change two things together; the what-if table has the best pair",
        },
    .pytorch =
        {
            "a faster input (DataLoader(..., num_workers=N)) pays only together with a faster step",
        },
};

}  // namespace pipesim::diagnose::balanced
