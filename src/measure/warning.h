// What makes a run doubtful, as figures. report/warning_texts.cc puts them into sentences.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "measure/epochs.h"
#include "spec/device_id.h"
#include "trace/run_trace.h"

namespace pipesim::measure {

namespace warnings {

struct NothingMeasured {
  static constexpr std::string_view kCode = "nothing-measured";
  double ran_s = 0;
  std::optional<double> warmup_s;  ///< steps were finished, but all inside this warm-up
};
/// What training took was not what was loaded meanwhile, and the rate counts the latter.
struct Stock {
  static constexpr std::string_view kCode = "stock";
  double delivered_per_s = 0, loaded_per_s = 0;
};
struct MaxDuration {
  static constexpr std::string_view kCode = "max-duration";
  double max_duration_s = 0;
  double max_noise = 0;
  std::optional<double> noise;
  /// StepsForInterval and the time they take; unset where that is beyond ten times the limit: such
  /// a rate changes, and more steps of it do not narrow the interval.
  std::optional<std::int64_t> enough_steps = {};
  double enough_s = 0;
};
struct ForeignCpu {
  static constexpr std::string_view kCode = "foreign-cpu";
  /// Of the allowed processors: less is what every machine does beside a run.
  static constexpr double kLeastShare = 0.10;
  static constexpr bool Counts(double foreign_cores, double processors) {
    return foreign_cores > kLeastShare * processors;
  }
  double foreign_cores = 0, processors = 0;
};
struct Throttled {
  static constexpr std::string_view kCode = "throttled";
  double time_share = 0;
  double cores = 0;
};
struct Swap {
  static constexpr std::string_view kCode = "swap";
  double pages = 0;
};
struct MixedCache {
  static constexpr std::string_view kCode = "mixed-cache";
  std::vector<EpochKind> kinds;
  EpochRange judged;
};
struct ColdCache {
  static constexpr std::string_view kCode = "cold-cache";
};
struct PageCache {
  static constexpr std::string_view kCode = "page-cache";
  bool asked_cold = false;  ///< else warm
  double cached_fraction = 0;
};
struct Drift {
  static constexpr std::string_view kCode = "drift";
  double change = 0;     ///< second half / first half − 1
  double settled_s = 0;  ///< a warm-up that leaves out the first half
};
struct Bursts {
  static constexpr std::string_view kCode = "bursts";
  int period = 0;
};
struct PartialBatch {
  static constexpr std::string_view kCode = "partial-batch";
  std::int64_t samples = 0, batch_size = 0;
};
struct BadSamples {
  static constexpr std::string_view kCode = "bad-samples";
  std::int64_t count = 0;
  std::optional<trace::DataFault> first;
};
struct LateWakeups {
  static constexpr std::string_view kCode = "late-wakeups";
  double share = 0;  ///< of the waits' time
  double late_s = 0;
};
struct UnseenContention {
  static constexpr std::string_view kCode = "unseen-contention";
  double kernel_s = 0, seen_s = 0;
};
struct LaunchUnmeasured {
  static constexpr std::string_view kCode = "launch-unmeasured";
  spec::DeviceId device;
};
struct Stalled {
  static constexpr std::string_view kCode = "stalled";
  double stalled_s = 0;
  double first_s = 0;  ///< after the run's begin
};

/// They do not speak for the measured window (measure/probes.h).
struct ProbesLeftOut {
  static constexpr std::string_view kCode = "probes-left-out";
  std::vector<std::string> changes;
  double drift = 0;  ///< the run's rate beside the first of them over the measured one − 1
};
struct LibraryWarned {
  static constexpr std::string_view kCode = "libtorch";
  std::string text;  ///< as LibTorch words it
};

using Facts =
    std::variant<std::monostate, NothingMeasured, Stock, MaxDuration, ForeignCpu, Throttled, Swap,
                 MixedCache, ColdCache, PageCache, Drift, Bursts, PartialBatch, BadSamples,
                 LateWakeups, UnseenContention, LaunchUnmeasured, Stalled, ProbesLeftOut, LibraryWarned>;

}  // namespace warnings

struct Warning {
  std::string code;            ///< "partial-batch", "foreign-cpu", "stock", ...
  std::string text = {};       ///< one or two sentences, of a warning without facts
  warnings::Facts facts = {};  ///< what was measured

  Warning(std::string code_, std::string text_) : code(std::move(code_)), text(std::move(text_)) {}
  template <typename Facts>
  requires requires { Facts::kCode; }
  Warning(Facts facts_) : code(Facts::kCode), facts(std::move(facts_)) {}
};

}  // namespace pipesim::measure
