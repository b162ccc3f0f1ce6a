// A slow and simple reference simulator: no events, no heap, no states. It applies rules until none
// fires, then advances time to the next completion. Shares no code with the engine, only the drawn
// costs. Batches of one sample, sample = position; waiting workers, overlapping device.
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
