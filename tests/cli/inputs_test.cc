// What users type and write into files by mistake: each is answered with its place, what is wrong
// and what to write instead, and nothing wrong is accepted in silence.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "support/command.h"
#include "support/test_folder.h"

namespace pipesim {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using support::CommandOptions;
using support::CommandResult;
using support::RunPipesim;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class Inputs : public testing::Test {
 protected:
  std::string Write(const std::string& name, const std::string& content) const {
    const fs::path path = folder_.path() / name;
    std::ofstream(path) << content;
    return path.string();
  }
  std::string ReportOf(const std::vector<std::string>& flags) const {
    const std::string file = (folder_.path() / "report.json").string();
    std::vector<std::string> words{"predict",   "--device", "emulated",
                                   "--no-save", "--export", "json=" + file};
    words.insert(words.end(), flags.begin(), flags.end());
    EXPECT_EQ(RunPipesim(words).exit_code, 0);
    return file;
  }
  static json Load(const std::string& file) {
    std::ifstream text(file);
    return json::parse(text);
  }

  support::TemporaryFolder folder_;
};

TEST_F(Inputs, AFileThatIsNoMapIsRefusedWithFlagsToo) {
  for (const char* content : {"hello\n", "[1,2]\n"}) {
    const std::string file = Write("no-map.yaml", content);
    for (const std::vector<std::string>& words :
         {std::vector<std::string>{"validate", file},
          std::vector<std::string>{"validate", file, "--workers", "2"},
          std::vector<std::string>{"predict", file, "--device", "emulated"}}) {
      const CommandResult result = RunPipesim(words);
      EXPECT_EQ(result.exit_code, 3) << content;
      EXPECT_THAT(result.err,
                  AllOf(HasSubstr("no-map.yaml:1:1"), HasSubstr("a map of keys and values")));
    }
  }
}

TEST_F(Inputs, APresetThatIsNoNameIsRefused) {
  for (const char* value : {"storage.preset=[1,2,3]", "storage.preset={a: 1}"}) {
    const CommandResult result = RunPipesim({"validate", "--set", value});
    EXPECT_EQ(result.exit_code, 3) << value;
    EXPECT_THAT(result.err, HasSubstr("storage.preset must be one name"));
  }
}

TEST_F(Inputs, AnUnsetVariableIsNotZero) {
  for (const std::vector<std::string>& flag :
       {std::vector<std::string>{"--workers", ""}, std::vector<std::string>{"--prepare", ""},
        std::vector<std::string>{"--set", "loader.workers="},
        std::vector<std::string>{"--set", "storage= "}}) {
    std::vector<std::string> words{"validate"};
    words.insert(words.end(), flag.begin(), flag.end());
    const CommandResult result = RunPipesim(words);
    EXPECT_EQ(result.exit_code, 3) << flag[1];
    EXPECT_THAT(result.err, HasSubstr("given without a value"));
  }
  EXPECT_EQ(RunPipesim({"validate", "--set", "storage=null"}).exit_code, 0);
}

TEST_F(Inputs, ALimitTakesQuantitiesAndSaysTheValue) {
  const auto require = [](const std::string& limit) {
    return RunPipesim({"predict", "--device", "emulated", "--storage", "hdd", "--workers", "1",
                       "--no-save", "--brief", "--require", limit});
  };
  EXPECT_EQ(require("samples_per_s>=nan").exit_code, 2);
  EXPECT_EQ(require("samples_per_s>=inf").exit_code, 2);
  const CommandResult missed = require("samples_per_s>=1M");
  EXPECT_EQ(missed.exit_code, 5);
  EXPECT_THAT(missed.err, HasSubstr("samples_per_s>=1M is missed: it is "));
  EXPECT_EQ(require("au>=90%").exit_code, 5);
}

TEST_F(Inputs, AnEditedReportIsRefusedByEveryReader) {
  const std::string file = ReportOf({"--workers", "2"});
  EXPECT_EQ(RunPipesim({"report", file}).exit_code, 0);
  EXPECT_EQ(RunPipesim({"predict", "--from", file, "--no-save"}).exit_code, 0);
  json edited = Load(file);
  edited["demands"]["step_s"] = -1;
  const std::string bad = Write("edited.json", edited.dump());
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"report", bad},
        std::vector<std::string>{"predict", "--from", bad}}) {
    const CommandResult result = RunPipesim(words);
    EXPECT_EQ(result.exit_code, 3);
    EXPECT_THAT(result.err, AllOf(HasSubstr("edited.json"), HasSubstr("demands.step_s: -1")));
  }
}

