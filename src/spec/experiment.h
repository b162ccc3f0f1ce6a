// The experiment: one plain value with everything the user asked for, filled from YAML, flags and
// defaults (spec/read.h). Executors, measurement and reports read it. Knows nothing of how anything
// runs.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/drawn.h"
#include "base/units.h"
#include "spec/device_id.h"
#include "spec/model.h"

namespace pipesim::spec {

using base::Bytes;
using base::BytesPerSecond;
using base::Drawn;
using base::Duration;

/// Where a value came from. Reports print `kModel` and `kPreset` values as assumed; `kData` values
/// were counted in the folder of real samples.
enum class Origin { kDefault, kModel, kPreset, kData, kEnvironment, kFile, kFlag };
std::string_view ToText(Origin origin);  ///< "default", "file", "flag", ...

struct Dataset {
  std::int64_t samples = 0;
  Drawn<Bytes> sample_bytes;  ///< what storage delivers for one sample
  Shape shape;                ///< output of prepare and input of the model
  DType dtype = DType::kUint8;
  std::int64_t classes = 0;
  int tensors = 2;  ///< in a collated batch, such as images and labels
  int numbers = 0;  ///< of these, what a sample holds as a Python number; collate makes the tensor
  bool operator==(const Dataset&) const = default;
};
/// Bytes of one prepared sample: elements(shape) × size(dtype).
Bytes PreparedBytes(const Dataset& dataset);

enum class CachePolicy { kNone, kLru, kRandom };
/// Limits an emulated cache's bookkeeping, 8 bytes per sample of the data set
/// (cost/sample_cache.h), to 512 MiB.
inline constexpr std::int64_t kMostSamplesBehindCache = std::int64_t{1} << 26;
struct Cache {
  CachePolicy policy = CachePolicy::kNone;
  Bytes size;
  double warm = 0;  ///< share of the cache that is full at the start, 0..1
  std::optional<BytesPerSecond> hit_bandwidth;
  bool operator==(const Cache&) const = default;
};

enum class StorageKind {
  kNone,      ///< data in memory: reading costs nothing
  kEmulated,  ///< served by cost/storage.h
  kFiles,     ///< a real folder, one subfolder per class
};
/// How outstanding reads share the bandwidth: one after another in the order of their requests, or
/// all at once in equal parts, as many small requests of large reads do.
enum class StorageSharing { kFifo, kFair };
enum class FileCacheState { kAsIs, kCold, kWarm };
enum class OnBadFile { kSkip, kFail };
struct Storage {
  StorageKind kind = StorageKind::kNone;
  std::string preset;  ///< name under configs/storage, empty when inline
  Drawn<Duration> latency;
  std::optional<BytesPerSecond> bandwidth;  ///< absent: unlimited
  StorageSharing sharing = StorageSharing::kFifo;  ///< kFair: in predict only
  std::optional<double> iops_per_s;
  std::optional<int> queue_depth;
  Drawn<Duration> open_cost;
  Cache cache;
  std::filesystem::path path;  ///< kFiles
  bool direct = false;         ///< kFiles: O_DIRECT
  FileCacheState file_cache = FileCacheState::kAsIs;
  OnBadFile on_bad_file = OnBadFile::kFail;  ///< truncated, unreadable or not a JPEG
  bool operator==(const Storage&) const = default;
};

enum class PrepareKind {
  kNone,
  kBurn,    ///< consumes CPU time
  kWait,    ///< waits without using a core
  kDecode,  ///< real JPEG decode, resize, normalise; needs StorageKind::kFiles
};
struct Prepare {
  PrepareKind kind = PrepareKind::kNone;
  Drawn<Duration> cost;  ///< for one sample
  Drawn<Duration> wait = {};  ///< kBurn: time of a sample that needs no core, on top
  bool operator==(const Prepare&) const = default;
};

/// Stated CPU time of collating; a part left out costs nothing where the other is stated. Neither:
/// the profile's.
struct Collate {
  std::optional<Drawn<Duration>> batch;  ///< each batch
  std::optional<Duration> sample;        ///< each of its samples
  bool operator==(const Collate&) const = default;
  bool IsStated() const { return batch || sample; }
};

enum class LoaderKind {
  kThread,   ///< workers are threads of the trainer's process
  kProcess,  ///< workers are processes, as in PyTorch
};
enum class StartMethod { kFork, kForkserver, kSpawn };

enum class Dispatch { kRoundRobin, kShared };
enum class QueueKind { kTbb, kLockfree, kMutex };
enum class Buffers { kRecycled, kFresh };
enum class CollateInto { kPageable, kPinned };

/// With so many workers a batch's hand-over costs what the loader states.
inline constexpr int kUsualWorkers = 2;
/// What it costs with others: one, for which the training process waits, and many, each of which rests for most of its
/// time and wakes up later.
struct HandOverOf {
  int workers = 0;  ///< 0: not stated, the same with any number
  Duration share{}, send{}, serve{}, receive{}, receive_latency{};
  bool operator==(const HandOverOf&) const = default;
};

struct Loader {
  LoaderKind kind = LoaderKind::kThread;
  int workers = 0;
  std::int64_t batch_size = 64;
  int prefetch_factor = 2;  ///< per worker; unused with 0 workers
  bool shuffle = true;
  bool drop_last = false;
  bool in_order = true;
  bool persistent_workers = false;
  bool pin_memory = false;
  std::optional<BytesPerSecond> pin_bandwidth;  ///< of the pin thread's copies; absent: the profile's
  Duration timeout{};  ///< 0: no timeout
  Dispatch dispatch = Dispatch::kRoundRobin;
  QueueKind queue = QueueKind::kTbb;
  std::optional<std::int64_t> queue_capacity;  ///< batches; auto = Window()
  Buffers buffers = Buffers::kRecycled;
  CollateInto collate_into = CollateInto::kPageable;  ///< the memory that workers collate into
  std::optional<Drawn<Duration>> worker_startup;  ///< absent: 0 for threads, else the profile's
  Duration worker_opening{};  ///< then, without a core, for files and connections that its data set opens
  // kProcess; absent: the profile's.
  std::optional<Duration> worker_launch;  ///< of the trainer's process, to start one worker's
  StartMethod start_method = StartMethod::kFork;
  std::optional<Drawn<Duration>> share;    ///< CPU time in the worker's main thread, each batch
  std::optional<Drawn<Duration>> send;     ///< CPU time in the worker's other threads, each batch
  /// CPU time in the worker's thread that hands over the batch's memory, while the trainer takes it.
  std::optional<Drawn<Duration>> serve;
  std::optional<Drawn<Duration>> receive;  ///< CPU time in the trainer's process, each batch
  /// Time without a core until the two have woken each other up, each batch.
  std::optional<Drawn<Duration>> receive_latency;
  /// Longest time without a core until a worker that prepares another batch gives up Python's lock.
  std::optional<Drawn<Duration>> receive_wait;
  HandOverOf of_one;   ///< its number of workers is 1 or 0
  HandOverOf of_many;  ///< with so many workers and more
  std::optional<Bytes> worker_memory;      ///< of one worker, besides its batches
  std::optional<Duration> python_sample;   ///< CPU time of Python's own for each sample
  /// Only how often batches come is known. The diagnosis then says nothing of what loads them.
  bool opaque = false;

