// A virtual thread, and the kinds of waits.
#pragma once

#include "engine/state_visitor.h"
#include "engine/virtual_time/processors.h"

namespace pipesim::engine::virtual_time {

/// Goes on until it must wait, and is resumed when that is over.
class Actor {
 public:
  explicit Actor(int id) : id_(id) {}
  virtual ~Actor() = default;
  Actor(const Actor&) = delete;
  Actor& operator=(const Actor&) = delete;
  int id() const { return id_; }
  /// The wait is over, at the run's present time. `contended`: the part of the wait in which its
  /// work had no core.
  virtual void Resume(base::Duration contended) = 0;
  /// Its state while it waits.
  virtual void Visit(StateVisitor& visitor) = 0;

 private:
  int id_;
};

/// A wait that does not depend on another thread.
struct Wait {
  /// kNoMore: no further waits.
  enum class Kind { kNothing, kUntil, kWork, kTransfer, kNoMore };
  Kind kind = Kind::kNothing;
  base::Instant until{};  ///< kUntil
  /// kWork: on the cores. kTransfer: `each` alone on the storage's bandwidth, shared with others.
  Work work{};

  static Wait Until(base::Instant when) { return {Kind::kUntil, when, {}}; }
  static Wait For(const Work& work) { return {Kind::kWork, {}, work}; }
};

}  // namespace pipesim::engine::virtual_time