TEST_F(Inputs, AReportMayBeNeitherAPipeNorHuge) {
  const std::string pipe = (folder_.path() / "pipe").string();
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  CommandOptions options;
  options.limit = std::chrono::seconds(10);
  const CommandResult fifo = RunPipesim({"report", pipe}, options);
  EXPECT_EQ(fifo.exit_code, 3);
  EXPECT_THAT(fifo.err, HasSubstr("not a regular file"));
  const std::string huge = Write("huge.json", "");
  fs::resize_file(huge, 285'000'000);
  const CommandResult result = RunPipesim({"report", huge}, options);
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_THAT(result.err, HasSubstr("too large for a report"));
}

TEST_F(Inputs, ProcessorsThatAreNotHereAreNamed) {
  cpu_set_t set;
  ASSERT_EQ(sched_getaffinity(0, sizeof set, &set), 0);
  int first = 0;
  while (!CPU_ISSET(first, &set)) ++first;
  CommandOptions options;
  options.before = [first] {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(first, &one);
    sched_setaffinity(0, sizeof one, &one);
  };
  const auto run = [&](const std::string& cpus) {
    return RunPipesim(
        {"run", "--device", "emulated", "--steps", "20", "--quiet", "--no-save", "--cpus", cpus},
        options);
  };
  const std::string here = std::to_string(first), next = std::to_string(first + 1);
  const CommandResult many = run("64");
  EXPECT_EQ(many.exit_code, 0);
  EXPECT_THAT(many.err, HasSubstr("64 processors are asked for; this process may use only 1"));
  const CommandResult list = run(here + "-" + next);
  EXPECT_EQ(list.exit_code, 0);
  EXPECT_THAT(list.err, HasSubstr("may use only \"" + here + "-" + here + "\""));
  const CommandResult none = run(next + "-" + next);
  EXPECT_EQ(none.exit_code, 3);
  EXPECT_THAT(none.err, HasSubstr("names no processor that this process may use"));
  EXPECT_THAT(run(here + "-" + here).err, Not(HasSubstr("limits.cpus")));
}

TEST_F(Inputs, NamesOfFilesCannotWriteToTheTerminal) {
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"validate", "no\x1b[31mfile.yaml"},
        std::vector<std::string>{"report", "no\x1b[31mfile.json"},
        std::vector<std::string>{"validate", "--set", "storage\x1b=1"}}) {
    const CommandResult result = RunPipesim(words);
    EXPECT_NE(result.exit_code, 0);
    EXPECT_THAT(result.err, AllOf(HasSubstr("\uFFFD"), Not(HasSubstr("\x1b"))));
  }
}

TEST_F(Inputs, ValidateLooksForTheFolder) {
  const CommandResult result = RunPipesim({"validate", "--data", "/nonexistent/x"});
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_THAT(result.err, HasSubstr("there is no folder /nonexistent/x"));
  EXPECT_EQ(RunPipesim({"validate", "--data", folder_.path().string()}).exit_code, 0);
}

TEST_F(Inputs, CaseIsForgivenInNames) {
  const CommandResult shown =
      RunPipesim({"predict", "--device", "H100", "--model", "MLP", "--storage", "HDD", "--set",
                  "loader.dispatch=Shared", "--dry-run"});
  EXPECT_EQ(shown.exit_code, 0) << shown.err;
  EXPECT_THAT(shown.out, testing::ContainsRegex("storage.preset +hdd "));
  EXPECT_THAT(shown.out, testing::ContainsRegex("device.emulated.preset +h100 "));
  EXPECT_THAT(shown.out, testing::ContainsRegex("model.name +mlp "));
  EXPECT_THAT(shown.out, testing::ContainsRegex("loader.dispatch +shared "));
  const std::string file = Write("relu.yaml",
                                 "dataset: {samples: 9, shape: [8], classes: 2}\n"
                                 "model: {layers: [{Linear: {out: 2}}, ReLU]}\n");
  EXPECT_EQ(RunPipesim({"validate", file}).exit_code, 0);
  EXPECT_EQ(RunPipesim({"validate", "--device", "CPU"}).exit_code, 0);
  EXPECT_EQ(RunPipesim({"explain", "IO-bound"}).exit_code, 0);
  // Units keep their case: m is not M.
  EXPECT_EQ(RunPipesim({"validate", "--duration", "1S"}).exit_code, 3);
}

