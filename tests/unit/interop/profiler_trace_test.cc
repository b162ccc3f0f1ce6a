// Profiler traces: what is summed up, in any order and at any length, and which verdict follows.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include <filesystem>
#include <fstream>

#include "base/error.h"
#include "interop/profiler_trace.h"
#include "interop/time_bins.h"
#include "interop/trace_verdict.h"
#include "spec/read.h"

namespace pipesim::interop {
namespace {

using diagnose::Verdict;
using testing::HasSubstr;
using testing::Not;

class Trace {
 public:
  Trace& Add(const std::string& category, const std::string& name, double begin_us, double time_us,
             const std::string& args = "") {
    events_.push_back(fmt::format(
        R"({{"ph": "X", "cat": "{}", "name": "{}", "ts": {}, "dur": {}, "args": {{{}}}}})", category,
        name, begin_us, time_us, args));
    return *this;
  }
  Trace& Step(int number, double begin_us, double time_us) {
    return Add("user_annotation", fmt::format("ProfilerStep#{}", number), begin_us, time_us);
  }
  Trace& Loading(double begin_us, double time_us,
                 const std::string& loader = "_MultiProcessingDataLoaderIter") {
    return Add("user_annotation", "enumerate(DataLoader)#" + loader + ".__next__", begin_us, time_us);
  }
  Trace& Kernel(double begin_us, double time_us) { return Add("kernel", "gemm", begin_us, time_us); }
  std::string Text() const {
    std::string text = R"({"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "NVIDIA H200"}],)"
                       R"( "traceEvents": [)";
    for (const std::string& event : events_) text += (text.back() == '[' ? "" : ",\n") + event;
    return text + R"(], "traceName": "t.json"})";
  }

 private:
  std::vector<std::string> events_;
};

/// Of this test alone: others run beside it.
std::filesystem::path FileOf(const std::string& name) {
  const std::string test = testing::UnitTest::GetInstance()->current_test_info()->name();
  return std::filesystem::path(testing::TempDir()) / ("pipesim-" + test + "-" + name);
}

std::filesystem::path Written(const std::string& text) {
  const std::filesystem::path file = FileOf("t.json");
  std::ofstream(file, std::ios::binary) << text;
  return file;
}

TraceSummary Summary(const std::string& text) { return ReadProfilerTrace(Written(text)); }
TraceSummary Summary(const Trace& trace) { return Summary(trace.Text()); }

/// `steps` steps of 1 ms of which the host waits `loading_us` for a batch; then a kernel of `kernel_us`.
Trace Loop(int steps, double loading_us, double kernel_us, double origin_us = 5e12) {
  Trace trace;
  for (int step = 0; step < steps; ++step) {
    const double begin = origin_us + 1000 * step;
    trace.Step(step, begin, 1000).Loading(begin, loading_us);
    if (kernel_us > 0) trace.Kernel(begin + loading_us, kernel_us);
  }
  return trace;
}

TEST(ProfilerTrace, AddsUpStepsAndWaits) {
  const TraceSummary t = Summary(Loop(10, 200, 0));
  EXPECT_EQ(t.steps, 10);
  EXPECT_NEAR(t.wall_s, 0.010, 1e-9);
  EXPECT_NEAR(t.loader_s, 0.002, 1e-9);
  EXPECT_EQ(t.loader, "_MultiProcessingDataLoaderIter");
  EXPECT_EQ(t.kernels, 0);
}

TEST(ProfilerTrace, AddsUpWhatTheDeviceDoes) {
  Trace trace = Loop(100, 200, 300);
  for (int step = 0; step < 100; ++step)
    trace.Add("gpu_memcpy", "Memcpy HtoD (Pinned -> Device)", 5e12 + 1000 * step + 600, 100, R"("bytes": 4096)");
  const TraceSummary t = Summary(trace);
  EXPECT_EQ(t.device_name, "NVIDIA H200");
  EXPECT_NEAR(t.busy_s, 0.030, 1e-3);
  EXPECT_NEAR(t.starved_s, 0.020, 1e-3);
  EXPECT_NEAR(t.copying_s, 0.010, 1e-3);
  EXPECT_NEAR(t.idle_s, 0.060, 1e-3);
  EXPECT_EQ(t.copied_bytes, 100 * 4096);
}

TEST(ProfilerTrace, StepsMayBeUnnamed) {
  Trace trace;
  for (int step = 0; step < 5; ++step) trace.Loading(2000 * step, 500, "_SingleProcessDataLoaderIter");
  const TraceSummary t = Summary(trace);
  EXPECT_EQ(t.steps, 4);
  EXPECT_FALSE(t.steps_are_named);
  EXPECT_NEAR(t.wall_s, 0.008, 1e-9);
}

