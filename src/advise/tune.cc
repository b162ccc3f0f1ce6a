#include "advise/tune.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "advise/candidates.h"
#include "base/number_text.h"

namespace pipesim::advise {
namespace {

/// Doublings between two configurations.
double Distance(const Configuration& a, const Configuration& b) {
  const auto doublings = [](double x, double y) { return std::abs(std::log2((x + 1) / (y + 1))); };
  return doublings(a.workers, b.workers) + doublings(a.prefetch_factor, b.prefetch_factor) +
         doublings(a.compute_threads, b.compute_threads) + (a.dispatch == b.dispatch ? 0 : 1) +
         (a.persistent_workers == b.persistent_workers ? 0 : 1) +
         doublings(static_cast<double>(a.batch_size), static_cast<double>(b.batch_size));
}

class Tuning {
 public:
  Tuning(const Configuration& base, const TuneSpace& space, const TuneTools& tools,
         const TuneRules& rules)
      : base_(base), space_(space), tools_(tools), rules_(rules) {}

  Tuned Run(const RunOutcome& first) {
    Note({Phase::kBase, base_, std::nullopt, first, "as it is"});
    const bool memory = first.status == RunStatus::kOutOfMemory;
    if (first.status == RunStatus::kOk || memory) {
      Explore();
      Confirm();
      Shrink();
    }
    Finish();
    return std::move(out_);
  }

 private:
  struct Measured {
    double sum = 0;
    int runs = 0;
    double mean() const { return sum / runs; }
  };

  /// One run to confirm the fastest, one to shrink it.
  static constexpr int kReserved = 2;

  bool CanRun(int reserved = 0) const {
    return !interrupted_ && static_cast<int>(out_.steps.size()) + reserved < rules_.most_runs;
  }

  void Note(TuneStep step) {
    const RunOutcome& outcome = step.outcome;
    if (outcome.status == RunStatus::kOk) {
      Measured& measured = measured_[step.configuration];
      measured.sum += outcome.samples_per_s;
      ++measured.runs;
      for (const Hint& hint : outcome.hints) hints_[hint.configuration] = hint.samples_per_s;
    } else {
      failed_.push_back(step.configuration);
    }
    if (outcome.status == RunStatus::kOutOfMemory)
      too_much_ = std::min(too_much_.value_or(step.configuration.SamplesHeld()),
                           step.configuration.SamplesHeld());
    if (outcome.status == RunStatus::kInterrupted) interrupted_ = true;
    out_.steps.push_back(std::move(step));
  }

  /// Runs it; returns its rate, nullopt when it failed.
  std::optional<double> Try(Phase phase, const Configuration& configuration, std::string why) {
    TuneStep step{phase, configuration, Score(configuration), tools_.run(configuration), why};
    const bool ok = step.outcome.status == RunStatus::kOk;
    const double rate = step.outcome.samples_per_s;
    Note(std::move(step));
    return ok ? std::optional(rate) : std::nullopt;
  }

  /// What is measured where it ran; else what a run's what-ifs say, else the prediction, corrected
  /// by the error at the nearest configuration that ran.
  std::optional<double> Score(const Configuration& configuration) const {
    if (const auto ran = measured_.find(configuration); ran != measured_.end())
      return ran->second.mean();
    const bool failed =
        std::find(failed_.begin(), failed_.end(), configuration) != failed_.end();
    if (failed || !MayFit(configuration)) return std::nullopt;
    const auto predicted = tools_.predict(configuration);
    if (!predicted) return std::nullopt;
    if (const auto hint = hints_.find(configuration); hint != hints_.end()) return hint->second;
    return *predicted * CorrectionNear(configuration);
  }

  /// After a run was out of memory: no more than midway between what ran and what did not.
  bool MayFit(const Configuration& configuration) const {
    if (!too_much_) return true;
    std::int64_t fits = 0;
    for (const auto& [ran, measured] : measured_)
      if (ran.SamplesHeld() < *too_much_) fits = std::max(fits, ran.SamplesHeld());
    return configuration.SamplesHeld() <= (fits + *too_much_) / 2;
  }

  double CorrectionNear(const Configuration& configuration) const {
    double nearest = std::numeric_limits<double>::infinity(), correction = 1;
    for (const auto& [ran, measured] : measured_) {
      const double distance = Distance(ran, configuration);
      if (distance >= nearest) continue;
      const auto predicted = tools_.predict(ran);
      if (!predicted || !(*predicted > 0)) continue;
      nearest = distance;
      correction = measured.mean() / *predicted;
    }
    return correction;
  }

  std::optional<Scored> FastestRun() const {
    std::optional<Scored> fastest;
    for (const auto& [configuration, measured] : measured_)
      if (!fastest || measured.mean() > fastest->samples_per_s)
        fastest = {configuration, measured.mean()};
    return fastest;
  }

  std::optional<Scored> MostPromising() {
    const auto fastest = FastestRun();
    const auto score = [this](const Configuration& c) { return Score(c); };
    auto found = Fastest(fastest ? fastest->configuration : base_, space_, score);
    for (const auto& [configuration, rate] : hints_) {
      const auto scored = Score(configuration);
      if (scored && (!found || *scored > found->samples_per_s)) found = {configuration, *scored};
    }
    return found;
  }

