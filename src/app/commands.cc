// The one table of commands. A new one is a file of its own (commands/NAME_command.cc) and a row
// here.
#include "app/command_line/arguments.h"
#include "app/command_line/command.h"

namespace pipesim::app {

// Each in its own file.
base::ExitCode Run(const Arguments& arguments);
base::ExitCode Predict(const Arguments& arguments);
base::ExitCode Sweep(const Arguments& arguments);
base::ExitCode Compare(const Arguments& arguments);
base::ExitCode Tune(const Arguments& arguments);
base::ExitCode Size(const Arguments& arguments);
base::ExitCode Import(const Arguments& arguments);
base::ExitCode Calibrate(const Arguments& arguments);
base::ExitCode Record(const Arguments& arguments);
base::ExitCode Report(const Arguments& arguments);
base::ExitCode Explain(const Arguments& arguments);
base::ExitCode Validate(const Arguments& arguments);
base::ExitCode Scenarios(const Arguments& arguments);
base::ExitCode Devices(const Arguments& arguments);
base::ExitCode Bench(const Arguments& arguments);
base::ExitCode Memory(const Arguments& arguments);
base::ExitCode Completion(const Arguments& arguments);

namespace {

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
constexpr std::string_view kSweepExamples[] = {
    "pipesim sweep configs/sweeps/workers_by_batch.yaml --engine predict",
    "pipesim sweep --axis workers=0:8:2 --prepare 2ms --cpus 8 --engine predict",
    "pipesim sweep configs/experiments/io-bound.yaml --axis storage=hdd,nvme",
    "pipesim sweep configs/sweeps/workers_by_batch.yaml --shard 1/4",
};
constexpr std::string_view kCompletionExamples[] = {
    "pipesim completion bash",
    "pipesim completion fish",
};
constexpr std::string_view kCompareExamples[] = {
    "pipesim compare before.json after.json",
    "pipesim compare a.yaml b.yaml --interleave --device emulated --duration 2s",
    "pipesim compare main.json branch.json --fail-on-regression 5%",
    "pipesim compare before.json after.json --rerun unsure",
};
constexpr std::string_view kTuneExamples[] = {
    "pipesim tune configs/experiments/loader-bound.yaml --duration 2s --out t.yaml",
    "pipesim tune --prepare 2ms --device rtx-4060 --cpus 16 --engine predict",
    "pipesim tune --model cnn --duration 8s --within 5% --allow batch",
};
constexpr std::string_view kSizeExamples[] = {
    "pipesim size configs/experiments/io-bound.yaml --target 'au>=0.9' \\\n"
    "    --solve storage.bandwidth",
    "pipesim size configs/experiments/loader-bound.yaml --target 'au>=0.9' \\\n"
    "    --solve workers",
    "pipesim size configs/experiments/compute-bound.yaml --target 'au>=0.9' \\\n"
    "    --solve accelerators",
};
constexpr std::string_view kImportExamples[] = {
    "pipesim import configs/dlio/unet3d_h100.yaml --accelerators 4",
    "pipesim import configs/dlio/resnet50_a100.yaml --set reader.read_threads=16",
    "pipesim import trace.json.gz",
};
constexpr std::string_view kCalibrateExamples[] = {
    "pipesim calibrate --model mlp --also resnet18 --out here.yaml",
    "pipesim calibrate --data photos --model resnet18 --batch 96",
    "pipesim calibrate --python python3 --out here.yaml",
};
constexpr std::string_view kValidateExamples[] = {
    "pipesim validate configs/experiments/io-bound.yaml",
    "pipesim validate --keys",
};
constexpr std::string_view kRecordExamples[] = {
    "pipesim record train:make_loader",
    "pipesim record train.py:make_loader --step train.py:make_step --check",
    "pipesim record data:photos --batch 64 --out photos.yaml -- --root /data",
    "pipesim record train:make_loader --python .venv/bin/python",
};
constexpr std::string_view kReportExamples[] = {
    "pipesim report last",
    "pipesim report before.json --full",
    "pipesim report last --export csv=points.csv --export markdown=-",
};
constexpr std::string_view kExplainExamples[] = {"pipesim explain io-bound", "pipesim explain"};

constexpr std::string_view kScenariosExamples[] = {
    "pipesim scenarios",
    "pipesim scenarios no-workers",
    "pipesim scenarios no-workers --predict",
    "pipesim scenarios no-workers --predict --workers 2 --expect compute-bound",
    "pipesim scenarios noisy-neighbour --run",
};

constexpr std::string_view kDevicesExamples[] = {"pipesim devices", "pipesim devices cuda:1 --brief"};

constexpr std::string_view kMemoryExamples[] = {
    "pipesim memory --model resnet50 --batch 64 --device rtx-4060",
    "pipesim memory --matmul 30000 --device tesla-m4",
};

constexpr std::string_view kBenchExamples[] = {
    "pipesim bench matmul --sizes 1:2001:500",
    "pipesim bench add --sizes 8,32,128,512 --iterations 100000 --device rtx-4060",
    "pipesim bench step --model resnet18 --sizes 1,8,64 --max-time 30s",
    "pipesim bench transfer --sizes 4KiB:256MiB:*16 --export html=copies.html",
};

constexpr unsigned kOneRun =
    kHelpFlags | kExperimentFlags | kMachineFlags | kJudgeFlags | kTextFlags | kStartFlags;

constexpr Command kCommands[] = {
    {"run", "[run] [EXPERIMENT.yaml] [flags]", "run one experiment and say what holds it back",
     "Real worker threads load batches from an emulated disk or real files into a\n"
     "bounded queue; a real training step (LibTorch, CPU or GPU) or an emulated\n"
     "device takes them. The report names the bottleneck and what would help.",
     kRunExamples, kOneRun | kRunFlags, Run},
    {"predict", "predict [EXPERIMENT.yaml] [flags]",
     "answer the same question in virtual time, within a second",
     "The same experiment and the same report, by discrete-event simulation: nothing\n"
     "is run, no GPU and no LibTorch is needed. What the parts cost is looked up: in\n"
     "the experiment, a device preset, a machine profile, or a run's report (--from).",
     kPredictExamples, kOneRun | kPredictFlags, Predict},
    {"sweep", "sweep [EXPERIMENT.yaml] --axis KEY=VALUES [flags]",
     "run or predict every combination of some settings",
     "The points of all axes, in an order drawn from the seed: the best, the smallest\n"
     "that is enough, a ranked table, where the bottleneck changes. Values are a list\n"
     "0,1,2, a range 1:8:1, a factor 64:512:*2, or pairs: workers+prefetch=2+4,4+2.\n"
     "Each real point is a process of its own; a journal keeps it, --resume goes on.\n"
     "In a Slurm array job each task takes its shard. Exit code 4: points failed.",
     kSweepExamples,
     kHelpFlags | kExperimentFlags | kMachineFlags | kTextFlags | kStartFlags | kPredictFlags |
         kSweepFlags,
     Sweep},
    {"compare", "compare A B [MORE] [flags]",
     "say whether B is faster than A, and where the time moved",
     "A and B are reports (.json) of runs, predictions or sweeps; points of sweeps are\n"
     "matched. FASTER and SLOWER pass Welch's t test at 1 % and exceed the noise; SAME\n"
     "needs 5 repeats a side; all else is UNSURE. With --interleave A and B are\n"
     "experiments (.yaml) or reports and run in turn; flags of an experiment apply to\n"
     "all. Exit codes 5 and 6: --fail-on-regression, --expect, --require.",
     kCompareExamples,
     kHelpFlags | kExperimentFlags | kMachineFlags | kTextFlags | kStartFlags | kCompareFlags,
     Compare},
    {"tune", "tune [EXPERIMENT.yaml] [flags]",
     "find the smallest settings that are nearly the fastest",
     "Runs the experiment as it is, lets predictions from that run name the most\n"
     "promising workers, prefetch, dispatch and compute threads, runs those, and so\n"
     "on; confirms the fastest and shrinks it. At most 8 runs, within this machine's\n"
     "memory and cores.",
     kTuneExamples,
     kHelpFlags | kExperimentFlags | kMachineFlags | kTextFlags | kStartFlags | kPredictFlags |
         kTuneFlags,
     Tune},
    {"size", "size [EXPERIMENT.yaml] --target LIMIT --solve AXIS [flags]",
     "the least storage, cores or workers that reach a target",
     "Finds, by bisection on predictions, the least storage.bandwidth, storage.iops,\n"
     "limits.cpus or loader.workers that reaches the target, or the most accelerators\n"
     "that keep a utilization. Says what it reaches, what binds first, the headroom.\n"
     "Exit code 5 where no value reaches the target: then it says what limits.",
     kSizeExamples,
     kHelpFlags | kExperimentFlags | kMachineFlags | kTextFlags | kStartFlags | kPredictFlags |
         kSizeFlags,
     Size},
    {"import", "import FILE [flags]", "an experiment from a DLIO workload or a PyTorch trace",
     "A workload of DLIO, the program behind MLPerf Storage (configs/dlio), keeps its\n"
     "ranks, read threads and prefetching, a barrier after every step, and the\n"
     "benchmark's own AU and samples/s. A trace of PyTorch's profiler (.json or .gz)\n"
     "gets a verdict, too. Comments say what the file does not. Exit code 4: the\n"
     "trace breaks off; what came before counts.",
     kImportExamples, kHelpFlags | kImportFlags, Import},
    {"calibrate", "calibrate [EXPERIMENT.yaml] [flags]",
     "measure this machine for predict --profile",
     "Threads, memory, decoding, with --data storage, and training steps by batch size\n"
     "and threads: three rounds of short real runs, a few minutes. Figures that the file\n"
     "already holds for this machine are kept unless they are measured again.\n"
     "--python measures what PyTorch's worker processes cost, in about a minute.",
     kCalibrateExamples, kHelpFlags | kMachineFlags | kStartFlags | kCalibrateFlags, Calibrate},
    {"record", "record MODULE:FACTORY [flags] [-- ARGUMENTS]",
     "measure a PyTorch DataLoader and write it as an experiment",
     "Imports the module in your own Python, calls the factory, which returns a\n"
     "Dataset or DataLoader, and times trial epochs without workers, with two and\n"
     "with many: samples, collate, a batch's way between processes, start-up.\n"
     "Prints the DataLoader(...) line to paste. Exit code 4: loading failed or\n"
     "hangs; 5: the promise of --check did not come true.\n"
     "\n"
     "Flags\n"
     "  --step MODULE:FACTORY returns the training step, a function of a batch\n"
     "  --check               run the tuned loader and compare with the promise\n"
     "  --out FILE            the experiment file (recorded.yaml)\n"
     "  --python FILE         Python to use; default: beside the program, or PATH's\n"
     "  --workers N           num_workers to call the factory with\n"
     "  --batch N             batch size for a Dataset\n"
     "  --start-method METHOD fork, forkserver or spawn, for a Dataset\n"
     "  --budget SECONDS      time of each trial (2)\n"
     "  --limit SECONDS       longest time of a sample (60)\n"
     "  --name NAME, --quiet",
     kRecordExamples, kHelpFlags, Record, true},
    {"report", "report last|FILE.json [flags]", "show a kept or exported report again",
     "The last 20 runs are kept in $XDG_STATE_HOME/pipesim (~/.local/state/pipesim).",
     kReportExamples, kHelpFlags | kTextFlags, Report},
    {"explain", "explain [VERDICT]", "what a verdict means and how to fix it",
     "Without a verdict: one line for each.", kExplainExamples, kHelpFlags, Explain},
    {"validate", "validate [EXPERIMENT.yaml] [flags]",
     "check an experiment file and flags without running",
     "Prints every problem with its place and what to write instead.", kValidateExamples,
     kHelpFlags | kExperimentFlags | kMachineFlags | kValidateFlags, Validate},
    {"scenarios", "scenarios [NAME] [--predict|--run] [flags]",
     "known pains of input pipelines, each to explain and to try",
     "Without a name: the list. With a name: what users see, which verdict it must\n"
     "get and why. --predict and --run answer its experiment; flags change it. The\n"
     "exit code is 5 when the verdict is another, 6 when it stays open.",
     kScenariosExamples, kOneRun | kScenarioFlags, Scenarios},
    {"bench", "bench add|matmul|sync|transfer|concurrent|step [flags]",
     "time one operation by size on CPU and GPU: who is faster, and why",
     "add: a += a of n x n numbers; matmul: products; sync: the norm of each product\n"
     "read each time or once; transfer: copies of n bytes, pageable and pinned;\n"
     "concurrent: two products on two GPUs, in turn, on two streams; step: a model's\n"
     "training step by batch. Medians over repeats after a warm-up. A device preset\n"
     "predicts the GPU's half where there is none.",
     kBenchExamples, kHelpFlags | kMachineFlags | kTextFlags | kStartFlags | kBenchFlags, Bench},
    {"memory", "memory [EXPERIMENT.yaml] [--matmul N] [flags]",
     "what a training step or a product holds on a device, and what fits",
     "Parameters, gradients, optimizer state, activations and library workspaces at\n"
     "the peak of a step, and the largest batch; with --matmul the operand and the\n"
     "result of a product. The device is cuda:N with its free memory, cpu, or a\n"
     "preset. Exit code 5 where it does not fit. Nothing is run.",
     kMemoryExamples, kHelpFlags | kMachineFlags | kTextFlags | kStartFlags | kMemoryFlags, Memory},
    {"devices", "devices [DEVICE] [flags]", "what is here to train on, and what cannot be measured",
     "Each GPU (memory, compute capability, PCIe link, NVLink peers) and the\n"
     "processors that this process may use (affinity, quota). With DEVICE: that\n"
     "device if it is here, else cpu. Needs no LibTorch.",
     kDevicesExamples, kHelpFlags | kTextFlags | kStartFlags, Devices},
    {"completion", "completion bash|zsh|fish", "a script that completes commands and flags in a shell",
     "In bash and zsh: source <(pipesim completion bash), in fish: pipesim completion\n"
     "fish | source. It knows the models, presets and scenarios that are there now.",
     kCompletionExamples, kHelpFlags, Completion},
};

}  // namespace

std::span<const Command> Commands() { return kCommands; }

const Command* FindCommand(std::string_view name) {
  for (const Command& command : kCommands)
    if (command.name == name) return &command;
  return nullptr;
}

}  // namespace pipesim::app
