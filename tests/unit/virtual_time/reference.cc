#include "reference.h"

#include <algorithm>

namespace pipesim::engine::reference {
namespace {

constexpr std::int64_t kNever = INT64_MAX;

struct Item {
  std::int64_t index = -1;
  int maker = -1, dealt_to = -1;
};

struct World {
  const Rules& r;
  std::int64_t t = 0;
  std::vector<Step> steps;
  // dealing
  std::int64_t dealt = 0;
  int turn = 0;
  std::vector<int> out_of_worker;
  int out = 0;
  std::vector<std::vector<Item>> mail;  // shared: only mail[0]
  std::vector<int> resting;             // shared: idle workers, longest first
  // workers
  std::vector<Item> in_hand;
  std::vector<std::int64_t> until;  // kNever: resting
  // finished batches in order; the first `capacity` are in the queue
  std::vector<Item> queue, pinned;
  Item pin_has;
  std::int64_t pin_until = kNever;
  bool pin_stuck = false;
  // consumer
  std::vector<Item> bag;
  std::int64_t wanted = 0, consumer_until = 0;
  std::vector<std::int64_t> ends;

  explicit World(const Rules& rules) : r(rules) {
    out_of_worker.assign(static_cast<std::size_t>(r.workers), 0);
    in_hand.resize(out_of_worker.size());
    until.assign(out_of_worker.size(), kNever);
    mail.resize(r.shared ? 1 : out_of_worker.size());
    for (int w = 0; w < r.workers; ++w) resting.push_back(w);
  }

  bool DealOne() {
    if (dealt == r.batches || out == r.workers * r.prefetch) return false;
    Item item{dealt, -1, -1};
    if (!r.shared) {
      while (out_of_worker[static_cast<std::size_t>(turn)] == r.prefetch)
        turn = (turn + 1) % r.workers;
      item.dealt_to = turn;
      ++out_of_worker[static_cast<std::size_t>(turn)];
      turn = (turn + 1) % r.workers;
    }
    mail[r.shared ? 0 : static_cast<std::size_t>(item.dealt_to)].push_back(item);
    ++dealt;
    ++out;
    return true;
  }

  bool StartOne() {
    for (std::size_t place = 0; place < resting.size(); ++place) {
      const auto w = static_cast<std::size_t>(resting[place]);
      auto& own = mail[r.shared ? 0 : w];
      if (own.empty()) continue;
      in_hand[w] = own.front();
      own.erase(own.begin());
      in_hand[w].maker = static_cast<int>(w);
      until[w] = t + r.make_ns(in_hand[w].index);
      resting.erase(resting.begin() + static_cast<std::ptrdiff_t>(place));
      return true;
    }
    return false;
  }

  // A batch without room in the queue blocks its worker.
  bool HandOverOne() {
    for (std::size_t w = 0; w < until.size(); ++w) {
      if (until[w] != t) continue;
      until[w] = kNever - 1;
      queue.push_back(in_hand[w]);
      return true;
    }
    return false;
  }
  bool FreeOne() {
    for (std::size_t w = 0; w < until.size(); ++w) {
      if (until[w] != kNever - 1) continue;
      const auto at = std::find_if(queue.begin(), queue.end(), [&](const Item& item) {
        return item.index == in_hand[w].index;
      });
      if (at != queue.end() && at - queue.begin() >= r.capacity) continue;
      until[w] = kNever;
      resting.push_back(static_cast<int>(w));
      return true;
    }
    return false;
  }

  bool Pin() {
    if (!r.pin) return false;
    if (pin_until <= t && static_cast<std::int64_t>(pinned.size()) < r.capacity) {
      pinned.push_back(pin_has);
      pin_until = kNever;
      return true;
    }
    if (pin_until == kNever && !queue.empty()) {
      pin_has = queue.front();
      queue.erase(queue.begin());
      pin_until = t + r.pin_ns;
      return true;
    }
    return false;
  }

  bool Consume() {
    if (consumer_until > t || wanted == r.batches) return false;
    auto& from = r.pin ? pinned : queue;
    auto next = r.in_order ? std::find_if(bag.begin(), bag.end(),
                                          [&](const Item& item) { return item.index == wanted; })
                           : bag.begin();
    if (next == bag.end()) {
      if (from.empty()) return false;
      bag.push_back(from.front());
      from.erase(from.begin());
      return true;
    }
    const Item item = *next;
    bag.erase(next);
    ++wanted;
    --out;
    if (!r.shared) --out_of_worker[static_cast<std::size_t>(item.dealt_to)];
    const auto n = static_cast<std::int64_t>(ends.size());
    const std::int64_t room =
        n >= r.in_flight ? ends[static_cast<std::size_t>(n - r.in_flight)] : 0;
    const std::int64_t hand = std::max(t, room);
    const std::int64_t end = std::max(hand, n > 0 ? ends.back() : 0) + r.step_ns(n);
    ends.push_back(end);
    consumer_until = r.read_back ? end : hand;
    const std::int64_t epoch = n / r.batches;
    steps.push_back({epoch * r.batches + item.index, item.maker, consumer_until, end});
    return true;
  }

  bool NextEpoch() {
    if (wanted < r.batches || consumer_until > t) return false;
    if (static_cast<std::int64_t>(steps.size()) == r.batches * r.epochs) return false;
    wanted = dealt = 0;
    turn = 0;
    std::sort(resting.begin(), resting.end());
    return true;
  }

  void Run() {
    for (;;) {
      while (NextEpoch() || DealOne() || StartOne() || HandOverOne() || FreeOne() || Pin() ||
             Consume()) {
      }
      std::int64_t next = kNever - 1;
      for (const std::int64_t end : until) next = std::min(next, end);
      if (pin_until > t) next = std::min(next, pin_until);
      if (consumer_until > t) next = std::min(next, consumer_until);
      if (next == kNever - 1) return;
      t = next;
    }
  }
};

}  // namespace

std::vector<Step> Simulate(const Rules& rules) {
  World world(rules);
  world.Run();
  return world.steps;
}

}  // namespace pipesim::engine::reference
