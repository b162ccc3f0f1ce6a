#include "engine/files/cover_resize.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace pipesim::engine {
namespace {

template <std::size_t kChannels>
void Horizontal(std::span<const std::uint8_t> line, const std::vector<Tap>& taps, float* out) {
  for (const Tap& tap : taps) {
    const std::uint8_t* left = &line[static_cast<std::size_t>(tap.first) * kChannels];
    const std::uint8_t* right = &line[static_cast<std::size_t>(tap.second) * kChannels];
    for (std::size_t c = 0; c < kChannels; ++c) {
      const float from = left[c], to = right[c];
      *out++ = from + tap.weight * (to - from);
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
  const auto horizontal = channels == 3 ? &Horizontal<3> : &Horizontal<1>;
  const std::size_t values = static_cast<std::size_t>(out.width) * depth;
  // libjpeg-turbo writes aligned rows with non-temporal stores, which bypass the cache. Reading
  // such a row right away costs more than decoding it, so the row gets an odd address.
  std::vector<std::uint8_t> storage(static_cast<std::size_t>(std::ceil(width)) * depth + 1);
  const std::span<std::uint8_t> line = std::span(storage).subspan(1);
  std::vector<float> upper(values), lower(values), blend(values);

  int used = 0;  // `lower` holds input row used - 1, `upper` the one before it
  for (int i = 0; i < out.height; ++i) {
    const Tap& tap = rows[static_cast<std::size_t>(i)];
    while (used <= tap.second) {
      next_row(line);
      std::swap(upper, lower);
      if (used >= tap.first) horizontal(line, columns, lower.data());
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
