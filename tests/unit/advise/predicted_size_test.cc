// Sizes found by bisection on predictions, against every value of the axis.
#include <gtest/gtest.h>

#include "advise/axis.h"
#include "predicted.h"

namespace pipesim::advise {
namespace {

spec::Experiment WithValue(spec::Experiment experiment, const std::string& axis, double value) {
  const int whole = static_cast<int>(value);
  if (axis == "storage.bandwidth") experiment.storage.bandwidth = base::BytesPerSecond{value};
  if (axis == "storage.iops") experiment.storage.iops_per_s = value;
  if (axis == "limits.cpus") experiment.limits.cpu_count = whole;
  if (axis == "loader.workers") experiment.loader.workers = whole;
  if (axis == "accelerators") experiment.run.accelerators = whole;
  return experiment;
}

struct SizeCase {
  const char* axis;
  Metric metric;
  double target;
  const char* yaml;
};
// 64 samples of 100 kB a batch: a step of 10 ms takes 640 MB/s and 6,400 reads/s.
constexpr const char* kDisk =
    "prepare: none\nloader: {workers: 8}\nstorage: {latency: 1ms, bandwidth: 400MB/s, iops: 4k}\n"
    "limits: {cpus: 8}\ndevice: {emulated: {base: 10ms}}\nrun: {steps: 200}\n";
constexpr const char* kFastDisk =
    "prepare: none\nloader: {workers: 16}\nstorage: {bandwidth: 2GB/s, iops: 90k}\n"
    "limits: {cpus: 8}\ndevice: {emulated: {base: 10ms}}\nrun: {steps: 200}\n";
constexpr const char* kBurning =
    "prepare: {kind: burn, cost: {distribution: lognormal, mean: 900us, stdev: 400us}}\n"
    "loader: {workers: 12}\nstorage: none\nlimits: {cpus: 12}\n"
    "device: {emulated: {base: 10ms}}\nrun: {steps: 200}\n";
constexpr Metric kAu = Metric::kUtilization, kRate = Metric::kSamplesPerSecond;
const SizeCase kCases[] = {
    {"storage.bandwidth", kAu, 0.5, kFastDisk},
    {"storage.bandwidth", kRate, 2000, kDisk},
    {"storage.iops", kAu, 0.8, kFastDisk},
    {"storage.iops", kRate, 1500, kDisk},
    {"limits.cpus", kAu, 0.9, kBurning},
    {"limits.cpus", kRate, 3000, kBurning},
    {"loader.workers", kAu, 0.9, kBurning},
    {"loader.workers", kRate, 2000, kDisk},
    {"accelerators", kAu, 0.9, kFastDisk},
    {"accelerators", kAu, 0.5, kFastDisk},
};

/// The first value from `from` on, by `step`, where the target is met (or on a falling axis missed).
double BruteForce(const SizeCase& at, const SizeQuestion& question, double from, double to) {
  double last = from;
  for (double value = from; value <= to; value = question.whole ? value + 1 : value * 1.01) {
    const auto rates = RatesOfExperiment(WithValue(Short(at.yaml), at.axis, value));
    const bool meets = rates->Of(at.metric).value() >= at.target;
    if (meets != question.falls) return question.falls ? last : value;
    last = value;
  }
  return -1;
}

TEST(PredictedSize, IsWithinOneStepOfBruteForce) {
  for (const SizeCase& at : kCases) {
    const spec::Experiment experiment = Short(at.yaml);
    const Axis& axis = *FindAxis(at.axis);
    const SizeQuestion question = QuestionOf(axis, experiment, at.metric, at.target);
    int asked = 0;
    const SizeAnswer found = FindSize(question, [&](double value) {
      ++asked;
      return RatesOfExperiment(WithValue(experiment, at.axis, value));
    });
    ASSERT_TRUE(found.answer) << at.axis << " " << at.target;
    const double value = found.answer->value;
    // Continuous axes: everything from 30 % below.
    const double from = question.whole ? question.least : value / 1.3;
    const double truth = BruteForce(at, question, from, value * 1.3 + 2);
    if (question.whole) {
      EXPECT_LE(std::abs(truth - value), 1) << at.axis << " " << at.target;
    } else {
      EXPECT_GE(value, truth / 1.0201) << at.axis << " " << at.target;
      EXPECT_LE(value, truth * 1.0201) << at.axis << " " << at.target;
    }
    EXPECT_LE(asked, 30) << at.axis << " " << at.target;
  }
}

}  // namespace
}  // namespace pipesim::advise