TEST(ProfilerTrace, OrderDoesNotMatter) {
  Trace late;
  for (int step = 9; step >= 0; --step)
    late.Kernel(1000 * step + 200, 300).Loading(1000 * step, 200).Step(step, 1000 * step, 1000);
  const TraceSummary t = Summary(late);
  EXPECT_NEAR(t.busy_s, 0.003, 1e-4);
  EXPECT_NEAR(t.starved_s, 0.002, 1e-4);
}

TEST(ProfilerTrace, ABrokenTraceCountsUntilItBreaks) {
  const std::string whole = Loop(100, 200, 300).Text();
  const TraceSummary t = Summary(whole.substr(0, whole.size() / 2));
  EXPECT_THAT(t.broken, HasSubstr("breaks off at byte"));
  EXPECT_NEAR(static_cast<double>(t.steps), 50, 3);
  EXPECT_NEAR(t.loader_s / static_cast<double>(t.steps), 200e-6, 20e-6);
}

TEST(ProfilerTrace, ReadsGzipAndWhatIsLeftOfIt) {
  const std::string whole = Loop(2000, 200, 300).Text();
  const auto file = FileOf("t.json.gz");
  gzFile packed = gzopen(file.c_str(), "wb");
  gzwrite(packed, whole.data(), static_cast<unsigned>(whole.size()));
  gzclose(packed);
  EXPECT_EQ(ReadProfilerTrace(file).steps, 2000);
  std::filesystem::resize_file(file, std::filesystem::file_size(file) / 2);
  const TraceSummary t = ReadProfilerTrace(file);
  EXPECT_FALSE(t.broken.empty());
  EXPECT_GT(t.steps, 500);
  EXPECT_LT(t.steps, 1500);
}

TEST(ProfilerTrace, ATraceWhoseChecksumIsCutOffIsWholeButSaysSo) {
  const auto file = FileOf("t.json.gz");
  gzFile packed = gzopen(file.c_str(), "wb");
  const std::string whole = Loop(100, 200, 300).Text();
  gzwrite(packed, whole.data(), static_cast<unsigned>(whole.size()));
  gzclose(packed);
  std::filesystem::resize_file(file, std::filesystem::file_size(file) - 4);
  const TraceSummary t = ReadProfilerTrace(file);
  EXPECT_EQ(t.broken, "is damaged at the end of its packing");
  EXPECT_EQ(t.steps, 100);
}

TEST(ProfilerTrace, IsToldFromAWorkload) {
  EXPECT_TRUE(LooksLikeTrace("/no/such/trace.json"));
  EXPECT_FALSE(LooksLikeTrace("/no/such/workload.yaml"));
  const auto file = FileOf("t.pt.trace");
  std::ofstream(file) << "reader: {}\n";
  EXPECT_FALSE(LooksLikeTrace(file));
  std::ofstream(file, std::ios::binary) << "\x1f\x8b";
  EXPECT_TRUE(LooksLikeTrace(file));  // gzip
  std::ofstream(file) << std::string((1 << 20) + 1, ' ');
  EXPECT_TRUE(LooksLikeTrace(file));  // no workload is that large
}

TEST(ProfilerTrace, OtherFilesAreErrors) {
  EXPECT_THROW(ReadProfilerTrace("/no/such/file.json"), base::EnvironmentError);
  EXPECT_THROW(ReadProfilerTrace(testing::TempDir()), base::EnvironmentError);
  for (const char* const text : {"", "{", "{}", "[]", R"({"traceEvents": []})", "not json", R"({"traceEvents": [{"ph"})"})
    EXPECT_THROW(Summary(text), base::ConfigError) << text;
  EXPECT_THROW(Summary(Loop(1, 200, 0)), base::ConfigError);
  EXPECT_THROW(Summary(Loop(50, 1e300, 1e300, -1e300)), base::ConfigError) << "no time of a recording";
}

/// Traces of torch.profiler itself (tests/pytorch/traces.py says what limits each loop).
TraceSummary Recorded(const std::string& name) {
  return ReadProfilerTrace(std::filesystem::path(PIPESIM_SOURCE_DIR) / "tests/pytorch/data" /
                           (name + ".json.gz"));
}

TEST(ProfilerTrace, ReadsWhatPyTorchRecords) {
  const TraceSummary t = Recorded("starved_cpu");
  EXPECT_EQ(t.broken, "");
  EXPECT_EQ(t.steps, 8);
  EXPECT_TRUE(t.steps_are_named);
  EXPECT_EQ(t.loader, "_MultiProcessingDataLoaderIter");
  EXPECT_EQ(t.kernels, 0);
  // One worker sleeps 16 x 5 ms for a batch.
  EXPECT_GE(t.wall_s, 8 * 0.080);
  EXPECT_LT(t.wall_s, 8 * 0.100);
}

