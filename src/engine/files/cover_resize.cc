#include "engine/files/cover_resize.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace pipesim::engine {
namespace {

void Horizontal(std::span<const std::uint8_t> line, const std::vector<Tap>& taps, int channels,
                std::span<float> out) {
  const std::size_t width = taps.size();
  for (int c = 0; c < channels; ++c) {
    float* plane = out.data() + static_cast<std::size_t>(c) * width;
    for (std::size_t x = 0; x < width; ++x) {
      const float left = line[static_cast<std::size_t>(taps[x].first * channels + c)];
      const float right = line[static_cast<std::size_t>(taps[x].second * channels + c)];
      plane[x] = left + taps[x].weight * (right - left);
    }
  }
}

}  // namespace

double CoverScale(ImageSize in, ImageSize out) {
  return std::max(static_cast<double>(out.width) / in.width,
                  static_cast<double>(out.height) / in.height);
}

std::vector<Tap> CentredTaps(double length, int out, double scale) {
  std::vector<Tap> taps(static_cast<std::size_t>(out));
  const int last = static_cast<int>(std::ceil(length)) - 1;
  const double cut = (length * scale - out) / 2;
  for (int i = 0; i < out; ++i) {
    const double at = std::clamp((i + 0.5 + cut) / scale - 0.5, 0.0, static_cast<double>(last));
    const int first = std::min(static_cast<int>(at), std::max(last - 1, 0));
    taps[static_cast<std::size_t>(i)] = {first, std::min(first + 1, last),
                                         static_cast<float>(at - first)};
  }
  return taps;
}

int CoverResize(ImageSize stored, double dct_scale, ImageSize out, int channels,
                const std::function<void(std::span<std::uint8_t>)>& next_row,
                const std::function<void(int row, std::span<const float>)>& emit) {
  const double scale = CoverScale(stored, out) / dct_scale;
  const double width = stored.width * dct_scale, height = stored.height * dct_scale;
  const std::vector<Tap> columns = CentredTaps(width, out.width, scale);
  const std::vector<Tap> rows = CentredTaps(height, out.height, scale);
  const auto depth = static_cast<std::size_t>(channels);
  const std::size_t values = static_cast<std::size_t>(out.width) * depth;
  std::vector<std::uint8_t> line(static_cast<std::size_t>(std::ceil(width)) * depth);
  std::vector<float> upper(values), lower(values), blend(values);

  int used = 0;  // `lower` holds input row used - 1, `upper` the one before it
  for (int i = 0; i < out.height; ++i) {
    const Tap& tap = rows[static_cast<std::size_t>(i)];
    while (used <= tap.second) {
      next_row(line);
      std::swap(upper, lower);
      if (used >= tap.first) Horizontal(line, columns, channels, lower);
      ++used;
    }
    const std::vector<float>& first = tap.first == used - 1 ? lower : upper;
    for (std::size_t x = 0; x < values; ++x) {
      blend[x] = first[x] + tap.weight * (lower[x] - first[x]);
    }
    emit(i, blend);
  }
  return used;
}

}  // namespace pipesim::engine
