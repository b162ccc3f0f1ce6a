#include "calibrate/calibration.h"

#include <fmt/format.h>

#include <algorithm>
#include <compare>
#include <map>

#include "base/cpus.h"
#include "calibrate/figure_of.h"
#include "calibrate/loops.h"
#include "calibrate/photos.h"
#include "calibrate/runs.h"
#include "cost/roofline.h"

namespace pipesim::calibrate {
namespace {

// Everything is measured in kRounds rounds; figures that scatter by more than kSettled get up to
// kMostRounds.
constexpr int kRounds = 3, kMostRounds = 5;
constexpr double kSettled = 0.05;
constexpr double kLongestStep = 1.0;  // s: larger batches are left to extrapolation
constexpr std::int64_t kLargestBatch = 512;

/// On a CPU steps are measured after these pauses, too, at a few batch sizes: others use the caches
/// meanwhile, and threads go to sleep.
constexpr std::chrono::milliseconds kPauses[] = {std::chrono::milliseconds(10), std::chrono::milliseconds(40)};
constexpr std::int64_t kBatchesAfterPauses[] = {1, 16, 256};
constexpr double kLongestAfterPauses = 0.1;  // s: what a pause adds to longer steps hardly shows

/// Measures one figure, or several that one run yields; called once per round.
struct Probe {
  std::string what;  ///< shown while it is measured
  std::function<void()> measure;
  std::vector<std::vector<double>*> measured{};  ///< where it puts the values
};

/// A key of the profile, and how its figure was obtained.
struct Shown {
  std::string key, how;
};
/// In the order of their keys; nullopt where a run did not yield the figure, empty if it failed.
using Values = std::vector<std::optional<double>>;

bool IsSettled(const Probe& probe) {
  return std::all_of(probe.measured.begin(), probe.measured.end(),
                     [](const auto* values) { return SpreadOf(*values) <= kSettled; });
}

std::vector<int> ThreadCounts(int most) {
  std::vector<int> counts;
  for (int threads = 1; threads < most; threads *= 2) counts.push_back(threads);
  counts.push_back(most);
  return counts;
}

/// Collects the measurements of one calibration and turns them into a profile.
class Calibration {
 public:
  Calibration(const Plan& plan, const Control& control)
      : plan_(plan),
        control_(control),
        runs_(plan.experiment, plan.data, control.runner, control.stop) {}

  std::optional<spec::MachineProfile> Run() {
    AddLoops();
    AddLoading();
    AddFiles();
    if (TrainsForReal()) AddTraining();
    if (!MeasureInTurns()) return std::nullopt;
    return Profile();
  }

 private:
  bool TrainsForReal() const { return !plan_.experiment.device.Id().IsEmulated(); }
  bool OnCpu() const { return plan_.experiment.device.Id().IsCpu(); }
  int AllCores() const { return std::max(1, static_cast<int>(Cores())); }
  static double Cores() { return base::ReadCpuAllowance().Cores(); }

  /// `measure` returns a number or an optional one.
  template <class Measure>
  void Add(const std::string& key, const std::string& what, const std::string& how,
           Measure measure) {
    AddTogether(what, {{key, how}}, [measure] { return Values{measure()}; });
  }
  void AddTogether(const std::string& what, const std::vector<Shown>& figures,
                   const std::function<Values()>& measure);

  void AddLoops();
  void AddLoading();
  void AddFiles();
  void AddTraining();
  void AddStep(const std::string& model, int threads, std::int64_t batch);
  void AddAfterPauses(const std::string& model, int threads);
  void AddHost(const std::string& model, double host_s);
  void AddCpuRoofline();
  void AddCopies();
  bool MeasureInTurns();
  spec::MachineProfile Profile() const;
  void AddStepsTo(spec::MachineProfile& profile) const;

  struct StepKey {
    std::string model;
    int threads = 1;
    std::int64_t batch = 1;
    base::Duration after_pause{};
    auto operator<=>(const StepKey&) const = default;
  };
  double ExpectedSeconds(const StepKey& key) const;

