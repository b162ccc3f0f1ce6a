#include "engine/torch/cpu_trainer.h"

#include <torch/torch.h>

#include <algorithm>
#include <functional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "base/cpus.h"
#include "base/stats.h"
#include "engine/torch/errors.h"
#include "engine/torch/threads.h"
#include "engine/torch/training_step.h"

namespace pipesim::engine {

namespace {

/// The time of the steps that are repeated for one figure: at least, and at most, unless a share of the run is less.
/// They are repeated until blocks of this length say the mean to within a share of itself: on a virtual machine means
/// over 0.2 s of mlp's steps differed by 20 % (standard deviation, on one thread and on two).
constexpr double kMeasure_s = 0.2, kMost_s = 1, kMostOfRun = 0.1;
constexpr double kBlock_s = 0.04, kKnown = 0.05, kLevel = 0.95;
constexpr std::size_t kFewestBlocks = 4;
/// The longest step that is repeated: by the run's shortest, since beside other programs any one may take many times
/// as long.
constexpr double kLongest_s = 0.5;
/// The longest step, as expected, that is timed on one thread; longer ones where they take hardly longer
/// than a step of the run. Beside other programs a pool's step may take ten times as long as on one thread, so
/// that one tells what the pool loses.
constexpr double kLongestOnOneThread_s = 3, kHardlyLonger = 1.2;
/// The longest pause between repeated steps, and the fewest of them where pauses are long.
constexpr base::Duration kLongestPause = std::chrono::milliseconds(50);
constexpr std::size_t kFewestSteps = 8;

/// A pool that spins after a step sleeps long before this is over: libgomp's 300,000 turns take 5 to 17 ms, by the
/// processor.
constexpr base::Duration kAsleepAfter = std::chrono::milliseconds(50);
constexpr int kSpins = 3;

/// What steps took one after another, in blocks, since a machine's slow moments last for several steps.
class Blocks {
 public:
  void Add(double step_s) {
    sum_s_ += step_s;
    ++count_;
    if (sum_s_ < kBlock_s) return;
    means_s_.push_back(sum_s_ / count_);
    sum_s_ = count_ = 0;
  }
  /// The mean, to within kKnown of itself.
  bool Agree() const {
    return means_s_.size() >= kFewestBlocks && *base::HalfWidth(means_s_, kLevel) <= kKnown * base::Mean(means_s_);
  }

 private:
  std::vector<double> means_s_;
  double sum_s_ = 0, count_ = 0;
};

/// Another count of threads while this lives.
class OtherThreads {
 public:
  OtherThreads(ComputeThreads& threads, int count) : threads_(threads), own_(threads.count()) {
    threads_.Use(count);
  }
  ~OtherThreads() { threads_.Use(own_); }
  OtherThreads(const OtherThreads&) = delete;
  OtherThreads& operator=(const OtherThreads&) = delete;

 private:
  ComputeThreads& threads_;
  const int own_;
};

class CpuTrainer final : public Trainer {
 public:
  CpuTrainer(const spec::Experiment& experiment, const base::Clock& clock, int compute_threads)
      : clock_(clock),
        dataset_(experiment.dataset),
        batch_size_(experiment.loader.batch_size),
        loads_(experiment.loader.workers == 0),
        spins_(experiment.limits.omp_wait == spec::OmpWait::kDefault),
        threads_(compute_threads),
        step_(experiment, torch::kCPU),
        done_(static_cast<std::size_t>(experiment.device.in_flight), {-1, {}}) {}

  TrainerInfo info() const override {
    TrainerInfo info;
    info.device = spec::DeviceId::Cpu();
    info.device_name = base::CpuModelName();
    info.compute_threads = threads_.effective();
    info.parameters = step_.parameters();
    return info;
  }

  void Submit(const Batch& batch, std::int64_t step, bool read_back, StateTimer& timer) override {
    Translated("cpu", FreeHostMemory, [&] { Train(batch, step, read_back, timer); });
  }

