#include <fmt/core.h>

#include "diagnose/clauses.h"
#include "diagnose/recommend.h"
#include "diagnose/texts.h"

namespace pipesim::diagnose::launch_bound {
namespace {

std::string Headline(const Findings& found) {
  return Limits("the host cannot launch work fast enough and limits", found.question);
}

Clauses EvidenceOf(const Findings& found) {
  Clauses clauses;
  const auto& m = found.question.measurement;
  if (m.device && m.device->launch_s) {
    AddShare(clauses, "device.launch_s", *m.device->launch_s, m.device->wall_s,
             fmt::format("the {} waits for the host to launch", TrainerWord(m)), "of the time");
  }
  AddHostWork(clauses, m);
  return clauses;
}

Recommendation Remedy(const Findings& found) {
  return FromBest("fewer, larger launches: fuse layers (torch.compile), capture the step in a CUDA "
                  "graph, or a larger batch, which changes training",
                  found, Demand::kLaunch);
}

}  // namespace

const VerdictPage kPage = {
    .headline = Headline,
    .evidence = EvidenceOf,
    .remedy = Remedy,
    .meaning = "The host cannot launch the step's kernels as fast as the device runs them.",
    .decided =
        "No setting gains 5 %, and of all demands made free in turn the host's launching gains "
        "most. If the device's own time could not be separated from launch gaps, and the "
        "difference would change the verdict, the verdict is inconclusive.",
    .signs =
        {
            "the device waits for the host to launch, and its kernels are short",
            "a captured step replays in far less time than a step takes",
        },
    .flags =
        {
            "--set model.cuda_graph=true, to launch the whole step at once",
            "--batch 2B, which changes training",
        },
    .pytorch =
        {
            "torch.compile(model, mode='reduce-overhead'), torch.cuda.CUDAGraph, fused optimizers "
            "(fused=True)",
            "DataLoader(..., batch_size=2*B), which changes training",
        },
};

}  // namespace pipesim::diagnose::launch_bound
