// `bench`: one operation by size on CPU and GPU. Decides which sizes and devices are timed, how often
// and how long; the loops are passed in. Prints nothing.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "cost/operation.h"
#include "spec/experiment.h"

namespace pipesim::engine {
class BenchLoop;
struct BenchRequest;
}  // namespace pipesim::engine

namespace pipesim::calibrate {

enum class BenchUnit { kRows, kBytes, kSamples };

/// One way of doing the operation: a line of the plot.
struct BenchWay {
  std::string_view name;  ///< "cpu", "gpu", "read each time"
  cost::Operation operation;
  bool on_gpu = false;
};
/// A bench of the command line.
struct BenchKind {
  std::string_view name;  ///< "matmul"
  std::string_view what;  ///< "products of two n x n matrices"
  BenchUnit unit = BenchUnit::kRows;
  std::string_view sizes;  ///< where --sizes is not given
  std::span<const BenchWay> ways;
  /// The two ways that are compared, by index: how much longer the first takes than the second.
  std::size_t slower = 0, faster = 1;
};
std::span<const BenchKind> BenchKinds();
/// nullptr if there is none.
const BenchKind* FindBench(std::string_view name);

/// A time of one operation: the median of repeats, each of `operations` operations in a row.
struct BenchTime {
  double median_s = 0;
  std::optional<double> low_s = {}, high_s = {};  ///< interval of the median at 95 %; absent below 6 repeats
  double enqueue_s = 0;                 ///< median until the host was free
  std::int64_t repeats = 0, operations = 0;  ///< 0: predicted
};
struct BenchPoint {
  std::int64_t size = 0;
  std::optional<BenchTime> time;
  std::string why_not;  ///< where `time` is absent
  /// Of one operation, by the work of smaller sizes that were run; where it was left out for its length.
  std::optional<double> estimated_s = {};
};
struct BenchSeries {
  BenchWay way;
  spec::DeviceId device;
  bool predicted = false;
  std::vector<BenchPoint> points;  ///< one for each size
};
struct BenchResult {
  std::vector<BenchSeries> series;
  double wall_s = 0;
  bool out_of_time = false, interrupted = false;
};

struct BenchPlan {
  const BenchKind* kind = nullptr;
  std::vector<std::int64_t> sizes;           ///< ascending
  std::optional<std::int64_t> iterations;    ///< operations of a repeat; absent: enough for 10 ms
  base::Duration max_time = std::chrono::seconds(60);
  spec::Experiment experiment;  ///< the device must be chosen; kEmulated: its preset is predicted
  int gpus = 0;                 ///< how many there are
  int compute_threads = 1;
};
struct BenchControl {
  std::function<std::unique_ptr<engine::BenchLoop>(const engine::BenchRequest&)> make;
  const base::Clock* clock = nullptr;
  const base::StopFlag* stop = nullptr;
  std::function<void(std::string_view doing, double share)> on_progress;  ///< may be empty
};

/// Each size in turn, first on the GPU, whose times are short, then on the CPU. What would take longer than the time
/// limit leaves, by smaller sizes, is left out with that estimate; the CPU leaves the GPU its share of the time. A size
/// that does not fit into memory is left out with the reason.
BenchResult RunBench(const BenchPlan& plan, const BenchControl& control);

/// Warms up, then repeats until the interval of the median is within 2 % of it, or `budget_s` is
/// spent; at least 6 repeats unless one alone takes longer than that.
BenchTime TimeLoop(engine::BenchLoop& loop, std::optional<std::int64_t> iterations, double budget_s,
                   const base::StopFlag* stop);

}  // namespace pipesim::calibrate
