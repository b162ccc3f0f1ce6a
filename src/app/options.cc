#include "app/options.h"

#include <nlohmann/json.hpp>

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
  return cost == "none" || cost == "decode" ? "{kind: " + std::string(cost) + "}"
                                            : "{kind: burn, cost: " + std::string(cost) + "}";
}

constexpr unsigned kOneRun = kRun | kPredict;
constexpr unsigned kExperiment = kOneRun | kValidate;
constexpr unsigned kMachine = kExperiment | kCalibrate;  // what a machine's figures hang on
using enum Group;

constexpr Option kOptions[] = {
    {"workers", "N", "loader.workers", "worker threads that load batches (num_workers)", kPipeline,
     kExperiment},
    {"batch", "N", "loader.batch_size", "samples in a batch", kPipeline, kMachine},
    {"model", "NAME|FILE", "model", "a model of models/, or your own layer list", kPipeline,
     kMachine},
    {"device", "NAME", "device", "auto, cpu, cuda:0, emulated, or a preset: rtx-4060", kPipeline,
     kMachine},
    {"threads", "N", "limits.compute_threads", "LibTorch threads of the training step", kPipeline,
     kMachine},
    {"cpus", "N|LIST", "limits.cpus", "cores to use: a number, or a list such as 0-3,6", kPipeline,
     kMachine},
    {"storage", "PRESET", "storage", "emulated storage: ram, nvme, sata-ssd, hdd, ...", kPipeline,
     kExperiment},
    {"data", "DIR", "storage", "real JPEG files, one subfolder a class", kPipeline, kMachine,
     false, FolderToYaml},
    {"prepare", "TIME", "prepare", "CPU time to prepare a sample: 8ms, or none", kPipeline,
     kExperiment, false, PrepareToYaml},
    {"sample-bytes", "SIZE", "dataset.sample_bytes",
     "bytes that storage delivers for a sample: 110KiB", kPipeline, kExperiment},
    {"prefetch", "N", "loader.prefetch_factor", "batches each worker may be ahead", kPipeline,
     kExperiment},
    {"accelerators", "N", "run.accelerators", "predict: N equal trainers share storage and cores",
     kPipeline, kExperiment},
    {"seed", "N", "run.seed", "the key of all draws and of the weights", kPipeline, kExperiment},
    {"profile", "NAME|FILE", "", "the machine profile to predict with (default: default)",
     kPipeline, kPredict},
    {"from", "last|REPORT.json", "", "experiment and measured demands of a run's report",
     kPipeline, kPredict},
    {"also", "MODEL", "", "measure the steps of this model too", kPipeline, kCalibrate, true},
    {"set", "KEY=VALUE", "", "any key of the experiment file: loader.in_order=false", kPipeline,
     kMachine, true},

    {"duration", "TIME", "run.duration", "measure this long, after warm-up (default: auto)", kStop,
     kExperiment},
    {"steps", "N", "run.steps", "stop after N steps, warm-up included", kStop, kExperiment},
    {"epochs", "N", "run.epochs", "stop after N epochs, warm-up included", kStop, kExperiment},
    {"warmup", "TIME", "run.warmup", "leave out this much at the start (default: auto)", kStop,
     kExperiment},
    {"min-steps", "N", "run.min_steps", "auto: at least N measured steps", kStop, kExperiment},
    {"max-noise", "SHARE", "run.max_noise", "auto: until the interval is this narrow: 2%", kStop,
     kExperiment},
    {"max-duration", "TIME", "run.max_duration", "auto: measure no longer than this", kStop,
     kExperiment},
    {"repeats", "N", "run.repeats", "run N times, with seeds seed, seed+1, ...", kStop,
     kExperiment},

    {"brief", "", "", "stop after the verdict and the next step", kResult, kOneRun | kReport},
    {"full", "", "", "add each worker, every setting, all warnings", kResult, kOneRun | kReport},
    {"export", "FORMAT=FILE", "", "write it too: json=run.json; json=- replaces the text", kResult,
     kOneRun | kReport, true},
    {"expect", "VERDICT", "", "leave with 5 when it is another, 6 when inconclusive", kResult,
     kOneRun},
    {"require", "LIMIT", "", "leave with 5 when missed: au>=0.9, samples_per_s>=4000", kResult,
     kOneRun, true},
    {"no-save", "", "", "do not keep this run for `pipesim report last`", kResult, kOneRun},
    {"dry-run", "", "", "show every setting and its origin, run nothing", kResult, kOneRun},

    {"out", "FILE", "", "the profile to write or to add to (default: machine.yaml)", kResult,
     kCalibrate},
    {"needs-libtorch", "", "", "say whether this experiment needs LibTorch: yes or no", kResult,
     kOneRun | kCalibrate},
    {"keys", "", "", "list every key of the experiment file", kResult, kValidate},

    {"quiet", "", "", "no progress on stderr", kGeneral, kOneRun | kCalibrate},
    {"help", "", "", "this text", kGeneral, kEveryCommand},
};

