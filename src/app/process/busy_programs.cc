#include "app/process/busy_programs.h"

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <system_error>

namespace pipesim::app {
namespace {

[[noreturn]] void StayBusy(pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(0);  // it died before the line above
  setsid();
  for (std::atomic<unsigned> spins = 0;; ++spins) {
  }
}

}  // namespace

BusyPrograms::BusyPrograms(int count) {
  const pid_t parent = getpid();
  for (int i = 0; i < count; ++i) {
    const pid_t pid = fork();
    if (pid == 0) StayBusy(parent);
    if (pid < 0) {
      const int reason = errno;
      End();
      throw std::system_error(reason, std::generic_category(), "starting a busy program");
    }
    pids_.push_back(pid);
  }
}

BusyPrograms::~BusyPrograms() { End(); }

void BusyPrograms::End() {
  for (const pid_t pid : pids_) {
    kill(pid, SIGKILL);
    waitpid(pid, nullptr, 0);
  }
  pids_.clear();
}

}  // namespace pipesim::app
