// Real samples: files that workers read and decode. Emulated samples need no source.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/units.h"
#include "spec/experiment.h"

namespace pipesim::engine {

/// A sample cannot be used: unreadable, truncated, of a foreign format. Names the file and why.
class BadSample : public std::runtime_error {
 public:
  BadSample(std::string which, std::string why)
      : std::runtime_error(which + ": " + why), item(std::move(which)), reason(std::move(why)) {}
  std::string item, reason;
};

/// Thread-safe: workers call it side by side, each with buffers of its own.
class SampleSource {
 public:
  virtual ~SampleSource() = default;
  virtual std::int64_t size() const = 0;
  virtual std::int64_t classes() const = 0;
  /// 0 <= label < classes.
  virtual std::int64_t Label(std::int64_t sample) const = 0;
  /// Reads the stored bytes into `raw` (resized). Throws BadSample.
  virtual void Read(std::int64_t sample, std::vector<std::byte>& raw) const = 0;
  /// Decodes, resizes and normalises into `out`: PreparedBytes(dataset) bytes. Throws BadSample.
  virtual void Prepare(std::int64_t sample, std::span<const std::byte> raw,
                       std::span<std::byte> out) const = 0;
};

/// What a folder of images holds, before an experiment is complete.
struct ImageFolderSummary {
  std::int64_t samples = 0, classes = 0;
  base::Bytes mean_sample_bytes;
};

/// A folder with one subfolder a class (sorted by name), JPEG files in it. Throws EnvironmentError
/// when there is no such folder or no image in it (engine/files).
std::unique_ptr<SampleSource> OpenImageFolder(const spec::Storage& storage,
                                              const spec::Dataset& dataset);
ImageFolderSummary SummarizeImageFolder(const std::filesystem::path& path);

}  // namespace pipesim::engine
