// A virtual thread, and what it may wait for.
#pragma once

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
  /// What it waited for has come, at the run's present time. `contended`: how much of that time its
  /// work had no core.
  virtual void Resume(base::Duration contended) = 0;

 private:
  int id_;
};

/// Something that takes a thread's time without any other thread.
struct Wait {
  /// kNoMore: of one who says what to wait for again and again, that it is done.
  enum class Kind { kNothing, kUntil, kWork, kNoMore };
  Kind kind = Kind::kNothing;
  base::Instant until{};  ///< kUntil
  Work work{};            ///< kWork

  static Wait Until(base::Instant when) { return {Kind::kUntil, when, {}}; }
  static Wait For(const Work& work) { return {Kind::kWork, {}, work}; }
};

}  // namespace pipesim::engine::virtual_time
