#include "cost/pipeline.h"

#include <gtest/gtest.h>

#include "support/drawn.h"

namespace pipesim::cost {
namespace {

using namespace std::chrono_literals;
using base::Bytes;
using base::BytesPerSecond;
using base::Duration;
using tests::Fixed;

std::int64_t Chunk(const spec::Experiment& experiment) {
  return ChunkSamples(experiment, Stated(experiment));
}

TEST(StatedPipeline, HoldsWhatTheExperimentSaysAndAllElseIsFree) {
  spec::Experiment experiment;
  experiment.dataset.sample_bytes = {base::Distribution::Fixed(500)};
  experiment.dataset.shape = {10};
  experiment.dataset.dtype = spec::DType::kFloat32;
  experiment.storage.kind = spec::StorageKind::kEmulated;
  experiment.storage.latency = Fixed(1ms);
  experiment.prepare = {.kind = spec::PrepareKind::kBurn, .cost = Fixed(2ms)};
  experiment.device.step_base = Fixed(3ms);
  experiment.device.preset.emplace();
  experiment.device.preset->h2d_bandwidth = {1e9};
  experiment.limits.cpu_count = 3;
  const Pipeline pipeline = Stated(experiment);
  EXPECT_EQ(pipeline.samples.stored.Mean(), Bytes{500});
  EXPECT_EQ(pipeline.samples.prepared, Bytes{40});
  EXPECT_EQ(pipeline.samples.miss_fraction, 1);
  EXPECT_TRUE(pipeline.storage.present);
  EXPECT_DOUBLE_EQ(pipeline.storage.AloneSeconds(1, 500), 1e-3);
  EXPECT_DOUBLE_EQ(pipeline.prepare.CpuSeconds(1), 2e-3);
  EXPECT_EQ(pipeline.step.Mean(64), 3ms);
  EXPECT_EQ(pipeline.step.source, Source::kStated);
  EXPECT_EQ(pipeline.transfer.bandwidth, BytesPerSecond{1e9});
  EXPECT_EQ(pipeline.machine.cores, 3);
  EXPECT_EQ(pipeline.collate, Collate{});
  EXPECT_EQ(pipeline.pin, Pin{});
  EXPECT_EQ(pipeline.host, Host{});
}

TEST(StatedPipeline, LeavesOpenWhatRealPartsCost) {
  spec::Experiment experiment;
  experiment.storage.kind = spec::StorageKind::kFiles;
  experiment.prepare = {.kind = spec::PrepareKind::kDecode, .cost = Fixed(2ms)};
  experiment.device.kind = spec::DeviceKind::kCpu;
  const Pipeline pipeline = Stated(experiment);
  EXPECT_FALSE(pipeline.storage.present);
  EXPECT_EQ(pipeline.prepare, Prepare{});
  EXPECT_EQ(pipeline.step.source, Source::kFree);
}

TEST(ChunkSamplesTest, IsAtLeastAMillisecondOfExpectedWorkAndABatchAtMost) {
  spec::Experiment experiment;
  experiment.loader.batch_size = 64;
  EXPECT_EQ(Chunk(experiment), 64);  // nothing to wait for
  // 100 us + 110 KiB / 550 MB/s (204.8 us) + 20 us = 324.8 us a sample: four make 1.3 ms.
  experiment.dataset.sample_bytes = {base::Distribution::Fixed(110 << 10)};
  experiment.storage.kind = spec::StorageKind::kEmulated;
  experiment.storage.latency = Fixed(100us);
  experiment.storage.bandwidth = BytesPerSecond{550e6};
  experiment.prepare = {.kind = spec::PrepareKind::kBurn, .cost = Fixed(20us)};
  EXPECT_EQ(Chunk(experiment), 4);
  experiment.loader.batch_size = 3;
  EXPECT_EQ(Chunk(experiment), 3);
}

TEST(ChunkSamplesTest, OfRealFilesIsOne) {
  spec::Experiment experiment;
  experiment.storage.kind = spec::StorageKind::kFiles;
  EXPECT_EQ(Chunk(experiment), 1);
}

}  // namespace
}  // namespace pipesim::cost