TEST(TimeBins, KeepTheTotalsHoweverLongTheTrace) {
  TimeBins<1> bins;
  double total_us = 0;
  for (int i = 0; i < 200'000; ++i) {
    const double begin = (i % 2 == 0 ? 1 : -1) * 100.0 * i;  // grows to both sides
    bins.Add(0, begin, 40);
    total_us += 40;
  }
  double sum = 0;
  bins.ForEachWithin(-1e9, 1e9, [&](const auto& times) { sum += times[0]; });
  EXPECT_NEAR(sum, total_us, 0.001 * total_us);
  EXPECT_GT(bins.width_us(), 500);  // 40 s in at most 65,536 bins
}

TEST(TraceVerdict, NamesTheInputSideWhereTheLoaderStarvesTraining) {
  const TraceVerdict verdict = Judge(Summary(Loop(50, 900, 0)));
  EXPECT_EQ(verdict.verdict, Verdict::kInconclusive);
  EXPECT_THAT(verdict.headline, HasSubstr("the loader starves training"));
  EXPECT_NEAR(verdict.gain, 9, 0.01);  // 1 / (1 - 0.9) - 1
  EXPECT_EQ(Judge(Summary(Loop(50, 600, 300))).verdict, Verdict::kInconclusive);
}

TEST(TraceVerdict, NamesTheSettingWhereThereAreNoWorkers) {
  Trace trace;
  for (int step = 0; step < 20; ++step)
    trace.Step(step, 1000 * step, 1000).Loading(1000 * step, 400, "_SingleProcessDataLoaderIter");
  EXPECT_EQ(Judge(Summary(trace)).verdict, Verdict::kLoaderBound);
}

TEST(TraceVerdict, NamesTheStep) {
  EXPECT_EQ(Judge(Summary(Loop(50, 60, 0))).verdict, Verdict::kComputeBound);
  EXPECT_EQ(Judge(Summary(Loop(50, 10, 985))).verdict, Verdict::kComputeBound);
}

TEST(TraceVerdict, NamesTheHostThatLaunchesTooSlowly) {
  Trace trace;
  for (int step = 0; step < 50; ++step) {
    trace.Step(step, 1000 * step, 1000).Loading(1000 * step, 10);
    for (int kernel = 0; kernel < 20; ++kernel) trace.Kernel(1000 * step + 50 * kernel, 10);
  }
  const TraceVerdict verdict = Judge(Summary(trace));
  EXPECT_EQ(verdict.verdict, Verdict::kLaunchBound);
  EXPECT_GT(verdict.gain, 3);  // 20 % busy
}

TEST(TraceVerdict, NamesCopiesAndReadsOfResults) {
  Trace copies = Loop(50, 10, 300);
  for (int step = 0; step < 50; ++step)
    copies.Add("gpu_memcpy", "Memcpy HtoD (Pageable -> Device)", 5e12 + 1000 * step + 320, 600, R"("bytes": 9000)");
  EXPECT_EQ(Judge(Summary(copies)).verdict, Verdict::kH2dBound);
  Trace reads = Loop(50, 10, 700);
  for (int step = 0; step < 50; ++step)
    reads.Add("cuda_runtime", "cudaStreamSynchronize", 5e12 + 1000 * step + 100, 610);
  EXPECT_EQ(Judge(Summary(reads)).verdict, Verdict::kSyncBound);
}

TEST(TraceVerdict, NamesWhatLimitsLoopsThatPyTorchRecorded) {
  const TraceVerdict starved = Judge(Recorded("starved_cpu"));
  EXPECT_EQ(starved.verdict, Verdict::kInconclusive);  // the input side
  EXPECT_THAT(starved.headline, HasSubstr("the loader starves training"));
  EXPECT_GT(starved.gain, 10);
  const TraceVerdict computing = Judge(Recorded("compute_bound_cpu"));
  EXPECT_EQ(computing.verdict, Verdict::kComputeBound);
  EXPECT_THAT(computing.headline, HasSubstr("training on the CPU"));
}

TEST(TraceVerdict, NamesWhatLimitsLoopsOnAnH200) {
  const TraceVerdict starved = Judge(Recorded("starved_cuda"));
  EXPECT_EQ(starved.verdict, Verdict::kInconclusive);  // the input side
  EXPECT_THAT(starved.headline, HasSubstr("the loader starves training"));
  EXPECT_GT(starved.gain, 10);
  const TraceVerdict launching = Judge(Recorded("launch_bound_cuda"));
  EXPECT_EQ(launching.verdict, Verdict::kLaunchBound);
  EXPECT_GT(launching.gain, 2);
  EXPECT_EQ(Judge(Recorded("synced_cuda")).verdict, Verdict::kSyncBound);
}

