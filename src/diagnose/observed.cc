#include "diagnose/observed.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "base/number_text.h"
#include "diagnose/diagnosis.h"
#include "diagnose/texts.h"

namespace pipesim::diagnose {
namespace {


/// Compares one run with what was observed of it.
class Comparison {
 public:
  Comparison(const Observed& observed, const spec::Experiment& experiment,
             const measure::Measurement& measurement)
      : seen_(observed), e_(experiment), m_(measurement) {}

  ObservedCheck Check() {
    const auto& result = m_.result;
    AddRate("samples_per_s", seen_.samples_per_s, result.samples_per_s);
    AddRate("step_s", seen_.step_s,
            result.step_time ? std::optional(result.step_time->mean_s) : std::nullopt);
    AddShare("gpu", seen_.device_utilization, result.accelerator_utilization);
    AddShare("cpu", seen_.cpu_utilization, CpuUtilization());
    if (!check_.Differs()) return check_;
    NameStep();
    NameCpu();
    if (check_.mend.empty()) NameInput();
    return check_;
  }

 private:
  void Add(std::string_view name, const std::optional<double>& observed,
           const std::optional<double>& described, bool differs) {
    if (observed) check_.quantities.push_back({name, *observed, described, described && differs});
  }
  void AddRate(std::string_view name, const std::optional<double>& seen,
               const std::optional<double>& described) {
    Add(name, seen, described, seen && described && Apart(*seen, *described));
  }
  /// Nobody reads a share more exactly than to a few points.
  void AddShare(std::string_view name, const std::optional<double>& seen,
                const std::optional<double>& described) {
    constexpr double kReading = 0.02;
    Add(name, seen, described,
        seen && described && std::abs(*seen - *described) > std::max(kReading, allowed_ * *seen));
  }
  bool Apart(double seen, double described) const {
    return std::abs(described - seen) > allowed_ * std::abs(seen);
  }

  std::optional<double> CpuUtilization() const {
    const auto& r = m_.resources;
    if (!r.cores_used || !(r.cores > 0)) return std::nullopt;
    return *r.cores_used / r.cores;
  }
  double Batch() const { return static_cast<double>(e_.loader.batch_size); }
  /// Of all accelerators.
  std::optional<double> SeenRate() const {
    if (seen_.samples_per_s) return seen_.samples_per_s;
    if (seen_.step_s) return e_.run.accelerators * Batch() / *seen_.step_s;
    return std::nullopt;
  }

  /// A device that is busy for longer or shorter in each step than the description says.
  void NameStep() {
    const auto rate = SeenRate();
    const auto described = m_.result.accelerator_utilization;
    if (!rate || !seen_.device_utilization || !described || !m_.result.samples_per_s) return;
    const double per_step = e_.run.accelerators * Batch();
    const double seen_s = *seen_.device_utilization * per_step / *rate;
    const double described_s = *described * per_step / *m_.result.samples_per_s;
    if (!Apart(seen_s, described_s)) return;
    check_.mend.push_back(fmt::format("a step keeps your device busy for {}, here for {}: another "
                                      "model, batch, precision or device",
                                      base::Seconds(seen_s, 3), base::Seconds(described_s, 3)));
  }

  /// Samples that take more or less CPU time.
  void NameCpu() {
    const auto rate = SeenRate();
    const auto& r = m_.resources;
    if (!rate || !seen_.cpu_utilization || !r.cores_used || !m_.result.samples_per_s) return;
    const double seen_s = *seen_.cpu_utilization * r.cores / *rate;
    const double described_s = *r.cores_used / *m_.result.samples_per_s;
    if (!Apart(seen_s, described_s)) return;
    check_.mend.push_back(
        fmt::format("a sample takes {} of CPU time on your system, here {}: another prepare cost",
                    base::Seconds(seen_s, 3), base::Seconds(described_s, 3)));
  }

  /// The device and the CPU do not explain it: what storage and workers would have to deliver.
  void NameInput() {
    const auto rate = SeenRate();
    const auto& here = m_.result.samples_per_s;
    if (!rate || !here || !Apart(*rate, *here)) return;
    const std::string_view most = *rate < *here ? "at least" : "at most";
    const auto& d = m_.demands;
    if (d.batch_samples == 0) return;
    const auto samples = static_cast<double>(d.batch_samples);
    const int loaders = std::max(1, e_.loader.workers) * e_.run.accelerators;
    const double step_s = e_.loader.workers > 0 ? 0 : d.step_s.value_or(0);
    const double sample_s = loaders / *rate - step_s / samples;
    if (!(sample_s > 0)) return;
    const double without_reads_s = d.prepare_cpu_s.value_or(0) + d.prepare_wait_s.value_or(0) +
                                   d.collate_s.value_or(0) + d.send_s;
    const double reads_s = samples * sample_s - without_reads_s;
    if (d.bytes > 0 && d.reads > 0 && reads_s > 0) {
      const double batches_per_s = *rate / samples;
      check_.mend.push_back(fmt::format("a read from your storage takes {} {} ({} reads/s, {} in all)", most,
                                        base::Seconds(reads_s / d.reads, 3),
                                        base::Significant(batches_per_s * d.reads, 3),
                                        RateText(batches_per_s * d.bytes)));
    }
    const std::string who = e_.loader.workers > 0 ? "worker" : "training loop";
    check_.mend.push_back(fmt::format(
        "{}{} takes {} {} for a sample", check_.mend.empty() ? "" : "or ",
        loaders > 1 ? fmt::format("each of {} {}s", loaders, who) : "the " + who,
        most, base::Seconds(sample_s, 3)));
  }

  const Observed& seen_;
  const spec::Experiment& e_;
  const measure::Measurement& m_;
  double allowed_ = Thresholds{}.observed_apart;
  ObservedCheck check_;
};

}  // namespace

bool Observed::IsEmpty() const {
  return !device_utilization && !samples_per_s && !cpu_utilization && !step_s;
}

bool ObservedCheck::Differs() const {
  return std::any_of(quantities.begin(), quantities.end(),
                     [](const ObservedQuantity& one) { return one.differs; });
}

ObservedCheck CheckObserved(const Observed& observed, const spec::Experiment& experiment,
                            const measure::Measurement& measurement) {
  return Comparison(observed, experiment, measurement).Check();
}

void HeedObserved(const Observed& observed, const spec::Experiment& experiment,
                  const measure::Measurement& measurement, Diagnosis& diagnosis) {
  if (observed.IsEmpty()) return;
  diagnosis.observed = CheckObserved(observed, experiment, measurement);
  const bool certain = diagnosis.confidence == Confidence::kHigh;
  if (certain && diagnosis.observed->Differs()) diagnosis.confidence = Confidence::kLow;
}

}  // namespace pipesim::diagnose