  const Plan& plan_;
  const Control& control_;
  ProbeRuns runs_;
  std::optional<Photos> photos_;
  std::vector<Probe> probes_;
  std::map<std::string, std::vector<double>> values_;
  std::map<std::string, std::string> hows_;
  std::map<StepKey, std::vector<double>> steps_;
  std::map<StepKey, std::vector<double>> launches_;  ///< on a GPU: host time, where it sets the pace
  std::map<StepKey, std::vector<double>> gaps_;      ///< on a GPU: kernels wait for launches
};

void Calibration::AddTogether(const std::string& what, const std::vector<Shown>& figures,
                              const std::function<Values()>& measure) {
  std::vector<std::vector<double>*> measured;
  for (const Shown& figure : figures) {
    hows_[figure.key] = figure.how;
    measured.push_back(&values_[figure.key]);
  }
  const auto once = [measured, measure] {
    const Values values = measure();
    for (std::size_t i = 0; i < values.size(); ++i)
      if (values[i]) measured[i]->push_back(*values[i]);
  };
  probes_.push_back({what, once, measured});
}

void Calibration::AddLoops() {
  Add("worker_startup", "thread start", "measured: from starting a thread to its first instruction",
      [] { return WorkerStartupSeconds(); });
  Add("wake_up", "wake-ups", "measured: from sem_post to the return of sem_wait, asleep for 0.5 ms",
      [] { return WakeUpSeconds(); });
  Add("barrier_slice", "turns on a core",
      "measured: how long one of two threads on a processor waits for its next turn",
      [] { return TurnSeconds(); });
  Add("cache_bandwidth", "memory bandwidth", "measured: triad over 3 arrays of 1 MiB",
      [] { return TriadBytesPerSecond(1, cost::kCachedBytes); });
  Add("memory_bandwidth", "memory bandwidth", "measured: triad over 3 arrays of 32 MiB",
      [] { return TriadBytesPerSecond(1, cost::kUncachedBytes); });
  const int cores = AllCores();
  if (cores < 2) return;
  Add("burn_handover", "burning", "measured: wall time of 1 ms burned by two threads beyond 0.5 ms",
      [] { return BurnHandoverSeconds(); });
  Add("memory_bandwidth_all_cores", "memory bandwidth",
      fmt::format("measured: the same on {} threads, summed", cores),
      [cores] { return TriadBytesPerSecond(cores, cost::kUncachedBytes); });
}

void Calibration::AddLoading() {
  Add("collate_batch", "collate", "measured: demands.collate_s of 64 samples of a byte",
      [this] { return runs_.CollateBatchSeconds(); });
  Add("collate_bandwidth", "collate", "measured: demands.collate_s of 64 samples of 147 KiB",
      [this] { return runs_.CollateBytesPerSecond(1); });
  Add("fault_bandwidth", "page faults", "measured: the same with fresh buffers, the copy left out",
      [this] { return runs_.FaultBytesPerSecond(); });
  const int cores = AllCores();
  if (cores < 2) return;
  Add("collate_bandwidth_all_cores", "collate",
      fmt::format("measured: the same by {} workers together", cores),
      [this, cores] { return runs_.CollateBytesPerSecond(cores); });
}

void Calibration::AddFiles() {
  if (!plan_.folder) photos_.emplace();
  const std::filesystem::path folder = plan_.folder ? *plan_.folder : photos_->folder();
  const std::string whose =
      plan_.folder ? "of " + folder.string() : "of generated pictures of 500x375";
  AddTogether(
      "decoding",
      {{"read_bandwidth", "measured: stored bytes over demands.read_cpu_s " + whose + ", warm"},
       {"decode_bandwidth",
        "measured: stored bytes over demands.prepare_cpu_s " + whose + ", warm"}},
      [this, folder]() -> Values {
        const auto decoding = runs_.DecodeFiles(folder);
        if (!decoding) return {};
        return {decoding->read_bytes_per_s, decoding->decoded_bytes_per_s};
      });
  if (!plan_.folder) return;
  AddTogether(
      "cold reads",
      {{"storage_latency", "measured: demands.read_s a file, one reader, cold, " + whose},
       {"storage_bandwidth", "measured: storage_bytes_per_s of 16 readers, cold, " + whose}},
      [this, folder]() -> Values {
        const auto reading = runs_.ColdReading(folder);
        if (!reading) return {};
        return {reading->latency_s, reading->bytes_per_s};
      });
}

void Calibration::AddTraining() {
  const int most = OnCpu() ? *plan_.experiment.limits.compute_threads : 1;
  for (const std::string& model : plan_.models) {
    for (const int threads : ThreadCounts(most)) {
      const std::int64_t own = plan_.experiment.loader.batch_size;
      for (std::int64_t batch = 1; batch <= std::max(kLargestBatch, own); batch *= 2) {
        AddStep(model, threads, batch);
        if (own > batch && own < 2 * batch) AddStep(model, threads, own);
      }
      if (OnCpu()) AddAfterPauses(model, threads);
    }
  }
  OnCpu() ? AddCpuRoofline() : AddCopies();
}

/// What the largest batch up to this one suggests; 0: none was measured yet.
double Calibration::ExpectedSeconds(const StepKey& key) const {
  double expected_s = 0;
  for (const auto& [known, times] : steps_) {
    if (known.model != key.model || known.threads != key.threads || known.batch > key.batch ||
        known.after_pause > base::Duration::zero() || times.empty())
      continue;
    expected_s = times.back() * static_cast<double>(key.batch) / static_cast<double>(known.batch);
  }
  return expected_s;
}

/// The smaller batch measured before tells how many steps to run, and whether to run any.
void Calibration::AddStep(const std::string& model, int threads, std::int64_t batch) {
  const StepKey key{model, threads, batch};
  const auto measure = [this, key] {
    const double expected_s = ExpectedSeconds(key);
    if (expected_s > kLongestStep) return;
    const auto step = runs_.StepOf(key.model, key.threads, key.batch, expected_s);
    if (!step) return;
    steps_[key].push_back(step->step_s);
    // Where the device is the slower one, launching may wait for room in its queue.
    const bool launches_freely = key.batch == 1 || step->host_s >= step->step_s;
    if (!OnCpu() && launches_freely) launches_[key].push_back(step->host_s);
    if (!OnCpu()) gaps_[key].push_back(step->gap_s);
    if (key.batch == 1) AddHost(key.model, step->host_s);
  };
  probes_.push_back({fmt::format("steps of {}, batch {}, {} thread{}", model, batch, threads,
                                 threads == 1 ? "" : "s"),
                     measure,
                     {&steps_[key]}});
}

void Calibration::AddAfterPauses(const std::string& model, int threads) {
  for (const std::int64_t batch : kBatchesAfterPauses) {
    for (const base::Duration pause : kPauses) {
      const StepKey key{model, threads, batch, pause};
      const auto measure = [this, key] {
        const double expected_s = ExpectedSeconds(key);
        if (expected_s > kLongestAfterPauses) return;
        const auto step = runs_.StepOf(key.model, key.threads, key.batch, expected_s, key.after_pause);
        if (step) steps_[key].push_back(step->step_s);
      };
      probes_.push_back({fmt::format("steps of {}, batch {}, {} thread{}, after pauses", model, batch,
                                     threads, threads == 1 ? "" : "s"),
                         measure,
                         {&steps_[key]}});
    }
  }
}

/// On a GPU the host's time is the launch time of the step's kernels.
void Calibration::AddHost(const std::string& model, double host_s) {
  if (OnCpu()) {
    hows_["host_step"] = "measured: demands.host_s of steps of one sample";
    values_["host_step"].push_back(host_s);
    return;
  }
  hows_["launch"] = "measured: demands.host_s of steps of one sample, by kernel";
  const spec::Experiment experiment = ExperimentOf(model, plan_.data);
  values_["launch"].push_back(host_s / cost::LaunchesOfStep(experiment.model,
                                                            experiment.dataset.shape,
                                                            plan_.experiment.training));
}

void Calibration::AddCpuRoofline() {
  const auto gflops = [this](int threads) {
    const auto flops = runs_.DenseFlopsPerSecond(threads);
    return flops ? std::optional(*flops / 1e9) : std::nullopt;
  };
  Add("fp32_gflops", "dense products", "measured: training 2048-wide linear layers, batch 256",
      [gflops] { return gflops(1); });
  Add("operation", "operations", "measured: a step of model linear with one sample, by operation",
      [this]() -> std::optional<double> {
        const auto step = runs_.StepOf("linear", 1, 1, 0);
        if (!step) return std::nullopt;
        const spec::Experiment linear = ExperimentOf("linear", plan_.data);
        return step->step_s /
               cost::LaunchesOfStep(linear.model, linear.dataset.shape, linear.training);
      });
  const int cores = AllCores();
  if (cores < 2) return;
  if (plan_.experiment.limits.omp_wait == spec::OmpWait::kDefault) {
    Add("pool_spin", "the pool's spinning",
        "measured: CPU time beyond steps of mlp on 2 threads that are 20 ms apart",
        [this] { return runs_.PoolSpinSeconds(); });
  }
  Add("fp32_gflops_all_cores", "dense products",
      fmt::format("measured: the same on {} threads", cores),
      [gflops, cores] { return gflops(cores); });
}

void Calibration::AddCopies() {
  AddTogether("copies to the device",
              {{"h2d_latency", "measured: demands.h2d_s of one sample, page-locked"},
               {"h2d_bandwidth", "measured: demands.h2d_s of 256 samples of 147 KiB, page-locked"},
               {"h2d_pageable_bandwidth",
                "measured: demands.h2d_s of 256 samples of 147 KiB, not page-locked"},
               {"pin_bandwidth", "measured: demands.pin_s of 256 samples of 147 KiB"},
               {"device_memory", "as the driver says"}},
              [this]() -> Values {
                const auto copying = runs_.CopyToDevice();
                if (!copying) return {};
                return {copying->h2d_latency_s, copying->h2d_bytes_per_s,
                        copying->h2d_pageable_bytes_per_s, copying->pin_bytes_per_s,
                        copying->memory_bytes};
              });
}

bool Calibration::MeasureInTurns() {
  double done = 0;
  for (int round = 0; round < kMostRounds; ++round) {
    std::vector<const Probe*> turn;
    for (const Probe& probe : probes_)
      if (round < kRounds || !IsSettled(probe)) turn.push_back(&probe);
    const double rounds = std::max(kRounds - round, 1);
    const double all = done + rounds * static_cast<double>(turn.size());
    for (const Probe* probe : turn) {
      if (control_.stop != nullptr && control_.stop->IsSet()) return false;
      if (control_.on_progress) control_.on_progress(probe->what, done++ / all);
      probe->measure();
    }
  }
  return control_.stop == nullptr || !control_.stop->IsSet();
}

spec::MachineProfile Calibration::Profile() const {
  spec::MachineProfile profile;
  profile.cpu = base::CpuModelName();
  profile.cores = Cores();
  profile.date = plan_.date;
  profile.gpu = plan_.gpu;
  profile.source = fmt::format("pipesim calibrate {}, medians of {} to {} rounds", plan_.program,
                               kRounds, kMostRounds);
  spec::ForEachFigure(profile.figures,
                      [&]<class T>(std::string_view key, spec::MaybeFigure<T>& figure) {
                        const auto values = values_.find(std::string(key));
                        if (values != values_.end())
                          figure = FigureOf<T>(values->second, hows_.at(values->first));
                      });
  AddStepsTo(profile);
  return profile;
}

void Calibration::AddStepsTo(spec::MachineProfile& profile) const {
  const spec::Experiment& experiment = plan_.experiment;
  for (const auto& step : steps_) {
    const StepKey& key = step.first;
    const auto time = FigureOf<base::Duration>(step.second, "measured: demands.step_s");
    if (!time) continue;
    const spec::Experiment natural = ExperimentOf(key.model, plan_.data);
    const auto median = [&](const auto& measured) -> std::optional<base::Duration> {
      const auto values = measured.find(key);
      if (values == measured.end()) return std::nullopt;
      const auto figure = FigureOf<base::Duration>(values->second, {});
      return figure ? std::optional(figure->value) : std::nullopt;
    };
    profile.steps.push_back(
        {.model = natural.model.name,
         .shape = natural.dataset.shape,
         .device = experiment.device.Id(),
         .threads = key.threads,
         .omp_wait = key.threads > 1 ? experiment.limits.omp_wait : spec::OmpWait::kDefault,
         .precision = experiment.training.precision,
         .optimizer = experiment.training.optimizer,
         .batch = key.batch,
         .after_pause = key.after_pause,
         .time = *time,
         .launch = median(launches_),
         .gap = median(gaps_)});
  }
}

bool SameStep(const spec::ProfileStep& a, const spec::ProfileStep& b) {
  return a.model == b.model && a.shape == b.shape && a.device == b.device &&
         a.threads == b.threads && a.omp_wait == b.omp_wait && a.precision == b.precision &&
         a.optimizer == b.optimizer && a.batch == b.batch && a.after_pause == b.after_pause;
}

}  // namespace

std::optional<spec::MachineProfile> MeasureMachine(const Plan& plan, const Control& control) {
  return Calibration(plan, control).Run();
}

bool SetMeasured(spec::MachineFigures& figures, std::string_view key,
                 const std::vector<double>& values, const std::string& how) {
  bool set = false;
  spec::ForEachFigure(figures, [&]<class T>(std::string_view name, spec::MaybeFigure<T>& figure) {
    if (name != key) return;
    figure = FigureOf<T>(values, how);
    set = figure.has_value();
  });
  return set;
}

spec::MachineProfile Merged(spec::MachineProfile older, const spec::MachineProfile& newer) {
  spec::MachineProfile merged = newer;
  spec::ForEachFigure(
      merged.figures, [&]<class T>(std::string_view key, spec::MaybeFigure<T>& figure) {
        if (figure) return;
        spec::ForEachFigure(older.figures, [&](std::string_view old_key, auto& old) {
          if constexpr (std::is_same_v<decltype(old), spec::MaybeFigure<T>&>) {
            if (key == old_key) figure = old;
          }
        });
      });
  for (const spec::ProfileStep& step : older.steps) {
    const auto same = [&](const spec::ProfileStep& other) { return SameStep(step, other); };
    if (std::none_of(newer.steps.begin(), newer.steps.end(), same)) merged.steps.push_back(step);
  }
  if (merged.gpu.empty()) merged.gpu = older.gpu;
  return merged;
}

}  // namespace pipesim::calibrate
