// Preloaded into a program (LD_PRELOAD): shifts its wall clock an hour ahead and back each second,
// like a bad time server. Does not change monotonic clocks.
#include <dlfcn.h>
#include <sys/time.h>
#include <time.h>

namespace {
using ClockGettime = int (*)(clockid_t, timespec*);

ClockGettime Real() {
  static const auto real = reinterpret_cast<ClockGettime>(dlsym(RTLD_NEXT, "clock_gettime"));
  return real;
}
}  // namespace

extern "C" int clock_gettime(clockid_t clock, timespec* now) {
  const int result = Real()(clock, now);
  if (result != 0 || clock != CLOCK_REALTIME) return result;
  timespec steady{};
  Real()(CLOCK_MONOTONIC, &steady);
  now->tv_sec += steady.tv_sec % 2 == 0 ? 3600 : -3600;
  return 0;
}

extern "C" int gettimeofday(timeval* now, void*) {
  timespec wall{};
  clock_gettime(CLOCK_REALTIME, &wall);
  *now = {wall.tv_sec, wall.tv_nsec / 1000};
  return 0;
}

extern "C" time_t time(time_t* out) {
  timespec wall{};
  clock_gettime(CLOCK_REALTIME, &wall);
  if (out != nullptr) *out = wall.tv_sec;
  return wall.tv_sec;
}