  /// A run missed what was predicted of it by more than a model may be off (Thresholds::model_error).
  bool PredictionsMiss() const {
    constexpr double kOff = 0.1;
    return std::any_of(out_.steps.begin(), out_.steps.end(), [](const TuneStep& step) {
      return step.predicted && step.outcome.status == RunStatus::kOk &&
             std::abs(step.outcome.samples_per_s / *step.predicted - 1) > kOff;
    });
  }

  /// Where predictions miss, twice the workers of the fastest may gain what they do not see: beside
  /// other programs more threads get more turns. Returns whether that was so.
  bool Widen() {
    const auto fastest = FastestRun();
    if (!fastest || !PredictionsMiss() || !CanRun(kReserved)) return false;
    Configuration wider = fastest->configuration;
    wider.workers = std::max(1, 2 * wider.workers);
    const bool allowed = wider.workers <= std::max(space_.cores, 4 * base_.workers);
    if (!allowed || measured_.contains(wider) || !Score(wider)) return false;
    const auto rate = Try(Phase::kTry, wider, "predictions miss: twice the workers");
    return rate && *rate > fastest->samples_per_s * (1 + rules_.enough_gain);
  }

  void Explore() {
    while (!interrupted_) {
      const auto next = MostPromising();
      if (interrupted_ || !next) return;
      const auto fastest = FastestRun();
      const double gain = fastest ? next->samples_per_s / fastest->samples_per_s - 1 : 1;
      if (fastest) out_.remaining_gain = std::max(0.0, gain);
      if (gain < rules_.enough_gain) {
        if (Widen()) continue;
        return;
      }
      if (!CanRun(kReserved)) {
        out_.end = TuneEnd::kRunsUsedUp;
        return;
      }
      Try(Phase::kTry, next->configuration,
          fastest ? fmt::format("predicted {}", base::Gain(gain)) : "predicted to fit");
    }
  }

  /// The fastest once more: a lucky run must not win.
  /// Where the second run is slower, another one may be the fastest, by a single run. One run is left to shrink.
  void Confirm() {
    if (!rules_.confirm) return;
    for (int reserved = 0;; reserved = 1) {
      const auto fastest = FastestRun();
      if (!fastest || fastest->configuration == base_ || measured_.at(fastest->configuration).runs > 1 ||
          !CanRun(reserved))
        return;
      Try(Phase::kConfirm, fastest->configuration, "the fastest, again");
    }
  }

  void Shrink() {
    auto fastest = FastestRun();
    if (!fastest) return;
    const double enough = fastest->samples_per_s * (1 - rules_.within);
    const auto score = [this](const Configuration& c) { return Score(c); };
    for (;;) {
      const Configuration small = Smallest(fastest->configuration, space_, enough, score);
      const bool ran = measured_.contains(small);
      if (ran || !CanRun()) {
        out_.best = ran ? small : SmallestThatRan(enough);
        return;
      }
      const auto rate = Try(Phase::kShrink, small, "smaller");
      const double change = rate ? *rate / fastest->samples_per_s - 1 : 0;
      if (rate)
        out_.steps.back().why = fmt::format("smaller, {}", base::Gain(change));
    }
  }

  /// Of those that ran fast enough, the one with the fewest threads, then the smallest window.
  Configuration SmallestThatRan(double enough) const {
    const auto size = [](const Configuration& c) {
      return std::pair(c.workers + c.compute_threads, c.SamplesHeld());
    };
    std::optional<Configuration> smallest;
    for (const auto& [configuration, measured] : measured_) {
      if (measured.mean() < enough) continue;
      if (!smallest || size(configuration) < size(*smallest)) smallest = configuration;
    }
    return *smallest;
  }

  void Finish() {
    const auto fastest = FastestRun();
    if (interrupted_) out_.end = TuneEnd::kInterrupted;
    if (!fastest) {
      if (!interrupted_) out_.end = TuneEnd::kNothingRan;
      return;
    }
    if (!out_.best) out_.best = fastest->configuration;
    out_.samples_per_s = measured_.at(*out_.best).mean();
    out_.fastest_samples_per_s = fastest->samples_per_s;
  }

  const Configuration base_;
  const TuneSpace& space_;
  const TuneTools& tools_;
  const TuneRules& rules_;
  Tuned out_;
  std::map<Configuration, Measured> measured_;
  std::map<Configuration, double> hints_;
  std::vector<Configuration> failed_;
  std::optional<std::int64_t> too_much_;  ///< the fewest samples held that ran out of memory
  bool interrupted_ = false;
};

}  // namespace

std::int64_t Configuration::SamplesHeld() const {
  return std::max<std::int64_t>(1, std::int64_t{workers} * prefetch_factor) * batch_size;
}

Tuned Tune(const Configuration& base, const RunOutcome& first, const TuneSpace& space,
           const TuneTools& tools, const TuneRules& rules) {
  return Tuning(base, space, tools, rules).Run(first);
}

}  // namespace pipesim::advise
