#include "cost/service_clock.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "engine/state_visitor.h"

namespace pipesim::cost {
namespace {

using base::Duration;
using base::Instant;

std::vector<std::int64_t> StateAt(ServiceClock& clock, Instant now) {
  engine::StateVisitor visitor({.time = now.time_since_epoch()});
  clock.Visit(visitor);
  return visitor.TakeNotes();
}

// The n-th of n services of a at r/s ends after n a / r s, rounded down to the nanosecond.
RC_GTEST_PROP(ServiceClock, ABusyOneIsExact, ()) {
  const auto rate = *rc::gen::inRange<std::int64_t>(1, 2'000'000'000);
  const auto amount = *rc::gen::inRange<std::int64_t>(0, 300'000);
  ServiceClock clock(static_cast<double>(rate));
  for (std::int64_t n = 1; n <= 500; ++n) {
    const std::int64_t exact_ns = n * amount / rate * 1'000'000'000 +
                                  n * amount % rate * 1'000'000'000 / rate;
    RC_ASSERT(clock.Serve(Instant{}, amount) == Instant(Duration(exact_ns)));
  }
}

TEST(ServiceClock, ARateThatIsNoWholeNumberIsExactToTheDouble) {
  ServiceClock clock(1e9 / 0.375);  // 3/8 ns each
  for (int n = 1; n <= 40; ++n)
    EXPECT_EQ(clock.Serve(Instant{}, 1), Instant(Duration(n * 3 / 8)));
  ServiceClock slow(0.25);
  EXPECT_EQ(slow.Serve(Instant{}, 3), Instant(std::chrono::seconds(12)));
}

// 20/11 ns a byte.
TEST(ServiceClock, AfterAPauseItBeginsWithoutAFraction) {
  ServiceClock clock(550e6);
  EXPECT_EQ(clock.Serve(Instant{}, 1), Instant(Duration(1)));    // 1 + 9/11
  EXPECT_EQ(clock.Serve(Instant{}, 1), Instant(Duration(3)));    // 3 + 7/11: still busy at 3
  EXPECT_EQ(clock.Serve(Instant(Duration(4)), 1), Instant(Duration(5)));
  EXPECT_EQ(clock.TimeOf(3), Duration(5));  // 60/11
}

TEST(ServiceClock, RecursAfterAsManyServicesAsTheFractionHasDenominators) {
  ServiceClock clock(550e6);
  Instant now{};
  const std::vector<std::int64_t> begin = StateAt(clock, now);
  for (int n = 1; n <= 11; ++n) {
    now = clock.Serve(now, 1);
    EXPECT_EQ(StateAt(clock, now) == begin, n == 11) << n;
  }
}

TEST(ServiceClock, AnIdleOneIsAsNew) {
  ServiceClock clock(550e6);
  const std::vector<std::int64_t> begin = StateAt(clock, Instant{});
  const Instant served = clock.Serve(Instant{}, 1);
  EXPECT_NE(StateAt(clock, served), begin);
  EXPECT_EQ(StateAt(clock, served + Duration(1)), begin);
}

}  // namespace
}  // namespace pipesim::cost
