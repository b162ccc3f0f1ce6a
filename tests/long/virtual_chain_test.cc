// The birth-death chain over 20 million batches: within 0.1 % of its closed form.
#include "chain.h"

namespace pipesim::engine {
namespace {

class LongChain : public testing::TestWithParam<Chain> {};

TEST_P(LongChain, IsTheThroughputOfASharedQueueOutOfOrder) {
  const Found found = Simulated(GetParam(), 20'000'000);
  EXPECT_NEAR(found.utilization / Utilization(GetParam()), 1, 1e-3);
}

INSTANTIATE_TEST_SUITE_P(Of, LongChain, testing::ValuesIn(kChains));

}  // namespace
}  // namespace pipesim::engine
