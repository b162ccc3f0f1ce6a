#include "app/progress_line.h"

#include <fmt/format.h>

#include <cstdio>

namespace pipesim::app {

std::string ProgressText(const engine::Progress& progress) {
  std::string text =
      fmt::format("{:.0f} s   {:.{}f} samples/s   step {}", base::ToSeconds(progress.elapsed),
                  progress.samples_per_s, progress.samples_per_s < 100 ? 1 : 0, progress.steps);
  if (progress.device_busy)
    text += fmt::format("   device {:.0f} % busy", *progress.device_busy * 100);
  text += fmt::format("   starved {:.0f} %", progress.starved * 100);
  if (progress.capacity > 0)
    text += fmt::format("   queue {}/{}", progress.occupancy, progress.capacity);
  return text;
}

ProgressLine::ProgressLine(std::FILE* out, bool terminal) : out_(out), terminal_(terminal) {
  if (!terminal_) next_ = std::chrono::seconds(10);
}

ProgressLine::~ProgressLine() {
  if (terminal_ && shown_) fmt::print(out_, "\r\033[K");
  std::fflush(out_);
}

void ProgressLine::Show(const engine::Progress& progress) {
  if (!terminal_) {
    if (progress.elapsed < next_) return;
    next_ += std::chrono::seconds(10);
    fmt::print(out_, "{}\n", ProgressText(progress));
  } else {
    fmt::print(out_, "\r\033[K{}", ProgressText(progress));
  }
  shown_ = true;
  std::fflush(out_);
}

}  // namespace pipesim::app
