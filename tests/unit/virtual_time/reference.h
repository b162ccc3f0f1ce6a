// The pipeline's rules once more, as slowly and plainly as they can be written: no events, no heap,
// no states; rules that are tried over and over until none applies, then time jumps to the next
// instant at which anything ends. Shares no code with the engine; it only draws the same costs.
// Batches of one sample, sample = position; workers that wait, a device that overlaps.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

namespace pipesim::engine::reference {

struct Rules {
  int workers = 1, prefetch = 2;
  bool shared = false, in_order = true;
  std::int64_t capacity = 0;  ///< of the queue
  bool pin = false;
  std::int64_t pin_ns = 0;
  int in_flight = 2;
  bool read_back = false;  ///< every step
  std::int64_t batches = 1, epochs = 1;
  std::function<std::int64_t(std::int64_t batch)> make_ns;  ///< batch within the epoch
  std::function<std::int64_t(std::int64_t step)> step_ns;
};

struct Step {
  std::int64_t batch = 0;  ///< running number
  int maker = 0;
  std::int64_t done_ns = 0, device_end_ns = 0;
};

/// Every step in order.
std::vector<Step> Simulate(const Rules& rules);

}  // namespace pipesim::engine::reference
