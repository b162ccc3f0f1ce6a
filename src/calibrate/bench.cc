#include "calibrate/bench.h"

#include <algorithm>
#include <cmath>

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
    last_s_.assign(result_.series.size(), 0);
  }

  BenchResult Run() {
    for (std::size_t i = 0; i < plan_.sizes.size(); ++i)
      for (std::size_t way = 0; way < result_.series.size(); ++way) {
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
    // Larger ones take no less: one warm-up and one repeat.
    if (Left() < 2 * last_s_[way]) {
      result_.out_of_time = true;
      return {size, std::nullopt, "the time limit (--max-time)"};
    }
    const auto ways_left = static_cast<double>((plan_.sizes.size() - index) * result_.series.size());
    return Measured(way, size, std::min(kMostSeconds, Left() / ways_left));
  }

  BenchPoint Predicted(const BenchSeries& series, std::int64_t size) const {
    const auto time = cost::EstimateOperation(series.way.operation, size, plan_.experiment,
                                              *plan_.experiment.device.preset);
    if (!time) return {size, std::nullopt, "the preset has no figure for it"};
    return {size, BenchTime{.median_s = time->done_s, .enqueue_s = time->enqueue_s}, {}};
  }

  BenchPoint Measured(std::size_t way, std::int64_t size, double budget_s) {
    const BenchSeries& series = result_.series[way];
    engine::BenchRequest request{.operation = series.way.operation,
                                 .size = size,
                                 .device = series.device,
                                 .compute_threads = plan_.compute_threads,
                                 .experiment = plan_.experiment};
    if (series.way.operation == Operation::kTwoDevices)
      request.second = spec::DeviceId::Cuda(series.device.index == 0 ? 1 : 0);
    request.experiment.loader.batch_size = size;
    try {
      const auto loop = control_.make(request);
      BenchPoint point{size, TimeLoop(*loop, plan_.iterations, budget_s, control_.stop), {}};
      const std::int64_t operations = plan_.iterations ? point.time->operations : 1;
      last_s_[way] = point.time->median_s * static_cast<double>(operations);
      return point;
    } catch (const engine::OutOfMemory& error) {
      return {size, std::nullopt, error.what()};
    } catch (const std::bad_alloc&) {
      return {size, std::nullopt, "the host's memory is not enough"};
    }
  }

  const BenchPlan& plan_;
  const BenchControl& control_;
  const base::Instant begin_;
  BenchResult result_;
  std::vector<double> last_s_;  ///< of each way, the shortest measurement at the size before
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
  const double one_s = SecondsEach(loop.Run(1), 1);
  const auto wanted = static_cast<std::int64_t>(std::ceil(kRepeat_s / std::max(one_s, 1e-9)));
  const std::int64_t count = iterations.value_or(std::clamp<std::int64_t>(wanted, 1, kMostOperations));
  if (count > 1) loop.Run(std::max<std::int64_t>(count / 10, 1));
  std::vector<double> done, enqueued;
  double spent_s = 0;
  while (done.size() < kMostRepeats) {
    const cost::OperationTime time = loop.Run(count);
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
