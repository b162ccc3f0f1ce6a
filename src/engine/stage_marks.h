// Ranges of what each thread does, for a profiler that is attached to the process. Knows no profiler:
// engine/torch has NVTX's functions.
#pragma once

#include <cstdint>

#include "trace/span.h"

namespace pipesim::engine {

/// Opens and closes ranges of the calling thread. The functions live as long as the process and are
/// called by all threads at once.
struct StageMarks {
  void (*begin)(trace::State state, std::int64_t batch) = nullptr;  ///< batch -1: none
  void (*end)() = nullptr;
};

/// A thread's present range: at most one is open, and it ends with this object at the latest, so that
/// ranges pair. Used by one thread, its destructor included.
class StageRange {
 public:
  explicit StageRange(const StageMarks* marks) : marks_(marks) {}
  ~StageRange() { End(); }
  StageRange(const StageRange&) = delete;
  StageRange& operator=(const StageRange&) = delete;

  void Begin(trace::State state, std::int64_t batch) {
    if (marks_ == nullptr) return;
    End();
    marks_->begin(state, batch);
    open_ = true;
  }
  void End() {
    if (open_) marks_->end();
    open_ = false;
  }

 private:
  const StageMarks* marks_;  ///< nullptr: nothing is marked
  bool open_ = false;
};

}  // namespace pipesim::engine
