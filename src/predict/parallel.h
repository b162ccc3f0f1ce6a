// Predictions side by side, on all cores.
#pragma once

#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>

#include <atomic>
#include <cstddef>
#include <stdexcept>
#include <string_view>
#include <vector>

namespace pipesim::predict {

/// body(i) for each i below `count`, one at a time on each core, about in this order. oneTBB orders
/// the memory accesses of its bodies before the code after the loop; the counter repeats this for the
/// thread sanitizer, which cannot see into libtbb.
template <class Body>  // Body: (std::size_t) -> void
void ForEachOnThreads(std::size_t count, const Body& body) {
  std::atomic<std::size_t> done;
  done.store(0, std::memory_order_release);
  tbb::parallel_for(
      tbb::blocked_range<std::size_t>(0, count, 1),
      [&](const tbb::blocked_range<std::size_t>& range) {
        done.load(std::memory_order_acquire);
        for (std::size_t i = range.begin(); i != range.end(); ++i) body(i);
        done.fetch_add(1, std::memory_order_release);
      },
      tbb::simple_partitioner());
  done.load(std::memory_order_acquire);
}

/// The same; where the machine refuses further threads (ulimit -u, ulimit -v), this one does the
/// rest.
template <class Body>
void ForEach(std::size_t count, const Body& body) {
  std::vector<std::atomic<bool>> begun(count);
  const auto once = [&](std::size_t i) {
    if (!begun[i].exchange(true, std::memory_order_relaxed)) body(i);
  };
  try {
    ForEachOnThreads(count, once);
  } catch (const std::runtime_error& error) {
    // What oneTBB throws then; bodies that have begun are finished.
    if (!std::string_view(error.what()).starts_with("pthread_create")) throw;
    for (std::size_t i = 0; i < count; ++i) once(i);
  }
}

}  // namespace pipesim::predict
