#include "spec/presets.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "support/test_folder.h"

namespace pipesim::spec {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;

TEST(Presets, AreAllFilesOfTheDataFolders) {
  const Presets presets = ReadPresets({{PIPESIM_SOURCE_DIR}});
  std::vector<std::string> storages, devices;
  for (const Storage& one : presets.storages) storages.push_back(one.preset);
  for (const DevicePreset& one : presets.devices) devices.push_back(one.name);
  EXPECT_THAT(storages, ElementsAre("hdd", "nfs-1gbit", "nvme", "ram", "sata-ssd"));
  EXPECT_THAT(devices, ElementsAre("a100", "h100", "h200", "rtx-4060", "tesla-m4"));
  EXPECT_EQ(presets.storages.front().bandwidth->per_s, 210e6);
  EXPECT_EQ(presets.devices.back().fp32_flops_per_s, 2.2e12);
}

TEST(Presets, ABrokenFileConcernsOnlyThoseWhoNameIt) {
  const support::TemporaryFolder folder;
  const fs::path root = folder.path();
  fs::create_directories(root / "configs/storage");
  std::ofstream(root / "configs/storage/good.yaml") << "source: made up\nbandwidth: 1MB/s\n";
  std::ofstream(root / "configs/storage/broken.yaml") << "bandwidth: fast\n";
  std::ofstream(root / "configs/storage/odd.yaml") << ": [\n";
  const Presets presets = ReadPresets({{root}});
  ASSERT_EQ(presets.storages.size(), 1u);
  EXPECT_EQ(presets.storages.front().preset, "good");
}

TEST(DataFolders, ReadingOnceKeepWhatEachFileSaidAtFirst) {
  const support::TemporaryFolder folder;
  const fs::path file = folder.path() / "experiment.yaml";
  const DataFolders once = ReadingOnce({{PIPESIM_SOURCE_DIR}});
  const auto workers = [&](const DataFolders& folders) {
    return ReadExperiment({.file = file, .overrides = {}}, folders).experiment.loader.workers;
  };
  std::ofstream(file) << "loader: {workers: 3}\n";
  EXPECT_EQ(workers(once), 3);
  std::ofstream(file) << "loader: {workers: 5}\n";
  EXPECT_EQ(workers(once), 3);
  EXPECT_EQ(workers({{PIPESIM_SOURCE_DIR}}), 5);
}

TEST(DataFolders, ReadingOnceReportTheSameProblemsAgain) {
  const support::TemporaryFolder folder;
  const fs::path file = folder.path() / "experiment.yaml";
  std::ofstream(file) << "loader: {workers: 3, workers: 4}\n";
  const DataFolders once = ReadingOnce({{PIPESIM_SOURCE_DIR}});
  for (int time = 0; time < 2; ++time)
    EXPECT_THROW(ReadExperiment({.file = file, .overrides = {}}, once), base::ConfigError);
}

}  // namespace
}  // namespace pipesim::spec
