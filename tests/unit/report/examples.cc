#include "examples.h"

#include <cmath>

namespace pipesim::tests {
namespace {

using diagnose::Confidence;
using diagnose::Full;
using diagnose::Side;
using diagnose::Takes;
using diagnose::Verdict;
using report::RunReport;
using spec::Origin;
using trace::EndReason;

constexpr double kMs = 1e-3;
constexpr double kGiB = 1024.0 * 1024 * 1024;

void Set(RunReport& report, const std::string& path, const std::string& text, Origin origin) {
  report.experiment.settings[path] = {text, origin};
}

std::int64_t Gib(double count) { return std::llround(count * kGiB); }

measure::Interval Within(double rate, double share) {
  return {rate * (1 - share), rate * (1 + share), 0.95, "batch means (20)"};
}

diagnose::WhatIf Change(std::string change, double samples_per_s, double gain,
                        std::optional<Verdict> then, Takes takes) {
  diagnose::WhatIf row;
  row.change = std::move(change);
  row.samples_per_s = samples_per_s;
  row.gain = gain;
  row.then = then;
  row.takes = takes;
  return row;
}

diagnose::WhatIf Range(std::string change, double low, double high, Takes takes) {
  diagnose::WhatIf row = Change(std::move(change), 1200 * (1 + (low + high) / 2), (low + high) / 2,
                                std::nullopt, takes);
  row.gain_interval = measure::Interval{low, high, 0.95, "batch means (9)"};
  return row;
}

report::Context Machine(std::vector<std::string> argv) {
  report::Context context;
  context.version = "0.1.0";
  context.commit = "0123456";
  context.build = "Release, GNU 12.2.0";
  context.date = "2026-01-31T12:00:00Z";
  context.host = "example";
  context.cpu = "Example CPU, 8 cores";
  context.os = "Linux 6.1";
  context.load_average_1min = 0.25;
  context.libtorch_version = "2.11.0";
  context.argv = std::move(argv);
  return context;
}

void SetLoader(RunReport& report, int workers, Origin origin) {
  report.experiment.loader.workers = workers;
  report.experiment.loader.batch_size = 256;
  Set(report, "loader.workers", std::to_string(workers), origin);
  Set(report, "loader.batch_size", "256", origin);
  Set(report, "loader.prefetch_factor", "2", Origin::kDefault);
  Set(report, "run.max_noise", "2%", Origin::kDefault);
  Set(report, "run.max_duration", "60s", Origin::kDefault);
}

void SetModel(RunReport& report) {
  report.experiment.model.name = "mlp";
  Set(report, "model.name", "mlp", Origin::kFlag);
}

void SetGpu(RunReport& report) {
  trace::Effective& effective = report.measurement.effective;
  effective.cores = 8;
  effective.cpus = {0, 1, 2, 3, 4, 5, 6, 7};
  effective.compute_threads = 1;
  effective.device = spec::DeviceId::Cuda(0);
  effective.device_name = "Example GPU 8 GiB";
  effective.device_asynchronous = true;
  report.measurement.resources.cores = 8;
}

void SetStorage(RunReport& report, const std::string& preset, Origin origin) {
  report.experiment.storage.kind = spec::StorageKind::kEmulated;
  report.experiment.storage.preset = preset;
  Set(report, "storage.preset", preset, origin);
}

void SetPrepare(RunReport& report, const std::string& cost, Origin origin) {
  report.experiment.prepare.kind = spec::PrepareKind::kBurn;
  Set(report, "prepare.cost", cost, origin);
}

/// A window of `steps` steps of `step_s` and batches of 256.
measure::Result Window(std::int64_t steps, double step_s, double noise) {
  measure::Result result;
  const double rate = 256 / step_s;
  result.samples_per_s = result.samples_per_s_each = rate;
  result.samples_per_s_interval = Within(rate, noise);
  result.steps_per_s = 1 / step_s;
  result.step_time = measure::StepTime{step_s, std::nullopt, std::nullopt, std::nullopt};
  result.measured_s = static_cast<double>(steps) * step_s;
  result.steps = steps;
  result.samples = steps * 256;
  return result;
}

measure::Device DeviceTimes(std::int64_t steps, double starved_ms, double busy_ms, double launch_ms,
                            double transfer_ms) {
  const double n = static_cast<double>(steps) * kMs;
  measure::Device device;
  device.clock = "cuda events";
  device.starved_s = n * starved_ms;
  device.busy_s = n * busy_ms;
  device.launch_s = n * launch_ms;
  device.transfer_s = n * transfer_ms;
  device.wall_s = n * (starved_ms + busy_ms + launch_ms + transfer_ms);
  return device;
}

struct WorkerMs {
  double read, prepare, collate, contended, blocked;
};

measure::Workers WorkerTimes(int count, std::int64_t steps, const WorkerMs& ms) {
  const double n = static_cast<double>(steps) * kMs;
  measure::Workers workers;
  workers.count = count;
  workers.read_s = n * ms.read;
  workers.prepare_s = n * ms.prepare;
  workers.collate_s = n * ms.collate;
  workers.contended_s = n * ms.contended;
  workers.blocked_on_consumer_s = n * ms.blocked;
  workers.wall_s = n * (ms.read + ms.prepare + ms.collate + ms.contended + ms.blocked);
  for (int i = 0; i < count && count > 1; ++i) {
    measure::Workers one = WorkerTimes(1, steps,
                                       {ms.read / count, ms.prepare / count, ms.collate / count,
                                        ms.contended / count, ms.blocked / count});
    workers.each.push_back(one);
  }
  return workers;
}

}  // namespace

RunReport IoBound() {
  RunReport report;
  report.context = Machine({"imagenet.yaml", "--workers", "4", "--batch", "256", "--model", "mlp"});
  SetLoader(report, 4, Origin::kFlag);
  SetModel(report);
  SetStorage(report, "sata-ssd", Origin::kFile);
  SetPrepare(report, "200us", Origin::kFile);
  SetGpu(report);

  measure::Measurement& m = report.measurement;
  m.result = Window(183, 54.7 * kMs, 0.007);
  m.result.step_time->p50_s = 15.6 * kMs;
  m.result.step_time->p95_s = 176 * kMs;
  m.result.warmup_s = 1.2;
  m.result.time_to_first_batch_s = 0.22;
  m.result.accelerator_utilization = 15.5 / 54.7;
  m.device = DeviceTimes(183, 38.3, 15.5, 0.6, 0.3);
  m.consumer.wall_s = m.result.measured_s;
  m.consumer.starved_s = 183 * 38.6 * kMs;
  m.consumer.host_s = 183 * 0.9 * kMs;
  m.consumer.compute_s = m.consumer.wall_s - m.consumer.starved_s - m.consumer.host_s;
  m.workers = WorkerTimes(4, 183, {163.7, 51.2, 3.3, 0.6, 0});
  m.queue = {8, 0.9, 0.7, 0.0};
  m.transfer = {183LL * 256 * 150'528, 12e9};
  m.memory = {900'000'000, Gib(0.9), Gib(8), 8LL * 256 * 150'528};
  m.resources.cores_used = 1.2;
  m.resources.cpu_utilization = 1.2 / 8;
  m.resources.storage_utilization = 527.1 / 550;
  m.resources.storage_bytes_per_s = 256 / 0.0547 * 112'640;
  m.resources.reads_per_s = 256 / 0.0547;
  m.resources.gpu_utilization_nvml = 0.30;
  m.resources.gpu = measure::Gpu{52.4, 115, 2460, 3105, 8501};
  m.warnings = {{"bursts",
                 "Steps come in bursts of 4 (one slow, three fast). Workers finish together; this "
                 "is starvation, not noise."}};

  diagnose::Diagnosis& d = report.diagnosis;
  d.bottleneck = Verdict::kIoBound;
  d.confidence = Confidence::kHigh;
  d.side = Side::kInput;
  d.second = Verdict::kLoaderBound;
  d.headline = "storage limits training; the GPU is 28 % busy";
  d.evidence = {{"workers spend 75 % of their time in read", "workers.read_s", 163.7 / 218.8, {}},
                {"storage delivers 527 of its 550 MB/s", "resources.storage_bytes_per_s",
                 m.resources.storage_bytes_per_s, 550e6},
                {"faster storage gives up to +155 %", "diagnosis.what_if[0].gain", 1.55, {}},
                {"more workers only +4 %", "diagnosis.what_if[4].gain", 0.04, {}}};
  d.ladder = {{"GPU", 15.5 / 54.7, 1, "fraction", Full::kNo, false},
              {"CPU", 1.2, 8, "cores", Full::kNo, false},
              {"IO", m.resources.storage_bytes_per_s, 550e6, "bytes/s", Full::kYes, true}};
  d.what_if = {
      Change("free data (upper bound)", 16'516, 2.53, Verdict::kComputeBound, Takes::kNothing),
      Change("all in page cache (144 GB)", 16'516, 2.53, Verdict::kComputeBound, Takes::kMemory),
      Change("storage x2", 8'284, 0.77, Verdict::kLoaderBound, Takes::kDevice),
      Change("workers 4 to 8", 4'867, 0.04, Verdict::kIoBound, Takes::kFlag),
      Change("prepare x1/2", 4'820, 0.03, Verdict::kIoBound, Takes::kCode),
      Change("GPU x2", 4'690, 0.002, Verdict::kIoBound, Takes::kDevice),
      Change("free copies (upper bound)", 4'690, 0.002, Verdict::kIoBound, Takes::kNothing),
      Change("prefetch 2 to 4", 4'685, 0.001, Verdict::kIoBound, Takes::kFlag)};
  d.what_if[1].feasible_here = false;
  d.recommendation = diagnose::Recommendation{
      "faster storage and two workers more",
      {{"storage", "nvme"}, {"loader.workers", "6"}},
      "DataLoader(dataset, batch_size=256, num_workers=6, prefetch_factor=2)",
      16'516,
      2.53};
  report.next_argv = {"pipesim", "imagenet.yaml", "--batch", "256",       "--model",
                      "mlp",     "--storage",     "nvme",    "--workers", "6"};
  d.enough = diagnose::EnoughWorkers{5, 2, 0.99, 2LL * 256 * 150'528};
  return report;
}

RunReport ComputeBound() {
  RunReport report;
  report.context = Machine({"--workers", "4", "--batch", "256", "--model", "mlp"});
  SetLoader(report, 4, Origin::kFlag);
  SetModel(report);
  SetStorage(report, "ram", Origin::kModel);
  SetPrepare(report, "5us", Origin::kModel);
  Set(report, "dataset.samples", "65536", Origin::kModel);
  Set(report, "dataset.sample_bytes", "784B", Origin::kModel);
  Set(report, "dataset.shape", "[1, 28, 28]", Origin::kModel);

  measure::Measurement& m = report.measurement;
  m.effective.cores = 8;
  m.effective.compute_threads = 8;
  m.effective.device = spec::DeviceId::Cpu();
  m.result = Window(3'333, 3.0 * kMs, 0.004);
  m.result.step_time->p50_s = 2.98 * kMs;
  m.result.step_time->p95_s = 3.21 * kMs;
  m.result.warmup_s = 0.5;
  m.result.time_to_first_batch_s = 2 * kMs;
  m.result.accelerator_utilization = 2.93 / 3;
  const double n = 3'333 * kMs;
  m.consumer.wall_s = n * 3;
  m.consumer.compute_s = n * 2.93;
  m.consumer.forward_s = n * 0.95;
  m.consumer.backward_s = n * 1.55;
  m.consumer.optimizer_s = n * 0.43;
  m.consumer.host_s = n * 0.05;
  m.consumer.starved_s = n * 0.01;
  m.consumer.other_s = n * 0.01;
  m.workers = WorkerTimes(4, 3'333, {0.03, 1.28, 0.05, 0.25, 10.39});
  m.queue = {8, 7.4, 0.0, 0.93};
  m.resources.cores = 8;
  m.resources.cores_used = 7.7;
  m.resources.cpu_utilization = 7.7 / 8;
  m.resources.cores_used_training = 7.2;
  m.resources.cores_used_loading = 0.5;
  m.resources.storage_utilization = 0.01;
  m.resources.storage_bytes_per_s = 256 / 0.003 * 784;
  m.resources.reads_per_s = 256 / 0.003;
  m.memory = {700'000'000, std::nullopt, std::nullopt, 8LL * 256 * 784};

  diagnose::Diagnosis& d = report.diagnosis;
  d.bottleneck = Verdict::kComputeBound;
  d.confidence = Confidence::kHigh;
  d.side = Side::kCompute;
  d.headline = "healthy; training never waits for data";
  d.evidence = {{"98 % of each step is training", "consumer.compute_s", 2.93 / 3, {}},
                {"the queue is full 93 % of the time", "queue.full_fraction", 0.93, {}},
                {"free data would give only +0.3 %", "diagnosis.what_if[3].gain", 0.003, {}}};
  d.ladder = {{"GPU", {}, {}, "fraction", Full::kUnknown, false},
              {"CPU", 7.7, 8, "cores", Full::kYes, true},
              {"IO", m.resources.storage_bytes_per_s, {}, "bytes/s", Full::kNo, false}};
  d.what_if = {Change("free compute (upper bound)", 752'900, 7.83, Verdict::kCpuBound, Takes::kNothing),
               Change("device x2", 166'800, 0.955, Verdict::kComputeBound, Takes::kDevice),
               Change("batch 256 to 512", 93'090, 0.09, Verdict::kComputeBound, Takes::kFlag),
               Change("free data (upper bound)", 85'600, 0.003, Verdict::kComputeBound, Takes::kNothing),
               Change("workers 4 to 8", 85'330, 0, Verdict::kComputeBound, Takes::kFlag)};
  d.what_if[2].changes_training = true;
  d.recommendation =
      diagnose::Recommendation{"nothing to fix in the input pipeline", {}, "", {}, {}};
  d.enough = diagnose::EnoughWorkers{1, 2, 1.0, 2LL * 256 * 784};
  return report;
}

RunReport Inconclusive() {
  RunReport report;
  report.context = Machine(
      {"scans.yaml", "--workers", "4", "--batch", "256", "--model", "mlp", "--duration", "2s"});
  SetLoader(report, 4, Origin::kFlag);
  SetModel(report);
  SetStorage(report, "nfs", Origin::kFile);
  SetPrepare(report, "{distribution: lognormal, mean: 1.6ms, stdev: 3ms}", Origin::kFile);
  Set(report, "run.duration", "2s", Origin::kFlag);
  SetGpu(report);

  measure::Measurement& m = report.measurement;
  m.result = Window(9, 213 * kMs, 0.31);
  m.result.stopped_by = EndReason::kDuration;
  m.result.step_time->p50_s = 15.6 * kMs;
  m.result.warmup_s = 0.9;
  m.result.time_to_first_batch_s = 0.85;
  m.result.accelerator_utilization = 15.5 / 213;
  m.device = DeviceTimes(9, 196.6, 15.5, 0.6, 0.3);
  m.workers = WorkerTimes(4, 9, {436, 412, 4, 0, 0});
  m.workers.unmeasured = {"contended"};
  m.queue = {8, 0.6, 0.9, 0.0};
  m.resources.cores_used = 2.1;
  m.resources.cpu_utilization = 2.1 / 8;
  m.resources.storage_utilization = 0.63;
  m.resources.storage_bytes_per_s = 256 / 0.213 * 61'440;
  m.resources.reads_per_s = 256 / 0.213;

  diagnose::Diagnosis& d = report.diagnosis;
  d.bottleneck = Verdict::kInconclusive;
  d.side = Side::kInput;
  d.headline = "the input side limits training; 9 steps do not show which part";
  d.evidence = {{"the GPU is starved 92 % of the time, so no GPU change can help",
                 "device.starved_s",
                 196.6 / 213,
                 {}}};
  d.candidates = {Verdict::kLoaderBound, Verdict::kIoBound, Verdict::kCpuBound};
  d.ruled_out = {"compute-bound"};
  d.missing = {{"result.steps", "9 measured steps (at least 30 are needed)"},
               {"result.samples_per_s_interval", "interval ±31 % (5 % is needed to rank)"},
               {"workers.contended_s", "run-queue wait unknown"}};
  d.ladder = {{"GPU", 15.5 / 213, 1, "fraction", Full::kNo, false},
              {"CPU", 2.1, 8, "cores", Full::kNo, false},
              {"IO", m.resources.storage_bytes_per_s, 117e6, "bytes/s", Full::kUnsure, false}};
  d.what_if = {Range("workers 4 to 8", 0.12, 0.95, Takes::kFlag),
               Range("storage x2", 0.05, 0.58, Takes::kDevice),
               Range("prepare x1/2", 0.04, 0.52, Takes::kCode),
               Range("GPU x2", 0, 0.01, Takes::kDevice)};
  d.recommendation = diagnose::Recommendation{
      "about 350 steps (75 s) would bring ±31 % to ±5 %", {{"run.steps", "350"}}, "", {}, {}};
  report.next_argv = {"pipesim", "scans.yaml", "--workers", "4",       "--batch",
                      "256",     "--model",    "mlp",       "--steps", "350"};
  return report;
}

RunReport OutOfMemory() {
  RunReport report = ComputeBound();
  report.measurement.result.stopped_by = EndReason::kOutOfMemory;
  report.measurement.failure =
      "the trainer asked for 9.1 GiB for the activations of step 3,500, 7.4 GiB were free";
  report.diagnosis.confidence = Confidence::kLow;
  return report;
}

RunReport NothingMeasured() {
  RunReport report;
  report.context = Machine({"--data", "my photos", "--model", "resnet18"});
  report.experiment.storage.kind = spec::StorageKind::kFiles;
  report.experiment.storage.path = "my photos";
  report.experiment.prepare.kind = spec::PrepareKind::kDecode;
  report.storage = report::Reality::kReal;
  SetLoader(report, 2, Origin::kFlag);
  report.measurement.result.stopped_by = EndReason::kFailed;
  report.measurement.failure = "worker 1: my photos/cat/1.jpg: not a JPEG file";
  report.measurement.bad_sample_count = 1;
  report.measurement.bad_samples = {{"my photos/cat/1.jpg", "not a JPEG file"}};
  report.measurement.warnings = {
      {"nothing-measured", "Nothing was measured: no step was finished in 0.01 s."}};
  report.diagnosis.headline = "the evidence does not show what limits training";
  return report;
}

RunReport NoWorkers() {
  RunReport report = IoBound();
  report.device = report::Reality::kEmulated;
  report.experiment.device.kind = spec::DeviceKind::kEmulated;
  report.measurement.effective.device = spec::DeviceId::Emulated();
  report.measurement.effective.device_name = "rtx-4060";
  report.measurement.resources.gpu_utilization_nvml = std::nullopt;
  report.measurement.resources.gpu = std::nullopt;
  SetLoader(report, 0, Origin::kFlag);
  report.measurement.workers = WorkerTimes(0, 183, {30, 7, 1.3, 0, 0});
  report.measurement.queue = {};
  return report;
}

}  // namespace pipesim::tests
