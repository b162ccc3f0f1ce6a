// Reports of devices, memory and bench: their schemas, texts and other views.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "report/bench_report.h"
#include "report/csv.h"
#include "report/devices_report.h"
#include "report/html.h"
#include "report/markdown.h"
#include "report/memory_report.h"
#include "report/tensorboard.h"
#include "support/markup.h"
#include "support/schema.h"
#include "text_checks.h"

namespace pipesim::tests {
namespace {

using report::Document;
using report::ToText;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

// ---- devices

report::DevicesReport TwoGpus() {
  report::DevicesReport report;
  report.inventory.cpu = {.name = "Example CPU",
                          .processors = 8,
                          .allowed = {0, 1, 2, 5},
                          .physical_cores = 3,
                          .quota_cores = 2.5,
                          .cores = 2.5,
                          .cgroup = "/a/b",
                          .memory_free = base::Bytes{8'000'000'000},
                          .memory_limit = "this machine"};
  for (int i = 0; i < 2; ++i) {
    spec::Gpu gpu;
    gpu.id = spec::DeviceId::Cuda(i);
    gpu.name = "NVIDIA H200";
    gpu.pci_bus_id = "0000:1a:00.0";
    gpu.memory = {150'000'000'000};
    gpu.memory_free = base::Bytes{149'000'000'000};
    gpu.capability_major = 9;
    gpu.capability_minor = 0;
    gpu.link = spec::PcieLink{1, 16};
    gpu.link_most = spec::PcieLink{5, 16};
    gpu.nvlinks = 18;
    gpu.nvlink_peers = {spec::DeviceId::Cuda(1 - i)};
    report.inventory.gpus.push_back(gpu);
  }
  report.inventory.driver_version = "580.95";
  report.inventory.cuda_version = "13.0";
  report.inventory.unavailable = {{"CPU throttling", "no cpu.stat can be read"}};
  return report;
}

TEST(DevicesReport, FitsItsSchemaAndNamesEachDevice) {
  const Document document = ToJson(TwoGpus());
  EXPECT_TRUE(FitsSchema(document, "devices"));
  const std::string text = ToText(document, {});
  EXPECT_THAT(text, StartsWith("cuda:0, cuda:1: 2 GPUs are here, `--device auto` takes cuda:0\n"));
  EXPECT_THAT(text, AllOf(HasSubstr("cuda:1  NVIDIA H200, compute capability 9.0"),
                          HasSubstr("PCIe 1.0 x16 (4.00 GB/s), at most 5.0 x16\n        (63.0 GB/s)"),
                          HasSubstr("NVLink to cuda:0 (18 links)"), HasSubstr("processors 0-2,5 of 8"),
                          HasSubstr("CPU quota 2.50"), HasSubstr("cgroup /a/b"),
                          HasSubstr("CPU throttling: no cpu.stat can be read")));
  EXPECT_TRUE(KeepsTheRules(text));
}

TEST(DevicesReport, AnAbsentDeviceIsTheCpu) {
  report::DevicesReport report = TwoGpus();
  report.asked = spec::DeviceId::Cuda(2);
  EXPECT_EQ(ToText(ToJson(report), {.detail = report::Detail::kBrief}), "cpu: cuda:2 is not here\n");
  report.asked = spec::DeviceId::Cuda(1);
  EXPECT_EQ(ToJson(report)["asked"]["use"], "cuda:1");
}

TEST(DevicesReport, UnknownIsNull) {
  report::DevicesReport report;
  report.inventory.gpus.resize(1);
  report.inventory.gpus[0].id = spec::DeviceId::Cuda(0);
  const Document document = ToJson(report);
  EXPECT_TRUE(FitsSchema(document, "devices"));
  EXPECT_TRUE(document["gpus"][0]["pcie"].is_null());
  EXPECT_THAT(ToText(document, {}), AllOf(HasSubstr("PCIe n/a"), HasSubstr("NVLink n/a")));
}

TEST(DevicesReport, AsCsvHasARowForEachDeviceAndTheCpu) {
  const std::string csv = report::RenderCsv(ToJson(TwoGpus()));
  EXPECT_EQ(std::count(csv.begin(), csv.end(), '\n'), 1 + 2 + 1);
}

// ---- memory

report::MemoryReport Product(std::int64_t size) {
  report::MemoryReport report;
  report.matmul = size;
  report.device = "tesla-m4";
  report.reality = report::Reality::kPredicted;
  report.memory = report.free = {3840LL << 20};
  report.plan = cost::PlanMatmul(size, {.blas_workspace_bytes = 8'519'680});
  report.largest = 22'410;
  return report;
}

TEST(MemoryReport, SaysWhetherItFitsAndTheLargestThatDoes) {
  const Document small = ToJson(Product(21000)), large = ToJson(Product(30000));
  EXPECT_TRUE(FitsSchema(small, "memory"));
  EXPECT_TRUE(FitsSchema(large, "memory"));
  EXPECT_EQ(small["fits"], true);
  EXPECT_EQ(large["fits"], false);
  EXPECT_THAT(ToText(small, {}), AllOf(StartsWith("fits: a product of 21,000 x 21,000 holds 3,372.7 MiB"),
                                       HasSubstr("The largest size that fits is 22,410."),
                                       HasSubstr("operand                  1,682.3 MiB")));
  EXPECT_THAT(ToText(large, {}), StartsWith("does not fit: "));
  EXPECT_TRUE(KeepsTheRules(ToText(large, {})));
}

TEST(MemoryReport, WhereNothingFitsTheLargestIsNull) {
  report::MemoryReport report = Product(30000);
  report.largest = 0;
  const Document document = ToJson(report);
  EXPECT_TRUE(FitsSchema(document, "memory"));
  EXPECT_TRUE(document["largest"].is_null());
  EXPECT_THAT(ToText(document, {}), HasSubstr("No size fits."));
}

// ---- bench

/// CPU times 1 us x n, the GPU's 10 us of which 9 are launching; at 1,000 it takes 50 us, 5 enqueued.
report::BenchReport Matmul(bool with_gpu) {
  report::BenchReport report;
  report.plan.kind = calibrate::FindBench("matmul");
  report.plan.sizes = {1, 100, 1000};
  report.plan.experiment.device.kind = with_gpu ? spec::DeviceKind::kCuda : spec::DeviceKind::kCpu;
  report.cpu_name = "Example CPU";
  const auto series = [&](std::size_t way, spec::DeviceId device, const std::vector<double>& seconds,
                          const std::vector<double>& enqueued) {
    calibrate::BenchSeries out{report.plan.kind->ways[way], device, false, {}};
    for (std::size_t i = 0; i < seconds.size(); ++i)
      out.points.push_back({report.plan.sizes[i],
                            calibrate::BenchTime{.median_s = seconds[i],
                                                 .low_s = seconds[i] * 0.99,
                                                 .high_s = seconds[i] * 1.01,
                                                 .enqueue_s = enqueued[i],
                                                 .repeats = 6,
                                                 .operations = 10},
                            {}});
    report.result.series.push_back(out);
  };
  series(0, spec::DeviceId::Cpu(), {1e-6, 100e-6, 20e-3}, {1e-6, 100e-6, 20e-3});
  if (!with_gpu) return report;
  series(1, spec::DeviceId::Cuda(0), {10e-6, 10e-6, 50e-6}, {9e-6, 9e-6, 5e-6});
  report.gpu_name = "NVIDIA H200";
  report.peak = {"preset h200", 67e12, 4.8e12, 63e9};
  return report;
}

TEST(BenchReport, NamesTheCrossoverTheReasonBelowItAndTheTrap) {
  const Document document = ToJson(Matmul(true));
  EXPECT_TRUE(FitsSchema(document, "bench"));
  EXPECT_EQ(document["comparison"]["crossover"], 100);
  EXPECT_DOUBLE_EQ(document["comparison"]["points"][2]["ratio"], 400);
  // 2 x 1000^3 / 50 us = 40 TFLOP/s of 67.
  EXPECT_NEAR(document["series"][1]["points"][2]["flops_of_peak"].get<double>(), 40.0 / 67, 1e-9);
  const std::string text = ToText(document, {});
  EXPECT_THAT(text, AllOf(StartsWith("The GPU is faster from size 100 on, 400 x at 1,000. Below, the tensor is"),
                          HasSubstr("would show 5.0 us at"), HasSubstr("4,000 x\n  instead of 400 x."),
                          HasSubstr("40.0 T"), HasSubstr("60 %")));
  EXPECT_TRUE(KeepsTheRules(text));
}

TEST(BenchReport, SaysWhatMakesItsTimesDoubtful) {
  report::BenchReport report = Matmul(true);
  report.cores = 2;
  report.foreign_cores = 0.1;
  EXPECT_THAT(ToText(ToJson(report), {}), Not(HasSubstr("Note: ")));
  report.foreign_cores = 0.98;
  report.result.series[0].points[1].time->high_s = 161e-6;
  const Document document = ToJson(report);
  EXPECT_TRUE(FitsSchema(document, "bench"));
  const std::string text = ToText(document, {});
  EXPECT_THAT(text, AllOf(StartsWith("Beside other programs (1.0 of 2 cores): The GPU is faster"),
                          HasSubstr("Note: Other programs used the CPU meanwhile"),
                          HasSubstr("the median of cpu at 100 is known to ±31 % only")));
  EXPECT_TRUE(KeepsTheRules(text));
}

TEST(BenchReport, SaysWhyMoreThanTheMemorysPeakIsSeen) {
  report::BenchReport report = Matmul(true);
  report.plan.kind = calibrate::FindBench("add");
  for (std::size_t way = 0; way < 2; ++way) report.result.series[way].way = report.plan.kind->ways[way];
  EXPECT_THAT(ToText(ToJson(report), {}), Not(HasSubstr("cache")));
  report.peak.bytes_per_s = 100e9;  // 8 MB in 50 us are 160 GB/s
  const std::string text = ToText(ToJson(report), {});
  EXPECT_THAT(text, HasSubstr("Above 100 % of peak: the data stay in the GPU's cache"));
  EXPECT_TRUE(KeepsTheRules(text));
  report.plan.kind = calibrate::FindBench("matmul");  // its shares are of the FLOP/s
  EXPECT_THAT(ToText(ToJson(report), {}), Not(HasSubstr("cache")));
}

TEST(BenchReport, WithoutAGpuSaysHowToPredictOne) {
  const Document document = ToJson(Matmul(false));
  EXPECT_TRUE(FitsSchema(document, "bench"));
  EXPECT_TRUE(document["gpu"].is_null());
  EXPECT_TRUE(document["comparison"].is_null());
  EXPECT_THAT(ToText(document, {}), HasSubstr("--device rtx-4060 predicts one"));
}

TEST(BenchReport, APredictionIsMarkedEverywhere) {
  report::BenchReport report = Matmul(true);
  report.plan.experiment.device.kind = spec::DeviceKind::kEmulated;
  report.result.series[1].predicted = true;
  report.result.series[1].device = spec::DeviceId::Emulated();
  for (calibrate::BenchPoint& point : report.result.series[1].points)
    point.time->repeats = point.time->operations = 0;
  const Document document = ToJson(report);
  EXPECT_TRUE(FitsSchema(document, "bench"));
  EXPECT_TRUE(document["series"][1]["points"][0]["repeats"].is_null());
  EXPECT_THAT(ToText(document, {}), AllOf(StartsWith("The GPU would be faster"), HasSubstr("gpu*"),
                                          Not(HasSubstr("Timing only"))));
}

TEST(BenchReport, WithoutAnythingToCompareItSaysWhatWasPredicted) {
  report::BenchReport report = Matmul(true);
  report.plan.kind = calibrate::FindBench("transfer");
  report.plan.sizes = {1 << 16, 1 << 20, 1 << 24};
  report.plan.experiment.device.kind = spec::DeviceKind::kEmulated;
  report.gpu_name = "rtx-4060";
  calibrate::BenchSeries& pinned = report.result.series[1];
  pinned.way = report.plan.kind->ways[1];
  pinned.device = spec::DeviceId::Emulated();
  pinned.predicted = true;
  for (std::size_t i = 0; i < pinned.points.size(); ++i) {
    pinned.points[i].size = report.plan.sizes[i];
    pinned.points[i].time->median_s = static_cast<double>(report.plan.sizes[i]) / 13.5e9;
  }
  report.result.series.erase(report.result.series.begin());
  EXPECT_THAT(ToText(ToJson(report), {}),
              StartsWith("transfer: of rtx-4060 only pinned in is predicted: 13.5 GB/s at 16.0 MiB"));
}

TEST(BenchReport, ListsTheSizesThatWereLeftOut) {
  report::BenchReport report = Matmul(true);
  report.result.series[0].points[2] = {1000, std::nullopt, "the time limit (--max-time)"};
  const Document document = ToJson(report);
  EXPECT_TRUE(FitsSchema(document, "bench"));
  EXPECT_EQ(document["skipped"].size(), 1U);
  EXPECT_THAT(ToText(document, {}), HasSubstr("Left out: cpu, the time limit (--max-time): 1,000"));
}

TEST(BenchReport, MarksWhatWasEstimatedInsteadOfTimed) {
  report::BenchReport report = Matmul(true);
  report.result.series[0].points[2] = {1000, std::nullopt, "the time limit (--max-time)", 71.2};
  const Document document = ToJson(report);
  EXPECT_TRUE(FitsSchema(document, "bench"));
  EXPECT_TRUE(document["series"][0]["points"][2]["time_s"].is_null());
  EXPECT_DOUBLE_EQ(document["series"][0]["points"][2]["estimated_s"], 71.2);
  EXPECT_THAT(ToText(document, {}), AllOf(HasSubstr("~71 s"), HasSubstr("~ left out for --max-time; estimated")));
  EXPECT_THAT(report::RenderHtml(document), HasSubstr("~ left out for --max-time; estimated"));
  EXPECT_THAT(report::RenderMarkdown(document), HasSubstr("left out for --max-time; estimated"));
}

TEST(BenchReport, AsTensorBoardHasTheRunsOfAddScalars) {
  std::vector<std::string> paths;
  for (const report::ExportedFile& file : report::RenderTensorBoard(ToJson(Matmul(true))))
    paths.push_back(file.path.substr(0, file.path.find('/')));
  EXPECT_THAT(paths, testing::IsSupersetOf({"GPU vs CPU_CPU", "GPU vs CPU_GPU", "GPU vs CPU_GPU enqueued"}));
}

TEST(BenchReport, AsAPageDrawsALineForEachSeriesAndMarksTheCrossover) {
  const std::string page = report::RenderHtml(ToJson(Matmul(true)));
  EXPECT_TRUE(IsWellFormed(page));
  EXPECT_THAT(page, AllOf(HasSubstr("<path class=\"s0\""), HasSubstr("<path class=\"s1\""),
                          HasSubstr("<path class=\"s1 enqueued\""), HasSubstr("faster from 100 on")));
}

TEST(BenchReport, AsCsvAndMarkdownHasEverySize) {
  const Document document = ToJson(Matmul(true));
  const std::string csv = report::RenderCsv(document);
  EXPECT_EQ(std::count(csv.begin(), csv.end(), '\n'), 1 + 2 * 3);
  EXPECT_THAT(report::RenderMarkdown(document), HasSubstr("| 1,000 | 20.0 ms | 50.0 us |"));
}

}  // namespace
}  // namespace pipesim::tests
