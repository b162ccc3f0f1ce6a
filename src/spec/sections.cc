#include "spec/sections.h"

#include <limits>

#include "spec/cpu_list.h"
#include "spec/overrides.h"
#include "spec/words.h"

namespace pipesim::spec {
namespace {

constexpr int kMostWorkers = 4096;
constexpr int kMostAccelerators = 1024;
constexpr std::int64_t kMostBatch = std::int64_t{1} << 31;
constexpr std::int64_t kMostSamples = std::int64_t{1} << 40;
constexpr std::int64_t kMostClasses = std::int64_t{1}
                                      << 20;  // the outputs of a layer, model_layers.cc
constexpr std::int64_t kMostSteps = std::int64_t{1} << 40;

/// Drops entries set to `auto`, which means the same as leaving them out.
Node WithoutAuto(Node section) {
  for (Node& item : section.items) {
    if (item.kind == NodeKind::kScalar && item.text == "auto") item.kind = NodeKind::kNull;
  }
  return section;
}

}  // namespace

void ReadDataset(Reading& reading, const Node& section, const Node& natural, bool real_files,
                 Dataset& out) {
  Node base = natural;
  if (real_files) {
    // The folder determines these; the model's defaults describe other data.
    for (const char* key : {"samples", "sample_bytes", "classes"}) base.Erase(key);
  }
  const Node merged = Overlay(base, WithoutAuto(section));
  MapReader reader(reading, merged, "dataset");
  const bool has_samples = reader.Count("samples", out.samples, 1, kMostSamples);
  const bool has_bytes = reader.Drawn("sample_bytes", out.sample_bytes);
  const bool has_shape = reader.Sizes("shape", out.shape);
  ReadWord(reader, "dtype", kDTypes, out.dtype);
  reader.Count("classes", out.classes, 1, kMostClasses);
  reader.Finish();
  const auto missing = [&](const char* key, const char* example) {
    if (reader.Has(key)) return;  // present but invalid: already reported
    // The model that has no default, where the file has no dataset section either.
    const char* where = reading.OriginOf("dataset") ? "dataset" : "model";
    reading.Problem(reading.PlaceOf(where),
                    std::string("dataset.") + key + " is not set, and the model has no default",
                    example);
  };
  if (!has_shape) missing("shape", "shape: [3, 224, 224]");
  if (!real_files && !has_samples) missing("samples", "samples: 50000");
  if (has_bytes && out.sample_bytes.in_units.Mean() < 1) {
    reading.Problem(reading.PlaceOf("dataset.sample_bytes"),
                    "dataset.sample_bytes: a sample has at least 1 B", "110KiB");
  }
  if (!real_files && !has_bytes && has_shape) {
    out.sample_bytes = {base::Distribution::Fixed(static_cast<double>(PreparedBytes(out).count))};
  }
}

void ReadPrepare(Reading& reading, const Node& section, const Node& natural, bool real_files,
                 Prepare& out) {
  const Node own = Expanded("prepare", section);
  const Node* own_kind = own.IsMap() ? own.Find("kind") : nullptr;
  Node base = real_files ? Node{} : Expanded("prepare", natural);
  // A cost applies only to the kind it was stated for.
  if (own_kind != nullptr && (own_kind->text == "none" || own_kind->text == "decode")) {
    base.Erase("cost");
  }
  const Node merged = Overlay(base, own);
  MapReader reader(reading, merged, "prepare");
  if (reader.Has("cost")) out.kind = PrepareKind::kBurn;
  if (real_files) out.kind = PrepareKind::kDecode;
  ReadWord(reader, "kind", kPrepareKinds, out.kind);
  reader.Drawn("cost", out.cost);
  reader.Finish();
  const bool takes_cost = out.kind == PrepareKind::kBurn || out.kind == PrepareKind::kWait;
  const std::string kind = WordOf(kPrepareKinds, out.kind);
  if (takes_cost && !reader.Has("cost")) {
    reading.Problem(reading.PlaceOf("prepare.kind"), "prepare.kind " + kind + " needs a cost",
                    "prepare: {kind: " + kind + ", cost: 2ms}");
  }
  if (!takes_cost && reader.Has("cost")) {
    reading.Problem(reading.PlaceOf("prepare.cost"), "prepare.cost has no effect with kind " + kind,
                    "prepare: {kind: burn, cost: 2ms}");
  }
}

void ReadLoader(Reading& reading, const Node& section, Loader& out) {
  MapReader reader(reading, section, "loader");
  reader.Count("workers", out.workers, 0, kMostWorkers);
  reader.Count("batch_size", out.batch_size, 1, kMostBatch);
  reader.Count("prefetch_factor", out.prefetch_factor, 1, 1'000'000);
  reader.Flag("shuffle", out.shuffle);
  reader.Flag("drop_last", out.drop_last);
  reader.Flag("in_order", out.in_order);
  reader.Flag("persistent_workers", out.persistent_workers);
  reader.Flag("pin_memory", out.pin_memory);
  reader.Time("timeout", out.timeout);
  ReadWord(reader, "dispatch", kDispatches, out.dispatch);
  ReadWord(reader, "queue", kQueueKinds, out.queue);
  reader.Count("queue_capacity", out.queue_capacity, 1, std::int64_t{1} << 31, "auto");
  ReadWord(reader, "buffers", kBuffers, out.buffers);
  reader.Drawn("worker_startup", out.worker_startup);
  reader.Finish();
}

void ReadLimits(Reading& reading, const Node& section, Limits& out) {
  MapReader reader(reading, section, "limits");
  ReadCpus(reader, reading, out);
  reader.Count("compute_threads", out.compute_threads, 1, 4096, "auto");
  reader.Count("worker_threads", out.worker_threads, 1, 4096);
  ReadWord(reader, "omp_wait", kOmpWaits, out.omp_wait);
  reader.Finish();
}

void ReadTransfer(Reading& reading, const Node& section, Transfer& out) {
  MapReader reader(reading, section, "transfer");
  reader.Flag("overlap", out.overlap);
  reader.Flag("non_blocking", out.non_blocking);
  reader.Finish();
}

void ReadRun(Reading& reading, const Node& section, Run& out) {
  MapReader reader(reading, section, "run");
  reader.Time("duration", out.duration, "auto");
  reader.Count("steps", out.steps, 1, kMostSteps, "none");
  reader.Count("epochs", out.epochs, 1, kMostSteps, "none");
  reader.Time("warmup", out.warmup, "auto");
  std::int64_t seed = 1;
  if (reader.Count("seed", seed, 0, std::numeric_limits<std::int64_t>::max())) {
    out.seed = static_cast<std::uint64_t>(seed);
  }
  reader.Count("repeats", out.repeats, 1, 10'000);
  ReadWord(reader, "probes", kProbes, out.probes);
  reader.Count("accelerators", out.accelerators, 1, kMostAccelerators);
  reader.Time("min_duration", out.min_duration);
  reader.Count("min_steps", out.min_steps, 1, kMostSteps);
  reader.Share("max_noise", out.max_noise);
  reader.Time("max_duration", out.max_duration);
  reader.Finish();
}

}  // namespace pipesim::spec