// The host launched ten steps in 35 ms, which took the device 186 ms.
TEST(TraceVerdict, CountsTheDevicesStepsWhereTheHostRanAhead) {
  const TraceSummary recorded = Recorded("compute_bound_cuda");
  EXPECT_EQ(recorded.steps, 7);
  EXPECT_NEAR(recorded.wall_s / 7, 18.57e-3, 0.05e-3);
  EXPECT_GT(recorded.busy_s, 0.95 * recorded.wall_s);
  EXPECT_EQ(Judge(recorded).verdict, Verdict::kComputeBound);
}

struct TextAndExperiment {
  std::string text;
  spec::Experiment experiment;
};

TextAndExperiment ExperimentOf(const Trace& trace) {
  const TraceSummary t = Summary(trace);
  std::string text = ExperimentText(t, Judge(t), "dir/run.json.gz");
  spec::Experiment experiment = spec::ReadExperimentText(text, "e.yaml", {}, {{PIPESIM_SOURCE_DIR}}).experiment;
  return {std::move(text), std::move(experiment)};
}

/// `steps` steps of 1 ms on the CPU, of which loading in the training thread takes `loading_us`.
Trace Turns(int steps, double loading_us) {
  Trace trace;
  for (int step = 0; step < steps; ++step)
    trace.Step(step, 1000 * step, 1000).Loading(1000 * step, loading_us, "_SingleProcessDataLoaderIter");
  return trace;
}

TEST(TraceExperiment, OfWorkersHasTheirRateAndNothingElse) {
  const auto [text, e] = ExperimentOf(Loop(50, 900, 0));
  EXPECT_EQ(e.name, "run");
  EXPECT_EQ(e.loader.kind, spec::LoaderKind::kThread);  // what processes cost is in the rate
  EXPECT_TRUE(e.loader.opaque);
  EXPECT_EQ(e.prepare.kind, spec::PrepareKind::kNone);
  EXPECT_EQ(e.storage.latency.Mean(), std::chrono::milliseconds(1));  // a batch, one at a time
  EXPECT_EQ(e.storage.queue_depth, 1);
  EXPECT_THAT(text, HasSubstr("# not in the trace: the batch size"));
  EXPECT_THAT(text, HasSubstr("# not in the trace: what the workers do, and how many there are"));
}

TEST(TraceExperiment, OfWorkersThatTrainingHidesHasNoLoading) {
  const auto [text, e] = ExperimentOf(Loop(50, 20, 0));
  EXPECT_TRUE(e.loader.opaque);
  EXPECT_EQ(e.storage.kind, spec::StorageKind::kNone);
  EXPECT_EQ(e.prepare.kind, spec::PrepareKind::kNone);
  EXPECT_THAT(text, HasSubstr("the gain of a faster step is an upper bound"));
}

TEST(TraceExperiment, OfALoopThatLoadsItselfTakesACoreForLoading) {
  const auto [text, e] = ExperimentOf(Turns(50, 400));
  EXPECT_EQ(e.loader.kind, spec::LoaderKind::kProcess);
  EXPECT_EQ(e.loader.workers, 0);
  EXPECT_FALSE(e.loader.opaque);
  EXPECT_EQ(e.prepare.kind, spec::PrepareKind::kBurn);
  EXPECT_EQ(e.prepare.cost.Mean(), std::chrono::microseconds(400));
  EXPECT_THAT(text, HasSubstr("# assumed: loading computes on one core all the time"));
  EXPECT_THAT(text, HasSubstr("pipesim record"));
}

TEST(TraceExperiment, WithoutKernelsTheStepTakesCores) {
  const auto [text, e] = ExperimentOf(Turns(50, 400));
  EXPECT_EQ(e.device.kind, spec::DeviceKind::kCpu);
  ASSERT_TRUE(e.device.step);
  // One sample stands for a batch, so that two take twice as long.
  EXPECT_EQ(e.device.step->per_sample.Mean(), std::chrono::microseconds(600));
  EXPECT_TRUE(e.device.step->base.IsZero());
  EXPECT_FALSE(e.limits.compute_threads);
  EXPECT_THAT(text, HasSubstr("# assumed: training uses all cores, as PyTorch does; after torch.set_num_threads(N)"));
  EXPECT_THAT(ExperimentOf(Loop(50, 600, 300)).text, Not(HasSubstr("torch.set_num_threads")));
}

TEST(TraceExperiment, WhatItAssumesIsSaidBesideTheVerdict) {
  const TraceSummary t = Summary(Turns(50, 400));
  EXPECT_THAT(VerdictText(t, Judge(t), "run.json"), HasSubstr("\nassumed: loading computes on one core"));
}

}  // namespace
}  // namespace pipesim::interop
