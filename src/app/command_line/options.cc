#include "app/command_line/options.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "spec/words.h"

namespace pipesim::app {
namespace {

// A JSON string is a YAML double-quoted scalar, so any folder name survives.
std::string Quoted(std::string_view text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}
std::string FolderToYaml(std::string_view folder) {
  return "{kind: files, path: " + Quoted(folder) + "}";
}
std::string PrepareToYaml(std::string_view cost) {
  if (cost.empty() || cost.starts_with('{')) return std::string(cost);
  const bool is_kind = std::ranges::any_of(spec::kPrepareKinds, [&](const auto& kind) { return kind.name == cost; });
  return is_kind ? "{kind: " + std::string(cost) + "}" : "{kind: burn, cost: " + std::string(cost) + "}";
}

using enum Group;

constexpr Option kOptions[] = {
    {"workers", "N", "loader.workers", "worker threads that load batches (num_workers)", kPipeline,
     kExperimentFlags},
    {"batch", "N", "loader.batch_size", "samples in a batch", kPipeline, kMachineFlags},
    {"model", "NAME|FILE", "model", "a model of models/, or your own layer list", kPipeline,
     kMachineFlags},
    {"device", "NAME", "device", "auto, cpu, cuda:0, emulated, or a preset: rtx-4060", kPipeline,
     kMachineFlags},
    {"threads", "N", "limits.compute_threads", "LibTorch threads of the training step", kPipeline,
     kMachineFlags},
    {"cpus", "N|LIST", "limits.cpus", "cores to use: a number, or a list such as 0-3,6", kPipeline,
     kMachineFlags},
    {"storage", "PRESET", "storage", "emulated storage: ram, nvme, sata-ssd, hdd, ...", kPipeline,
     kExperimentFlags},
    {"data", "DIR", "storage", "real JPEG files, one subfolder per class", kPipeline, kMachineFlags,
     FolderToYaml},
    {"prepare", "TIME", "prepare", "CPU time to prepare a sample: 8ms, or none", kPipeline,
     kExperimentFlags, PrepareToYaml},
    {"sample-bytes", "SIZE", "dataset.sample_bytes",
     "bytes that storage delivers for a sample: 110KiB", kPipeline, kExperimentFlags},
    {"prefetch", "N", "loader.prefetch_factor", "batches each worker may be ahead", kPipeline,
     kExperimentFlags},
    {"accelerators", "N", "run.accelerators", "predict: N equal trainers share storage and cores",
     kPipeline, kExperimentFlags},
    {"accelerators", "N", "", "ranks, each with its own read threads (default: 1)",
     kPipeline, kImportFlags},
    {"seed", "N", "run.seed", "the key of all draws and of the weights", kPipeline,
     kExperimentFlags},
    {"profile", "NAME|FILE", "", "machine profile (absent: default on this machine)",
     kPipeline, kPredictFlags},
    {"from", "last|REPORT.json", "", "experiment and measured demands of a run's report", kPipeline,
     kPredictFlags},
    {"target", "LIMIT", "", "what to reach: au>=0.9, samples_per_s>=5000", kPipeline, kSizeFlags},
    {"solve", "AXIS", "", "what to find: one of the axes named above", kPipeline, kSizeFlags},
    {"engine", "run|predict", "", "run for real (default), or predict only", kPipeline, kTuneFlags},
    {"allow", "batch", "", "also change the batch size, which changes training", kPipeline,
     kTuneFlags},
    {"axis", "KEY=VALUES", "", "vary a key: workers=0,1,2 batch=64:512:*2 cpus=1:8:1", kPipeline,
     kSweepFlags},
    {"engine", "run|predict|both", "", "run for real (default), predict, or compare both",
     kPipeline, kSweepFlags},
    {"matmul", "N", "", "a product of two N x N fp32 matrices, not a step", kPipeline,
     kMemoryFlags},
    {"sizes", "LIST", "", "sizes to time: 8,32,128, 1:10000:50 or 64:4096:*2", kPipeline,
     kBenchFlags},
    {"also", "MODEL", "", "measure the steps of this model too", kPipeline, kCalibrateFlags},
    {"python", "PYTHON", "", "measure only PyTorch's worker processes, with this Python",
     kPipeline, kCalibrateFlags},
    {"set", "KEY=VALUE", "", "any key of the experiment file: loader.in_order=false", kPipeline,
     kMachineFlags},
    {"set", "KEY=VALUE", "", "any key of the workload: reader.read_threads=48", kPipeline,
     kImportFlags},

    {"duration", "TIME", "run.duration", "measure this long, after warm-up (default: auto)", kStop,
     kExperimentFlags},
    {"steps", "N", "run.steps", "stop after N steps, warm-up included", kStop, kExperimentFlags},
    {"epochs", "N", "run.epochs", "stop after N epochs, warm-up included", kStop, kExperimentFlags},
    {"warmup", "TIME", "run.warmup", "leave out this much at the start (default: auto)", kStop,
     kExperimentFlags},
    {"min-steps", "N", "run.min_steps", "auto: at least N measured steps", kStop, kExperimentFlags},
    {"max-noise", "SHARE", "run.max_noise", "auto: until the interval is this narrow: 2%", kStop,
     kExperimentFlags},
    {"max-duration", "TIME", "run.max_duration", "auto: measure no longer than this", kStop,
     kExperimentFlags},
    {"precision", "SHARE", "", "predict: stop once the rate is this exact: 0.5%", kStop,
     kPredictFlags},
    {"repeats", "N", "run.repeats", "run N times, with seeds seed, seed+1, ...", kStop,
     kExperimentFlags},

    {"iterations", "N", "", "operations in a repeat (default: enough for 10 ms)", kStop, kBenchFlags},
    {"max-time", "TIME", "", "leave out sizes not reached by then (default: 60s)", kStop,
     kBenchFlags},
    {"point-limit", "TIME", "sweep.point_limit", "end a point's real run after this: 20min", kStop,
     kSweepFlags},
    {"within", "SHARE", "", "the smallest settings this near to the fastest: 2%", kStop, kTuneFlags},
    {"most-runs", "N", "", "at most N runs, the run as it is included (default: 8)", kStop,
     kTuneFlags},

    {"predict", "", "", "answer the scenario in virtual time", kResult, kScenarioFlags},
    {"run", "", "", "run the scenario for real", kResult, kScenarioFlags},
    {"brief", "", "", "stop after the verdict and the next step", kResult, kTextFlags},
    {"full", "", "", "add each worker, every setting, all warnings", kResult, kTextFlags},
    {"export", "FORMAT=FILE", "", "also write the report in a format below; - is stdout", kResult,
     kTextFlags},
    {"open", "", "", "show the report in the browser, as a page with pictures", kResult, kTextFlags},
    {"observed", "FIGURES", "", "what the real system does: gpu=30%,samples_per_s=450", kResult,
     kJudgeFlags},
    {"expect", "VERDICT", "", "exit with 5 on another verdict, 6 when inconclusive", kResult,
     kJudgeFlags},
    {"require", "LIMIT", "", "exit with 5 when missed: au>=0.9, samples_per_s>=4000", kResult,
     kJudgeFlags},
    {"no-save", "", "", "do not keep this run for `pipesim report last`", kResult, kJudgeFlags},
    {"dry-run", "", "", "show every setting and its origin, run nothing", kResult, kJudgeFlags},

    {"force", "", "", "run even where memory will not suffice by the estimate", kResult, kRunFlags},
    {"nvtx", "", "", "mark each thread's stages for Nsight Systems", kResult, kRunFlags},
    {"prove", "", "", "run the recommended command, too: 3 pairs of runs", kResult,
     kRunFlags},
    {"out", "FILE", "", "the profile to write or to add to (default: machine.yaml)", kResult,
     kCalibrateFlags},
    {"out", "FILE", "", "write the tuned experiment there (default: print it)", kResult,
     kTuneFlags},
    {"out", "FILE", "", "write the experiment there (default: print it)", kResult, kImportFlags},
    {"journal", "FILE", "", "keep finished points there (default: NAME.sweep.jsonl)", kResult,
     kSweepFlags},
    {"resume", "", "", "go on with the points that the journal lacks", kResult, kSweepFlags},
    {"shard", "I/N", "", "only this part of the points, I from 1 to N", kResult, kSweepFlags},
    {"merge", "", "", "put the journals of all shards together; runs nothing", kResult,
     kSweepFlags},
    {"no-save", "", "", "do not keep this sweep for `pipesim report last`", kResult, kSweepFlags},
    {"dry-run", "", "", "show the points in their order, run nothing", kResult, kSweepFlags},
    {"interleave", "", "", "run the experiments in turn, 5 times each (--repeats N)", kResult,
     kCompareFlags},
    {"rerun", "unsure", "", "run what is UNSURE in turn, 10 times each (--repeats N)", kResult,
     kCompareFlags},
    {"fail-on-regression", "SHARE", "", "exit with 5 on a loss beyond 5%, 6 if that is open", kResult,
     kCompareFlags},
    {"expect", "WHAT", "", "5 unless faster, slower, same, or a verdict; 6 if open", kResult,
     kCompareFlags},
    {"require", "LIMIT", "", "exit with 5 when a later side misses it: au>=0.9", kResult,
     kCompareFlags},
    {"no-save", "", "", "do not keep this comparison for `pipesim report last`", kResult,
     kCompareFlags},
    {"needs-libtorch", "", "", "say whether this experiment needs LibTorch: yes or no", kResult,
     kStartFlags},
    {"keys", "", "", "list every key of the experiment file", kResult, kValidateFlags},

    {"quiet", "", "", "no progress on stderr", kGeneral, kStartFlags},
    {"help", "", "", "show this help", kGeneral, kHelpFlags},
};

}  // namespace

std::span<const Option> Options() { return kOptions; }

const Option* FindOption(std::string_view name, const Command& command) {
  for (const Option& option : kOptions)
    if (option.name == name && (option.set & command.flags)) return &option;
  return nullptr;
}

const Option* OptionOfPath(std::string_view path) {
  for (const Option& option : kOptions)
    if (option.path == path && option.to_yaml == nullptr) return &option;
  return nullptr;
}

}  // namespace pipesim::app
