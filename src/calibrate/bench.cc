#include "calibrate/bench.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/error.h"
#include "base/stats.h"
#include "engine/bench_loop.h"
#include "engine/trainer.h"

namespace pipesim::calibrate {
namespace {

using cost::Operation;

constexpr BenchWay kAddWays[] = {{"cpu", Operation::kAdd, false}, {"gpu", Operation::kAdd, true}};
constexpr BenchWay kMatmulWays[] = {{"cpu", Operation::kMatmul, false},
                                    {"gpu", Operation::kMatmul, true}};
constexpr BenchWay kSyncWays[] = {{"read each", Operation::kNormEach, true},
                                  {"read once", Operation::kNormOnce, true},
                                  {"cpu read each", Operation::kNormEach, false},
                                  {"cpu read once", Operation::kNormOnce, false}};
constexpr BenchWay kTransferWays[] = {{"pageable in", Operation::kPageableIn, true},
                                      {"pinned in", Operation::kPinnedIn, true},
                                      {"pageable out", Operation::kPageableOut, true},
                                      {"pinned out", Operation::kPinnedOut, true},
                                      {"host copy", Operation::kHostCopy, false}};
constexpr BenchWay kConcurrentWays[] = {{"in turn", Operation::kTwoInTurn, true},
                                        {"two gpus", Operation::kTwoDevices, true},
                                        {"two streams", Operation::kTwoStreams, true},
                                        {"cpu in turn", Operation::kTwoInTurn, false}};
constexpr BenchWay kStepWays[] = {{"cpu", Operation::kStep, false}, {"gpu", Operation::kStep, true}};

// Sizes: the articles' (docs/seed-experiments.md), and what lies around them.
constexpr BenchKind kBenchKinds[] = {
    {"add", "a += a of n x n numbers", BenchUnit::kRows, "8,32,128,512,2048", kAddWays},
    {"matmul", "products of two n x n matrices", BenchUnit::kRows, "1,5,32,100,316,1000,2000",
     kMatmulWays},
    {"sync", "products of two n x n matrices and their norm", BenchUnit::kRows, "32,100,316,1000",
     kSyncWays},
    {"transfer", "copies of n bytes", BenchUnit::kBytes, "4KiB,64KiB,1MiB,16MiB,256MiB",
     kTransferWays},
    {"concurrent", "two products of two n x n matrices", BenchUnit::kRows, "100,316,1000,2000",
     kConcurrentWays},
    {"step", "training steps of n samples", BenchUnit::kSamples, "1,8,64,256", kStepWays},
};

/// A repeat is long against the clock's and the scheduler's jitter.
constexpr double kRepeat_s = 0.01;
constexpr std::size_t kFewestRepeats = 6, kMostRepeats = 50;
constexpr double kNarrow = 0.02;
/// Of one way at one size, unless the time limit leaves less.
constexpr double kMostSeconds = 0.5;
constexpr std::int64_t kMostOperations = 1'000'000;

// Whether an operation fits into the time that is left is asked of smaller ones.
/// FLOPs, or bytes: a core does these in less than a second, so a trial would take as long.
constexpr double kLittleWork = 1e9;
/// An operation of this length spends its time on its work and not on being called or launched.
constexpr double kTelling_s = 0.05;
constexpr std::int64_t kFirstTrial = 64;  ///< the first trial is this much smaller

double SecondsEach(const cost::OperationTime& time, std::int64_t count) {
  return time.done_s / static_cast<double>(count);
}

bool IsNarrow(const std::vector<double>& done) {
  const auto interval = base::IntervalOfMedian(done);
  return interval && interval->high - interval->low <= 2 * kNarrow * *base::Quantile(done, 0.5);
}

spec::DeviceId DeviceOfWay(const BenchWay& way, const BenchPlan& plan) {
  return way.on_gpu ? plan.experiment.device.Id() : spec::DeviceId::Cpu();
}

/// The device of a plan has a GPU half, measured or predicted.
bool HasGpuHalf(const BenchPlan& plan) { return !plan.experiment.device.Id().IsCpu(); }

class BenchRunner {
 public:
  BenchRunner(const BenchPlan& plan, const BenchControl& control)
      : plan_(plan), control_(control), begin_(control.clock->Now()) {
    for (const BenchWay& way : plan.kind->ways) {
      if (way.on_gpu && !HasGpuHalf(plan)) continue;
      if (way.operation == Operation::kTwoDevices && plan.experiment.device.Id().IsCuda() && plan.gpus < 2)
        continue;
      const spec::DeviceId device = DeviceOfWay(way, plan);
      result_.series.push_back({way, device, device.IsEmulated(), {}});
    }
    for (std::size_t way = 0; way < result_.series.size(); ++way)
      if (result_.series[way].way.on_gpu) order_.push_back(way);
    for (std::size_t way = 0; way < result_.series.size(); ++way)
      if (!result_.series[way].way.on_gpu) order_.push_back(way);
    longest_.assign(result_.series.size(), {});
  }

