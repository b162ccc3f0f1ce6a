#include "engine/dealer.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "engine/order_buffer.h"

namespace pipesim::engine {
namespace {

spec::Loader LoaderOf(int workers, int prefetch, spec::Dispatch dispatch, bool in_order = true) {
  spec::Loader loader;
  loader.workers = workers;
  loader.prefetch_factor = prefetch;
  loader.dispatch = dispatch;
  loader.in_order = in_order;
  return loader;
}

std::vector<Deal> AllOf(Dealer& dealer) {
  std::vector<Deal> deals;
  while (const auto deal = dealer.Next()) deals.push_back(*deal);
  return deals;
}

TEST(Dealer, DealsTheWindowAndThenOneForEachBatchTaken) {
  Dealer dealer(LoaderOf(3, 2, spec::Dispatch::kRoundRobin));
  dealer.BeginEpoch(100);
  const auto window = AllOf(dealer);
  ASSERT_EQ(window.size(), 6u);  // prefetch_factor × workers
  dealer.Taken(window[0]);
  const auto next = AllOf(dealer);
  ASSERT_EQ(next.size(), 1u);
  EXPECT_EQ(next[0].index, 6);
  EXPECT_EQ(next[0].worker, 0);
}

TEST(Dealer, RestartsTheCycleAtWorker0EachEpochAndDealsNothingAcrossTheBorder) {
  Dealer dealer(LoaderOf(3, 2, spec::Dispatch::kRoundRobin));
  dealer.BeginEpoch(4);
  const auto first = AllOf(dealer);
  ASSERT_EQ(first.size(), 4u);  // the window is 6
  EXPECT_TRUE(dealer.DealtOut());
  for (const Deal& deal : first) dealer.Taken(deal);
  EXPECT_TRUE(AllOf(dealer).empty());
  dealer.BeginEpoch(4);
  EXPECT_EQ(AllOf(dealer)[0].worker, 0);
}

TEST(Dealer, OutOfOrderPassesOverAWorkerWhoseWindowIsFull) {
  Dealer dealer(LoaderOf(2, 1, spec::Dispatch::kRoundRobin, false));
  dealer.BeginEpoch(10);
  const auto window = AllOf(dealer);
  dealer.Taken(window[1]);  // worker 1 is done, worker 0 is slow
  EXPECT_EQ(dealer.Next()->worker, 1);
}

TEST(Dealer, KnowsWhoGetsNoMoreOfTheEpoch) {
  Dealer dealer(LoaderOf(3, 1, spec::Dispatch::kRoundRobin));
  dealer.BeginEpoch(4);  // workers 0 1 2 0
  const auto window = AllOf(dealer);
  EXPECT_FALSE(dealer.NoMoreFor(0));
  EXPECT_TRUE(dealer.NoMoreFor(1));
  EXPECT_TRUE(dealer.NoMoreFor(2));
  dealer.Taken(window[0]);
  EXPECT_EQ(AllOf(dealer).size(), 1u);
  EXPECT_TRUE(dealer.NoMoreFor(0));
}

RC_GTEST_PROP(Dealer, InOrderGivesBatchKToWorkerKModWAndNobodyMoreThanHisWindow, ()) {
  const int workers = *rc::gen::inRange(1, 9);
  const int prefetch = *rc::gen::inRange(1, 5);
  const std::int64_t batches = *rc::gen::inRange(0, 60);
  Dealer dealer(LoaderOf(workers, prefetch, spec::Dispatch::kRoundRobin));
  dealer.BeginEpoch(batches);
  std::vector<Deal> dealt;
  std::vector<int> holds(static_cast<std::size_t>(workers));
  for (std::size_t taken = 0;; ++taken) {
    for (const Deal& deal : AllOf(dealer)) {
      RC_ASSERT(deal.index == static_cast<std::int64_t>(dealt.size()));
      RC_ASSERT(deal.worker == deal.index % workers);
      RC_ASSERT(++holds[static_cast<std::size_t>(deal.worker)] <= prefetch);
      dealt.push_back(deal);
    }
    if (taken == dealt.size()) break;
    dealer.Taken(dealt[taken]);
    --holds[static_cast<std::size_t>(dealt[taken].worker)];
  }
  RC_ASSERT(static_cast<std::int64_t>(dealt.size()) == batches);
}

RC_GTEST_PROP(Dealer, InAnyOrderOfTakingEveryBatchIsDealtOnceWithinTheWindows, ()) {
  const int workers = *rc::gen::inRange(1, 6);
  const int prefetch = *rc::gen::inRange(1, 4);
  const std::int64_t batches = *rc::gen::inRange(0, 40);
  const bool shared = *rc::gen::arbitrary<bool>();
  Dealer dealer(LoaderOf(workers, prefetch,
                         shared ? spec::Dispatch::kShared : spec::Dispatch::kRoundRobin, false));
  dealer.BeginEpoch(batches);
  std::vector<Deal> out;
  std::vector<int> holds(static_cast<std::size_t>(workers));
  std::int64_t next = 0;
  for (;;) {
    for (const Deal& deal : AllOf(dealer)) {
      RC_ASSERT(deal.index == next++);
      RC_ASSERT((deal.worker == kAnyWorker) == shared);
      if (!shared) RC_ASSERT(++holds[static_cast<std::size_t>(deal.worker)] <= prefetch);
      out.push_back(deal);
    }
    RC_ASSERT(static_cast<int>(out.size()) <= workers * prefetch);
    if (out.empty()) break;
    const auto which = *rc::gen::inRange<std::size_t>(0, out.size());
    dealer.Taken(out[which]);
    if (!shared) --holds[static_cast<std::size_t>(out[which].worker)];
    out.erase(out.begin() + static_cast<std::ptrdiff_t>(which));
  }
  RC_ASSERT(next == batches);
}

RC_GTEST_PROP(OrderBuffer, GivesOutInOrderWhateverTheArrivals,
              (std::vector<int> noise, bool some_pass)) {
  std::vector<std::int64_t> arrivals(noise.size());
  for (std::size_t i = 0; i < noise.size(); ++i) arrivals[i] = static_cast<std::int64_t>(i);
  std::sort(arrivals.begin(), arrivals.end(), [&](std::int64_t a, std::int64_t b) {
    return std::pair(noise[static_cast<std::size_t>(a)], a) <
           std::pair(noise[static_cast<std::size_t>(b)], b);
  });
  OrderBuffer<std::int64_t> in_order(true), as_they_come(false);
  std::vector<std::int64_t> ordered, direct;
  const auto arrive = [&](OrderBuffer<std::int64_t>& buffer, std::int64_t index,
                          std::vector<std::int64_t>& out) {
    if (some_pass && buffer.Passes(index)) {
      out.push_back(index);
    } else {
      buffer.Put(index, index);
    }
    while (const auto next = buffer.Take()) out.push_back(*next);
  };
  for (const std::int64_t index : arrivals) {
    arrive(in_order, index, ordered);
    arrive(as_they_come, index, direct);
  }
  RC_ASSERT(std::is_sorted(ordered.begin(), ordered.end()));
  RC_ASSERT(ordered.size() == arrivals.size());
  RC_ASSERT(direct == arrivals);
}

}  // namespace
}  // namespace pipesim::engine
