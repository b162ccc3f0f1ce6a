#include "app/open_page.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

#include "base/text.h"

namespace pipesim::app {
namespace {

using namespace std::chrono_literals;

// A browser that cannot start says so within this time; one that is still there has started.
constexpr std::chrono::milliseconds kUntilItFails = 2s, kBetweenLooks = 20ms;

std::string Variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

/// The words of a command for `page`, which stands for "%s" or comes last.
std::vector<std::string> BrowserWords(const std::string& command, const std::string& page) {
  std::vector<std::string> words;
  bool placed = false;
  for (std::string word : base::Split(command, ' ')) {
    if (word.empty()) continue;
    if (const std::size_t at = word.find("%s"); at != std::string::npos) {
      word.replace(at, 2, page);
      placed = true;
    }
    words.push_back(std::move(word));
  }
  if (!placed) words.push_back(page);
  return words;
}

/// In a session of its own, so that closing the terminal leaves it alone, and silent. 0 or an errno.
int Spawn(std::vector<std::string> words, pid_t& child) {
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    posix_spawn_file_actions_addopen(&files, stream, "/dev/null", O_RDWR, 0);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none;
  sigemptyset(&none);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK);
  const int error =
      posix_spawnp(&child, pointers.front(), &files, &attributes, pointers.data(), environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&files);
  return error;
}

/// Why the command did not show the page; empty: it did, or still runs.
std::string Failure(const std::string& command, const std::string& page) {
  const std::vector<std::string> words = BrowserWords(command, page);
  pid_t child = 0;
  if (const int error = Spawn(words, child); error != 0)
    return fmt::format("cannot start {}: {}", base::Printable(words.front()), std::strerror(error));
  const auto end = std::chrono::steady_clock::now() + kUntilItFails;
  while (std::chrono::steady_clock::now() < end) {
    int status = 0;
    if (waitpid(child, &status, WNOHANG) != 0) {
      if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return {};
      return base::Printable(words.front()) + " could not show it";
    }
    std::this_thread::sleep_for(kBetweenLooks);
  }
  return {};
}

}  // namespace

std::string ShowPage(const std::filesystem::path& page) {
  const std::string file = std::filesystem::absolute(page).string();
  std::string browsers = Variable("BROWSER"), why;
  if (browsers.empty()) {
    if (Variable("DISPLAY").empty() && Variable("WAYLAND_DISPLAY").empty())
      return "there is no display here, and BROWSER is not set";
    browsers = "xdg-open";
  }
  for (const std::string& browser : base::Split(browsers, ':')) {
    if (base::Trim(browser).empty()) continue;
    why = Failure(browser, file);
    if (why.empty()) return {};
  }
  return why.empty() ? "BROWSER names no program" : why;
}

}  // namespace pipesim::app
