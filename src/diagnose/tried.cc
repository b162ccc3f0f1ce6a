#include "diagnose/tried.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/number_text.h"
#include "diagnose/contention.h"
#include "diagnose/demands.h"
#include "diagnose/settings.h"
#include "diagnose/texts.h"
#include "diagnose/what_if.h"
#include "measure/paired_gain.h"
#include "measure/probes.h"

namespace pipesim::diagnose {
namespace {

using measure::Tried;
using trace::ProbeKind;

const Tried* FindProbe(const measure::Measurement& measurement, ProbeKind kind, std::string_view change) {
  for (const Tried& tried : measurement.tried) {
    const bool same = tried.kind == kind && (kind != ProbeKind::kSetting || tried.change == change);
    if (same && measure::SpeaksForTheRun(tried, measurement.result)) return &tried;
  }
  return nullptr;
}

const Tried* FindProbe(const Question& q, ProbeKind kind, std::string_view change = {}) {
  return FindProbe(q.measurement, kind, change);
}

bool GainsNothing(const Tried* tried, const Thresholds& thresholds) {
  return tried != nullptr && tried->gain < thresholds.tried_in_vain &&
         tried->gain_interval.high < thresholds.gain_that_counts;
}

/// To within `share` of the rate.
bool IsKnown(double gain, const measure::Interval& range, double share) {
  return (range.high - range.low) / 2 <= share * std::max(1.0, 1 + gain);
}

/// Half-width at 95 % of a mean over steps that are repeated for a second. Measured on two cores of a virtual machine:
/// 40 means over 0.2 s of mlp on one thread had a standard deviation of 20 % and were independent of each other.
constexpr double kRepeated = 0.2;
constexpr double kUneven = 2 * kRepeated;  // of blocks of a probe that say nothing

/// A promise, by the model.
struct Promise {
  double gain = 0;
  bool rests_on_little = false;  ///< fewer threads for a pool that lacks cores: the step was repeated on one
};

Promise PromiseOf(double gain, const std::vector<std::pair<std::string, std::string>>& set, const Question& q) {
  return {gain, SetsPath(set, "limits.compute_threads") && PoolLacksCores(q.measurement)};
}

/// The measured gain is known as well as a promise has to be, or rules the predicted one out.
bool Replaces(const Tried& tried, const Promise& promise, const Thresholds& thresholds) {
  const measure::Interval& range = tried.gain_interval;
  return IsKnown(tried.gain, range, thresholds.model_error) || promise.gain < range.low || promise.gain > range.high;
}

/// The setting was promised and gained nothing when tried: for certain, or known well enough to stand instead
/// of the promise; or the promise is no larger than what a model may miss, and the probe not far wider than that, or
/// lost more; or it rests on little, and the probe gained less than its standard error.
bool Refutes(const Tried* tried, const Promise& promise, const Thresholds& thresholds) {
  if (GainsNothing(tried, thresholds)) return true;
  if (tried == nullptr) return false;
  const bool is_even = tried->half_width < kUneven;
  const double standard_error = measure::LogHalfWidth(tried->gain_interval) / 2;  // the half-width is at 95 %
  if (promise.rests_on_little && is_even && std::log1p(tried->gain) < standard_error) return true;
  if (tried->gain >= thresholds.tried_in_vain) return false;
  if (Replaces(*tried, promise, thresholds)) return true;
  if (promise.gain > thresholds.model_error) return false;
  return tried->gain < -thresholds.model_error ||
         IsKnown(tried->gain, tried->gain_interval, 2 * thresholds.model_error);
}

bool Gains(const Tried* tried, const Thresholds& thresholds) {
  return tried != nullptr && tried->gain_interval.low >= thresholds.gain_that_counts;
}

bool ChangesOnly(const Setting& setting, std::string_view path) {
  return std::all_of(setting.set.begin(), setting.set.end(),
                     [&](const auto& each) { return each.first == path; });
}

/// With free compute, batches are dropped on arrival: all that the training thread and the device
/// do is free. The pin thread's work is not.
bool IsOfTraining(Side side, const Variant& now) {
  return side == Side::kCompute || side == Side::kHost || (side == Side::kTransfer && !now.HasPinThread());
}

bool IsTrainingSide(Verdict verdict, const Variant& now) {
  const auto side = RowOf(verdict).side;
  return verdict != Verdict::kCpuContention && side && IsOfTraining(*side, now);
}

bool FreesSideOf(Verdict verdict, ProbeKind kind, const Variant& now) {
  if (kind == ProbeKind::kFreeData) return RowOf(verdict).side == Side::kInput;
  return kind == ProbeKind::kFreeCompute && IsTrainingSide(verdict, now);
}

struct Refuted {
  bool input = false, training = false, setting = false;
};

Refuted RefutedOf(const Decision& decision, const Question& q) {
  Refuted refuted;
  refuted.input = GainsNothing(FindProbe(q, ProbeKind::kFreeData), q.thresholds);
  refuted.training = GainsNothing(FindProbe(q, ProbeKind::kFreeCompute), q.thresholds);
  if (!decision.setting) return refuted;
  const Setting& setting = decision.setting->setting;
  const Tried* tried = FindProbe(q, ProbeKind::kSetting, setting.text);
  // Free data was tried with all workers parked: fewer of them cannot gain more.
  const bool of_workers = decision.verdict == Verdict::kLoaderBound ||
                          ChangesOnly(setting, "loader.workers");
  refuted.setting = tried != nullptr ? Refutes(tried, PromiseOf(decision.gain, setting.set, q), q.thresholds)
                                     : refuted.input && of_workers;
  return refuted;
}

bool IsRefuted(Verdict verdict, const Refuted& refuted, const Variant& now) {
  if (verdict == Verdict::kLoaderBound || verdict == Verdict::kCpuContention)
    return refuted.setting;
  if (RowOf(verdict).side == Side::kInput) return refuted.input;
  return IsTrainingSide(verdict, now) && refuted.training;
}

/// What the probe really did: its free data still has to be copied to the device, and its free
/// training leaves nothing after the pin thread.
Variant AsProbed(ProbeKind kind, const Variant& now) {
  Variant v = now;
  if (kind == ProbeKind::kFreeData) {
    for (const Demand demand : {Demand::kStorage, Demand::kLoadingCpu}) v = Free(v, demand);
    v.pipeline.pin = v.pipeline.pin.Scaled(0);
    return v;
  }
  v = Free(FreeCompute(v), Demand::kTransfer);
  v.pipeline.pin = now.pipeline.pin;
  return v;
}

/// No candidate is left: the side whose probe gained, and of its demands the one that limits most
/// when the other side is free.
void LeadByProbe(Decision& decision, const Refuted& refuted, const Question& q) {
  decision.verdict = Verdict::kBalanced;
  decision.gain = 0;
  decision.tie = true;
  const Tried* data = FindProbe(q, ProbeKind::kFreeData);
  const Tried* training = FindProbe(q, ProbeKind::kFreeCompute);
  if (!Gains(data, q.thresholds)) data = nullptr;
  if (!Gains(training, q.thresholds)) training = nullptr;
  if (data == nullptr && training == nullptr) return;
  const bool by_data = training == nullptr || (data != nullptr && data->gain > training->gain);
  const Variant alone =
      AsProbed(by_data ? ProbeKind::kFreeCompute : ProbeKind::kFreeData, q.now);
  for (const Candidate& freed : FreedDemands(alone, q.predict)) {
    const bool input = RowOf(freed.verdict).side == Side::kInput;
    if (input != by_data || IsRefuted(freed.verdict, refuted, q.now)) continue;
    if (!input && !IsTrainingSide(freed.verdict, q.now)) continue;
    decision.verdict = freed.verdict;
    decision.gain = by_data ? data->gain : training->gain;
    decision.candidates = {{freed.verdict, decision.gain, freed.change}};
    return;
  }
}

/// The setting of this name among those that decide, with the verdict that it means.
std::optional<std::pair<Verdict, Setting>> DecidingSetting(std::string_view change,
                                                           const Variant& now) {
  std::vector<Setting> fewer = FewerThreadsOfEach(now);
  for (const int workers : FewerWorkers(now)) fewer.push_back(Workers(now, workers));
  for (Setting& setting : fewer)
    if (setting.text == change) return std::pair(Verdict::kCpuContention, std::move(setting));
  const spec::Loader& loader = now.settings.loader;
  std::vector<Setting> settings;
  const int most = MostWorkers(now);
  for (int workers = loader.workers + 1; workers <= most; ++workers)
    settings.push_back(Workers(now, workers));
  for (const int factor : {2, 4})
    if (auto deeper = Prefetch(now, factor * loader.prefetch_factor)) settings.push_back(*deeper);
  for (Setting& setting : settings)
    if (setting.text == change) return std::pair(Verdict::kLoaderBound, std::move(setting));
  return std::nullopt;
}

/// What was measured to gain leads, whatever the model says of it.
void LeadBySetting(Decision& decision, const Question& q) {
  for (const Tried& tried : q.measurement.tried) {
    const Tried* gained = FindProbe(q, ProbeKind::kSetting, tried.change);
    if (gained != &tried || !Gains(gained, q.thresholds)) continue;
    if (decision.setting) {
      const std::string& leads = decision.setting->setting.text;
      // What is only predicted has to promise more than the other may have gained.
      const bool was_tried = FindProbe(q, ProbeKind::kSetting, leads) != nullptr;
      if (leads == tried.change || decision.gain >= (was_tried ? tried.gain : tried.gain_interval.high)) continue;
    }
    auto found = DecidingSetting(tried.change, q.now);
    if (!found) continue;
    auto& [verdict, setting] = *found;
    if (decision.setting) decision.candidates.erase(decision.candidates.begin());
    decision.candidates.insert(decision.candidates.begin(),
                               Candidate{verdict, tried.gain, setting.change});
    decision.verdict = verdict;
    decision.gain = tried.gain;
    decision.tie = false;
    decision.setting = SettingGain{std::move(setting), tried.gain};
  }
}

/// The promise and the measurement differ by more than 10 points of gain and 10 % of the rate,
/// whichever is more, beyond the interval.
bool Contradicts(const Tried& tried, double predicted, const Thresholds& thresholds) {
  if (!std::isfinite(predicted)) return false;
  const auto margin = [&](double gain) { return thresholds.model_error * std::max(1.0, 1 + gain); };
  const measure::Interval& range = tried.gain_interval;
  return predicted < range.low - margin(range.low) || predicted > range.high + margin(range.high);
}

void AddContradiction(const Tried& tried, std::string_view what, double predicted,
                      const Question& q, Doubt& doubt) {
  if (!Contradicts(tried, predicted, q.thresholds)) return;
  doubt.weak = true;
  doubt.missing.push_back(
      {"diagnosis.what_if", fmt::format("{} was predicted to gain {}, and gained {} when tried",
                                        what, base::Gain(predicted), base::Gain(tried.gain))});
}

}  // namespace

Variant WithStepTried(Variant now, const measure::Measurement& measurement, const Predictor& model) {
  const auto rate = measurement.result.samples_per_s;
  auto& one_thread = now.pipeline.step.one_thread;
  if (!rate || !one_thread || !now.on_cpu() || now.ComputeThreads() < 2 || !PoolLacksCores(measurement)) return now;
  const Setting setting = ComputeThreads(now, 1);
  const Tried* tried = FindProbe(measurement, ProbeKind::kSetting, setting.text);
  if (tried == nullptr) return now;
  const double predicted = model(setting.change(now)), measured = *rate * (1 + tried->gain);
  if (!(predicted > 0) || !std::isfinite(predicted) || !(measured > 0)) return now;
  const double weight = 1 / (1 + std::pow(tried->half_width / kRepeated, 2));
  one_thread = one_thread->Scaled(std::pow(predicted / measured, weight));
  return now;
}

std::optional<Side> LimitingSide(const Question& q) {
  const auto side = CertainSide(TimelineOf(q.measurement), q.thresholds.side_share);
  if (!side) return side;
  const bool input = *side == Side::kInput;
  if (!input && !IsOfTraining(*side, q.now)) return side;
  const Tried* freed = FindProbe(q, input ? ProbeKind::kFreeData : ProbeKind::kFreeCompute);
  return GainsNothing(freed, q.thresholds) ? std::nullopt : side;
}

double MostGainTried(const Question& q, ProbeKind kind) {
  const Tried* tried = FindProbe(q, kind);
  return tried == nullptr ? std::numeric_limits<double>::infinity()
                          : std::max(tried->gain, tried->gain_interval.high);
}

Decision WithTried(Decision decision, const Question& q) {
  if (!decision.verdict || q.measurement.tried.empty()) return decision;
  const Refuted refuted = RefutedOf(decision, q);
  const Verdict led = *decision.verdict;
  std::erase_if(decision.candidates,
                [&](const Candidate& each) { return IsRefuted(each.verdict, refuted, q.now); });
  if (!IsRefuted(led, refuted, q.now)) {
    LeadBySetting(decision, q);
    return decision;
  }
  if (led == Verdict::kLoaderBound || led == Verdict::kCpuContention) {
    decision.withdrawn = std::move(decision.setting);
    decision.setting.reset();
  }
  if (decision.candidates.empty()) {
    LeadByProbe(decision, refuted, q);
    return decision;
  }
  const auto& left = decision.candidates;
  decision.verdict = left.front().verdict;
  decision.gain = left.front().gain;
  decision.tie = left.size() > 1 && std::isfinite(left[1].gain) &&
                 left[0].gain - left[1].gain < q.thresholds.tie;
  return decision;
}

void SettleByTried(const Decision& decision, const Question& q, Doubt& doubt) {
  if (!doubt.undecided || !decision.setting) return;
  if (!Gains(FindProbe(q, ProbeKind::kSetting, decision.setting->setting.text), q.thresholds))
    return;
  for (const Missing& missing : doubt.missing) {
    if (missing.signal != "diagnosis.model_error" &&
        missing.signal != "result.samples_per_s_interval")
      return;
  }
  doubt.undecided = false;
  doubt.weak = true;
  doubt.open.clear();
}

void AddContradictions(const Decision& decision, const Question& q, Doubt& doubt) {
  const double now = q.predict(q.now);
  const auto check = [&](ProbeKind kind, std::string_view what) {
    const Tried* tried = FindProbe(q, kind);
    if (tried == nullptr) return;
    const double predicted = Gain(now, q.predict(AsProbed(kind, q.now)));
    // More than was predicted of the side that the verdict names is only plainer.
    if (decision.verdict && FreesSideOf(*decision.verdict, kind, q.now) && tried->gain >= predicted) return;
    AddContradiction(*tried, what, predicted, q, doubt);
  };
  check(ProbeKind::kFreeData, "free data");
  check(ProbeKind::kFreeCompute, "free compute");
  const auto& promised = decision.setting ? decision.setting : decision.withdrawn;
  if (!promised) return;
  const std::string& change = promised->setting.text;
  const Tried* tried = FindProbe(q, ProbeKind::kSetting, change);
  // More than was promised is no broken promise.
  if (tried == nullptr || tried->gain >= promised->gain) return;
  AddContradiction(*tried, change, promised->gain, q, doubt);
  if (!decision.setting) return;
  // Not contradicted, but not seen either.
  if (tried->gain < q.thresholds.gain_that_counts) doubt.weak = true;
}

void AttachTried(std::vector<WhatIf>& rows, const Question& q) {
  for (WhatIf& row : rows) {
    const Tried* tried = nullptr;
    if (row.change == kFreeData) tried = FindProbe(q, ProbeKind::kFreeData);
    if (row.change == kFreeCompute) tried = FindProbe(q, ProbeKind::kFreeCompute);
    if (tried == nullptr) tried = FindProbe(q, ProbeKind::kSetting, row.change);
    if (tried == nullptr) continue;
    const bool setting = tried->kind == ProbeKind::kSetting;
    const Promise promise = PromiseOf(row.gain, row.set, q);
    const bool in_vain = setting ? Refutes(tried, promise, q.thresholds) : GainsNothing(tried, q.thresholds);
    row.tried = {.samples_per_s = tried->samples_per_s,
                 .gain = tried->gain,
                 .gain_interval = tried->gain_interval,
                 .refutes = in_vain && row.gain >= q.thresholds.gain_that_counts,
                 .stands = setting && Replaces(*tried, promise, q.thresholds)};
  }
}

std::vector<std::string> RuledOutByProbes(const Question& q) {
  std::vector<std::string> clauses;
  const auto add = [&](ProbeKind kind, std::string_view what) {
    const Tried* tried = FindProbe(q, kind);
    if (!GainsNothing(tried, q.thresholds)) return;
    clauses.push_back(fmt::format("{} was tried and gained {}", what, base::Gain(tried->gain)));
  };
  add(ProbeKind::kFreeData, "free data");
  add(ProbeKind::kFreeCompute, "free compute");
  return clauses;
}

void PromiseWhatWasTried(Recommendation& recommendation, const std::vector<WhatIf>& rows,
                         const Thresholds& thresholds) {
  if (recommendation.set.empty() || !recommendation.gain) return;
  for (const WhatIf& row : rows) {
    if (!row.tried || row.set != recommendation.set) continue;
    const double before = *recommendation.gain;
    const bool stands = row.tried->stands;
    if (row.tried->refutes || (stands && row.tried->gain < thresholds.tried_in_vain)) {
      recommendation = {.text = fmt::format("{} was tried and gained {}: nothing to change", row.change,
                                            base::Gain(row.tried->gain))};
      return;
    }
    if (!stands) continue;
    recommendation.gain = row.tried->gain;
    recommendation.tried = true;
    if (recommendation.samples_per_s && 1 + before > 0)
      recommendation.samples_per_s =
          *recommendation.samples_per_s * (1 + row.tried->gain) / (1 + before);
  }
}

}  // namespace pipesim::diagnose
