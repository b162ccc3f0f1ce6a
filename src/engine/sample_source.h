// Real samples: files that workers read and decode. Emulated samples need no source.
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
  /// Reads the stored bytes; they lie in `buffer`, which grows as it needs and is kept by the
  /// caller from call to call. Throws BadSample.
  virtual std::span<const std::byte> Read(std::int64_t sample,
                                          std::vector<std::byte>& buffer) const = 0;
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
/// when there is no such folder or no image in it (engine/files), and with storage.direct where the
/// file system refuses direct reading.
std::unique_ptr<SampleSource> OpenImageFolder(const spec::Storage& storage,
                                              const spec::Dataset& dataset);
ImageFolderSummary SummarizeImageFolder(const std::filesystem::path& path);

struct PageCacheControl {
  const base::StopFlag* stop = nullptr;  ///< Ctrl-C
  /// "reading the files into the page cache", share done; for each file; may be empty.
  std::function<void(std::string_view doing, double share)> on_progress;
};
struct PageCacheState {
  bool interrupted = false;               ///< `stop` was set before it was done
  std::optional<double> cached_fraction;  ///< of the files' bytes; nullopt: not known
};
/// Brings the page cache into the state that storage.cache asks for: cold by
/// posix_fadvise(DONTNEED) over all files, warm by reading them, as many as memory is available
/// for. Throws EnvironmentError when a file cannot be opened or read, unless bad files are skipped.
PageCacheState PreparePageCache(const spec::Storage& storage, const PageCacheControl& control);

}  // namespace pipesim::engine
