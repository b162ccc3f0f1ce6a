#include "app/process/interrupt.h"

#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <string_view>

namespace pipesim::app {
namespace {

// A signal handler can only reach static objects.
std::atomic<base::StopFlag*> current_stop{nullptr};
std::atomic<int> still_forgiven{0};
std::atomic<bool> second_leaves{false};
std::atomic<std::int64_t> request_began_ns{0};  ///< of the last request; 0: there was none

/// Whether this signal belongs to the request that an earlier one began.
bool RepeatsRequest() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  const std::int64_t now_ns = std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
  const std::int64_t began_ns = request_began_ns.load();
  if (began_ns != 0 && now_ns - began_ns <= kOneRequest.count()) return true;
  request_began_ns.store(now_ns);
  return false;
}

void OnSignal(int) {
  base::StopFlag* stop = current_stop.load();
  if (stop == nullptr) return;
  const bool repeats = RepeatsRequest();
  if (second_leaves.load() && stop->IsSet() && !repeats) _exit(130);
  stop->Set();
}

void OnSignalAfterTheRun(int) {
  if (!RepeatsRequest() && still_forgiven.fetch_sub(1) <= 0) _exit(130);
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
