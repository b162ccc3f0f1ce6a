#include "engine/threaded/burn.h"

#include <algorithm>

namespace pipesim::engine::threaded {

using base::Duration;

namespace {
// Between two looks at the clock: 0.4 us in 100.
constexpr Duration kSlice = std::chrono::microseconds(100);
}  // namespace

void Burner::Turn(std::int64_t turns) {
  std::uint64_t value = value_;
  for (std::int64_t turn = 0; turn < turns; ++turn) {
    value = value * 6364136223846793005ULL + 1442695040888963407ULL;
    asm volatile("" : "+r"(value));  // keeps the compiler from removing the loop
  }
  value_ = value;
}

void Burner::Burn(Duration cost, const base::StopFlag& stop) {
  owed_ += cost;
  if (owed_ < kLeast) return;
  Duration now = base::ThreadCpuTime();
  const Duration target = now + owed_;
  while (now < target && !stop.IsSet()) {
    const auto slice_ns = static_cast<double>(std::min(target - now, kSlice).count());
    const auto turns =
        std::max<std::int64_t>(1, static_cast<std::int64_t>(slice_ns * turns_per_ns_));
    Turn(turns);
    const Duration after = base::ThreadCpuTime();
    const auto took_ns = static_cast<double>((after - now).count());
    // Only a full slice says how fast this core is now; short ones are mostly the clock's own cost.
    if (took_ns > 0.1 * static_cast<double>(kSlice.count())) {
      turns_per_ns_ = static_cast<double>(turns) / took_ns;
    } else if (turns_per_ns_ < 100) {
      turns_per_ns_ *= slice_ns > took_ns * 4 ? 2 : 1;
    }
    now = after;
  }
  owed_ = target - now;
}

}  // namespace pipesim::engine::threaded
