#include "spec/machine_profile.h"

#include <gmock/gmock.h>

#include <filesystem>

#include "support.h"

namespace pipesim::spec {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

constexpr const char* kSmall = R"(version: 1
source: a machine made up for this test
context: {cpu: Some CPU, cores: 8, gpu: Some GPU, date: 2026-01-02}
figures:
  wake_up: {value: 40us, spread: 1.5, how: measured}
  collate_bandwidth: {value: 10GB/s, how: "data sheet, page 3"}
  fp32_gflops: {value: 55.5, spread: 0.01, how: measured}
  memory: {value: 16GiB, how: measured}
steps:
  - {model: mlp, shape: [1, 28, 28], device: cpu, threads: 2, batch: 64, time: 1.2ms, spread: 0.03, how: measured}
  - {model: mlp, shape: [1, 28, 28], device: "cuda:0", precision: bf16, optimizer: adam, batch: 256, time: 106us, launch: 184us, gap: 7us, how: measured}
  - {model: mlp, shape: [1, 28, 28], device: cpu, threads: 2, omp_wait: passive, batch: 64, after_pause: 10ms, time: 1.9ms, how: measured}
)";

MachineProfile Profile(std::string_view text) { return ReadMachineProfileText(text, "p.yaml"); }

std::vector<base::Problem> ProblemsIn(const std::string& text) {
  try {
    Profile(text);
  } catch (const base::ConfigError& error) {
    return error.problems();
  }
  return {};
}

TEST(MachineProfile, HoldsEachFigureWithSpreadAndProvenance) {
  const MachineProfile profile = Profile(kSmall);
  EXPECT_EQ(profile.cpu, "Some CPU");
  EXPECT_EQ(profile.cores, 8);
  ASSERT_TRUE(profile.figures.wake_up);
  EXPECT_EQ(profile.figures.wake_up->value, 40us);
  EXPECT_EQ(profile.figures.wake_up->spread, 1.5);
  EXPECT_EQ(profile.figures.wake_up->how, "measured");
  EXPECT_EQ(profile.figures.collate_bandwidth->value.per_s, 10e9);
  EXPECT_FALSE(profile.figures.collate_bandwidth->spread);
  EXPECT_EQ(profile.figures.memory->value.count, std::int64_t{16} << 30);
  EXPECT_FALSE(profile.figures.decode_bandwidth);
}

TEST(MachineProfile, AnEmptyFileIsNamed) {
  const auto problems = ProblemsIn("");
  ASSERT_EQ(problems.size(), 1u);
  EXPECT_EQ(problems[0].source, "p.yaml");
  EXPECT_EQ(problems[0].what, "a machine profile must be a map of keys and values");
}

TEST(MachineProfile, HoldsMeasuredSteps) {
  const MachineProfile profile = Profile(kSmall);
  ASSERT_EQ(profile.steps.size(), 3u);
  EXPECT_TRUE(profile.steps[0].device.IsCpu());
  EXPECT_EQ(profile.steps[0].threads, 2);
  EXPECT_EQ(profile.steps[0].shape, (Shape{1, 28, 28}));
  EXPECT_EQ(profile.steps[0].time.value, 1200us);
  EXPECT_EQ(profile.steps[1].precision, Precision::kBf16);
  EXPECT_EQ(profile.steps[1].optimizer, Optimizer::kAdam);
  EXPECT_EQ(profile.steps[1].batch, 256);
  EXPECT_EQ(profile.steps[0].omp_wait, OmpWait::kDefault);
  EXPECT_EQ(profile.steps[2].omp_wait, OmpWait::kPassive);
  EXPECT_EQ(profile.steps[2].after_pause, 10ms);
  EXPECT_EQ(profile.steps[0].after_pause, 0ms);
}

TEST(MachineProfile, ASecondRoundTripChangesNothing) {
  const std::string text = WriteProfile(Profile(kSmall));
  EXPECT_EQ(WriteProfile(Profile(text)), text);
  const MachineProfile again = Profile(text);
  EXPECT_EQ(again.source, "a machine made up for this test");
  EXPECT_EQ(again.gpu, "Some GPU");
  EXPECT_EQ(again.figures.collate_bandwidth->how, "data sheet, page 3");
  EXPECT_EQ(again.figures.fp32_gflops->value, 55.5);
  EXPECT_EQ(again.steps[1].time.value, 106us);
  EXPECT_EQ(again.steps[1].launch, 184us);
  EXPECT_EQ(again.steps[0].launch, std::nullopt);
  EXPECT_EQ(again.steps[1].gap, 7us);
  EXPECT_EQ(again.steps[0].gap, std::nullopt);
  EXPECT_EQ(again.steps[2].omp_wait, OmpWait::kPassive);
  EXPECT_EQ(again.steps[2].after_pause, 10ms);
}

