#include "app/progress_line.h"

#include <fmt/format.h>

#include <cstdio>

namespace pipesim::app {
namespace {

/// "12 s   4680 samples/s   step 219   device 28 % busy   starved 70 %   queue 0/8"
std::string ProgressText(const engine::Progress& progress) {
  std::string text =
      fmt::format("{:.0f} s   {:.{}f} samples/s   step {}", base::ToSeconds(progress.elapsed),
                  progress.samples_per_s, progress.samples_per_s < 100 ? 1 : 0, progress.steps);
  if (progress.device_busy)
    text += fmt::format("   device {:.0f} % {}", *progress.device_busy * 100,
                        progress.busy_has_gaps ? "in steps" : "busy");
  text += fmt::format("   starved {:.0f} %", progress.starved * 100);
  if (progress.capacity > 0)
    text += fmt::format("   queue {}/{}", progress.occupancy, progress.capacity);
  return text;
}

}  // namespace

ProgressLine::ProgressLine(std::FILE* out, bool terminal) : out_(out), terminal_(terminal) {
  if (!terminal_) next_ = std::chrono::seconds(10);
}

ProgressLine::~ProgressLine() {
  if (terminal_ && shown_) std::fputs("\r\033[K", out_);
  std::fflush(out_);
}

void ProgressLine::Show(const engine::Progress& progress) {
  if (!terminal_) {
    if (progress.elapsed < next_) return;
    next_ += std::chrono::seconds(10);
  }
  Put(ProgressText(progress));
}

void ProgressLine::ShowPreparing(std::string_view doing, double share) {
  const base::Instant now = base::SystemClock().Now();
  if (next_preparing_ == base::Instant{}) next_preparing_ = now + std::chrono::milliseconds(200);
  if (now < next_preparing_) return;
  next_preparing_ = now + (terminal_ ? base::Duration(std::chrono::milliseconds(200))
                                     : base::Duration(std::chrono::seconds(10)));
  Put(fmt::format("{}: {:.0f} %", doing, share * 100));
}

// Write errors are ignored: a full or closed log must not end the run.
void ProgressLine::Put(const std::string& text) {
  std::fputs((terminal_ ? "\r\033[K" + text : text + "\n").c_str(), out_);
  shown_ = true;
  std::fflush(out_);
}

}  // namespace pipesim::app