  bool operator==(const Loader&) const = default;
  bool HasProcesses() const { return kind == LoaderKind::kProcess && workers > 0; }
  /// Largest number of batches dealt and not yet taken: prefetch_factor × workers.
  std::int64_t Window() const { return static_cast<std::int64_t>(prefetch_factor) * workers; }
};

enum class OmpWait { kDefault, kPassive };
struct Limits {
  std::optional<int> cpu_count;        ///< `cpus: 4`
  std::vector<int> cpu_list;           ///< `cpus: 0-3,6`; neither set: auto
  std::optional<int> compute_threads;  ///< LibTorch intra-op threads of the trainer; auto = cores
  int worker_threads = 1;
  OmpWait omp_wait = OmpWait::kDefault;
  bool operator==(const Limits&) const = default;
};

struct Transfer {
  bool overlap = true;
  bool non_blocking = true;
  bool operator==(const Transfer&) const = default;
};

enum class Precision {
  kFp32,  ///< as PyTorch by default: on a GPU that has TF32, cuDNN's convolutions use it
  kTf32,  ///< matrix products, too
  kBf16   ///< autocast
};
enum class Optimizer { kSgd, kMomentum, kAdam };
struct Training {  ///< the file's `model:` section without the layers
  Precision precision = Precision::kFp32;
  Optimizer optimizer = Optimizer::kSgd;
  double learning_rate = 0.01;
  std::int64_t sync_every = 0;  ///< read the loss back every n steps; 0: never
  bool cuda_graph = false;
  bool operator==(const Training&) const = default;
};

/// A device preset (configs/devices), for the roofline.
struct DevicePreset {
  std::string name;
  std::string source;
  double fp32_flops_per_s = 0;
  double tf32_flops_per_s = 0;  ///< 0: it has no TF32
  double bf16_flops_per_s = 0;
  BytesPerSecond memory_bandwidth;
  Bytes memory;
  BytesPerSecond h2d_bandwidth;  ///< pinned
  Duration launch{};             ///< host time to launch one kernel in a loop of one operation
  /// Host time to launch one kernel of an eager training step, with autograd and optimizer
  Duration step_launch{};
  Duration kernel{};            ///< the shortest time of a kernel on the device
  double efficiency = 1;        ///< share of peak that dense layers reach in practice
  double conv_efficiency = 1;   ///< the same of convolutions
  double product_efficiency = 1;  ///< share of peak that one product of large fp32 matrices reaches
  std::optional<double> compute_capability;  ///< of an NVIDIA GPU: 9.0; sets the libraries' memory
  std::optional<BytesPerSecond> cache_bandwidth;  ///< CPU only: arrays that fit its caches
  bool operator==(const DevicePreset&) const = default;
};
/// Measured step time for one batch size (machine_profile.h).
struct StepPoint {
  std::int64_t samples = 0;
  Duration time{};
  bool operator==(const StepPoint&) const = default;
};
/// A step of base + per_sample × samples.
struct StepCost {
  Drawn<Duration> base, per_sample;
  // On a CPU:
  std::optional<int> threads;        ///< that it was measured on
  std::optional<double> one_thread;  ///< times as long on one of them
  // On a GPU:
  std::optional<Duration> host;    ///< the host's work before it launches the step; absent: none
  std::optional<Duration> launch;  ///< the host's time to launch it, while it computes; absent: none
  /// Of launch, the calling thread's CPU time, in which it needs Python's lock; absent: all of it.
  std::optional<Duration> launch_cpu;
  bool with_copies = false;        ///< these include copying the batch to the GPU
  bool operator==(const StepCost&) const = default;
};
struct Device {
  DeviceKind kind = DeviceKind::kAuto;
  int cuda_index = 0;
  int in_flight = 2;
  // kEmulated: a stated cost of step_base + step_per_sample × samples, or a preset's roofline.
  std::optional<Drawn<Duration>> step_base;
  Drawn<Duration> step_per_sample;
  std::optional<DevicePreset> preset;
  std::optional<StepCost> step;  ///< predict: the measured step of a real device

