#include "engine/dispatcher.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>

namespace pipesim::engine {
namespace {

using namespace std::chrono_literals;
using base::Instant;
using testing::ElementsAre;
using testing::IsEmpty;
using trace::State;

spec::Loader Loader(int workers, int prefetch, spec::Dispatch dispatch) {
  spec::Loader loader;
  loader.workers = workers;
  loader.prefetch_factor = prefetch;
  loader.dispatch = dispatch;
  return loader;
}

/// Records a worker's states.
struct Account {
  State state() const { return entered.back().first; }
  void Enter(State state, Instant at) { entered.emplace_back(state, at); }
  std::vector<std::pair<State, Instant>> entered{{State::kStartup, Instant{}}};
};

/// A dispatcher in its first epoch, and the workers that it woke since.
struct Begun {
  Begun(const spec::Loader& loader, std::int64_t batches) : dispatcher(loader) {
    dispatcher.BeginEpoch(0, batches, wake);
  }
  void Take(Deal deal) { dispatcher.Taken(deal, wake); }
  void Await(int worker) { dispatcher.Await(worker, account, Instant{}); }

  std::vector<int> woken;
  std::function<void(int)> wake = [this](int worker) { woken.push_back(worker); };
  Account account;
  Dispatcher dispatcher;
};

TEST(Dispatcher, RoundRobinWakesTheWorkerOfTheDealtBatch) {
  Begun begun(Loader(2, 1, spec::Dispatch::kRoundRobin), 100);
  EXPECT_EQ(begun.dispatcher.Take(1)->index, 1);
  EXPECT_FALSE(begun.dispatcher.Take(1));
  EXPECT_EQ(begun.dispatcher.Take(0)->index, 0);
  begun.Await(0);
  begun.Await(1);
  begun.Take({.index = 0, .worker = 0});
  EXPECT_THAT(begun.woken, ElementsAre(0));
  EXPECT_FALSE(begun.dispatcher.waits(0));
  EXPECT_TRUE(begun.dispatcher.waits(1));
  EXPECT_EQ(begun.dispatcher.Take(0)->index, 2);
}

TEST(Dispatcher, SharedWakesTheLongestWaitingWorker) {
  Begun begun(Loader(3, 1, spec::Dispatch::kShared), 100);
  for (int worker : {0, 1, 2}) begun.dispatcher.Take(worker);
  for (int worker : {2, 0, 1}) begun.Await(worker);
  begun.Take({.index = 0});
  begun.Take({.index = 1});
  EXPECT_THAT(begun.woken, ElementsAre(2, 0));
}

TEST(Dispatcher, WakesAllWorkersWhenTheEpochIsDealtOutAndWhenTheNextBegins) {
  Begun begun(Loader(3, 1, spec::Dispatch::kShared), 4);
  for (int worker : {0, 1, 2}) begun.dispatcher.Take(worker);
  begun.Await(2);
  begun.Await(1);
  begun.Take({.index = 0});
  EXPECT_THAT(begun.woken, ElementsAre(2, 1));  // there is one more batch; 1 is idle from now on
  begun.woken.clear();
  begun.Await(1);
  EXPECT_EQ(begun.account.state(), State::kIdle);
  begun.Take({.index = 1});
  EXPECT_THAT(begun.woken, IsEmpty());
  begun.dispatcher.BeginEpoch(1, 4, begun.wake);
  EXPECT_THAT(begun.woken, ElementsAre(1));
  EXPECT_EQ(begun.dispatcher.NumberOf({.index = 3}), 7);
}

TEST(Dispatcher, AWaitIsBlockedOnOrderWhileTheConsumerAlsoWaits) {
  Begun begun(Loader(2, 1, spec::Dispatch::kRoundRobin), 100);
  begun.dispatcher.Take(0);
  begun.dispatcher.Await(0, begun.account, Instant(1s));
  begun.dispatcher.ConsumerWaits(Instant(2s));
  begun.dispatcher.ConsumerGoesOn(Instant(4s));
  begun.dispatcher.ConsumerWaits(Instant(7s));
  begun.dispatcher.Settle(0, begun.account, Instant(9s));
  EXPECT_THAT(begun.account.entered, ElementsAre(std::pair(State::kStartup, Instant{}),
                                                 std::pair(State::kBlockedOnConsumer, Instant(1s)),
                                                 std::pair(State::kBlockedOnOrder, Instant(2s)),
                                                 std::pair(State::kBlockedOnConsumer, Instant(4s)),
                                                 std::pair(State::kBlockedOnOrder, Instant(7s))));
}

TEST(Dispatcher, OneWorkerIsNeverBlockedByAnEarlierBatchOfAnother) {
  Begun begun(Loader(1, 1, spec::Dispatch::kRoundRobin), 100);
  begun.dispatcher.Take(0);
  begun.dispatcher.Await(0, begun.account, Instant(1s));
  begun.dispatcher.ConsumerWaits(Instant(2s));
  begun.dispatcher.Settle(0, begun.account, Instant(9s));
  EXPECT_EQ(begun.account.state(), State::kBlockedOnConsumer);
}

TEST(Dispatcher, NamesTheOldestMissingBatchAndItsWorker) {
  Begun begun(Loader(2, 2, spec::Dispatch::kRoundRobin), 100);
  EXPECT_EQ(begun.dispatcher.Missing(), "batch 0 of epoch 0 is missing, which no worker has begun");
  begun.dispatcher.Take(1);
  begun.dispatcher.Take(0);
  begun.dispatcher.Take(0);
  EXPECT_EQ(begun.dispatcher.Missing(), "batch 0 of epoch 0 is missing, worker 0 has it");
  begun.dispatcher.Arrived(0);
  EXPECT_EQ(begun.dispatcher.Missing(), "batch 1 of epoch 0 is missing, worker 1 has it");
  begun.dispatcher.Arrived(1);
  EXPECT_EQ(begun.dispatcher.Missing(), "batch 2 of epoch 0 is missing, worker 0 has it");
  begun.dispatcher.Arrived(0);
  EXPECT_EQ(begun.dispatcher.Missing(), "batch 3 of epoch 0 is missing, which no worker has begun");
}

}  // namespace
}  // namespace pipesim::engine
