// DLIO workloads as experiments: every figure of the experiment follows from the workload as DLIO
// computes it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "interop/dlio.h"
#include "interop/dlio_experiment.h"
#include "spec/read.h"

namespace pipesim::interop {
namespace {

using testing::HasSubstr;

std::string TextOf(const std::filesystem::path& file) {
  std::ostringstream text;
  text << std::ifstream(file).rdbuf();
  return text.str();
}

std::string Workload(const std::string& name) {
  return TextOf(std::filesystem::path(PIPESIM_SOURCE_DIR) / "configs/dlio" / (name + ".yaml"));
}

spec::Experiment Imported(const std::string& yaml, int accelerators = 1,
                          std::vector<spec::Override> overrides = {}) {
  const std::string text = ExperimentText(ReadDlio(yaml, "w.yaml", std::move(overrides)), accelerators, "w.yaml");
  return spec::ReadExperimentText(text, "imported.yaml", {}, {{PIPESIM_SOURCE_DIR}}).experiment;
}

spec::Override Set(const std::string& path, const std::string& value) {
  return {path, value, "--set"};
}

std::string ErrorOf(const std::string& yaml, std::vector<spec::Override> overrides = {}) {
  try {
    ReadDlio(yaml, "w.yaml", std::move(overrides));
  } catch (const base::ConfigError& error) {
    return base::FormatProblems(error.problems());
  }
  return "";
}

TEST(Dlio, ReadsTheWorkloadsOfMlperfStorage) {
  for (const char* const name : {"unet3d_a100", "unet3d_h100", "resnet50_a100", "resnet50_h100",
                                 "cosmoflow_a100", "cosmoflow_h100"}) {
    const spec::Experiment experiment = Imported(Workload(name));
    EXPECT_TRUE(experiment.run.barrier) << name;
    EXPECT_EQ(experiment.run.epochs, 5) << name;
    EXPECT_TRUE(experiment.loader.drop_last) << name;
    EXPECT_EQ(experiment.storage.sharing, spec::StorageSharing::kFair) << name;
  }
}

TEST(Dlio, KeepsItsOwnSemantics) {
  const spec::Experiment experiment =
      Imported(Workload("unet3d_h100"), 4,
               {Set("++workload.reader.read_threads", "48"), Set("dataset.num_files_train", "14003")});
  EXPECT_EQ(experiment.run.accelerators, 4);
  EXPECT_EQ(experiment.loader.workers, 48);
  EXPECT_EQ(experiment.loader.prefetch_factor, 1);  // ceil(2 / 48)
  EXPECT_EQ(experiment.loader.batch_size, 7);
  EXPECT_EQ(experiment.dataset.samples, 14'000);  // floor(14003 / 28) steps of 28
  EXPECT_EQ(experiment.device.step_base->Mean(), std::chrono::milliseconds(323));
  EXPECT_EQ(experiment.device.in_flight, 1);
  // A square whose sides are drawn: sqrt(2) x side x stdev / 2 / side.
  const auto& bytes = experiment.dataset.sample_bytes.in_units;
  EXPECT_NEAR(bytes.mean, 146'600'628, 0.001 * 146'600'628);
  EXPECT_NEAR(bytes.stdev, 68'341'808 / std::sqrt(2), 0.02 * 48e6);
}

TEST(Dlio, PyTorchsWorkersAreProcessesAndOthersThreads) {
  const auto loader = [](const std::string& yaml) { return Imported(yaml).loader; };
  EXPECT_TRUE(loader(Workload("unet3d_h100")).HasProcesses());
  EXPECT_EQ(loader(Workload("unet3d_h100")).start_method, spec::StartMethod::kFork);
  EXPECT_FALSE(loader(Workload("unet3d_h100")).pin_memory);
  EXPECT_EQ(loader("framework: pytorch\nreader: {multiprocessing_context: spawn}").start_method,
            spec::StartMethod::kSpawn);
  EXPECT_EQ(loader("framework: pytorch\nreader: {read_threads: 0}").workers, 0);
  EXPECT_EQ(loader(Workload("resnet50_h100")).kind, spec::LoaderKind::kThread);
  EXPECT_EQ(loader("reader: {data_loader: dali}").kind, spec::LoaderKind::kThread);
  EXPECT_EQ(loader("reader: {data_loader: synthetic, read_threads: 4}").workers, 0);
}

TEST(Dlio, WorkersHandOverTheResizedSampleAndReadTheRecord) {
  const auto dataset = [](const std::string& keys) { return Imported(keys).dataset; };
  const auto prepared = [](const spec::Dataset& d) { return spec::PreparedBytes(d).count; };
  const spec::Dataset unet = dataset(Workload("unet3d_h100"));
  EXPECT_EQ(prepared(unet), 1448 * 1448);  // floor(sqrt(2097152)) squared
  EXPECT_EQ(unet.tensors, 1);              // no label
  // Squares with whole sides, read and handed over.
  const spec::Dataset plain = dataset("dataset: {record_length: 114660.07}");
  EXPECT_EQ(plain.sample_bytes.Mean().count, 338 * 338);
  EXPECT_EQ(prepared(plain), 338 * 338);
  // Stated dimensions count as they are: 4 bytes each, then 2.
  const spec::Dataset dims = dataset(
      "dataset: {record_dims: [100, 3], record_element_type: float32}\n"
      "reader: {transformed_record_dims: [5, 7], transformed_record_element_type: float16}");
  EXPECT_EQ(dims.sample_bytes.Mean().count, 1200);
  EXPECT_EQ(prepared(dims), 5 * 7 * 2);
}

TEST(Dlio, PrefetchesAsItsLoaderDoes) {
  const auto factor = [](const char* reader) {
    return Imported(std::string("reader: ") + reader).loader.prefetch_factor;
  };
  EXPECT_EQ(factor("{read_threads: 4}"), 1);                      // ceil(2 / 4)
  EXPECT_EQ(factor("{read_threads: 4, prefetch_size: 10}"), 3);   // ceil(10 / 4)
  EXPECT_EQ(factor("{read_threads: 4, prefetch_size: 0}"), 2);    // PyTorch's default
}

TEST(Dlio, ComputationTimesAreNumbersOrDistributions) {
  const auto base = [](const std::string& time) {
    return Imported("train: {computation_time: " + time + "}").device.step_base->in_units;
  };
  EXPECT_EQ(base("0.25").mean, 0.25e9);
  EXPECT_EQ(base("{mean: 0.25}").mean, 0.25e9);
  EXPECT_EQ(base("{mean: 0.25, stdev: 0.05}").kind, base::DistributionKind::kNormal);
  EXPECT_EQ(base("{mean: 0.25, stdev: 0.05}").stdev, 0.05e9);
  EXPECT_EQ(base("{type: uniform, min: 0.1, max: 0.3}").Mean(), 0.2e9);
  EXPECT_EQ(base("{type: exponential, scale: 0.5}").mean, 0.5e9);
  const auto gamma = base("{type: gamma, shape: 4, scale: 0.1}");
  EXPECT_NEAR(gamma.mean, 0.4e9, 1);   // shape x scale
  EXPECT_NEAR(gamma.stdev, 0.2e9, 1);  // sqrt(shape) x scale
  EXPECT_NEAR(base("{type: poisson, lam: 3}").Mean(), 3e9, 0.02e9);
}

TEST(Dlio, PreprocessingIsASleep) {
  const auto prepare = Imported("reader: {preprocess_time: 0.02}").prepare;
  EXPECT_EQ(prepare.kind, spec::PrepareKind::kWait);
  EXPECT_EQ(prepare.cost.Mean(), std::chrono::milliseconds(20));
}

TEST(Dlio, ReadsConfigurationsThatDlioSaved) {
  EXPECT_EQ(Imported("workload: {reader: {batch_size: 3}}").loader.batch_size, 3);
}

TEST(Dlio, SaysWhatTheWorkloadDoesNot) {
  const std::string text = ExperimentText(ReadDlio(Workload("unet3d_h100"), "w.yaml", {}), 1, "w.yaml");
  EXPECT_THAT(text, HasSubstr("# not in the workload: the storage"));
  EXPECT_THAT(text, HasSubstr("# left out: checkpoints"));
}

TEST(Dlio, UnknownKeysAreErrorsWithASuggestion) {
  const std::string error = ErrorOf("reader: {read_thread: 4}\ntrain: {epoch: 5}\n");
  EXPECT_THAT(error, HasSubstr("w.yaml:1:10: error: DLIO has no key 'read_thread' in reader"));
  EXPECT_THAT(error, HasSubstr("read_threads"));
  EXPECT_THAT(error, HasSubstr("'epoch' in train"));
  EXPECT_THAT(ErrorOf("raeder: {}"), HasSubstr("reader"));
  EXPECT_THAT(ErrorOf("train: {}", {Set("reader.threads", "4")}), HasSubstr("'threads' in reader"));
}

TEST(Dlio, RefusesWhatCannotBe) {
  EXPECT_THAT(ErrorOf("train: {computation_time: -1}"), HasSubstr("train.computation_time"));
  EXPECT_THAT(ErrorOf("train: {computation_time: {type: cauchy}}"), HasSubstr("cauchy"));
  EXPECT_THAT(ErrorOf("reader: {data_loader: pytroch}"), HasSubstr("pytorch"));
  EXPECT_THAT(ErrorOf("workflow: {checkpoint: yes, train: no}"),
              HasSubstr("w.yaml:1:36: error: this workload does not train"));
  EXPECT_EQ(ErrorOf("workflow: {train: yes}"), "");
  EXPECT_THAT(ErrorOf("workflow: {train: maybe}"), HasSubstr("'maybe' is not True or False"));
  EXPECT_THAT(ErrorOf("dataset: {record_length: 0}"), HasSubstr("dataset.record_length"));
  EXPECT_THAT(ErrorOf("reader: {multiprocessing_context: thread}"), HasSubstr("spawn"));
  EXPECT_THAT(ErrorOf("train: [1"), HasSubstr("w.yaml"));
}

TEST(Dlio, SectionsThatAreNoMapsAreReportedOnce) {
  const std::string error = ErrorOf("reader: 3\noutput: [1]\n");
  EXPECT_THAT(error, HasSubstr("w.yaml:1:9: error: reader must be a map"));
  EXPECT_THAT(error, HasSubstr("w.yaml:2:9: error: output must be a map"));
  EXPECT_EQ(error.find("reader must"), error.rfind("reader must"));
}

TEST(Dlio, ADataSetWithoutAStepSaysInWhichFileAndHowManyFilesSuffice) {
  const char* const yaml =
      "dataset: {num_files_train: 3, num_samples_per_file: 3}\nreader: {batch_size: 5}";
  try {
    ExperimentText(ReadDlio(yaml, "w.yaml", {}), 2, "w.yaml");
    FAIL() << "9 samples are no batch of 5 for each of 2";
  } catch (const base::ConfigError& error) {
    const std::string text = base::FormatProblems(error.problems());
    EXPECT_THAT(text, HasSubstr("w.yaml: error: 9 samples are not a batch of 5 for each of 2"));
    EXPECT_THAT(text, HasSubstr("num_files_train=4"));  // 12 samples are enough
  }
}

}  // namespace
}  // namespace pipesim::interop
