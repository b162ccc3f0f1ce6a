#include "app/interrupt.h"

#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <string_view>

namespace pipesim::app {
namespace {

// A signal handler can reach nothing that is not static.
std::atomic<base::StopFlag*> current_stop{nullptr};

void OnSignal(int) {
  base::StopFlag* stop = current_stop.load();
  if (stop == nullptr || stop->IsSet()) _exit(130);
  stop->Set();
  constexpr std::string_view kNote =
      "\nstopping after this step; press Ctrl-C again to leave at once\n";
  // Nothing can be done if stderr is gone.
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, kNote.data(), kNote.size());
}

void Install(void (*handler)(int)) {
  struct sigaction action {};
  action.sa_handler = handler;
  action.sa_flags = SA_RESTART;
  for (int signal : {SIGINT, SIGTERM}) sigaction(signal, &action, nullptr);
}

}  // namespace

InterruptHandler::InterruptHandler(base::StopFlag& stop) {
  current_stop.store(&stop);
  Install(OnSignal);
}

InterruptHandler::~InterruptHandler() {
  Install(SIG_DFL);
  current_stop.store(nullptr);
}

}  // namespace pipesim::app
