// From many recording threads to one TraceBuilder: each thread writes to a ring of its own without
// a lock; draining takes one. No record is lost: a thread that finds its ring full drains.
#pragma once

#include <boost/lockfree/spsc_queue.hpp>
#include <memory>
#include <mutex>
#include <variant>
#include <vector>

#include "trace/builder.h"
#include "trace/span.h"

namespace pipesim::engine::threaded {

class SpanRings {
 public:
  static constexpr std::size_t kCapacity = 1024;  ///< records a thread

  /// `threads` rings in front of `builder`, which is only used through With meanwhile. Ring 0 is
  /// the consumer's: its records of a batch reach the builder after those of the batch's worker.
  SpanRings(trace::TraceBuilder& builder, int threads, std::size_t capacity = kCapacity);

  /// Each ring is written by one thread.
  trace::SpanSink& ring(int thread) { return *rings_[static_cast<std::size_t>(thread)]; }
  /// Any thread.
  void Drain();
  /// What begins at `at` or later is dropped from now on; what has begun before is still recorded
  /// whole, so that every thread's account covers the time until then. Call from the consumer,
  /// between two steps.
  void EndRecordingAt(base::Instant at);
  /// Drains, then calls with exclusive access to the builder. Any thread; must not be nested.
  template <class Action>
  decltype(auto) With(Action&& action) {
    const std::lock_guard lock(mutex_);
    DrainLocked();
    return action(builder_);
  }

 private:
  using Record = std::variant<trace::Span, trace::StepRecord, trace::BatchRecord>;
  class Ring final : public trace::SpanSink {
   public:
    Ring(SpanRings& owner, std::size_t capacity) : owner_(owner), records_(capacity) {}
    void Record(const trace::Span& span) override { Write(span); }
    void Record(const trace::StepRecord& step) override { Write(step); }
    void Record(const trace::BatchRecord& batch) override { Write(batch); }
    std::size_t waiting() { return records_.read_available(); }
    /// Records that begin at `end` or later are dropped.
    void Pass(std::size_t count, trace::SpanSink& to, base::Instant end);

   private:
    bool IsOver(const SpanRings::Record& record, base::Instant end);
    void Write(const SpanRings::Record& record) {
      while (!records_.push(record)) owner_.Drain();
    }
    SpanRings& owner_;
    boost::lockfree::spsc_queue<SpanRings::Record> records_;
    bool over_ = false;  ///< a span that is not recorded was seen; used under the owner's lock
  };

  void DrainLocked();

  trace::TraceBuilder& builder_;
  std::vector<std::unique_ptr<Ring>> rings_;
  std::mutex mutex_;
  base::Instant end_ = base::Instant::max();
};

}  // namespace pipesim::engine::threaded
