// Who ran, where and when: the part of a report that is outside every identity and hash.
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <sys/utsname.h>

#include <chrono>
#include <cstdlib>

#include "app/build_info.h"
#include "app/session.h"
#include "base/cpus.h"

namespace pipesim::app {

report::Context ReadContext() {
  report::Context context;
  context.version = kVersion;
  context.commit = kCommit;
  context.build = kBuild;
  context.date = fmt::format(
      "{:%Y-%m-%dT%H:%M:%SZ}",
      fmt::gmtime(std::chrono::system_clock::to_time_t(std::chrono::system_clock::now())));
  context.cpu = base::CpuModelName();
  utsname name{};
  if (uname(&name) == 0) {
    context.host = name.nodename;
    context.os = fmt::format("{} {}", name.sysname, name.release);
  }
  double load = 0;
  if (getloadavg(&load, 1) == 1) context.load_average_1min = load;
  return context;
}

}  // namespace pipesim::app
