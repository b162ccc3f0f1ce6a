// Runs over a small folder of real JPEGs in each page cache state, and with an emulated cache: what
// the report shows.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <nlohmann/json.hpp>

#include "support/command.h"

namespace pipesim {
namespace {

using nlohmann::json;
using support::CommandResult;
using support::RunPipesim;
using support::TestFolder;
using testing::HasSubstr;

/// 60 pictures in three classes.
std::string Pictures() {
  static const std::string folder = [] {
    std::string path = (TestFolder() / "jpegs").string();
    const std::string make = std::string(PIPESIM_MAKE_DATASET) + " " + path +
                             " --classes 3 --per-class 20 --size 64x64 --seed 1 >/dev/null 2>&1";
    EXPECT_EQ(std::system(make.c_str()), 0);
    return path;
  }();
  return folder;
}

std::vector<std::string> Words(const std::string& storage) {
  return {"--set",     "storage={path: " + Pictures() + ", " + storage + "}",
          "--workers", "2",
          "--batch",   "10",
          "--set",     "prepare=decode",
          "--set",     "dataset.shape=[3, 32, 32]",
          "--device",  "emulated",
          "--epochs",  "2",
          "--quiet",   "--export",
          "json=-"};
}

json ReportOf(const std::string& storage) {
  const CommandResult result = RunPipesim(Words(storage));
  EXPECT_EQ(result.exit_code, 0) << result.err;
  return result.out.empty() ? json{} : json::parse(result.out);
}

TEST(RealFiles, WarmReadsAllFilesBeforeTheRun) {
  const json report = ReportOf("cache: warm");
  EXPECT_EQ(report["reality"]["storage"], "real");
  EXPECT_EQ(report["effective"]["storage"]["file_cache"], "warm");
  EXPECT_GT(report["resources"]["page_cached_fraction"].get<double>(), 0.95);
  EXPECT_GT(report["demands"]["read_cpu_s"].get<double>(), 0);
}

TEST(RealFiles, ColdReportsHowMuchStayedCached) {
  const json report = ReportOf("cache: cold");
  EXPECT_EQ(report["effective"]["storage"]["file_cache"], "cold");
  const double stayed = report["resources"]["page_cached_fraction"].get<double>();
  EXPECT_GE(stayed, 0);
  const bool warned = report["warnings"].dump().find("\"page-cache\"") != std::string::npos;
  EXPECT_EQ(warned, stayed > 0.05) << report["warnings"];
}

TEST(RealFiles, AsIsReportsHowMuchWasCached) {
  const json report = ReportOf("cache: as_is");
  EXPECT_EQ(report["effective"]["storage"]["file_cache"], "as_is");
  EXPECT_TRUE(report["resources"]["page_cached_fraction"].is_number());
}

TEST(RealFiles, DirectReadingWorksOrIsRefusedBeforeTheRun) {
  const CommandResult result = RunPipesim(Words("direct: true"));
  if (result.exit_code == 3) {
    EXPECT_THAT(result.err, HasSubstr("storage.direct"));
    EXPECT_THAT(result.err, HasSubstr("storage.cache=cold"));
    return;
  }
  EXPECT_EQ(result.exit_code, 0) << result.err;
  const json report = json::parse(result.out);
  EXPECT_EQ(report["effective"]["storage"]["direct"], true);
  EXPECT_EQ(report["result"]["status"], "ok");
}

TEST(EmulatedCache, ColdAndWarmEpochsAreJudgedSeparately) {
  // 2,000 samples behind a cache that holds them all: the first epoch waits for storage.
  const CommandResult result =
      RunPipesim({"--set", "dataset.samples=2000", "--sample-bytes", "10kB", "--set",
                  "storage={bandwidth: 50MB/s, latency: 100us, cache: {size: 20MB, policy: lru}}",
                  "--prepare", "none", "--workers", "2", "--batch", "20", "--device", "emulated",
                  "--epochs", "3", "--quiet", "--export", "json=-"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const json report = json::parse(result.out);
  const json& epochs = report["result"]["epochs"];
  ASSERT_EQ(epochs.size(), 3u);
  EXPECT_EQ(epochs[0]["cache_hit_fraction"], 0);
  EXPECT_EQ(epochs[1]["cache_hit_fraction"], 1);
  EXPECT_EQ(report["result"]["judged_epochs"], (json{{"first", 1}, {"last", 2}}));
  EXPECT_EQ(report["resources"]["disk"], nullptr);
  EXPECT_THAT(report["warnings"].dump(), HasSubstr("mixed-cache"));
  EXPECT_GT(epochs[1]["samples_per_s"].get<double>(), epochs[0]["samples_per_s"].get<double>());
}

}  // namespace
}  // namespace pipesim
