#include "engine/dispatcher.h"

#include <fmt/format.h>

namespace pipesim::engine {

using base::Instant;

Dispatcher::Dispatcher(const spec::Loader& loader)
    : dealer_(loader),
      queues_(loader.dispatch == spec::Dispatch::kShared
                  ? 1
                  : static_cast<std::size_t>(std::max(loader.workers, 1))),
      seats_(static_cast<std::size_t>(loader.workers)) {}

void Dispatcher::ConsumerGoesOn(Instant now) {
  if (!consumer_waits_since_) return;
  consumer_waits_.Add(trace::State::kBlockedOnOrder, *consumer_waits_since_, now);
  consumer_waits_since_.reset();
  ForgetOldWaits(now);
}

// Looks for what is still needed only when the history has doubled: constant time a wait.
void Dispatcher::ForgetOldWaits(Instant now) {
  if (consumer_waits_.size() < 2 * waits_kept_ + seats_.size()) return;
  ForgetWaitsOfNobody(now);
}

void Dispatcher::ForgetWaitsOfNobody(Instant now) {
  Instant asked_from = now;
  for (const Seat& seat : seats_) {
    if (seat.blocked_since) asked_from = std::min(asked_from, *seat.blocked_since);
  }
  consumer_waits_.ForgetBefore(asked_from);
  waits_kept_ = consumer_waits_.size();
}

std::optional<Deal> Dispatcher::Take(int worker) {
  Ring<Deal>& queue = QueueOf(worker);
  if (queue.empty()) return std::nullopt;
  const Deal deal = queue.front();
  queue.pop_front();
  SeatOf(worker).unfinished.push_back(deal.index);
  return deal;
}

void Dispatcher::Visit(StateVisitor& visitor) {
  if (!seats_.empty()) dealer_.Visit(visitor);  // it deals nothing without workers
  for (Ring<Deal>& queue : queues_)
    visitor.Each(queue, [&](Deal& deal) { VisitDeal(visitor, deal); });
  for (Seat& seat : seats_) {
    visitor.Same(seat.waits);
    visitor.Same(seat.launched_for >= 0);
    if (seat.launched_for >= 0) visitor.Epoch(seat.launched_for);
    visitor.Time(seat.blocked_since);
    visitor.Each(seat.unfinished, [&](std::int64_t& index) { visitor.Index(index); });
  }
  visitor.Each(line_, [&](int worker) { visitor.Same(worker); });
  visitor.Epoch(epoch_);
  visitor.FirstNumber(first_number_);
  if (!visitor.moves()) ForgetWaitsOfNobody(Instant(visitor.now().time));
  consumer_waits_.Visit(visitor);
  visitor.Time(consumer_waits_since_);
}

std::string Dispatcher::Missing() const {
  std::optional<std::int64_t> oldest;
  int maker = kAnyWorker;  // nobody
  const auto consider = [&](std::int64_t index, int worker) {
    if (oldest && *oldest <= index) return;
    oldest = index;
    maker = worker;
  };
  for (const Ring<Deal>& queue : queues_) {
    if (!queue.empty()) consider(queue.front().index, kAnyWorker);
  }
  for (std::size_t worker = 0; worker < seats_.size(); ++worker) {
    const Ring<std::int64_t>& unfinished = seats_[worker].unfinished;
    if (!unfinished.empty()) consider(unfinished.front(), static_cast<int>(worker));
  }
  if (!oldest) return "none was dealt";
  return fmt::format("batch {} of epoch {} is missing, ", *oldest, epoch_) +
         (maker == kAnyWorker ? "which no worker has begun"
                              : fmt::format("worker {} has it", maker));
}

std::string NoBatchWithin(base::Duration timeout, const std::string& missing) {
  return fmt::format("no batch came within loader.timeout ({:g} s): {}", base::ToSeconds(timeout),
                     missing);
}

}  // namespace pipesim::engine
