// A bounded queue of finished batches between virtual threads: the workers' queue, and the one
// behind the pin thread.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>

#include "engine/dealer.h"
#include "engine/ring.h"
#include "engine/state_visitor.h"
#include "engine/virtual_time/actor.h"

namespace pipesim::engine::virtual_time {

struct MadeBatch {
  Deal deal;
  int maker = 0;  ///< the worker
  std::int32_t samples = 0;
};

inline void VisitBatch(StateVisitor& visitor, MadeBatch& batch) {
  VisitDeal(visitor, batch.deal);
  visitor.Same(batch.maker);
  visitor.Same(batch.samples);
}

/// First in, first out, also for writers that wait for room. One reader. Returns the threads to
/// wake; does not wake them.
class Channel {
 public:
  /// capacity >= 1.
  explicit Channel(std::int64_t capacity) : capacity_(static_cast<std::size_t>(capacity)) {}

  /// False: no room. `writer` queues until a Pop releases it; its batch is then in the channel.
  bool Push(const MadeBatch& batch, Actor& writer) {
    if (batches_.size() >= capacity_) {
      blocked_.push_back({batch, &writer});
      return false;
    }
    batches_.push_back(batch);
    return true;
  }
  struct Popped {
    MadeBatch batch;
    Actor* released = nullptr;  ///< the writer that found room thereby
  };
  std::optional<Popped> Pop() {
    if (batches_.empty()) return std::nullopt;
    Popped popped{batches_.front(), nullptr};
    batches_.pop_front();
    if (!blocked_.empty()) {
      batches_.push_back(blocked_.front().batch);
      popped.released = blocked_.front().writer;
      blocked_.pop_front();
    }
    return popped;
  }

  /// `reader` waits for the next batch.
  void SetReader(Actor* reader) { reader_ = reader; }
  /// The waiting reader, which is then cleared; nullptr: none.
  Actor* ReleaseReader() { return std::exchange(reader_, nullptr); }

  std::int64_t size() const { return static_cast<std::int64_t>(batches_.size()); }

  void Visit(StateVisitor& visitor) {
    visitor.Each(batches_, [&](MadeBatch& batch) { VisitBatch(visitor, batch); });
    visitor.Each(blocked_, [&](Blocked& blocked) {
      VisitBatch(visitor, blocked.batch);
      visitor.Same(blocked.writer);
    });
    visitor.Same(reader_);
  }

 private:
  struct Blocked {
    MadeBatch batch;
    Actor* writer = nullptr;
  };
  std::size_t capacity_;
  Ring<MadeBatch> batches_;
  Ring<Blocked> blocked_;
  Actor* reader_ = nullptr;
};

}  // namespace pipesim::engine::virtual_time
