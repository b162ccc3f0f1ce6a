#include "engine/files/jpeg_reader.h"

#include <fmt/format.h>
#include <jerror.h>

#include <string>
#include <string_view>

#include "base/number_text.h"

// Every function that calls libjpeg calls setjmp first and has no local with a destructor between
// there and the call, because longjmp would skip the destructor.

namespace pipesim::engine {
namespace {

// Warnings that mean missing or wrong pixels. Others (unknown markers, stray bytes between them)
// are common in good photographs.
bool DamagesPixels(int message_code) {
  return message_code == JWRN_JPEG_EOF || message_code == JWRN_HIT_MARKER ||
         message_code == JWRN_HUFF_BAD_CODE || message_code == JWRN_ARITH_BAD_CODE ||
         message_code == JWRN_MUST_RESYNC;
}

std::string WhatElse(std::span<const std::byte> data) {
  const std::string_view text(reinterpret_cast<const char*>(data.data()), data.size());
  const auto starts = [&](std::string_view magic) { return text.substr(0, magic.size()) == magic; };
  if (starts("\x89PNG")) return "a PNG file, not a JPEG";
  if (starts("GIF8")) return "a GIF file, not a JPEG";
  if (starts("RIFF") && text.size() >= 12 && text.substr(8, 4) == "WEBP") return "a WebP file, not a JPEG";
  if (starts("BM")) return "a BMP file, not a JPEG";
  return "not a JPEG";
}

/// Of a picture in several scans libjpeg keeps all coefficients until the last one. Pillow opens no picture
/// of more than 179 million pixels (Image.MAX_IMAGE_PIXELS, twice), which take 1.07 GB in full colour.
constexpr double kMostCoefficientBytes = 1.1e9;

double CoefficientBytes(const jpeg_decompress_struct& info) {
  double bytes = 0;
  for (int i = 0; i < info.num_components; ++i) {
    const jpeg_component_info& component = info.comp_info[i];
    bytes += static_cast<double>(component.width_in_blocks) * component.height_in_blocks * sizeof(JBLOCK);
  }
  return bytes;
}

}  // namespace

void JpegReader::OnError(j_common_ptr info) {
  auto* errors = reinterpret_cast<Errors*>(info->err);
  info->err->format_message(info, errors->message.data());
  std::longjmp(errors->leave, 1);
}

void JpegReader::OnMessage(j_common_ptr info, int level) {
  if (level < 0 && DamagesPixels(info->err->msg_code)) OnError(info);
}

void JpegReader::Throw() const {
  const int code = info_.err->msg_code;
  if (code == JWRN_JPEG_EOF || code == JWRN_HIT_MARKER || code == JERR_INPUT_EOF) {
    throw BadJpeg(fmt::format("truncated (libjpeg: {})", errors_.message.data()));
  }
  throw BadJpeg(fmt::format("damaged (libjpeg: {})", errors_.message.data()));
}

JpegReader::JpegReader() : errors_{}, info_{} {
  info_.err = jpeg_std_error(&errors_.manager);
  errors_.manager.error_exit = &JpegReader::OnError;
  errors_.manager.emit_message = &JpegReader::OnMessage;
  if (setjmp(errors_.leave) != 0) {
    jpeg_destroy_decompress(&info_);  // the destructor will not run
    Throw();
  }
  jpeg_create_decompress(&info_);
}

JpegReader::~JpegReader() { jpeg_destroy_decompress(&info_); }

ImageSize JpegReader::ReadHeader(std::span<const std::byte> data) {
  if (data.empty()) throw BadJpeg("empty");
  const bool is_jpeg = data.size() >= 2 && data[0] == std::byte{0xFF} && data[1] == std::byte{0xD8};
  if (!is_jpeg) throw BadJpeg(WhatElse(data));
  if (setjmp(errors_.leave) != 0) Throw();
  jpeg_mem_src(&info_, reinterpret_cast<const unsigned char*>(data.data()), data.size());
  jpeg_read_header(&info_, TRUE);
  return {static_cast<int>(info_.image_width), static_cast<int>(info_.image_height)};
}

void JpegReader::RefuseTooLarge() {
  if (setjmp(errors_.leave) != 0) Throw();
  if (!jpeg_has_multiple_scans(&info_)) return;
  const double bytes = CoefficientBytes(info_);
  if (bytes <= kMostCoefficientBytes) return;
  throw BadJpeg(fmt::format("too large: {} x {} pixels in several scans take {} to decode", info_.image_width,
                            info_.image_height, base::Amount(bytes)));
}

double JpegReader::Start(int channels, double least) {
  RefuseTooLarge();
  channels_ = channels;
  const bool cmyk = info_.jpeg_color_space == JCS_CMYK || info_.jpeg_color_space == JCS_YCCK;
  info_.out_color_space = cmyk ? JCS_CMYK : channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
  info_.scale_denom = 8;
  info_.scale_num = 1;
  // libjpeg-turbo has SIMD code for powers of two only: decoding a 500x375 picture at 5/8 takes
  // longer than at full size.
  while (info_.scale_num < 8 && info_.scale_num < least * 8) info_.scale_num *= 2;
  if (setjmp(errors_.leave) != 0) Throw();
  jpeg_start_decompress(&info_);
  if (cmyk) cmyk_row_.resize(std::size_t{4} * info_.output_width);
  return info_.scale_num / 8.0;
}

ImageSize JpegReader::size() const {
  return {static_cast<int>(info_.output_width), static_cast<int>(info_.output_height)};
}

void JpegReader::ReadRow(std::span<std::uint8_t> row) {
  if (setjmp(errors_.leave) != 0) Throw();
  JSAMPROW rows[1] = {cmyk_row_.empty() ? row.data() : cmyk_row_.data()};
  jpeg_read_scanlines(&info_, rows, 1);
  if (!cmyk_row_.empty()) FromCmyk(row);
}

void JpegReader::FromCmyk(std::span<std::uint8_t> row) const {
  // Adobe's programs store CMYK inverted and mark it with an Adobe marker.
  const int flip = info_.saw_Adobe_marker ? 0 : 255;
  for (std::size_t x = 0; x < info_.output_width; ++x) {
    const std::uint8_t* ink = &cmyk_row_[4 * x];
    const int light = ink[3] ^ flip;
    std::array<int, 3> rgb{};
    for (std::size_t c = 0; c < 3; ++c) rgb[c] = ((ink[c] ^ flip) * light + 127) / 255;
    if (channels_ == 3) {
      for (std::size_t c = 0; c < 3; ++c) row[3 * x + c] = static_cast<std::uint8_t>(rgb[c]);
    } else {
      // Luma of ITU-R BT.601, which JPEG's own (JFIF) conversion uses.
      row[x] = static_cast<std::uint8_t>((299 * rgb[0] + 587 * rgb[1] + 114 * rgb[2] + 500) / 1000);
    }
  }
}

void JpegReader::Finish() {
  if (setjmp(errors_.leave) != 0) Throw();
  jpeg_finish_decompress(&info_);
}

}  // namespace pipesim::engine
