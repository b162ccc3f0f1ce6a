#include <fmt/core.h>

#include "diagnose/clauses.h"
#include "diagnose/recommend.h"
#include "diagnose/texts.h"
#include "diagnose/what_if.h"

namespace pipesim::diagnose::h2d_bound {
namespace {

/// Whether copying a batch into page-locked memory takes longer than copying it to the device, and than the step where
/// that comes after the copy.
bool PinningLimits(const Question& q) {
  const std::int64_t samples = q.now.settings.loader.batch_size;
  const base::Bytes batch = q.now.pipeline.samples.prepared * samples;
  base::Duration device = q.now.pipeline.transfer.Time(batch, true);
  if (q.now.CopiesInLine()) device += q.now.pipeline.step.Mean(samples);
  return q.now.Pins() && q.now.pipeline.pin.Time(batch) > device;
}

std::string Headline(const Findings& found) {
  const bool pinning = PinningLimits(found.question);
  return Limits(pinning ? "copying batches into pinned memory limits"
                        : "copying batches to the device limits",
                found.question);
}

Clauses EvidenceOf(const Findings& found) {
  Clauses clauses;
  const auto& m = found.question.measurement;
  if (m.pin && PinningLimits(found.question)) {
    AddShare(clauses, "pin.pin_s", m.pin->pin_s, m.pin->wall_s, "the pin thread copies",
             "of the time");
  } else if (m.device) {
    AddShare(clauses, "device.transfer_s", m.device->transfer_s, m.device->wall_s,
             fmt::format("the {} waits for copies", TrainerWord(m)), "of the time");
  } else {
    AddShare(clauses, "consumer.h2d_s", m.consumer.h2d_s, m.consumer.wall_s, "copies take",
             "of each step");
  }
  AddGain(clauses, found.what_if, FindRow(found.what_if, kFreeCopies), "free copies would give");
  return clauses;
}

Recommendation Remedy(const Findings& found) {
  const bool pageable = FindRow(found.what_if, kPinned).has_value();
  const bool pinning = PinningLimits(found.question);
  return FromBest(pageable ? "faster copies (pinned memory) or fewer bytes (uint8 samples, cast on the device)"
                  : pinning ? "spare the pin thread's copy, or copy fewer bytes"
                            : "fewer bytes to copy (uint8 samples, cast on the device)",
                  found, Demand::kTransfer);
}

}  // namespace

const VerdictPage kPage = {
    .headline = Headline,
    .evidence = EvidenceOf,
    .remedy = Remedy,
    .meaning =
        "Copying batches to the device (host to device), or pinning them for it, takes longer "
        "than training on them.",
    .decided =
        "No setting gains 5 %, and of all demands made free in turn pin and transfer gain most.",
    .signs =
        {
            "the device waits for copies, not for batches",
            "bytes of a batch over the link's bandwidth come near the time of a step",
        },
    .flags =
        {
            "--set loader.pin_memory=true, for faster copies that run beside the step",
            "--set loader.collate_into=pinned, where the pin thread itself limits",
            "--set dataset.dtype=uint8, to send fewer bytes and cast on the device",
        },
    .pytorch =
        {
            "DataLoader(..., pin_memory=True) and batch.to(device, non_blocking=True)",
            "where the pin thread limits: collate in threads, straight into pinned tensors",
            "copy the next batch on a stream of its own while the step runs; send uint8, cast on "
            "the GPU",
        },
};

}  // namespace pipesim::diagnose::h2d_bound