  DeviceId Id() const { return {kind, kind == DeviceKind::kCuda ? cuda_index : 0}; }
  bool operator==(const Device&) const = default;
};

enum class Probes { kAuto, kOff };

struct Run {
  std::optional<Duration> duration;    ///< measured time after warm-up; absent: auto
  std::optional<std::int64_t> steps;   ///< warm-up included
  std::optional<std::int64_t> epochs;  ///< warm-up included
  std::optional<Duration> warmup;      ///< absent: auto (MSER-5)
  std::uint64_t seed = 1;
  int repeats = 1;
  /// Identical trainers on one host, each with its own loader and device; steps, epochs and
  /// batch_size apply to each. They exchange no gradients. More than one in predict only.
  int accelerators = 1;
  /// Every step is over when all accelerators have finished theirs, as with an all-reduce or in
  /// MLPerf Storage. In predict only.
  bool barrier = false;
  Probes probes = Probes::kAuto;  ///< after the measured time of a run
  // duration: auto runs until all three of these hold, or for max_duration.
  Duration min_duration = std::chrono::seconds(5);
  std::int64_t min_steps = 1;
  double max_noise = 0.02;  ///< half-width of the 95 % interval over the mean
  Duration max_duration = std::chrono::seconds(60);
  bool operator==(const Run&) const = default;
};

struct Experiment {
  int version = 1;
  std::string name;
  Dataset dataset;
  Storage storage;
  Prepare prepare;
  Collate collate;
  Loader loader;
  Limits limits;
  Transfer transfer;
  Model model;
  Training training;
  Device device;
  Run run;

  /// Every key of the experiment file: its value as YAML (a scalar or flow text) and its origin.
  /// Reading these back gives an equal experiment.
  struct Setting {
    std::string text;
    Origin origin = Origin::kDefault;
    bool operator==(const Setting&) const = default;
  };
  std::map<std::string, Setting> settings;

  bool operator==(const Experiment&) const = default;
};

/// Fills in what was counted in the folder of real samples (StorageKind::kFiles), with
/// Origin::kData. `classes` applies only where the experiment sets none.
void SetFromData(Experiment& experiment, std::int64_t samples, std::int64_t classes,
                 Bytes mean_sample_bytes);

/// Samples of one accelerator's epoch: ceil(samples / accelerators). PyTorch's DistributedSampler
/// (torch.utils.data.distributed, 2.11, drop_last=False) repeats samples to make shares equal.
std::int64_t SamplesPerEpoch(const Experiment& experiment);
/// Batches of one accelerator's epoch; the last may be partial unless drop_last.
std::int64_t BatchesPerEpoch(const Experiment& experiment);
/// A key of `loader` that means nothing at 0 workers.
struct WorkerKey {
  const char* name;  ///< without "loader."
  bool on;           ///< it asks for something: timeout 0 and persistent_workers false do not

  std::string path() const { return std::string("loader.") + name; }
};
std::array<WorkerKey, 3> WorkerKeys(const Loader& loader);
/// Flags ask for what means nothing at 0 workers (WorkerKeys). What the file says of them goes when a flag
/// takes the workers away.
bool NeedsWorkers(const Experiment& experiment);
/// Samples of batch `index` (< BatchesPerEpoch) of an epoch.
std::int64_t BatchSamples(const Experiment& experiment, std::int64_t index);

}  // namespace pipesim::spec
