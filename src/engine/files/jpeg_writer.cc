#include "engine/files/jpeg_writer.h"

#include <array>
#include <csetjmp>
#include <cstdlib>
#include <stdexcept>
#include <string>

// jpeglib.h needs FILE and size_t declared before it.
// clang-format off
#include <cstdio>
#include <jpeglib.h>
// clang-format on

namespace pipesim::engine {
namespace {

// libjpeg's own part comes first, so that its callback can cast to the whole.
struct Errors {
  jpeg_error_mgr manager;
  std::jmp_buf leave;
  std::array<char, JMSG_LENGTH_MAX> message;
};

void OnError(j_common_ptr info) {
  auto* errors = reinterpret_cast<Errors*>(info->err);
  info->err->format_message(info, errors->message.data());
  std::longjmp(errors->leave, 1);
}

struct Encoder {
  Encoder() {
    info.err = jpeg_std_error(&errors.manager);
    errors.manager.error_exit = &OnError;
  }
  ~Encoder() {
    jpeg_destroy_compress(&info);
    std::free(bytes);
  }
  Encoder(const Encoder&) = delete;
  Encoder& operator=(const Encoder&) = delete;

  // No local with a destructor: libjpeg's longjmp would skip it.
  bool Encode(const Picture& picture, int quality) {
    if (setjmp(errors.leave) != 0) return false;
    jpeg_create_compress(&info);
    jpeg_mem_dest(&info, &bytes, &size);
    info.image_width = static_cast<JDIMENSION>(picture.size.width);
    info.image_height = static_cast<JDIMENSION>(picture.size.height);
    info.input_components = picture.channels;
    info.in_color_space = picture.channels == 1   ? JCS_GRAYSCALE
                          : picture.channels == 3 ? JCS_RGB
                                                  : JCS_CMYK;
    jpeg_set_defaults(&info);
    jpeg_set_quality(&info, quality, TRUE);
    jpeg_start_compress(&info, TRUE);
    const std::size_t stride =
        static_cast<std::size_t>(picture.size.width) * static_cast<std::size_t>(picture.channels);
    while (info.next_scanline < info.image_height) {
      // libjpeg's signature is not const; it does not write here.
      JSAMPROW rows[1] = {
          const_cast<JSAMPROW>(picture.pixels.data() + info.next_scanline * stride)};
      jpeg_write_scanlines(&info, rows, 1);
    }
    jpeg_finish_compress(&info);
    return true;
  }

  Errors errors{};
  jpeg_compress_struct info{};
  unsigned char* bytes = nullptr;  ///< allocated by libjpeg with malloc
  unsigned long size = 0;
};

}  // namespace

std::vector<std::byte> EncodeJpeg(const Picture& picture, int quality) {
  Encoder encoder;
  if (!encoder.Encode(picture, quality)) {
    throw std::runtime_error(std::string("cannot encode a JPEG: ") + encoder.errors.message.data());
  }
  const auto* begin = reinterpret_cast<const std::byte*>(encoder.bytes);
  return {begin, begin + encoder.size};
}

}  // namespace pipesim::engine
