// The `loader:` section: workers, batches and their queue.
#include <array>

#include "spec/drawn_text.h"
#include "spec/key_rule.h"
#include "spec/sections.h"
#include "spec/words.h"

namespace pipesim::spec {
namespace {

constexpr int kMostWorkers = 4096;
constexpr std::int64_t kMostBatch = std::int64_t{1} << 31;

bool HasWorkers(const Experiment& e) { return e.loader.workers > 0; }
bool IsProcess(const Experiment& e) { return e.loader.kind == LoaderKind::kProcess; }
bool StatesOne(const Experiment& e) { return e.loader.of_one.workers > 0; }
bool StatesMany(const Experiment& e) { return e.loader.of_many.workers > 0; }

template <HandOverOf Loader::*kOf, Duration HandOverOf::*kCost>
std::string CostOf(const Experiment& e) {
  return ToText(e.loader.*kOf.*kCost);
}

constexpr auto kLoaderKeys = std::to_array<KeyRule>({
    {{"loader.kind", "thread|process", "thread", "what workers are; process: PyTorch's DataLoader"},
     [](const Experiment& e) { return WordOf(kLoaderKinds, e.loader.kind); }},
    {{"loader.workers", "count", "0", "workers; 0: load in the trainer's thread"},
     [](const Experiment& e) { return CountText(e.loader.workers); }},
    {{"loader.batch_size", "count", "64", "samples per batch"},
     [](const Experiment& e) { return CountText(e.loader.batch_size); }},
    {{"loader.prefetch_factor", "count", "2", "batches prefetched per worker"},
     [](const Experiment& e) { return CountText(e.loader.prefetch_factor); },
     HasWorkers},
    {{"loader.shuffle", "true|false", "true", "new random order each epoch"},
     [](const Experiment& e) { return YesNo(e.loader.shuffle); }},
    {{"loader.drop_last", "true|false", "false", "drop a partial last batch"},
     [](const Experiment& e) { return YesNo(e.loader.drop_last); }},
    {{"loader.in_order", "true|false", "true", "train batches in the order they were dealt"},
     [](const Experiment& e) { return YesNo(e.loader.in_order); }},
    {{"loader.persistent_workers", "true|false", "false", "keep workers alive between epochs"},
     [](const Experiment& e) { return YesNo(e.loader.persistent_workers); },
     HasWorkers},
    {{"loader.pin_memory", "true|false", "false", "copy batches to page-locked memory"},
     [](const Experiment& e) { return YesNo(e.loader.pin_memory); }},
    {{"loader.pin_bandwidth", "rate", "auto", "predict: of the pin thread's copies; auto: the profile's"},
     [](const Experiment& e) { return OrWord(e.loader.pin_bandwidth, "auto"); }},
    {{"loader.timeout", "duration", "0", "longest wait for a batch; 0: no limit"},
     [](const Experiment& e) { return ToText(e.loader.timeout); },
     HasWorkers},
    {{"loader.dispatch", "round_robin|shared", "round_robin", "how batches are dealt to workers"},
     [](const Experiment& e) { return WordOf(kDispatches, e.loader.dispatch); }},
    {{"loader.queue", "tbb|lockfree|mutex", "tbb", "the queue between workers and trainer"},
     [](const Experiment& e) { return WordOf(kQueueKinds, e.loader.queue); }},
    {{"loader.queue_capacity", "count", "auto", "batches; auto: workers x prefetch_factor"},
     [](const Experiment& e) { return OrWord(e.loader.queue_capacity, "auto"); }},
    {{"loader.buffers", "recycled|fresh", "recycled", "fresh: page faults for every batch"},
     [](const Experiment& e) { return WordOf(kBuffers, e.loader.buffers); }},
    {{"loader.collate_into", "pageable|pinned", "pageable",
      "pinned: workers collate into page-locked memory, which spares the pin thread"},
     [](const Experiment& e) { return WordOf(kCollateInto, e.loader.collate_into); }},
    {{"loader.worker_startup", "duration or distribution", "auto",
      "time to start a worker; auto: 0 for a thread, else the profile's"},
     [](const Experiment& e) { return OrAuto(e.loader.worker_startup); }},
    {{"loader.worker_opening", "duration", "0",
      "what a worker waits then, without a core: its data set opens files or connections"},
     [](const Experiment& e) { return ToText(e.loader.worker_opening); },
     [](const Experiment& e) { return e.loader.worker_opening > Duration::zero(); }},
    {{"loader.worker_launch", "duration", "auto",
      "process: time of the trainer's process to start one worker; auto: the profile's"},
     [](const Experiment& e) { return OrWord(e.loader.worker_launch, "auto"); },
     IsProcess},
    {{"loader.start_method", "fork|forkserver|spawn", "fork", "process: how workers start"},
     [](const Experiment& e) { return WordOf(kStartMethods, e.loader.start_method); },
     IsProcess},
    {{"loader.share", "duration or distribution", "auto",
      "process: a worker's CPU time to put a batch into shared memory; auto: the profile's"},
     [](const Experiment& e) { return OrAuto(e.loader.share); },
     IsProcess},
    {{"loader.send", "duration or distribution", "auto",
      "process: CPU time of a worker's threads that send a batch; auto: the profile's"},
     [](const Experiment& e) { return OrAuto(e.loader.send); },
     IsProcess},
    {{"loader.serve", "duration or distribution", "auto",
      "process: a worker's CPU time to hand over a batch's memory; auto: the profile's"},
     [](const Experiment& e) { return OrAuto(e.loader.serve); },
     IsProcess},
    {{"loader.receive", "duration or distribution", "auto",
      "process: the trainer's CPU time to take a batch; auto: the profile's"},
     [](const Experiment& e) { return OrAuto(e.loader.receive); },
     IsProcess},
    {{"loader.receive_latency", "duration or distribution", "auto",
      "process: wake-ups while a batch is handed over, without a core; auto: the profile's"},
     [](const Experiment& e) { return OrAuto(e.loader.receive_latency); },
     IsProcess},
    {{"loader.receive_wait", "duration or distribution", "auto",
      "process: longest wait for a busy worker's Python lock; auto: the profile's"},
     [](const Experiment& e) { return OrAuto(e.loader.receive_wait); },
     IsProcess},
    {{"loader.of_one.share", "duration", "0", "process: instead of loader.share, with one worker"},
     CostOf<&Loader::of_one, &HandOverOf::share>,
     StatesOne},
    {{"loader.of_one.send", "duration", "0", "process: instead of loader.send, with one worker"},
     CostOf<&Loader::of_one, &HandOverOf::send>,
     StatesOne},
    {{"loader.of_one.serve", "duration", "0", "process: instead of loader.serve, with one worker"},
     CostOf<&Loader::of_one, &HandOverOf::serve>,
     StatesOne},
    {{"loader.of_one.receive", "duration", "0", "process: instead of loader.receive, with one worker"},
     CostOf<&Loader::of_one, &HandOverOf::receive>,
     StatesOne},
    {{"loader.of_one.receive_latency", "duration", "0", "process: instead of loader.receive_latency, with one worker"},
     CostOf<&Loader::of_one, &HandOverOf::receive_latency>,
     StatesOne},
    {{"loader.of_many.workers", "count", "0",
      "process: with so many workers and more a batch's hand-over costs what follows; 0: no other than with 2"},
     [](const Experiment& e) { return CountText(e.loader.of_many.workers); },
     StatesMany},
    {{"loader.of_many.share", "duration", "0", "process: instead of loader.share"},
     CostOf<&Loader::of_many, &HandOverOf::share>,
     StatesMany},
    {{"loader.of_many.send", "duration", "0", "process: instead of loader.send"},
     CostOf<&Loader::of_many, &HandOverOf::send>,
     StatesMany},
    {{"loader.of_many.serve", "duration", "0", "process: instead of loader.serve"},
     CostOf<&Loader::of_many, &HandOverOf::serve>,
     StatesMany},
    {{"loader.of_many.receive", "duration", "0", "process: instead of loader.receive"},
     CostOf<&Loader::of_many, &HandOverOf::receive>,
     StatesMany},
    {{"loader.of_many.receive_latency", "duration", "0", "process: instead of loader.receive_latency"},
     CostOf<&Loader::of_many, &HandOverOf::receive_latency>,
     StatesMany},
    {{"loader.worker_memory", "bytes", "auto",
      "process: memory of a worker besides its batches; auto: the profile's"},
     [](const Experiment& e) { return OrWord(e.loader.worker_memory, "auto"); },
     IsProcess},
    {{"loader.python_sample", "duration", "auto",
      "process: Python's own CPU time per sample; auto: the profile's"},
     [](const Experiment& e) { return OrWord(e.loader.python_sample, "auto"); },
     IsProcess},
    {{"loader.opaque", "true|false", "false",
      "only how often batches come is known: no change to loading is predicted"},
     [](const Experiment& e) { return YesNo(e.loader.opaque); },
     [](const Experiment& e) { return e.loader.opaque; }},
});

}  // namespace

std::span<const KeyRule> LoaderKeys() { return kLoaderKeys; }

namespace {
void ReadCosts(MapReader& reader, HandOverOf& out) {
  reader.Time("share", out.share);
  reader.Time("send", out.send);
  reader.Time("serve", out.serve);
  reader.Time("receive", out.receive);
  reader.Time("receive_latency", out.receive_latency);
  reader.Finish();
}

void ReadOfOne(Reading& reading, const Node* node, HandOverOf& out) {
  if (node == nullptr) return;
  MapReader reader(reading, *node, "loader.of_one");
  out.workers = 1;
  ReadCosts(reader, out);
}

void ReadOfMany(Reading& reading, const Node* node, HandOverOf& out) {
  if (node == nullptr) return;
  MapReader reader(reading, *node, "loader.of_many");
  reader.Count("workers", out.workers, kUsualWorkers + 1, kMostWorkers);
  ReadCosts(reader, out);
}
}  // namespace

void ReadLoader(Reading& reading, const Node& section, Loader& out) {
  MapReader reader(reading, section, "loader");
  ReadWord(reader, "kind", kLoaderKinds, out.kind);
  reader.Count("workers", out.workers, 0, kMostWorkers);
  reader.Count("batch_size", out.batch_size, 1, kMostBatch);
  reader.Count("prefetch_factor", out.prefetch_factor, 1, 1'000'000);
  reader.Flag("shuffle", out.shuffle);
  reader.Flag("drop_last", out.drop_last);
  reader.Flag("in_order", out.in_order);
  reader.Flag("persistent_workers", out.persistent_workers);
  reader.Flag("pin_memory", out.pin_memory);
  reader.Rate("pin_bandwidth", out.pin_bandwidth, "auto");
  reader.Time("timeout", out.timeout);
  ReadWord(reader, "dispatch", kDispatches, out.dispatch);
  ReadWord(reader, "queue", kQueueKinds, out.queue);
  reader.Count("queue_capacity", out.queue_capacity, 1, std::int64_t{1} << 31, "auto");
  ReadWord(reader, "buffers", kBuffers, out.buffers);
  ReadWord(reader, "collate_into", kCollateInto, out.collate_into);
  reader.Drawn("worker_startup", out.worker_startup, "auto");
  reader.Time("worker_opening", out.worker_opening);
  reader.Time("worker_launch", out.worker_launch, "auto");
  ReadWord(reader, "start_method", kStartMethods, out.start_method);
  reader.Drawn("share", out.share, "auto");
  reader.Drawn("send", out.send, "auto");
  reader.Drawn("serve", out.serve, "auto");
  reader.Drawn("receive", out.receive, "auto");
  reader.Drawn("receive_latency", out.receive_latency, "auto");
  reader.Drawn("receive_wait", out.receive_wait, "auto");
  ReadOfOne(reading, reader.Take("of_one"), out.of_one);
  ReadOfMany(reading, reader.Take("of_many"), out.of_many);
  reader.Size("worker_memory", out.worker_memory, "auto");
  reader.Time("python_sample", out.python_sample, "auto");
  reader.Flag("opaque", out.opaque);
  reader.Finish();
}

}  // namespace pipesim::spec
