// SampleSource over a folder of JPEGs; engine/sample_source.h has the contract.
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <memory>
#include <system_error>

#include "base/error.h"
#include "engine/files/cover_resize.h"
#include "engine/files/file.h"
#include "engine/files/file_list.h"
#include "engine/files/jpeg_reader.h"
#include "engine/sample_source.h"

namespace pipesim::engine {
namespace {

// Mean and standard deviation of ImageNet's pixels in 0..1 (R, G, B), as torchvision's pretrained
// models expect (https://pytorch.org/vision/stable/models.html, "transforms").
constexpr std::array<float, 3> kMean = {0.485F, 0.456F, 0.406F};
constexpr std::array<float, 3> kStdev = {0.229F, 0.224F, 0.225F};

struct Normalisation {
  float mean = 0, stdev = 1;  ///< for values in 0..1
};

// A single channel uses the average of the three.
Normalisation NormalisationOf(std::size_t channel, int channels) {
  if (channels == 3) return {kMean[channel], kStdev[channel]};
  return {(kMean[0] + kMean[1] + kMean[2]) / 3, (kStdev[0] + kStdev[1] + kStdev[2]) / 3};
}

[[noreturn]] void ThrowErrno(const std::filesystem::path& path, const char* what) {
  throw BadSample(path.string(),
                  fmt::format("{}: {}", what, std::generic_category().message(errno)));
}

/// Grows but never shrinks, because resizing would zero the added bytes each time.
std::span<std::byte> Room(std::size_t size, std::vector<std::byte>& buffer) {
  if (buffer.size() < size) buffer.resize(size);
  return std::span(buffer).first(size);
}

/// Direct reads need offsets, sizes and addresses aligned to the logical block size, which is 512
/// or 4,096 on common disks (open(2), O_DIRECT).
constexpr std::size_t kDirectBlock = 4096;

std::span<std::byte> AlignedRoom(std::size_t size, std::vector<std::byte>& buffer) {
  const std::size_t blocks = (size + kDirectBlock - 1) / kDirectBlock * kDirectBlock;
  void* begin = Room(blocks + kDirectBlock, buffer).data();
  std::size_t room = blocks + kDirectBlock;
  std::align(kDirectBlock, blocks, begin, room);
  return {static_cast<std::byte*>(begin), blocks};
}

class ImageFolder final : public SampleSource {
 public:
  ImageFolder(const spec::Storage& storage, const spec::Dataset& dataset)
      : files_(storage.path),
        channels_(static_cast<int>(dataset.shape.at(0))),
        size_{static_cast<int>(dataset.shape.at(2)), static_cast<int>(dataset.shape.at(1))},
        dtype_(dataset.dtype),
        direct_(storage.direct) {}

  std::int64_t size() const override { return files_.size(); }
  std::int64_t classes() const override { return files_.classes(); }
  std::int64_t Label(std::int64_t sample) const override { return files_.ClassOf(sample); }
  std::span<const std::byte> Read(std::int64_t sample,
                                  std::vector<std::byte>& buffer) const override;
  void Prepare(std::int64_t sample, std::span<const std::byte> raw,
               std::span<std::byte> out) const override;

 private:
  void Decode(std::span<const std::byte> raw, std::span<std::byte> out) const;
  void StoreRow(int row, std::span<const float> values, std::span<std::byte> out) const;

