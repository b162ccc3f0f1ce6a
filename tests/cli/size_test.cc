// `pipesim size`: answers, targets out of reach, errors.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "support/command.h"
#include "support/schema.h"

namespace pipesim {
namespace {

using nlohmann::ordered_json;
using support::CommandResult;
using support::RunPipesim;
using support::TestFolder;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

// A step of 10 ms for 32 samples of 1 MB: 3.2 GB/s keep the device busy all the time.
const std::vector<std::string> kHungry = {
    "--batch",     "32",  "--sample-bytes", "1MB",   "--prepare", "none", "--workers", "8",
    "--set",       "device={emulated: {base: 10ms}}", "--set", "storage={bandwidth: 1GB/s}",
    "--set",       "limits.cpus=64"};

CommandResult Size(std::vector<std::string> words, const std::vector<std::string>& experiment) {
  words.insert(words.begin(), "size");
  words.insert(words.end(), experiment.begin(), experiment.end());
  return RunPipesim(words);
}

struct Sized {
  CommandResult result;
  ordered_json document;
};
Sized SizeAsJson(std::vector<std::string> words,
                 const std::vector<std::string>& experiment = kHungry) {
  words.insert(words.end(), {"--export", "json=-"});
  Sized sized{Size(std::move(words), experiment), {}};
  if (!sized.result.out.empty()) sized.document = ordered_json::parse(sized.result.out);
  return sized;
}

TEST(Size, FindsTheBandwidthThatATargetNeeds) {
  const Sized sized = SizeAsJson({"--target", "au>=0.5", "--solve", "storage.bandwidth"});
  ASSERT_EQ(sized.result.exit_code, 0) << sized.result.err;
  EXPECT_TRUE(tests::FitsSchema(sized.document, "size"));
  // 0.5 x 3.2 GB/s.
  EXPECT_NEAR(sized.document["answer"]["value"].get<double>(), 1.6e9, 0.02 * 1.6e9);
  EXPECT_GE(sized.document["answer"]["accelerator_utilization"].get<double>(), 0.5);
  EXPECT_LT(sized.document["neighbor"]["accelerator_utilization"].get<double>(), 0.5);
  EXPECT_EQ(sized.document["binds"]["bottleneck"], "io-bound");
  EXPECT_FALSE(sized.document["present"]["meets"].get<bool>());
}

TEST(Size, ItsCommandPredictsWhatItPromises) {
  const Sized sized = SizeAsJson({"--target", "samples_per_s>=2000", "--solve", "storage.bandwidth"});
  ASSERT_EQ(sized.result.exit_code, 0) << sized.result.err;
  auto words = sized.document["next"]["argv"].get<std::vector<std::string>>();
  ASSERT_EQ(words[1], "predict");
  words.erase(words.begin());
  words.insert(words.end(), {"--export", "json=-"});
  const CommandResult predicted = RunPipesim(words);
  ASSERT_EQ(predicted.exit_code, 0) << predicted.err;
  const double promised = sized.document["answer"]["samples_per_s"].get<double>();
  EXPECT_NEAR(ordered_json::parse(predicted.out)["result"]["samples_per_s"].get<double>(), promised,
              0.005 * promised);
}

TEST(Size, FindsWorkersAndCoresExactly) {
  // 32 samples of 2 ms: a worker takes 64 ms for a batch, a step 10 ms.
  const std::vector<std::string> slow = {"--batch", "32",  "--prepare", "2ms",     "--storage",
                                         "none",    "--set", "device={emulated: {base: 10ms}}"};
  std::vector<std::string> cores = slow;
  cores.insert(cores.end(), {"--workers", "16"});
  std::vector<std::string> workers = slow;
  workers.insert(workers.end(), {"--cpus", "64"});
  const Sized least = SizeAsJson({"--target", "au>=0.6", "--solve", "loader.workers"}, workers);
  ASSERT_EQ(least.result.exit_code, 0) << least.result.err;
  EXPECT_EQ(least.document["answer"]["value"], 4);  // 4 x 10 / 64 = 0.625
  EXPECT_EQ(least.document["neighbor"]["value"], 3);
  const Sized cpus = SizeAsJson({"--target", "au>=0.6", "--solve", "cpus"}, cores);
  ASSERT_EQ(cpus.result.exit_code, 0) << cpus.result.err;
  EXPECT_EQ(cpus.document["answer"]["value"], 4);
}

TEST(Size, FindsTheMostAccelerators) {
  std::vector<std::string> shared = kHungry;
  shared.insert(shared.end(), {"--set", "storage.bandwidth=20.8GB/s"});
  const Sized sized = SizeAsJson({"--target", "au>=0.9", "--solve", "accelerators"}, shared);
  ASSERT_EQ(sized.result.exit_code, 0) << sized.result.err;
  EXPECT_EQ(sized.document["answer"]["value"], 7);  // 20.8 / 3.2 / 0.9 = 7.2
  EXPECT_EQ(sized.document["solve"]["answer_is"], "most");
  EXPECT_EQ(sized.document["neighbor"]["value"], 8);
}

TEST(Size, PredictsAsMuchOfLongEpochsAsTells) {
  // Drawn sizes are simulated read by read: whole epochs of 100 million would take minutes.
  const Sized sized = SizeAsJson({"--target", "au>=0.9", "--solve", "accelerators"},
                                 {"--batch", "1", "--prepare", "none", "--workers", "4", "--cpus", "64",
                                  "--set", "dataset={samples: 100M, shape: [1000], sample_bytes: "
                                           "{distribution: normal, mean: 1MB, stdev: 100kB}}",
                                  "--set", "device={emulated: {base: 10ms}}",
                                  "--set", "storage={bandwidth: 400MB/s}", "--set", "run.barrier=true",
                                  "--epochs", "1"});
  ASSERT_EQ(sized.result.exit_code, 0) << sized.result.err;
  const auto most = sized.document["answer"]["value"].get<std::int64_t>();
  EXPECT_EQ(most, 4);  // 400 / 100 MB/s
  const auto words = sized.document["next"]["argv"].get<std::vector<std::string>>();
  EXPECT_THAT(words, testing::Contains("dataset.samples=" + std::to_string(most * 100'000'000)))
      << "whoever confirms it predicts all";

}

TEST(Size, WhereMemoryEndsBeforeTheTargetItSaysSo) {
  const std::string profile = TestFolder() / "small.yaml";
  std::ofstream(profile) << "context: {cores: 64}\nfigures: {memory: {value: 4GB, how: a test}}\n";
  const std::vector<std::string> experiment = {
      "--profile", profile, "--workers", "2", "--storage", "ram", "--prepare", "none", "--model", "mlp",
      "--batch", "1000", "--set", "dataset.shape=[1000, 100]", "--set", "device={emulated: {base: 100ms}}"};
  const Sized sized = SizeAsJson({"--target", "au>=0.5", "--solve", "accelerators"}, experiment);
  ASSERT_EQ(sized.result.exit_code, 0) << sized.result.err;
  EXPECT_TRUE(tests::FitsSchema(sized.document, "size"));
  EXPECT_THAT(sized.document["neighbor"]["failure"].get<std::string>(), HasSubstr("4.0 GB are free"));
  const std::string text = Size({"--target", "au>=0.5", "--solve", "accelerators"}, experiment).out;
  EXPECT_THAT(text, AllOf(HasSubstr("and more cannot run: AU"), HasSubstr("no run"), HasSubstr("cannot run: ")));
}

TEST(Size, WhereThisMachinesMemoryEndsItNamesTheProfileWithoutThatLimit) {
  // Batches of 10 GB: 64 accelerators hold 3 TB.
  std::vector<std::string> words = {
      "predict", "--accelerators", "64", "--workers", "1", "--storage", "ram", "--prepare", "none", "--model", "mlp",
      "--batch", "10000", "--set", "dataset.shape=[1000, 1000]", "--set", "dataset.samples=2000000", "--steps", "2",
      "--set", "device={emulated: {base: 100ms}}", "--export", "json=-"};
  const auto failure = [&] { return ordered_json::parse(RunPipesim(words).out)["result"]["failure"]; };
  EXPECT_THAT(failure().dump(), HasSubstr("(--profile default has no such limit)"));
  words.insert(words.end(), {"--profile", "default"});
  EXPECT_TRUE(failure().is_null());
  EXPECT_THAT(RunPipesim(words).out, Not(HasSubstr("out of memory")));
}

TEST(Size, ATargetOutOfReachNamesTheHighestAndWhatLimits) {
  std::vector<std::string> slow = kHungry;
  slow.insert(slow.end(), {"--prepare", "2ms", "--set", "limits.cpus=2"});
  const Sized sized = SizeAsJson({"--target", "au>=0.9", "--solve", "storage.bandwidth"}, slow);
  EXPECT_EQ(sized.result.exit_code, 5);
  EXPECT_TRUE(tests::FitsSchema(sized.document, "size"));
  EXPECT_TRUE(sized.document["answer"].is_null());
  EXPECT_EQ(sized.document["binds"]["bottleneck"], "cpu-bound");
  EXPECT_LT(sized.document["best"]["accelerator_utilization"].get<double>(), 0.5);
  const CommandResult text = Size({"--target", "au>=0.9", "--solve", "storage.bandwidth"}, slow);
  EXPECT_EQ(text.exit_code, 5);
  EXPECT_THAT(text.out, AllOf(HasSubstr("storage.bandwidth alone cannot reach au>=0.9"),
                              HasSubstr("cpu-bound")));
}

TEST(Size, TheKeptDocumentPrintsTheSameText) {
  const std::string file = (TestFolder() / "size.json").string();
  const CommandResult size = Size(
      {"--target", "au>=0.5", "--solve", "storage.bandwidth", "--export", "json=" + file}, kHungry);
  ASSERT_EQ(size.exit_code, 0) << size.err;
  EXPECT_THAT(size.out, HasSubstr("is the least that reaches au>=0.5: AU 0.5"));
  const CommandResult again = RunPipesim({"report", file});
  EXPECT_EQ(again.exit_code, 0) << again.err;
  EXPECT_EQ(again.out, size.out);
  EXPECT_EQ(RunPipesim({"predict", "--from", file}).exit_code, 3);
}

void ExpectError(const CommandResult& result, int code, const std::string& text) {
  EXPECT_EQ(result.exit_code, code);
  EXPECT_THAT(result.err, HasSubstr(text));
}

TEST(SizeErrors, NameTheFlagAndWhatItTakes) {
  ExpectError(Size({"--solve", "loader.workers"}, kHungry), 2, "needs a target: --target");
  ExpectError(Size({"--target", "au>=0.9"}, kHungry), 2, "--solve AXIS; the axes are: storage.");
  ExpectError(Size({"--target", "au>=0.9", "--solve", "storage.bandwith"}, kHungry), 2,
              "did you mean storage.bandwidth?");
  for (const std::string& other : {std::string("au>0.9"), std::string("au<=0.9")})
    ExpectError(Size({"--target", other, "--solve", "limits.cpus"}, kHungry), 2,
                "--target takes au>=0.9 or samples_per_s>=4000, not '" + other + "'");
  ExpectError(Size({"--target", "au>=0", "--solve", "limits.cpus"}, kHungry), 2, "a limit above 0");
  ExpectError(Size({"--target", "au>=nan", "--solve", "limits.cpus"}, kHungry), 2,
              "'nan' is not a plain number");
  ExpectError(Size({"--targte", "au>=0.9", "--solve", "limits.cpus"}, kHungry), 2,
              "did you mean --target?");
}

TEST(SizeErrors, AStorageWithoutTheLimitSaysWhatToDo) {
  const auto solved = [](const char* axis, const std::vector<std::string>& storage) {
    return Size({"--target", "au>=0.9", "--solve", axis}, storage);
  };
  ExpectError(solved("storage.bandwidth", {"--storage", "none"}), 3,
              "storage.bandwidth needs a storage, and this experiment has none");
  ExpectError(solved("storage.iops", kHungry), 3, "this storage has no storage.iops");
  ExpectError(solved("storage.iops", kHungry), 3, "--set storage.iops=10k");
}

}  // namespace
}  // namespace pipesim