TEST(MachineProfile, EveryFigureRoundTrips) {
  MachineProfile full;
  full.cores = 0.5;
  int count = 0;
  ForEachFigure(full.figures, [&]<class T>(std::string_view, MaybeFigure<T>& figure) {
    figure.emplace();
    ++count;
    if constexpr (std::is_same_v<T, double>) {
      figure->value = count + 0.25;
    } else if constexpr (std::is_same_v<T, BytesPerSecond>) {
      figure->value = {count * 1.5e9 + 1.0 / 3};
    } else {
      figure->value = T(count * 1001);
    }
    figure->spread = 0.1 * count;
    figure->how = "line " + std::to_string(count) + ": \"quoted\", and a comma";
  });
  const MachineProfile again = Profile(WriteProfile(full));
  std::vector<std::string> how;
  ForEachFigure(again.figures, [&](std::string_view key, const auto& figure) {
    ASSERT_TRUE(figure) << key;
    how.push_back(figure->how);
  });
  EXPECT_EQ(how.size(), static_cast<std::size_t>(count));
  EXPECT_EQ(WriteProfile(again), WriteProfile(full));
  EXPECT_EQ(again.figures.device_memory->value, full.figures.device_memory->value);
  EXPECT_EQ(again.figures.h2d_bandwidth->value, full.figures.h2d_bandwidth->value);
}

TEST(MachineProfile, ReadsJson) {
  const MachineProfile profile = Profile(
      R"({"version": 1, "context": {"cores": 4},
          "figures": {"wake_up": {"value": "40us", "spread": 0.2, "how": "measured"}},
          "steps": [{"model": "mlp", "shape": [784], "device": "cpu", "batch": 1, "time": "1ms",
                     "how": "measured"}]})");
  EXPECT_EQ(profile.figures.wake_up->value, 40us);
  EXPECT_EQ(profile.steps.at(0).batch, 1);
}

TEST(MachineProfile, AStepWithAnInvalidDeviceIsRefusedAtItsPlace) {
  const auto problems = ProblemsIn(
      "context: {cores: 2}\nsteps:\n"
      "  - {model: mlp, shape: [784], device: gpu, batch: 1, time: 1ms, how: measured}\n");
  ASSERT_EQ(problems.size(), 1u);
  EXPECT_EQ(problems[0].line, 3);
  EXPECT_THAT(problems[0].what, HasSubstr("'gpu' is not a device for measured steps"));
}

TEST(MachineProfile, AFigureWithoutProvenanceIsRefusedAtItsPlace) {
  const auto problems = ProblemsIn(
      "context: {cores: 2}\nfigures:\n  wake_up: {value: 40us}\n  fault_bandwidth: {how: measured}\n");
  ASSERT_EQ(problems.size(), 2u);
  EXPECT_EQ(problems[0].source, "p.yaml");
  EXPECT_EQ(problems[0].line, 3);
  EXPECT_THAT(problems[0].what, HasSubstr("figures.wake_up does not say how it was obtained"));
  EXPECT_EQ(problems[1].line, 4);
  EXPECT_THAT(problems[1].what, HasSubstr("figures.fault_bandwidth has no value"));
}

TEST(MachineProfile, UnknownKeysBadUnitsAndIncompleteStepsAreAllReported) {
  const auto problems = ProblemsIn(
      "context: {cores: 2}\n"
      "figures: {wakeup: {value: 1us, how: measured}, launch: {value: 5, how: measured}}\n"
      "steps: [{model: mlp, device: cpu, how: measured}]\n");
  ASSERT_EQ(problems.size(), 3u);
  EXPECT_THAT(problems[0].what, HasSubstr("unknown key 'wakeup'"));
  EXPECT_EQ(problems[0].suggestion, "wake_up");
  EXPECT_THAT(problems[1].what, HasSubstr("figures.launch.value"));
  EXPECT_THAT(problems[2].what, HasSubstr("steps[0] needs model, shape, device, batch and a time"));
  EXPECT_EQ(problems[2].line, 3);
}

TEST(MachineProfile, AnUnknownNameSuggestsTheNearest) {
  try {
    ReadMachineProfile("defualt", "--profile", ProjectFolders());
    FAIL();
  } catch (const base::ConfigError& error) {
    EXPECT_THAT(error.what(), HasSubstr("there is no machine profile 'defualt'"));
    EXPECT_THAT(error.what(), HasSubstr("default"));
  }
}

TEST(MachineProfile, EveryShippedProfileReadsAndNamesItsSource) {
  int count = 0;
  for (const auto& file :
       std::filesystem::directory_iterator(PIPESIM_SOURCE_DIR "/configs/machines")) {
    const MachineProfile profile =
        ReadMachineProfile(file.path().string(), "--profile", ProjectFolders());
    EXPECT_FALSE(profile.source.empty()) << file.path();
    EXPECT_FALSE(profile.cpu.empty()) << file.path();
    ++count;
  }
  EXPECT_GE(count, 1);
}

}  // namespace
}  // namespace pipesim::spec