constexpr std::string_view kRunExamples[] = {
    "pipesim --workers 4 --batch 256 --model mlp",
    "pipesim --workers 4 --model resnet18 --storage hdd --device emulated",
    "pipesim --data photos --workers 2 --batch 32 --model resnet18 --steps 100",
    "pipesim --workers 1 --prepare 2ms --set device='{emulated: {base: 5ms}}'",
    "pipesim run configs/experiments/io-bound.yaml --export json=before.json",
};
constexpr std::string_view kPredictExamples[] = {
    "pipesim predict configs/experiments/io-bound.yaml --workers 8",
    "pipesim predict --workers 4 --batch 256 --model resnet18 --device rtx-4060",
    "pipesim predict --from before.json --set loader.workers=8",
    "pipesim predict --workers 4 --prepare 2ms --cpus 8 --device h100 --repeats 5",
};
constexpr std::string_view kCalibrateExamples[] = {
    "pipesim calibrate --model mlp --also resnet18 --out here.yaml",
    "pipesim calibrate --data photos --model resnet18 --batch 96",
};
constexpr std::string_view kValidateExamples[] = {
    "pipesim validate configs/experiments/io-bound.yaml",
    "pipesim validate --keys",
};
constexpr std::string_view kReportExamples[] = {
    "pipesim report last",
    "pipesim report before.json --full",
    "pipesim report last --export json=last.json",
};
constexpr std::string_view kExplainExamples[] = {"pipesim explain io-bound", "pipesim explain"};

constexpr Command kCommands[] = {
    {"run", kRun, "[run] [EXPERIMENT.yaml] [flags]",
     "run one experiment and say what holds it back",
     "Real worker threads load batches from an emulated disk or real files into a\n"
     "bounded queue; a real training step (LibTorch, CPU or GPU) or an emulated\n"
     "device takes them. The report names the bottleneck and what would help.",
     kRunExamples},
    {"predict", kPredict, "predict [EXPERIMENT.yaml] [flags]",
     "answer the same question in virtual time, within a second",
     "The same experiment and the same report, by discrete-event simulation: nothing\n"
     "is run, no GPU and no LibTorch is needed. What the parts cost is looked up: in\n"
     "the experiment, a device preset, a machine profile, or a run's report (--from).",
     kPredictExamples},
    {"calibrate", kCalibrate, "calibrate [EXPERIMENT.yaml] [flags]",
     "measure this machine for predict --profile",
     "Threads, memory, decoding, with --data storage, and training steps by batch size\n"
     "and threads: three rounds of short real runs, a few minutes. What the file has of\n"
     "this machine already is kept where it is not measured again.",
     kCalibrateExamples},
    {"report", kReport, "report last|FILE.json [flags]", "show a kept or exported report again",
     "The last 20 runs are kept in $XDG_STATE_HOME/pipesim (~/.local/state/pipesim).",
     kReportExamples},
    {"explain", kExplain, "explain [VERDICT]", "what a verdict means and how to fix it",
     "Without a verdict: all of them, a line each.", kExplainExamples},
    {"validate", kValidate, "validate [EXPERIMENT.yaml] [flags]",
     "check an experiment file and flags without running",
     "Prints every problem with its place and what to write instead.", kValidateExamples},
};

}  // namespace

std::span<const Option> Options() { return kOptions; }
std::span<const Command> Commands() { return kCommands; }

const Option* FindOption(std::string_view name, unsigned command) {
  for (const Option& option : kOptions)
    if (option.name == name && (option.commands & command)) return &option;
  return nullptr;
}

const Option* OptionOfPath(std::string_view path) {
  for (const Option& option : kOptions)
    if (option.path == path && option.to_yaml == nullptr) return &option;
  return nullptr;
}

const Command* FindCommand(std::string_view name) {
  for (const Command& command : kCommands)
    if (command.name == name) return &command;
  return nullptr;
}

}  // namespace pipesim::app
