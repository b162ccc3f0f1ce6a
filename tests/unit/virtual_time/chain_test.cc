#include "chain.h"

namespace pipesim::engine {
namespace {

TEST(BirthDeathChain, OneBalancedWorkerWithPrefetchTwoGivesAUtilizationOfThreeQuarters) {
  EXPECT_DOUBLE_EQ(Utilization({.workers = 1, .prefetch = 2, .s_over_g = 1}), 0.75);
}

class BirthDeathChain : public testing::TestWithParam<Chain> {};

TEST_P(BirthDeathChain, GivesTheThroughputOfASharedQueueOutOfOrder) {
  const Found found = Simulated(GetParam(), 60'000);
  EXPECT_LE(std::abs(found.utilization - Utilization(GetParam())), 4 * found.standard_error)
      << found.utilization << " for " << Utilization(GetParam());
  EXPECT_LT(found.standard_error, 0.01);
}

INSTANTIATE_TEST_SUITE_P(Of, BirthDeathChain, testing::ValuesIn(kChains));

}  // namespace
}  // namespace pipesim::engine
