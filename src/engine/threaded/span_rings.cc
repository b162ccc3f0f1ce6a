#include "engine/threaded/span_rings.h"

namespace pipesim::engine::threaded {

SpanRings::SpanRings(trace::TraceBuilder& builder, int threads, std::size_t capacity)
    : builder_(builder) {
  for (int thread = 0; thread < threads; ++thread) {
    rings_.push_back(std::make_unique<Ring>(*this, capacity));
  }
}

/// A batch belongs to the spans before it.
bool SpanRings::Ring::IsOver(const SpanRings::Record& record, base::Instant end) {
  if (const auto* span = std::get_if<trace::Span>(&record)) {
    const bool over = span->begin >= end;
    over_ |= over;
    return over;
  }
  if (const auto* step = std::get_if<trace::StepRecord>(&record)) return step->done > end;
  return over_;
}

void SpanRings::Ring::Pass(std::size_t count, trace::SpanSink& to, base::Instant end) {
  SpanRings::Record record;
  for (; count > 0 && records_.pop(record); --count) {
    if (IsOver(record, end)) continue;
    std::visit([&](const auto& value) { to.Record(value); }, record);
  }
}

void SpanRings::EndRecordingAt(base::Instant at) {
  const std::lock_guard lock(mutex_);
  DrainLocked();
  end_ = at;
}

void SpanRings::Drain() {
  const std::lock_guard lock(mutex_);
  DrainLocked();
}

void SpanRings::DrainLocked() {
  // The consumer's ring is counted first and drained last: a worker records its batch before the
  // consumer does.
  const std::size_t consumer = rings_.front()->waiting();
  for (std::size_t ring = 1; ring < rings_.size(); ++ring) {
    rings_[ring]->Pass(rings_[ring]->waiting(), builder_, end_);
  }
  rings_.front()->Pass(consumer, builder_, end_);
}

}  // namespace pipesim::engine::threaded