TEST_F(Inputs, SuggestionsMeanWhatUsersMean) {
  EXPECT_THAT(RunPipesim({"explain", "gpu-bound"}).err, HasSubstr("did you mean compute-bound?"));
  EXPECT_THAT(RunPipesim({"--expect", "disk-bound"}).err, HasSubstr("did you mean io-bound?"));
  EXPECT_THAT(RunPipesim({"--gpu"}).err, HasSubstr("did you mean --device cuda:0?"));
  EXPECT_THAT(RunPipesim({"--num-workers", "4"}).err, HasSubstr("did you mean --workers?"));
  EXPECT_THAT(RunPipesim({"--batch_size", "4"}).err, HasSubstr("did you mean --batch?"));
  EXPECT_THAT(RunPipesim({"--loader.workers", "4"}).err, HasSubstr("did you mean --workers?"));
  EXPECT_THAT(RunPipesim({"--dataset.samples=9"}).err,
              HasSubstr("did you mean --set dataset.samples=VALUE?"));
  EXPECT_THAT(RunPipesim({"--in-order", "false"}).err,
              HasSubstr("did you mean --set loader.in_order=VALUE?"));
  EXPECT_THAT(RunPipesim({"validate", "--set", "storage={preset: hdd, cache: {size: 8}}"}).err,
              HasSubstr("suggestion: 8MB or 8GB"));
}

int Errors(const CommandResult& result) {
  int errors = 0;
  for (std::size_t at = 0; (at = result.err.find("error: ", at)) != std::string::npos; ++at)
    ++errors;
  return errors;
}

TEST_F(Inputs, EveryErrorHasAPlaceAndEveryMistakeOneError) {
  const std::string model = Write("own.yaml", "layers: [flatten, {linear: {out: 10}}]\n");
  const CommandResult shape = RunPipesim({"validate", "--model", model});
  EXPECT_THAT(shape.err, HasSubstr("command line: error: dataset.shape is not set"));
  EXPECT_THAT(shape.err, HasSubstr("--model " + model + "\n        ^~"));
  EXPECT_THAT(shape.err, Not(testing::StartsWith(":")));
  const std::string experiment = Write("inline.yaml", "model: {layers: [linear: {out: 2}]}\n");
  EXPECT_THAT(RunPipesim({"validate", experiment}).err,
              HasSubstr("inline.yaml:1:8: error: dataset.shape is not set"));

  const std::string preset = Write("gpu.yaml", "source: x\nfp32_tflops: 1\nmemory: 8\n");
  const CommandResult incomplete = RunPipesim({"validate", "--device", preset});
  EXPECT_THAT(incomplete.err, HasSubstr("device preset " + preset + " does not set every figure"));
  EXPECT_THAT(incomplete.err,
              HasSubstr("suggestion: bf16_tflops, memory_bandwidth, h2d_bandwidth"));
  EXPECT_THAT(incomplete.err, HasSubstr("gpu.yaml:3:9"));
  EXPECT_EQ(Errors(incomplete), 2);

  EXPECT_EQ(Errors(RunPipesim({"validate", "--set", "loader.prefetch_factor=0"})), 1);
  EXPECT_EQ(Errors(RunPipesim({"validate", "--set", "dataset.classes=0"})), 1);
  EXPECT_EQ(Errors(RunPipesim({"validate", "--set", "storage={cache: {size: 8}}"})), 1);
  EXPECT_EQ(Errors(RunPipesim({"validate", "--set", "dataset.samples=0"})), 1);
  EXPECT_EQ(Errors(RunPipesim({"validate", "--set", "dataset.shape=[0]"})), 1);
}

}  // namespace
}  // namespace pipesim
