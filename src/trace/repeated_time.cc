#include "trace/repeated_time.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace pipesim::trace {
namespace {

using base::Duration;
using base::Instant;

/// The part of `span` in `state` until `at`.
Duration TimeUntil(const Span& span, State state, Instant at) {
  const Duration contended = ContendedUntil(span, at);
  Duration time{};
  if (span.state == state) time += at - span.begin - contended;
  if (state == State::kContended) time += contended;
  return time;
}

}  // namespace

Duration ContendedUntil(const Span& span, Instant at) {
  if (at == span.end || span.contended == Duration::zero()) return span.contended;
  const double share = static_cast<double>(span.contended.count()) /
                       static_cast<double>((span.end - span.begin).count());
  return Duration(std::llround(share * static_cast<double>((at - span.begin).count())));
}

PeriodThread::PeriodThread(std::vector<Span> spans) : spans_(std::move(spans)) {
  FindStates();
  const std::size_t states = states_.size();
  so_far_.reserve((spans_.size() + 1) * states);
  so_far_.assign(states, Duration::zero());
  for (const Span& span : spans_) {
    const std::size_t before = so_far_.size() - states;
    for (std::size_t i = 0; i < states; ++i)
      so_far_.push_back(so_far_[before + i]);
    Duration* after = &so_far_[before + states];
    after[column_[static_cast<std::size_t>(span.state)]] += span.end - span.begin - span.contended;
    if (span.contended > Duration::zero())
      after[column_[static_cast<std::size_t>(State::kContended)]] += span.contended;
  }
}

void PeriodThread::FindStates() {
  column_.fill(kNowhere);
  const auto see = [this](State state) {
    std::size_t& column = column_[static_cast<std::size_t>(state)];
    if (column != kNowhere) return;
    column = states_.size();
    states_.push_back(state);
  };
  for (const Span& span : spans_) {
    see(span.state);
    if (span.contended > Duration::zero()) see(State::kContended);
  }
}

Duration PeriodThread::Until(State state, Duration since, Duration length) const {
  const std::size_t column = column_[static_cast<std::size_t>(state)];
  if (column == kNowhere) return Duration::zero();
  const std::size_t states = states_.size();
  const Instant at = spans_.front().begin + since % length;
  const auto next = std::partition_point(spans_.begin(), spans_.end(),
                                         [at](const Span& span) { return span.end <= at; });
  const auto before = static_cast<std::size_t>(next - spans_.begin());
  Duration time = so_far_[spans_.size() * states + column] * (since / length) +
                  so_far_[before * states + column];
  if (next != spans_.end() && next->begin < at) time += TimeUntil(*next, state, at);
  return time;
}

Duration RepeatedTime::TimeIn(State state, Instant from, Instant to) const {
  from = std::max(from, begin);
  to = std::min(to, end);
  if (from >= to) return Duration::zero();
  return period->Until(state, to - begin, length) - period->Until(state, from - begin, length);
}

}  // namespace pipesim::trace
