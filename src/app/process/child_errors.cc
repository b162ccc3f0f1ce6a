#include "app/process/child_errors.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <mutex>
#include <set>
#include <string_view>

#include "base/error.h"
#include "base/standard_streams.h"

namespace pipesim::app {
namespace {

/// Whether it is a warning that was said before; remembers it.
bool IsRepeated(std::string_view line) {
  static std::mutex mutex;
  static std::set<std::string, std::less<>> said;
  if (!line.starts_with("pipesim: warning: ")) return false;
  const std::lock_guard lock(mutex);
  return !said.emplace(line).second;
}

}  // namespace

ChildErrors::ChildErrors() {
  if (pipe2(ends_, O_CLOEXEC) != 0)
    throw base::EnvironmentError(
        fmt::format("cannot start the run's process: no pipe: {}", std::strerror(errno)));
  fcntl(ends_[0], F_SETFL, O_NONBLOCK);
}

ChildErrors::~ChildErrors() {
  for (const int end : ends_) close(end);
}

void ChildErrors::PassOn() {
  char some[4096];
  for (ssize_t count = 0; (count = read(ends_[0], some, sizeof some)) > 0;) {
    left_.append(some, static_cast<std::size_t>(count));
    for (std::size_t end = 0; (end = left_.find('\n')) != std::string::npos; left_.erase(0, end + 1))
      if (!IsRepeated(std::string_view(left_).substr(0, end)))
        base::PrintError(std::string_view(left_).substr(0, end + 1));
  }
}

void ChildErrors::PassOnRest() {
  PassOn();
  if (!left_.empty()) base::PrintError(left_);
  left_.clear();
}

}  // namespace pipesim::app
