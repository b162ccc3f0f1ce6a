// Bilinear resize and centre crop, row by row during decoding: scales the picture until it just
// covers the target and keeps the middle. Holds two rows, never a whole picture. Does no smoothing:
// DCT scaling has already reduced the picture to less than twice the target.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "engine/files/picture.h"

namespace pipesim::engine {

/// The scale at which `in` just covers `out`.
double CoverScale(ImageSize in, ImageSize out);

/// An output row or column interpolates the input's `first` and `second`: `weight` is the share of
/// the second.
struct Tap {
  int first = 0, second = 0;
  float weight = 0;
};
/// Taps for `out` outputs, `scale` outputs per input, centred on `length` inputs. `length` may be
/// fractional, because a DCT-scaled picture may end within its last pixel. Pixel centres lie at
/// half integers.
std::vector<Tap> CentredTaps(double length, int out, double scale);

/// Resizes a picture of `stored` size, decoded at `dct_scale` to ceil(stored × dct_scale), to
/// `out`; `channels` is 1 or 3. Calls `next_row` (fills width × channels interleaved bytes) for
/// each needed decoded row from the top, and `emit` for each output row with out.width × channels
/// interleaved values in 0..255. Returns the number of decoded rows used.
int CoverResize(ImageSize stored, double dct_scale, ImageSize out, int channels,
                const std::function<void(std::span<std::uint8_t>)>& next_row,
                const std::function<void(int row, std::span<const float>)>& emit);

}  // namespace pipesim::engine
