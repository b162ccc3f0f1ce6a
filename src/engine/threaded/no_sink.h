// A sink for threads that nothing is recorded of.
#pragma once

#include "trace/span.h"

namespace pipesim::engine::threaded {

/// Drops everything. Any thread.
class NoSink final : public trace::SpanSink {
 public:
  void Record(const trace::Span&) override {}
  void Record(const trace::StepRecord&) override {}
  void Record(const trace::BatchRecord&) override {}
};

}  // namespace pipesim::engine::threaded
