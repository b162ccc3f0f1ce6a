#include "cost/memory_plan.h"

#include <gmock/gmock.h>

namespace pipesim::cost {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using base::Bytes;

/// Samples of 1 MB in batches of 10, two workers two ahead, an emulated device with two in flight.
spec::Experiment TenMegabyteBatches() {
  spec::Experiment experiment;
  experiment.dataset.samples = 1000;
  experiment.dataset.shape = {1'000'000};
  experiment.loader.workers = 2;
  experiment.loader.batch_size = 10;
  experiment.device.kind = spec::DeviceKind::kEmulated;
  return experiment;
}

base::MemoryBound Free(double bytes) {
  return {"this machine", {static_cast<std::int64_t>(bytes)}, false};
}

double BytesOf(const MemoryPlan& plan, const std::string& what) {
  for (const MemoryPart& part : plan.parts)
    if (part.what.find(what) != std::string::npos) return part.bytes;
  return 0;
}

TEST(MemoryPlan, CountsTheWindowTheStepsInFlightAndTheBatchBeingTaken) {
  const MemoryPlan plan = PlanMemory(TenMegabyteBatches());
  EXPECT_EQ(BytesOf(plan, "batches"), (2 * 2 + 2 + 1) * 10e6);
  EXPECT_EQ(BytesOf(plan, "generated"), 16e6);  // whole samples within 16 MiB
  EXPECT_EQ(plan.Total(), 86e6);
}

TEST(MemoryPlan, ATrainerOnTheCpuHoldsWeightsGradientsStateAndActivations) {
  auto experiment = TenMegabyteBatches();
  experiment.device.kind = spec::DeviceKind::kCpu;
  experiment.training.optimizer = spec::Optimizer::kMomentum;
  experiment.model.layers = {{.kind = spec::LayerKind::kLinear, .out = 100, .bias = false}};
  const MemoryPlan plan = PlanMemory(experiment);
  const double parameters = 1e6 * 100;
  EXPECT_EQ(BytesOf(plan, "parameters"), 4 * parameters);
  EXPECT_EQ(BytesOf(plan, "gradients"), 4 * parameters);
  EXPECT_EQ(BytesOf(plan, "optimizer"), 4 * parameters);
  EXPECT_NEAR(BytesOf(plan, "activations"), 4 * 10 * 1e6, 1e4);  // the input as fp32
  EXPECT_THAT(plan.left_out, testing::Contains(HasSubstr("workspaces")));
}

TEST(MemoryPlan, WorkerProcessesHoldMemoryOfTheirOwn) {
  auto experiment = TenMegabyteBatches();
  experiment.loader.worker_memory = Bytes{30'000'000};
  EXPECT_EQ(PlanMemory(experiment).Total(), 86e6) << "threads have none";
  experiment.loader.kind = spec::LoaderKind::kProcess;
  EXPECT_EQ(BytesOf(PlanMemory(experiment), "2 worker processes of 30 MB"), 60e6);
}

TEST(MemoryPlan, EachAcceleratorHoldsAsMuchOnTheHost) {
  auto experiment = TenMegabyteBatches();
  experiment.run.accelerators = 8;
  EXPECT_EQ(BytesOf(PlanMemory(experiment), "8 x 7 batches of 10 MB"), 8 * 70e6);
  EXPECT_EQ(PlanMemory(experiment).Total(), 8 * 86e6);
  EXPECT_THAT(MemoryRefusal(experiment, Free(8 * 76e6))->why,
              HasSubstr("--batch 8 or --prefetch 1 would fit"));
}

TEST(MemoryPlan, APinStageHoldsItsOwnBatches) {
  auto experiment = TenMegabyteBatches();
  experiment.loader.pin_memory = true;
  EXPECT_EQ(BytesOf(PlanMemory(experiment), "4 batches of 10 MB"), 40e6);
  EXPECT_EQ(BytesOf(PlanMemory(experiment), "7 page-locked"), 70e6);
}

TEST(MemoryPlan, DecodedSamplesAreHeldByEachWorkerUntilTheyAreCollated) {
  auto experiment = TenMegabyteBatches();
  experiment.prepare.kind = spec::PrepareKind::kDecode;
  EXPECT_EQ(BytesOf(PlanMemory(experiment), "decoded"), 20e6);
}

TEST(MemoryRefusal, IsSilentWhenItFits) {
  EXPECT_FALSE(MemoryRefusal(TenMegabyteBatches(), Free(86e6)));
}

TEST(MemoryRefusal, SaysWhatIsAskedWhatIsFreeByWhomAndWhatWouldFit) {
  const auto refusal = MemoryRefusal(TenMegabyteBatches(), Free(76e6));
  ASSERT_TRUE(refusal);
  EXPECT_THAT(refusal->why,
              AllOf(HasSubstr("would hold 86 MB"), HasSubstr("7 batches of 10 MB (70 MB)"),
                    HasSubstr("76 MB are free by this machine"),
                    // (76 - 16) / 7 = 8.57 samples of 1 MB; 5 slots of 10 MB
                    HasSubstr("--batch 8 or --prefetch 1 would fit")));
  const std::vector<std::pair<std::string, std::string>> same_training{
      {"loader.prefetch_factor", "1"}};
  EXPECT_EQ(refusal->fits, same_training);
}

TEST(MemoryRefusal, GivesFewerWorkersWhereEvenAPrefetchOfOneIsTooMuch) {
  auto experiment = TenMegabyteBatches();
  experiment.loader.workers = 8;  // 8 + 3 slots at prefetch 1
  EXPECT_THAT(MemoryRefusal(experiment, Free(76e6))->why,
              AllOf(HasSubstr("--workers 3 --prefetch 1 would fit"), HasSubstr("--batch 3")));
}

TEST(MemoryRefusal, GivesNoFlagsWhereNothingFits) {
  EXPECT_THAT(MemoryRefusal(TenMegabyteBatches(), Free(10e6))->why,
              AllOf(HasSubstr("no batch size fits"), Not(HasSubstr("--"))));
  EXPECT_TRUE(MemoryRefusal(TenMegabyteBatches(), Free(10e6))->fits.empty());
  EXPECT_THAT(MemoryRefusal(TenMegabyteBatches(), Free(-5))->why, HasSubstr("0 B are free"));
}

}  // namespace
}  // namespace pipesim::cost