  FileList files_;
  int channels_;
  ImageSize size_;
  spec::DType dtype_;
  bool direct_;
};

std::span<const std::byte> ImageFolder::Read(std::int64_t sample,
                                             std::vector<std::byte>& buffer) const {
  const std::filesystem::path path = files_.PathOf(sample);
  const File file(path, direct_ ? O_DIRECT : 0);
  if (file.fd() < 0) ThrowErrno(path, "cannot open");
  struct stat status {};
  if (::fstat(file.fd(), &status) != 0) ThrowErrno(path, "cannot read its size");
  if (!S_ISREG(status.st_mode)) throw BadSample(path.string(), "not a regular file");
  const auto size = static_cast<std::size_t>(status.st_size);
  const std::span<std::byte> room = direct_ ? AlignedRoom(size, buffer) : Room(size, buffer);
  std::size_t have = 0;
  while (have < size) {
    const ssize_t got = ::read(file.fd(), room.data() + have, room.size() - have);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) ThrowErrno(path, direct_ ? "cannot read directly" : "cannot read");
    if (got == 0) break;  // the file shrank; decoding will fail
    have += static_cast<std::size_t>(got);
  }
  return room.first(std::min(have, size));
}

void ImageFolder::Prepare(std::int64_t sample, std::span<const std::byte> raw,
                          std::span<std::byte> out) const {
  try {
    Decode(raw, out);
  } catch (const BadJpeg& error) {
    throw BadSample(files_.PathOf(sample).string(), error.what());
  }
}

void ImageFolder::Decode(std::span<const std::byte> raw, std::span<std::byte> out) const {
  JpegReader reader;
  const ImageSize stored = reader.ReadHeader(raw);
  const double dct_scale = reader.Start(channels_, CoverScale(stored, size_));
  const int used = CoverResize(
      stored, dct_scale, size_, channels_,
      [&](std::span<std::uint8_t> row) { reader.ReadRow(row); },
      [&](int row, std::span<const float> values) { StoreRow(row, values, out); });
  // Decode the rows below the crop too, to detect truncated files.
  std::vector<std::uint8_t> rest(static_cast<std::size_t>(reader.size().width) *
                                 static_cast<std::size_t>(channels_));
  for (int row = used; row < reader.size().height; ++row) reader.ReadRow(rest);
  reader.Finish();
}

void ImageFolder::StoreRow(int row, std::span<const float> values, std::span<std::byte> out) const {
  const auto width = static_cast<std::size_t>(size_.width);
  const auto depth = static_cast<std::size_t>(channels_);
  for (std::size_t c = 0; c < depth; ++c) {
    const std::size_t at =
        (c * static_cast<std::size_t>(size_.height) + static_cast<std::size_t>(row)) * width;
    if (dtype_ == spec::DType::kUint8) {
      auto* to = reinterpret_cast<std::uint8_t*>(out.data()) + at;
      for (std::size_t x = 0; x < width; ++x) {
        to[x] = static_cast<std::uint8_t>(values[x * depth + c] + 0.5F);
      }
    } else {
      const Normalisation norm = NormalisationOf(c, channels_);
      const float factor = 1 / (255 * norm.stdev), shift = norm.mean / norm.stdev;
      auto* to = reinterpret_cast<float*>(out.data()) + at;
      for (std::size_t x = 0; x < width; ++x) to[x] = values[x * depth + c] * factor - shift;
    }
  }
}

void CheckPrepared(const spec::Dataset& dataset) {
  const spec::Shape& shape = dataset.shape;
  // libjpeg's largest side: JPEG_MAX_DIMENSION.
  const bool image = shape.size() == 3 && (shape[0] == 1 || shape[0] == 3) && shape[1] >= 1 &&
                     shape[2] >= 1 && shape[1] <= JPEG_MAX_DIMENSION &&
                     shape[2] <= JPEG_MAX_DIMENSION;
  if (!image) {
    throw base::EnvironmentError(
        fmt::format("a folder of images cannot produce samples of shape {}: dataset.shape must be "
                    "[3, height, width] (colour) or [1, height, width] (grey)",
                    spec::ToText(shape)));
  }
  if (dataset.dtype != spec::DType::kUint8 && dataset.dtype != spec::DType::kFloat32) {
    throw base::EnvironmentError(
        "a folder of images produces uint8 or float32 samples: set dataset.dtype");
  }
}

/// A file system without direct reads refuses at opening or at the first read.
void CheckDirect(const ImageFolder& folder, const spec::Storage& storage) {
  if (!storage.direct) return;
  std::vector<std::byte> buffer;
  try {
    folder.Read(0, buffer);
  } catch (const BadSample& refusal) {
    throw base::EnvironmentError(fmt::format(
        "storage.direct: the file system of {} does not support direct reads ({}: {})\nuse --set "
        "storage.direct=false, with --set storage.cache=cold to start without cached files",
        storage.path.string(), refusal.item, refusal.reason));
  }
}

}  // namespace

std::unique_ptr<SampleSource> OpenImageFolder(const spec::Storage& storage,
                                              const spec::Dataset& dataset) {
  CheckPrepared(dataset);
  auto folder = std::make_unique<ImageFolder>(storage, dataset);
  if (folder->classes() > dataset.classes) {
    throw base::EnvironmentError(
        fmt::format("{} holds {} classes (subfolders) but dataset.classes is {}",
                    storage.path.string(), folder->classes(), dataset.classes));
  }
  CheckDirect(*folder, storage);
  return folder;
}

ImageFolderSummary SummarizeImageFolder(const std::filesystem::path& path) {
  const FileList files(path);
  return {files.size(), files.classes(), files.MeanSize()};
}

}  // namespace pipesim::engine