  BenchResult Run() {
    for (std::size_t i = 0; i < plan_.sizes.size(); ++i)
      for (const std::size_t way : order_) {
        if (control_.on_progress)
          control_.on_progress(std::string(plan_.kind->name) + " " + std::to_string(plan_.sizes[i]),
                               static_cast<double>(i) / static_cast<double>(plan_.sizes.size()));
        result_.series[way].points.push_back(PointAt(way, i));
      }
    result_.wall_s = Elapsed();
    // A preset knows no pageable copies, for example.
    std::erase_if(result_.series, [](const BenchSeries& series) {
      return series.predicted && std::none_of(series.points.begin(), series.points.end(),
                                              [](const BenchPoint& point) { return point.time.has_value(); });
    });
    return std::move(result_);
  }

 private:
  double Elapsed() const { return base::ToSeconds(control_.clock->Now() - begin_); }
  double Left() const { return base::ToSeconds(plan_.max_time) - Elapsed(); }
  bool Stopped() const { return control_.stop != nullptr && control_.stop->IsSet(); }

  BenchPoint PointAt(std::size_t way, std::size_t index) {
    const BenchSeries& series = result_.series[way];
    const std::int64_t size = plan_.sizes[index];
    if (series.predicted) return Predicted(series, size);
    if (Stopped()) {
      result_.interrupted = true;
      return {size, std::nullopt, "interrupted"};
    }
    const auto ways_left = static_cast<double>((plan_.sizes.size() - index) * result_.series.size());
    const double share_s = std::min(kMostSeconds, Left() / ways_left);
    double allowed_s = Left();
    if (!series.way.on_gpu) allowed_s -= share_s * GpuWays() * static_cast<double>(plan_.sizes.size() - index - 1);
    try {
      if (const auto each_s = TooLong(way, size, allowed_s)) {
        result_.out_of_time = true;
        return {size, std::nullopt, "the time limit (--max-time)", each_s};
      }
      return Measured(way, size, share_s);
    } catch (const engine::OutOfMemory& error) {
      return {size, std::nullopt, error.what()};
    } catch (const std::bad_alloc&) {
      return {size, std::nullopt, "the host's memory is not enough"};
    }
  }

  double GpuWays() const {
    return static_cast<double>(std::count_if(result_.series.begin(), result_.series.end(), [](const BenchSeries& each) {
      return each.way.on_gpu && !each.predicted;
    }));
  }

  double WorkAt(std::size_t way, std::int64_t size) const {
    const cost::Work work = cost::WorkOf(result_.series[way].way.operation, size, plan_.experiment);
    return std::max(work.flops, work.bytes);
  }

  /// Operations that TimeLoop needs at least: two to warm up, of which the second counts where it is long.
  double FewestOperations() const {
    return plan_.iterations ? 2 + 1.1 * static_cast<double>(*plan_.iterations) : 2;
  }

  /// Seconds of one operation where timing it would take longer than `allowed_s`, by the work of smaller ones. Trials
  /// grow until one is long enough to tell, so that a short call's cost is not taken for work.
  std::optional<double> TooLong(std::size_t way, std::int64_t size, double allowed_s) {
    Known& known = longest_[way];
    if (known.size == 0) {
      if (WorkAt(way, size) < kLittleWork) return std::nullopt;
      Try(way, std::max<std::int64_t>(1, size / kFirstTrial));
    }
    while (true) {
      const double each_s = known.each_s * std::max(1.0, WorkAt(way, size) / WorkAt(way, known.size));
      if (each_s * FewestOperations() <= allowed_s) return std::nullopt;
      const std::int64_t next = std::min(2 * known.size, size / 2);
      if (known.each_s >= kTelling_s || next <= known.size) return each_s;
      Try(way, next);
    }
  }

