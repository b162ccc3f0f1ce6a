#include "interop/packed_file.h"

#include <zlib.h>

#include <cerrno>
#include <system_error>

#include "base/error.h"
#include "base/text.h"

namespace pipesim::interop {
namespace {

constexpr std::size_t kPiece = std::size_t{1} << 16;
/// zlib: the widest window, and a gzip header.
constexpr int kGzip = MAX_WBITS + 16;

[[noreturn]] void CannotRead(const std::filesystem::path& path, int error) {
  throw base::EnvironmentError("cannot read " + base::Printable(path.string()) + ": " +
                               std::generic_category().message(error));
}

}  // namespace

PackedFile::PackedFile(const std::filesystem::path& path)
    : file_(std::fopen(path.c_str(), "rb"), &std::fclose), packed_(kPiece), text_(kPiece) {
  if (!file_) CannotRead(path, errno);
  errno = 0;
  const std::size_t size = std::fread(packed_.data(), 1, 2, file_.get());
  if (std::ferror(file_.get())) CannotRead(path, errno);  // a folder
  std::rewind(file_.get());
  const bool gzip = size == 2 && packed_[0] == '\x1f' && packed_[1] == '\x8b';
  if (!gzip) return;
  stream_ = std::make_unique<z_stream_s>();
  if (inflateInit2(stream_.get(), kGzip) != Z_OK)
    throw base::EnvironmentError("zlib cannot unpack " + base::Printable(path.string()));
}

PackedFile::~PackedFile() {
  if (stream_) inflateEnd(stream_.get());
}

PackedFile::int_type PackedFile::underflow() {
  const std::size_t size = stream_ ? Unpack() : std::fread(text_.data(), 1, kPiece, file_.get());
  setg(text_.data(), text_.data(), text_.data() + size);
  return size == 0 ? traits_type::eof() : traits_type::to_int_type(text_[0]);
}

/// The next piece of the file; 0 at its end.
std::size_t PackedFile::Fill() {
  const std::size_t size = std::fread(packed_.data(), 1, kPiece, file_.get());
  stream_->next_in = reinterpret_cast<Bytef*>(packed_.data());
  stream_->avail_in = static_cast<uInt>(size);
  return size;
}

std::size_t PackedFile::Unpack() {
  stream_->next_out = reinterpret_cast<Bytef*>(text_.data());
  stream_->avail_out = kPiece;
  while (!ended_ && !broken_ && stream_->avail_out == kPiece) {
    if (stream_->avail_in == 0 && Fill() == 0) {
      broken_ = true;
      break;
    }
    const int status = inflate(stream_.get(), Z_NO_FLUSH);
    ended_ = status == Z_STREAM_END;
    broken_ = status != Z_OK && status != Z_STREAM_END && status != Z_BUF_ERROR;
  }
  return kPiece - stream_->avail_out;
}

}  // namespace pipesim::interop
