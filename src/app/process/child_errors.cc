#include "app/process/child_errors.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <mutex>
#include <set>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/standard_streams.h"
#include "base/text.h"

namespace pipesim::app {
namespace {

constexpr std::string_view kName = "pipesim: ";
constexpr std::size_t kLastLines = 4, kLastBytes = 400;

bool IsWarning(std::string_view line) { return line.starts_with("pipesim: warning: "); }

/// The line below a source line that marks a place in it.
bool IsMark(std::string_view line) { return line.find_first_not_of(" ^~") == std::string_view::npos; }

/// Whether it is a warning that was said before; remembers it.
bool IsRepeated(std::string_view line) {
  static std::mutex mutex;
  static std::set<std::string, std::less<>> said;
  if (!IsWarning(line)) return false;
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
      PassOnLine(std::string_view(left_).substr(0, end + 1));
  }
}

void ChildErrors::PassOnRest() {
  PassOn();
  if (!left_.empty()) PassOnLine(left_);
  left_.clear();
}

void ChildErrors::PassOnLine(std::string_view line) {
  const std::string_view text = line.substr(0, line.find('\n'));
  if (!IsRepeated(text)) base::PrintError(line);
  if (IsWarning(text) || IsMark(text)) return;
  last_.emplace_back(text.substr(0, kLastBytes));
  if (last_.size() > kLastLines) last_.pop_front();
}

std::string ChildErrors::LastWords() const {
  std::vector<std::string> lines;
  for (std::string_view line : last_) {
    if (line.starts_with(kName)) line.remove_prefix(kName.size());
    lines.emplace_back(base::Trim(base::Printable(line)));
  }
  const std::string words = base::Join(lines, "; ");
  return words.size() <= kLastBytes ? words : base::Printable(words.substr(0, kLastBytes - 3)) + "...";
}

}  // namespace pipesim::app
