// Source of real samples: files that workers read and decode. Emulated samples need none.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/units.h"
#include "spec/experiment.h"

namespace pipesim::engine {

/// A sample is unusable: unreadable, truncated or of another format. Names the file and the reason.
class BadSample : public std::runtime_error {
 public:
  BadSample(std::string which, std::string why)
      : std::runtime_error(which + ": " + why), item(std::move(which)), reason(std::move(why)) {}
  std::string item, reason;
};

/// Thread-safe: workers call it concurrently, each with its own buffers.
class SampleSource {
 public:
  virtual ~SampleSource() = default;
  virtual std::int64_t size() const = 0;
  virtual std::int64_t classes() const = 0;
  /// 0 <= label < classes.
  virtual std::int64_t Label(std::int64_t sample) const = 0;
  /// Reads the stored bytes into `buffer`, which grows as needed; the caller reuses it between
  /// calls. Throws BadSample.
  virtual std::span<const std::byte> Read(std::int64_t sample,
                                          std::vector<std::byte>& buffer) const = 0;
  /// Decodes, resizes and normalises into `out`: PreparedBytes(dataset) bytes. Throws BadSample.
  virtual void Prepare(std::int64_t sample, std::span<const std::byte> raw,
                       std::span<std::byte> out) const = 0;
};

/// Content of a folder of images, to complete an experiment.
struct ImageFolderSummary {
  std::int64_t samples = 0, classes = 0;
  base::Bytes mean_sample_bytes;
};

/// Opens a folder of JPEG files with one subfolder per class, sorted by name (engine/files). Throws
/// EnvironmentError when the folder or images are missing, and with storage.direct if the file
/// system does not support direct reads.
std::unique_ptr<SampleSource> OpenImageFolder(const spec::Storage& storage,
                                              const spec::Dataset& dataset);
ImageFolderSummary SummarizeImageFolder(const std::filesystem::path& path);

struct PageCacheControl {
  const base::StopFlag* stop = nullptr;  ///< Ctrl-C
  /// Called per file with "reading the files into the page cache" and the share done; may be empty.
  std::function<void(std::string_view doing, double share)> on_progress;
};
struct PageCacheState {
  bool interrupted = false;               ///< `stop` was set before the end
  std::optional<double> cached_fraction;  ///< of the files' bytes; nullopt: not known
};
/// Brings the page cache into the state requested by storage.cache: cold by posix_fadvise(DONTNEED)
/// over all files, warm by reading as many files as fit in memory. Throws EnvironmentError when a
/// file cannot be opened or read, unless bad files are skipped.
PageCacheState PreparePageCache(const spec::Storage& storage, const PageCacheControl& control);

}  // namespace pipesim::engine
