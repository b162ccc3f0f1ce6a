// Long runs must cost no memory of their own: counts the allocations that records cause.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <new>

#include "trace/builder.h"

namespace {
std::atomic<std::int64_t> allocations{0};
}

void* operator new(std::size_t size) {
  ++allocations;
  if (void* memory = std::malloc(size)) return memory;
  throw std::bad_alloc();
}
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  ++allocations;
  return std::malloc(size);
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace pipesim::trace {
namespace {

using std::chrono::milliseconds;

// A step of 10 ms: one worker reads and prepares in turns, the consumer waits and computes.
void RecordSteps(TraceBuilder& builder, std::int64_t from, std::int64_t to) {
  for (std::int64_t step = from; step < to; ++step) {
    const base::Instant begin(milliseconds(10) * step);
    for (int part = 0; part < 5; ++part) {
      builder.Record(Span{.begin = begin + milliseconds(2 * part),
                          .end = begin + milliseconds(2 * part + 2),
                          .batch = step,
                          .role = part % 2 ? Role::kConsumer : Role::kWorker,
                          .state = part % 2 ? State::kCompute : State::kRead});
    }
    builder.Record(BatchRecord{.batch = step, .reads = 10});
    builder.Record(StepRecord{.step = step,
                              .batch = step,
                              .samples = 64,
                              .taken = begin,
                              .done = begin + milliseconds(10),
                              .loss = 1.0});
  }
}

TEST(TraceBuilderMemory, DoesNotGrowOnceWarm) {
  TraceBuilder builder(base::Instant{}, 1, {.keep_spans = true});
  RecordSteps(builder, 0, 100'000);
  const std::int64_t warm = allocations;
  RecordSteps(builder, 100'000, 400'000);
  EXPECT_EQ(allocations - warm, 0);
}

}  // namespace
}  // namespace pipesim::trace
