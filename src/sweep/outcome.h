// What a sweep knows of a point: the figures of its run and of its prediction. Plain data.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace pipesim::sweep {

enum class Engine { kRun, kPredict, kBoth };

enum class Status {
  kOk,
  kOutOfMemory,
  kFailed,  ///< crashed, was ended at its limit, or cannot be predicted
};

/// The words of a report's result.status.
constexpr std::string_view ToText(Status status) {
  if (status == Status::kOk) return "ok";
  return status == Status::kOutOfMemory ? "oom" : "failed";
}
/// kFailed for any other word.
constexpr Status StatusNamed(std::string_view word) {
  if (word == ToText(Status::kOk)) return Status::kOk;
  return word == ToText(Status::kOutOfMemory) ? Status::kOutOfMemory : Status::kFailed;
}

/// One point, run or predicted.
struct Outcome {
  Status status = Status::kFailed;
  std::string reason;                                                          ///< of a failure
  std::optional<double> samples_per_s, samples_per_s_low, samples_per_s_high;  ///< 95 % interval
  std::optional<double> step_time_s, accelerator_utilization;
  std::string bottleneck, confidence;  ///< words of the report; empty: unknown
  std::int64_t workers = 0, queued_bytes = 0;
  /// The diagnosis' smallest settings that reach nearly the best rate; 0 workers and no share where
  /// it names none.
  std::int64_t enough_workers = 0, enough_prefetch_factor = 0;
  std::optional<double> enough_share;
  std::optional<double> wall_s;  ///< of the run's process; predictions take no time worth a figure
  std::optional<double> limit_s;  ///< the time limit at which the run was ended; nullopt: it was not
  bool operator==(const Outcome&) const = default;

  bool ok() const { return status == Status::kOk && samples_per_s && *samples_per_s > 0; }
};

struct PointResult {
  std::size_t point = 0;  ///< spec::Sweep::PositionOf
  std::optional<Outcome> run, predicted;
  bool operator==(const PointResult&) const = default;

  /// What the point is ranked by: its run, or its prediction where nothing runs.
  const Outcome& main() const { return run ? *run : *predicted; }
};

}  // namespace pipesim::sweep