  void Try(std::size_t way, std::int64_t size) {
    const auto loop = control_.make(RequestFor(way, size));
    loop->Run(1);
    longest_[way] = {size, SecondsEach(loop->Run(1), 1)};
  }

  BenchPoint Predicted(const BenchSeries& series, std::int64_t size) const {
    const auto time = cost::EstimateOperation(series.way.operation, size, plan_.experiment,
                                              *plan_.experiment.device.preset);
    if (!time) return {size, std::nullopt, "the preset has no figure for it"};
    return {size, BenchTime{.median_s = time->done_s, .enqueue_s = time->enqueue_s}, {}};
  }

  engine::BenchRequest RequestFor(std::size_t way, std::int64_t size) const {
    const BenchSeries& series = result_.series[way];
    engine::BenchRequest request{.operation = series.way.operation,
                                 .size = size,
                                 .device = series.device,
                                 .compute_threads = plan_.compute_threads,
                                 .experiment = plan_.experiment};
    if (series.way.operation == Operation::kTwoDevices)
      request.second = spec::DeviceId::Cuda(series.device.index == 0 ? 1 : 0);
    request.experiment.loader.batch_size = size;
    return request;
  }

  BenchPoint Measured(std::size_t way, std::int64_t size, double budget_s) {
    const auto loop = control_.make(RequestFor(way, size));
    BenchPoint point{size, TimeLoop(*loop, plan_.iterations, budget_s, control_.stop), {}};
    longest_[way] = {size, point.time->median_s};
    return point;
  }

  struct Known {
    std::int64_t size = 0;  ///< 0: none
    double each_s = 0;
  };

  const BenchPlan& plan_;
  const BenchControl& control_;
  const base::Instant begin_;
  BenchResult result_;
  std::vector<std::size_t> order_;  ///< of the series: the GPU's first
  std::vector<Known> longest_;      ///< the largest operation of each series that was run
};

}  // namespace

std::span<const BenchKind> BenchKinds() { return kBenchKinds; }

const BenchKind* FindBench(std::string_view name) {
  for (const BenchKind& kind : kBenchKinds)
    if (kind.name == name) return &kind;
  return nullptr;
}

BenchTime TimeLoop(engine::BenchLoop& loop, std::optional<std::int64_t> iterations, double budget_s,
                   const base::StopFlag* stop) {
  // The first one loads libraries and kernels; the second says how long one takes.
  loop.Run(1);
  const cost::OperationTime second = loop.Run(1);
  const double one_s = second.done_s;
  const auto wanted = static_cast<std::int64_t>(std::ceil(kRepeat_s / std::max(one_s, 1e-9)));
  const std::int64_t count = iterations.value_or(std::clamp<std::int64_t>(wanted, 1, kMostOperations));
  if (count > 1) loop.Run(std::max<std::int64_t>(count / 10, 1));
  std::vector<double> done, enqueued;
  double spent_s = 0;
  // Where one operation is long enough, the second one is a repeat already.
  std::optional<cost::OperationTime> ready;
  if (count == 1 && one_s >= kRepeat_s) ready = second;
  while (done.size() < kMostRepeats) {
    const cost::OperationTime time = ready ? *std::exchange(ready, std::nullopt) : loop.Run(count);
    spent_s += time.done_s;
    done.push_back(SecondsEach(time, count));
    enqueued.push_back(time.enqueue_s / static_cast<double>(count));
    if (stop != nullptr && stop->IsSet()) break;
    const bool enough = done.size() >= kFewestRepeats && (IsNarrow(done) || spent_s >= budget_s);
    // Where a repeat is long, six of them may not fit.
    if (enough || spent_s >= 4 * budget_s) break;
  }
  BenchTime time{.median_s = *base::Quantile(done, 0.5),
                 .enqueue_s = *base::Quantile(enqueued, 0.5),
                 .repeats = static_cast<std::int64_t>(done.size()),
                 .operations = count};
  if (const auto interval = base::IntervalOfMedian(done)) {
    time.low_s = interval->low;
    time.high_s = interval->high;
  }
  return time;
}

BenchResult RunBench(const BenchPlan& plan, const BenchControl& control) {
  return BenchRunner(plan, control).Run();
}

}  // namespace pipesim::calibrate