  std::optional<StepDone> WaitDone(std::int64_t step, StateTimer&, const base::StopFlag&) override {
    const auto& [number, done] = Kept(step);
    if (number != step) throw std::logic_error("step " + std::to_string(step) + " is not kept");
    return done;
  }

  void UseComputeThreads(int threads) override { threads_.Use(threads); }

  std::optional<StepAlone> MeasureStepAlone() override {
    const KeepWarnings keep;
    if (trained_count_ == 0) return std::nullopt;
    StepAlone alone;
    // No longer than all threads' CPU time together, which holds the work and their spinning.
    double one_s = std::min(base::ToSeconds(shortest_) * threads_.effective(),
                            base::ToSeconds(base::ProcessCpuTime() - cpu_before_) /
                                static_cast<double>(trained_count_));
    if (base::ToSeconds(shortest_) <= kLongest_s) {
      const Steps all = TimeSteps(base::ToSeconds(trained_) / static_cast<double>(trained_count_));
      alone.time = MeanOf(all.took);
      alone.cpu = all.cpu;
      one_s = std::min(base::ToSeconds(*alone.time) * threads_.effective(), base::ToSeconds(all.cpu));
    }
    if (threads_.effective() > 1 &&
        one_s <= std::max(kLongestOnOneThread_s, kHardlyLonger * base::ToSeconds(shortest_))) {
      if (spins_) alone.pool_spin = TimePoolSpin();
      const OtherThreads one(threads_, 1);
      // One thread's CPU time leaves out its waiting for a core that another program has.
      alone.on_one_thread = MeanOf(TimeSteps(one_s).on_core);
    }
    if (!alone.time && !alone.on_one_thread) return std::nullopt;
    return alone;
  }

 private:
  /// Of full steps, one after another: wall time and the calling thread's CPU time of each, and the
  /// mean CPU time of all threads.
  struct Steps {
    std::vector<double> took, on_core;
    base::Duration cpu{};
  };

  /// Of what each step took. Not the median: what disturbs a step of these disturbs the run's, too.
  static base::Duration MeanOf(const std::vector<double>& seconds) {
    return base::FromSeconds(base::Mean(seconds));
  }

  /// Steps that are expected to take `expected_s`, after an untimed one if they are short, for kMeasure_s and more
  /// whatever was expected: beside another program a pool's step tells little of one thread's. With the
  /// run's pauses between them: a step finds the caches as the time since the last one leaves them. Measured on
  /// a virtual machine, mlp, batch 64, one thread: 1.14 ms without pauses, 1.48 ms after 3 ms of
  /// loading in the same thread, 2.38 ms after 13 ms.
  Steps TimeSteps(double expected_s) {
    const auto step = FullStep();
    const base::Duration pause = trained_count_ < 2
                                     ? base::Duration::zero()
                                     : std::min(paused_ / (trained_count_ - 1), kLongestPause);
    if (expected_s <= kLongest_s) step();
    Steps steps;
    Blocks blocks;
    base::Duration cpu{};
    const base::Instant first = clock_.Now();
    double all_s = 0;
    const double most_s = std::clamp(kMostOfRun * base::ToSeconds(trained_ + paused_), kMeasure_s, kMost_s);
    const auto lasted = [&](double seconds) {
      const bool over = base::ToSeconds(clock_.Now() - first) >= seconds;
      return all_s >= seconds || (steps.took.size() >= kFewestSteps && over);
    };
    const auto enough = [&] { return lasted(most_s) || (lasted(kMeasure_s) && blocks.Agree()); };
    while (!enough()) {
      Pause(pause);
      const base::Instant begin = clock_.Now();
      const base::Duration process_begin = base::ProcessCpuTime();
      const base::Duration thread_begin = base::ThreadCpuTime();
      step();
      steps.on_core.push_back(base::ToSeconds(base::ThreadCpuTime() - thread_begin));
      cpu += base::ProcessCpuTime() - process_begin;
      steps.took.push_back(base::ToSeconds(clock_.Now() - begin));
      blocks.Add(steps.took.back());
      all_s += steps.took.back();
    }
    steps.cpu = cpu / static_cast<std::int64_t>(steps.took.size());
    return steps;
  }

