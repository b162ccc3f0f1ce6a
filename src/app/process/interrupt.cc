#include "app/process/interrupt.h"

#include <unistd.h>

#include <atomic>
#include <string_view>

namespace pipesim::app {
namespace {

// A signal handler can only reach static objects.
std::atomic<base::StopFlag*> current_stop{nullptr};
std::atomic<int> still_forgiven{0};
std::atomic<bool> second_leaves{false};

void OnSignal(int) {
  base::StopFlag* stop = current_stop.load();
  if (stop == nullptr) return;
  if (second_leaves.load() && stop->IsSet()) _exit(130);
  stop->Set();
}

void OnSignalAfterTheRun(int) {
  if (still_forgiven.fetch_sub(1) <= 0) _exit(130);
}

void Install(void (*handler)(int)) {
  struct sigaction action {};
  action.sa_handler = handler;
  action.sa_flags = SA_RESTART;
  for (const int signal : kStopSignals)
    if (!IsIgnored(signal)) sigaction(signal, &action, nullptr);
}

}  // namespace

bool IsIgnored(int signal) {
  struct sigaction action {};
  return sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

void TellThatItStops() {
  constexpr std::string_view kNote =
      "\nstopping after this step; press Ctrl-C again to leave at once\n";
  // Nothing can be done if stderr is gone.
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, kNote.data(), kNote.size());
}

void LeaveOnStopSignalAfter(int forgiven) {
  still_forgiven.store(forgiven);
  Install(OnSignalAfterTheRun);
}

InterruptHandler::InterruptHandler(base::StopFlag& stop, Second second) {
  second_leaves.store(second == Second::kLeaves);
  current_stop.store(&stop);
  Install(OnSignal);
}

InterruptHandler::~InterruptHandler() {
  Install(SIG_IGN);
  current_stop.store(nullptr);
}

}  // namespace pipesim::app
