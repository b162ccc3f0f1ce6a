// Bilinear resize of rows as they are decoded: the picture is scaled until it just covers the
// target (for a square one: its shorter side becomes the target's) and the middle is kept. Holds
// two rows, never a whole picture. Does no smoothing before it shrinks: the DCT scaling before it
// leaves less than a factor of 2.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "engine/files/picture.h"

namespace pipesim::engine {

/// The scale at which `in` just covers `out`.
double CoverScale(ImageSize in, ImageSize out);

/// One row or column of the output lies between the input's `first` and `second`, `weight` of the
/// way to the second.
struct Tap {
  int first = 0, second = 0;
  float weight = 0;
};
/// Taps of `out` outputs, `scale` outputs to an input, over the middle of `length` inputs. A DCT
/// scaled picture may end within its last pixel: `length` may be fractional. Pixel centres lie at
/// half integers.
std::vector<Tap> CentredTaps(double length, int out, double scale);

/// Resizes a picture of `stored` size, decoded at `dct_scale` to ceil(stored × dct_scale), to
/// `out`; `channels` is 1 or 3. Calls `next_row` (fills width × channels interleaved bytes) for
/// each decoded row that is needed, from the top, and `emit` for each output row with out.width ×
/// channels interleaved values of 0..255. Returns how many decoded rows were used.
int CoverResize(ImageSize stored, double dct_scale, ImageSize out, int channels,
                const std::function<void(std::span<std::uint8_t>)>& next_row,
                const std::function<void(int row, std::span<const float>)>& emit);

}  // namespace pipesim::engine