  /// CPU time of each of the pool's other threads from a step's end until it sleeps. The median: the process may do
  /// something else.
  base::Duration TimePoolSpin() {
    const auto step = FullStep();
    std::vector<double> spins_s;
    for (int i = 0; i < kSpins; ++i) {
      step();
      const base::Duration process_begin = base::ProcessCpuTime(), thread_begin = base::ThreadCpuTime();
      clock_.SleepUntil(clock_.Now() + kAsleepAfter, base::StopFlag());
      const base::Duration own = base::ThreadCpuTime() - thread_begin;
      spins_s.push_back(base::ToSeconds(base::ProcessCpuTime() - process_begin - own) / (threads_.effective() - 1));
    }
    return base::FromSeconds(*base::Quantile(spins_s, 0.5));
  }

  std::function<void()> FullStep() {
    const auto data =
        torch::rand(BatchShape(dataset_, batch_size_)).mul_(255).to(TorchType(dataset_.dtype));
    const auto labels = torch::zeros({batch_size_}, torch::kLong);
    return [this, data, labels] {
      step_.Backward(step_.Forward(data, labels));
      step_.Update();
    };
  }

  /// As between the run's steps: loading in this thread, else waiting for workers.
  void Pause(base::Duration pause) const {
    const base::Instant end = clock_.Now() + pause;
    if (!loads_) clock_.SleepUntil(end, base::StopFlag());
    while (clock_.Now() < end) {
    }
  }

  void Train(const Batch& batch, std::int64_t step, bool read_back, StateTimer& timer) {
    timer.Enter(trace::State::kHost);
    threads_.Apply();
    const auto data = torch::from_blob(batch.data.data(), BatchShape(dataset_, batch.samples),
                                       TorchType(dataset_.dtype));
    const auto labels = torch::from_blob(batch.labels.data(), {batch.samples}, torch::kLong);
    StepDone done;
    done.begin = clock_.Now();
    if (trained_count_ > 0)
      paused_ += done.begin - last_end_;
    else
      cpu_before_ = base::ProcessCpuTime();
    timer.Enter(trace::State::kForward);
    torch::Tensor loss = step_.Forward(data, labels);
    timer.Enter(trace::State::kBackward);
    step_.Backward(loss);
    loss = loss.detach();  // frees the activations now, not in the next step
    timer.Enter(trace::State::kOptimizer);
    step_.Update();
    done.end = clock_.Now();
    const base::Duration took = done.end - done.begin;
    shortest_ = trained_count_ == 0 ? took : std::min(shortest_, took);
    trained_ += took;
    ++trained_count_;
    last_end_ = done.end;
    if (read_back) {
      timer.Enter(trace::State::kSync);
      done.loss = loss.item<double>();
    }
    Kept(step) = {step, done};
  }

  std::pair<std::int64_t, StepDone>& Kept(std::int64_t step) {
    return done_[static_cast<std::size_t>(step) % done_.size()];
  }

  const base::Clock& clock_;
  spec::Dataset dataset_;
  std::int64_t batch_size_;
  bool loads_;  ///< the training thread loads the batches itself
  bool spins_;  ///< the pool's threads, for a while after a step
  ComputeThreads threads_;
  TrainingStep step_;
  std::int64_t trained_count_ = 0;         ///< steps of the run
  base::Duration trained_{}, shortest_{};  ///< all of them, and the shortest
  base::Duration paused_{};                ///< between them, in all
  base::Instant last_end_{};
  base::Duration cpu_before_{};  ///< CPU time of the process before the run's first step
  std::vector<std::pair<std::int64_t, StepDone>> done_;  ///< of the last in_flight steps
};

}  // namespace

std::unique_ptr<Trainer> MakeCpuTrainer(const spec::Experiment& experiment,
                                        const base::Clock& clock, int compute_threads) {
  return Translated("cpu", FreeHostMemory, [&] {
    return std::unique_ptr<Trainer>(
        std::make_unique<CpuTrainer>(experiment, clock, compute_threads));
  });
}

}  // namespace pipesim::engine
