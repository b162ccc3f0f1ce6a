// The sections `limits:`, processors and threads, and `transfer:`, copies to the device.
#include <array>

#include "spec/cpu_list.h"
#include "spec/key_rule.h"
#include "spec/sections.h"
#include "spec/words.h"

namespace pipesim::spec {
namespace {

constexpr auto kLimitsKeys = std::to_array<KeyRule>({
    {{"limits.cpus", "count or list", "auto", "4: that many, physical cores first; 0-3,6: a list"},
     [](const Experiment& e) { return CpusText(e.limits); }},
    {{"limits.compute_threads", "count", "auto", "LibTorch threads of the trainer"},
     [](const Experiment& e) { return OrWord(e.limits.compute_threads, "auto"); }},
    {{"limits.worker_threads", "count", "1", "threads that share a worker's prepare: burn"},
     [](const Experiment& e) { return CountText(e.limits.worker_threads); }},
    {{"limits.omp_wait", "default|passive", "default", "OMP_WAIT_POLICY of the process"},
     [](const Experiment& e) { return WordOf(kOmpWaits, e.limits.omp_wait); }},
});

constexpr auto kTransferKeys = std::to_array<KeyRule>({
    {{"transfer.overlap", "true|false", "true", "copy the next batch while a step runs"},
     [](const Experiment& e) { return YesNo(e.transfer.overlap); }},
    {{"transfer.non_blocking", "true|false", "true", "do not block the host during a copy"},
     [](const Experiment& e) { return YesNo(e.transfer.non_blocking); }},
});

}  // namespace

std::span<const KeyRule> LimitsKeys() { return kLimitsKeys; }
std::span<const KeyRule> TransferKeys() { return kTransferKeys; }

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

}  // namespace pipesim::spec
