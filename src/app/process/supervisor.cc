#include "app/process/supervisor.h"

#include <fmt/format.h>
#include <signal.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <thread>

#include "app/process/child_errors.h"
#include "app/process/interrupt.h"
#include "base/memory.h"

namespace pipesim::app {
namespace {

// "<process id of the parent>:<descriptor of the handover>"
constexpr const char* kVariable = "PIPESIM_SUPERVISED_BY";

// Blocks the signals to wait for. Signals that are ignored (nohup, a background job) stay ignored.
class Watched {
 public:
  Watched() {
    sigemptyset(&signals_);
    sigaddset(&signals_, SIGCHLD);
    for (const int each : kStopSignals)
      if (!IsIgnored(each)) sigaddset(&signals_, each);
    sigprocmask(SIG_BLOCK, &signals_, &before_);
  }
  ~Watched() {
    LeaveOnStopSignalAfter(1);
    sigprocmask(SIG_SETMASK, &before_, nullptr);
  }
  Watched(const Watched&) = delete;
  Watched& operator=(const Watched&) = delete;

  const sigset_t& before() const { return before_; }
  int Next() const {
    int signal = 0;
    return sigwait(&signals_, &signal) == 0 ? signal : 0;
  }

 private:
  sigset_t signals_{}, before_{};
};

bool IsStopSignal(int signal) {
  return std::find(std::begin(kStopSignals), std::end(kStopSignals), signal) !=
         std::end(kStopSignals);
}

std::filesystem::path OwnProgram() {
  std::error_code error;
  const std::filesystem::path link = "/proc/self/exe";
  const std::filesystem::path program = std::filesystem::read_symlink(link, error);
  // If the file was replaced while the program runs, the link still opens the original.
  return !error && access(program.c_str(), X_OK) == 0 ? program : link;
}

std::vector<char*> Pointers(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

/// `errors`: the child's stderr; nullptr: this process's.
pid_t Start(const std::vector<std::string>& words, const Handover& handover, const sigset_t& mask,
            const ChildErrors* errors = nullptr) {
  signal(SIGCHLD, SIG_DFL);  // if inherited as ignored, wait4 could not tell how the child ended
  std::vector<std::string> arguments{"pipesim"};
  arguments.insert(arguments.end(), words.begin(), words.end());
  std::vector<std::string> variables;
  for (char** at = environ; *at != nullptr; ++at) variables.emplace_back(*at);
  variables.push_back(fmt::format("{}={}:{}", kVariable, getpid(), handover.fd()));

  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setsigmask(&attributes, &mask);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  if (errors != nullptr)
    posix_spawn_file_actions_adddup2(&actions, errors->write_end(), STDERR_FILENO);
  pid_t child = 0;
  const int error = posix_spawn(&child, OwnProgram().c_str(), &actions, &attributes,
                                Pointers(arguments).data(), Pointers(variables).data());
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  if (error != 0)
    throw base::EnvironmentError(
        fmt::format("cannot start the run's process: {}", std::strerror(error)));
  return child;
}

// nullopt while the child still runs: stopping it raises SIGCHLD, too.
std::optional<ProcessEnd> EndOf(pid_t child) {
  int status = 0;
  rusage usage{};
  if (wait4(child, &status, WNOHANG, &usage) != child) return std::nullopt;
  ProcessEnd end;
  if (WIFEXITED(status))
    end.code = WEXITSTATUS(status);
  else
    end.signal = WTERMSIG(status);
  end.peak_resident = {usage.ru_maxrss * 1024};
  return end;
}

/// A run that exits before it begins has said why.
std::string WhyNotBegun(const ProcessEnd& end, const std::string& last_words) {
  if (last_words.empty()) return DeathText(end);
  return end.code ? last_words : DeathText(end) + "; it said: " + last_words;
}

ProcessEnd Watch(pid_t child, const Watched& watched) {
  using Clock = std::chrono::steady_clock;
  std::optional<Clock::time_point> asked;
  for (;;) {
    const int signal = watched.Next();
    if (signal == SIGCHLD) {
      if (auto end = EndOf(child)) {
        // The request came before the child had its handler, so the signal killed it.
        end->interrupted = asked && IsStopSignal(end->signal);
        return *end;
      }
    } else if (signal != 0 && !asked) {
      asked = Clock::now();
      kill(child, SIGTERM);
      TellThatItStops();
    } else if (signal != 0 && Clock::now() - *asked > kOneRequest) {
      kill(child, SIGKILL);  // not waited for: it may be stuck in the kernel
      ProcessEnd end;
      end.signal = SIGKILL;
      end.interrupted = true;
      return end;
    }
  }
}

}  // namespace

std::optional<Handover> HandoverToParent() {
  const char* text = std::getenv(kVariable);
  if (text == nullptr) return std::nullopt;
  int parent = 0, fd = -1;
  const char* const end = text + std::strlen(text);
  const auto [colon, bad] = std::from_chars(text, end, parent);
  if (bad == std::errc() && colon != end) std::from_chars(colon + 1, end, fd);
  unsetenv(kVariable);
  // In this order: if the parent dies after prctl, the kernel kills this process too.
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent || fd < 0)
    throw base::EnvironmentError(fmt::format(
        "the pipesim process that started this run is gone (only pipesim may set {})", kVariable));
  return Handover(fd);
}

ProcessEnd Supervise(const std::vector<std::string>& words, const Handover& handover) {
  const auto killed_before = base::OomKills();
  const Watched watched;
  ProcessEnd end = Watch(Start(words, handover, watched.before()), watched);
  const auto killed = base::OomKills();
  if (killed && killed_before) end.oom_killed = *killed > *killed_before;
  return end;
}

Outcome RunBeside(const std::vector<std::string>& words, const base::StopFlag* stop,
                  std::optional<base::Duration> limit) {
  constexpr auto kLook = std::chrono::milliseconds(5);
  sigset_t mask;
  pthread_sigmask(SIG_SETMASK, nullptr, &mask);
  const auto killed_before = base::OomKills();
  const Handover handover = Handover::Create();
  ChildErrors errors;
  const pid_t child = Start(words, handover, mask, &errors);
  const auto begin = std::chrono::steady_clock::now();
  bool asked = false;
  std::optional<ProcessEnd> end;
  while (!(end = EndOf(child))) {
    errors.PassOn();
    if (!asked && stop != nullptr && stop->IsSet()) {
      kill(child, SIGTERM);
      asked = true;
    }
    if (limit && std::chrono::steady_clock::now() - begin > *limit) kill(child, SIGKILL);
    std::this_thread::sleep_for(kLook);
  }
  errors.PassOnRest();
  if (auto outcome = handover.finished()) return *std::move(outcome);
  const auto killed = base::OomKills();
  if (killed && killed_before) end->oom_killed = *killed > *killed_before;
  if (const auto begun = handover.begun())
    return OutcomeOfDeath(*begun, *end, handover.last_progress());
  return {nullptr,
          {WhyNotBegun(*end, errors.LastWords())},
          static_cast<base::ExitCode>(end->code.value_or(1))};
}

}  // namespace pipesim::app
