#include "diagnose/explain.h"

#include <algorithm>
#include <array>
#include <stdexcept>

namespace pipesim::diagnose {
namespace {

using Texts = std::string_view;

constexpr Texts kLoaderSigns[] = {
    "training is starved, yet neither the storage nor the cores are full",
    "workers are busy all the time: blocked is near 0 %, the queue is empty",
    "one worker's time for a batch, divided by the workers, is longer than a step",
};
constexpr Texts kLoaderFlags[] = {
    "--workers N, with N from the report's 'Enough workers'",
    "--prefetch 4, where batches differ much in cost",
};
constexpr Texts kLoaderPytorch[] = {
    "DataLoader(dataset, batch_size=B, num_workers=N, prefetch_factor=2)",
    "DataLoader(..., num_workers=N, persistent_workers=True), when the first batch of each epoch "
    "is "
    "slow",
};

constexpr Texts kContentionSigns[] = {
    "the training thread waits for a core (contended) while more threads than cores can run",
    "on the CPU, LibTorch's threads wait inside the step (resources.trainer_contended_fraction)",
    "step times are longer and more uneven than with fewer workers",
};
constexpr Texts kContentionFlags[] = {
    "--workers N, so that N and the training threads fit the cores",
    "--threads N (limits.compute_threads), to leave cores to the workers",
    "--set limits.omp_wait=passive, so that threads waiting for the last of them do not spin",
};
constexpr Texts kContentionPytorch[] = {
    "DataLoader(..., num_workers=N) with a smaller N",
    "torch.set_num_threads(N) in the training process; OMP_WAIT_POLICY=PASSIVE in its environment",
};

constexpr Texts kIoSigns[] = {
    "workers spend most of their time in read",
    "storage delivers nearly all of its bandwidth or reads/s; more workers change little",
};
constexpr Texts kIoFlags[] = {
    "--storage PRESET with a faster storage, to see what it would give",
    "--set storage.bandwidth=1GB/s, to find how fast is fast enough",
};
constexpr Texts kIoPytorch[] = {
    "keep the data on local NVMe, in memory (/dev/shm), or in the page cache after the first epoch",
    "store fewer bytes: resized images, better compression; larger files read in sequence "
    "(WebDataset shards) where reads/s are the limit",
};

constexpr Texts kCpuSigns[] = {
    "workers spend most of their time in prepare, or waiting for a core to prepare",
    "all allowed cores are busy with loading; more workers change nothing",
};
constexpr Texts kCpuFlags[] = {
    "--prepare 2ms with a smaller cost, to see what cheaper work would give",
    "--cpus N with more cores, where the machine has them",
};
constexpr Texts kCpuPytorch[] = {
    "decode and resize once, ahead of time; use libjpeg-turbo or DALI; augment on the GPU",
    "torch.set_num_threads(1) in each worker (PyTorch's own default), so that workers do not "
    "oversubscribe",
};

constexpr Texts kH2dSigns[] = {
    "the device waits for copies, not for batches",
    "bytes of a batch over the link's bandwidth come near the time of a step",
};
constexpr Texts kH2dFlags[] = {
    "--set loader.pin_memory=true, for faster copies that run beside the step",
    "--set dataset.dtype=uint8, to send fewer bytes and cast on the device",
};
constexpr Texts kH2dPytorch[] = {
    "DataLoader(..., pin_memory=True) and batch.to(device, non_blocking=True)",
    "copy the next batch on a stream of its own while the step runs; send uint8, cast on the GPU",
};

constexpr Texts kLaunchSigns[] = {
    "the device waits for the host to launch, and its kernels are short",
    "a captured step replays in far less time than a step takes",
};
constexpr Texts kLaunchFlags[] = {
    "--set model.cuda_graph=true, to launch the whole step at once",
    "--batch 2B, which changes training",
};
constexpr Texts kLaunchPytorch[] = {
    "torch.compile(model, mode='reduce-overhead'), torch.cuda.CUDAGraph, fused optimizers "
    "(fused=True)",
    "DataLoader(..., batch_size=2*B), which changes training",
};

constexpr Texts kSyncSigns[] = {
    "the training loop waits for results (sync), and the device idles after each",
};
constexpr Texts kSyncFlags[] = {
    "--set model.sync_every=0, or a larger n",
};
constexpr Texts kSyncPytorch[] = {
    "no loss.item(), print(loss) or .cpu() in every step: add up on the device, read every n steps",
};

constexpr Texts kHostSigns[] = {
    "the training thread's own work (host) takes a large part of each step",
};
constexpr Texts kHostFlags[] = {
    "none: it is the training loop's code",
};
constexpr Texts kHostPytorch[] = {
    "move logging, metrics and checkpoints off the training loop's path",
};

constexpr Texts kComputeSigns[] = {
    "the device, or the CPU that trains, is busy with steps; the queue is full",
    "free data would gain next to nothing",
};
constexpr Texts kComputeFlags[] = {
    "nothing to fix in the input pipeline",
    "--device PRESET, to see what another device would give",
    "--set model.precision=bf16, --batch 2B: both change training",
};
constexpr Texts kComputePytorch[] = {
    "nothing to change in DataLoader(...); fewer num_workers may do as well",
    "torch.autocast('cuda', dtype=torch.bfloat16), torch.compile(model), a smaller model",
};

constexpr Texts kBalancedSigns[] = {
    "loading takes about as long as training; each hides the other",
};
constexpr Texts kBalancedFlags[] = {
    "change two of the what-if table's rows together",
};
constexpr Texts kBalancedPytorch[] = {
    "a faster input (DataLoader(..., num_workers=N)) pays only together with a faster step",
};

constexpr Texts kInconclusiveSigns[] = {
    "the report says what is certain, what is open, and what is missing",
};
constexpr Texts kInconclusiveFlags[] = {
    "--steps N, with N from the report's 'Next'",
    "without --duration a run goes on until its interval is small enough",
};
constexpr Texts kInconclusivePytorch[] = {
    "nothing to change in DataLoader(...) before it is known what limits",
};

constexpr std::array<Explanation, 11> kExplanations{{
    {Verdict::kLoaderBound,
     "A setting of the loader holds training back: with the same storage, cores and device, "
     "another "
     "setting would feed it faster. Most often there are too few workers.",
     "A loader setting alone (workers up to max(cores, 4 x now), prefetch_factor, dispatch, "
     "in_order, "
     "persistent_workers) is predicted to gain 5 % or more. Decided before all others.",
     kLoaderSigns, kLoaderFlags, kLoaderPytorch},
    {Verdict::kCpuContention,
     "Too many threads share too few cores, and training waits for one. The work itself would fit.",
     "Fewer threads alone (workers, compute_threads) gain 5 % or more. Bounds on demands cannot see "
     "that cost, so there it is decided by what was measured: more threads than cores, a training "
     "thread that waited for a core for a share c of its time (as the kernel counts it; steps of "
     "several threads on the CPU: what they took beyond the same steps alone after the run), and a "
     "pipeline of fewer threads that is predicted to beat the measured rate; the gain is the "
     "smaller of c / (1 - c) and that.",
     kContentionSigns, kContentionFlags, kContentionPytorch},
    {Verdict::kIoBound,
     "Storage cannot deliver samples as fast as training takes them, whatever the number of "
     "workers.",
     "No setting gains 5 %, and of all demands made free in turn storage gains most.", kIoSigns,
     kIoFlags, kIoPytorch},
    {Verdict::kCpuBound,
     "Decoding, transforming and collating samples takes more CPU than there is.",
     "No setting gains 5 %, and of all demands made free in turn prepare and collate gain most.",
     kCpuSigns, kCpuFlags, kCpuPytorch},
    {Verdict::kH2dBound,
     "Copying batches to the device (host to device), or pinning them for it, takes longer than "
     "training on them.",
     "No setting gains 5 %, and of all demands made free in turn pin and transfer gain most.",
     kH2dSigns, kH2dFlags, kH2dPytorch},
    {Verdict::kLaunchBound,
     "The host cannot launch the step's kernels as fast as the device runs them.",
     "No setting gains 5 %, and of all demands made free in turn the host's launching gains most. "
     "Where the device's own time could not be told from launch gaps, and the two would change the "
     "verdict, it is inconclusive.",
     kLaunchSigns, kLaunchFlags, kLaunchPytorch},
    {Verdict::kSyncBound,
     "The training loop reads results back from the device so often that the device runs dry.",
     "No setting gains 5 %, and of all demands made free in turn reading results back gains most. "
     "The "
     "part of that wait that is the step itself counts for the step.",
     kSyncSigns, kSyncFlags, kSyncPytorch},
    {Verdict::kHostBound, "The training thread's own work between steps holds training back.",
     "No setting gains 5 %, and of all demands made free in turn other host work gains most.",
     kHostSigns, kHostFlags, kHostPytorch},
    {Verdict::kComputeBound,
     "The training step itself is the limit: what users call GPU-bound, or the CPU where it "
     "trains. "
     "When free data would gain less than 5 % the input pipeline is healthy.",
     "No setting gains 5 %, and of all demands made free in turn the step gains most.",
     kComputeSigns, kComputeFlags, kComputePytorch},
    {Verdict::kBalanced,
     "No single part limits: several limit alike, and only changing them together would gain.",
     "The best single gain is below 5 % and the best pair gains 10 % or more; where not even a "
     "pair "
     "does, three or more parts are matched, and the confidence is low.",
     kBalancedSigns, kBalancedFlags, kBalancedPytorch},
    {Verdict::kInconclusive,
     "The evidence does not decide. The report names the side that is certain, what is open, and "
     "what "
     "would settle it.",
     "Fewer than 30 measured steps; or an interval wider than 5 % while candidates overlap; or "
     "needed "
     "evidence is missing; or the model misses the measured run by more than 10 %.",
     kInconclusiveSigns, kInconclusiveFlags, kInconclusivePytorch},
}};

}  // namespace

std::span<const Explanation> Explanations() { return kExplanations; }

const Explanation& Explain(Verdict verdict) {
  const auto found = std::find_if(kExplanations.begin(), kExplanations.end(),
                                  [&](const auto& e) { return e.verdict == verdict; });
  if (found == kExplanations.end()) throw std::logic_error("a verdict without an explanation");
  return *found;
}

}  // namespace pipesim::diagnose
