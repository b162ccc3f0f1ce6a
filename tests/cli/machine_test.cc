// `pipesim devices` and `pipesim memory`: what is here, what fits.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "support/command.h"
#include "support/schema.h"

namespace pipesim {
namespace {

using nlohmann::ordered_json;
using support::CommandResult;
using support::RunPipesim;
using testing::HasSubstr;
using testing::StartsWith;

/// Hides every GPU of this machine.
const support::CommandOptions kNoGpu{.environment = {"CUDA_VISIBLE_DEVICES="}};

TEST(Devices, WithoutAGpuAreTheCpuAndTheReason) {
  const CommandResult result = RunPipesim({"devices", "--export", "json=-"}, kNoGpu);
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const auto document = ordered_json::parse(result.out);
  EXPECT_TRUE(tests::FitsSchema(document, "devices"));
  EXPECT_EQ(document["all"], ordered_json::array({"cpu"}));
  EXPECT_GE(document["cpu"]["cores"].get<double>(), 0.01);
  EXPECT_EQ(document["unavailable"][0]["what"], "GPUs");
}

TEST(Devices, AGpuThatIsAbsentIsTheCpu) {
  const CommandResult result = RunPipesim({"devices", "cuda:7", "--brief"}, kNoGpu);
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(result.out, "cpu: cuda:7 is not here\n");
}

TEST(Devices, RefuseWhatIsNoDevice) {
  EXPECT_EQ(RunPipesim({"devices", "h100"}).exit_code, 2);
}

TEST(Memory, OfATeslaM4Holds21000RowsButNot30000) {
  const CommandResult fits = RunPipesim({"memory", "--matmul", "21000", "--device", "tesla-m4"});
  EXPECT_EQ(fits.exit_code, 0);
  EXPECT_THAT(fits.out, StartsWith("fits: "));
  const CommandResult not_fits = RunPipesim({"memory", "--matmul", "30000", "--device", "tesla-m4"});
  EXPECT_EQ(not_fits.exit_code, 5);
  EXPECT_THAT(not_fits.out, HasSubstr("operand                  3,433.2 MiB"));
}

TEST(Memory, TheLargestBatchFitsAndOneMoreDoesNot) {
  const auto ask = [](const std::string& batch) {
    return RunPipesim({"memory", "--model", "resnet50", "--batch", batch, "--device", "rtx-4060",
                       "--export", "json=-"});
  };
  const auto document = ordered_json::parse(ask("64").out);
  EXPECT_TRUE(tests::FitsSchema(document, "memory"));
  const auto largest = document["largest"].get<std::int64_t>();
  EXPECT_EQ(ask(std::to_string(largest)).exit_code, 0);
  EXPECT_EQ(ask(std::to_string(largest + 1)).exit_code, 5);
}

TEST(Memory, OfAPredictionAgreesWithWhatMemorySays) {
  const CommandResult result =
      RunPipesim({"predict", "--model", "resnet50", "--batch", "2000", "--device", "rtx-4060", "--prepare",
                  "none", "--no-save", "--quiet"});
  EXPECT_EQ(result.exit_code, 4);
  const auto largest = ordered_json::parse(RunPipesim({"memory", "--model", "resnet50", "--device",
                                                       "rtx-4060", "--export", "json=-"})
                                               .out)["largest"]
                           .get<std::int64_t>();
  EXPECT_THAT(result.out, HasSubstr("--batch " + std::to_string(largest) + " would fit"));
  EXPECT_THAT(result.out, HasSubstr("Next  the largest batch that fits, which changes training:\n"
                                    "  pipesim predict --model resnet50 --device rtx-4060 --prepare "
                                    "none --no-save --quiet --batch " +
                                    std::to_string(largest)));
  EXPECT_THAT(result.out, Not(HasSubstr("Enough:"))) << "nothing is known of it";
  EXPECT_THAT(result.out, Not(HasSubstr("Too little evidence")));
}

TEST(Memory, AStatedStepHasNone) {
  EXPECT_EQ(RunPipesim({"memory", "--set", "device={emulated: {base: 5ms}}"}).exit_code, 3);
}

TEST(Memory, AProductHasNoModel) {
  const CommandResult result = RunPipesim({"memory", "--matmul", "21000", "--model", "mlp", "--device", "tesla-m4"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, HasSubstr("--model for a training step: give one of them"));
}

TEST(Bench, RefusesFlagsThatItWouldNotUse) {
  EXPECT_THAT(RunPipesim({"bench", "step", "--batch", "64"}).err, HasSubstr("bench step --sizes 1,8,64"));
  EXPECT_THAT(RunPipesim({"bench", "matmul", "--model", "mlp"}).err, HasSubstr("only `pipesim bench step`"));
  EXPECT_EQ(RunPipesim({"bench", "step", "--data", "."}).exit_code, 2);
}

TEST(Bench, RefusesABenchThatIsNone) {
  const CommandResult result = RunPipesim({"bench", "matmull"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, HasSubstr("did you mean matmul?"));
  EXPECT_EQ(RunPipesim({"bench", "add", "--sizes", "0"}).exit_code, 2);
  EXPECT_EQ(RunPipesim({"bench", "add", "--sizes", "1:10:-1"}).exit_code, 2);
  EXPECT_EQ(RunPipesim({"bench", "add", "--max-time", "5"}).exit_code, 2);
  EXPECT_THAT(RunPipesim({"bench", "add", "--iterations", "0"}).err, HasSubstr("--iterations takes a count"));
}

TEST(Bench, NeedsLibTorch) {
  EXPECT_EQ(RunPipesim({"bench", "matmul", "--needs-libtorch"}).out, "yes\n");
}

TEST(Pages, OfMemoryAndDevicesBeginWithTheAnswer) {
  const auto memory = RunPipesim({"memory", "--matmul", "51200", "--device", "tesla-m4", "--export", "html=-"});
  EXPECT_EQ(memory.exit_code, 5);
  EXPECT_THAT(memory.out, HasSubstr("<h1 class=\"bad\"><b>does not fit</b>: a product of 51,200 x 51,200 needs"));
  EXPECT_THAT(RunPipesim({"devices", "--export", "html=-"}, kNoGpu).out, HasSubstr("<h1 class=\"good\"><b>cpu</b>: "));
}

}  // namespace
}  // namespace pipesim
