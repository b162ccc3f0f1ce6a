// Decodes one JPEG from memory, row by row, with libjpeg-turbo. Turns libjpeg's longjmp error
// handling into C++ exceptions. Does not resize and knows no file names.
#pragma once

#include <array>
#include <csetjmp>
#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <vector>

#include "engine/files/picture.h"

// jpeglib.h needs FILE and size_t declared before it.
// clang-format off
#include <cstdio>
#include <jpeglib.h>
// clang-format on

namespace pipesim::engine {

/// The bytes are not a usable JPEG. what() continues a message that begins with the file's name.
class BadJpeg : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Call per image: ReadHeader, Start, ReadRow for each row of size(), Finish. Not thread-safe. All
/// four throw BadJpeg, also for truncated or damaged data that libjpeg alone would fill with grey.
class JpegReader {
 public:
  JpegReader();
  ~JpegReader();
  JpegReader(const JpegReader&) = delete;
  JpegReader& operator=(const JpegReader&) = delete;

  /// The stored size. `data` must stay until Finish.
  ImageSize ReadHeader(std::span<const std::byte> data);
  /// Decodes to `channels` = 1 (luma) or 3 (RGB), scaled in the DCT by the smallest of 1/8, 1/4,
  /// 1/2 and 1 that is at least `least` (> 0). Returns that scale; size() is valid from here on.
  double Start(int channels, double least);
  /// Size of the decoded picture: ceil(stored × scale).
  ImageSize size() const;
  /// The next row: width × channels bytes, interleaved.
  void ReadRow(std::span<std::uint8_t> row);
  /// Call after the last row. Reads to the end of the image.
  void Finish();

 private:
  // libjpeg's own part comes first, so that its callbacks can cast to the whole.
  struct Errors {
    jpeg_error_mgr manager;
    std::jmp_buf leave;
    std::array<char, JMSG_LENGTH_MAX> message;
  };
  [[noreturn]] static void OnError(j_common_ptr info);
  static void OnMessage(j_common_ptr info, int level);
  [[noreturn]] void Throw() const;
  /// Throws BadJpeg where decoding would take more than about 1 GB.
  void RefuseTooLarge();
  void FromCmyk(std::span<std::uint8_t> row) const;

  Errors errors_;
  jpeg_decompress_struct info_;
  int channels_ = 3;
  std::vector<std::uint8_t> cmyk_row_;  ///< empty unless the file is CMYK
};

}  // namespace pipesim::engine
