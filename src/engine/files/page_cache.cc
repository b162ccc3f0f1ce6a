#include "engine/files/page_cache.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <limits>
#include <system_error>

#include "base/error.h"
#include "base/memory.h"
#include "engine/files/file.h"

namespace pipesim::engine {
namespace fs = std::filesystem;
namespace {

[[noreturn]] void Fail(const fs::path& path, const char* what, int reason) {
  throw base::EnvironmentError(fmt::format("{} {} before the run: {}", what, path.string(),
                                           std::generic_category().message(reason)));
}

struct Pages {
  std::int64_t all = 0, cached = 0;
};

/// nullopt: unknown for this file.
std::optional<Pages> PagesOf(const fs::path& path) {
  const File file(path);
  struct stat status {};
  if (file.fd() < 0 || ::fstat(file.fd(), &status) != 0 || !S_ISREG(status.st_mode)) {
    return std::nullopt;
  }
  // For other files mincore reports every page as cached (Linux, mm/mincore.c, can_do_mincore).
  if (::geteuid() != 0 && status.st_uid != ::geteuid() && ::access(path.c_str(), W_OK) != 0) {
    return std::nullopt;
  }
  if (status.st_size == 0) return Pages{};
  const auto size = static_cast<std::size_t>(status.st_size);
  void* mapped = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, file.fd(), 0);
  if (mapped == MAP_FAILED) return std::nullopt;
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  std::vector<unsigned char> there((size + page - 1) / page);
  const bool told = ::mincore(mapped, size, there.data()) == 0;
  ::munmap(mapped, size);
  if (!told) return std::nullopt;
  Pages pages{.all = static_cast<std::int64_t>(there.size())};
  for (const unsigned char one : there) pages.cached += one & 1;
  return pages;
}

/// Visits all files. `visit` returns the bytes it read; the walk ends after `most` bytes.
class Walk {
 public:
  Walk(const FileList& files, const spec::Storage& storage, const PageCacheControl& control)
      : files_(files), storage_(storage), control_(control) {}

  /// False: stopped.
  template <class Visit>  // int fd -> bytes, negative: errno
  bool Over(const char* doing, const char* what, base::Bytes most, Visit&& visit) const {
    base::Bytes sum;
    for (std::int64_t i = 0; i < files_.size() && sum < most; ++i) {
      if (control_.stop != nullptr && control_.stop->IsSet()) return false;
      if (control_.on_progress) {
        control_.on_progress(doing, static_cast<double>(i) / static_cast<double>(files_.size()));
      }
      const fs::path path = files_.PathOf(i);
      const File file(path);
      const std::int64_t took = file.fd() < 0 ? -errno : visit(file.fd());
      if (took >= 0) {
        sum += {took};
      } else if (storage_.on_bad_file == spec::OnBadFile::kFail) {
        Fail(path, what, static_cast<int>(-took));
      }
    }
    return true;
  }

 private:
  const FileList& files_;
  const spec::Storage& storage_;
  const PageCacheControl& control_;
};

constexpr base::Bytes kNoLimit{std::numeric_limits<std::int64_t>::max()};

bool Evict(const Walk& walk) {
  return walk.Over("evicting the files from the page cache", "cannot evict", kNoLimit, [](int fd) {
    return -std::int64_t{::posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED)};
  });
}

/// Memory available for cached files: the machine's and the cgroups' limits. The process's own
/// limits do not cover the page cache.
base::Bytes RoomForFiles() {
  base::Bytes room = kNoLimit;
  for (const base::MemoryBound& bound : base::ReadMemoryBounds()) {
    if (!bound.counts_mapped) room = std::min(room, bound.free);
  }
  return room;
}

/// Reads as many files as fit in memory: reading more would evict the first ones.
bool Fill(const Walk& walk, const base::StopFlag* stop) {
  std::vector<std::byte> buffer(std::size_t{1} << 20);
  const auto read_all = [&](int fd) -> std::int64_t {
    std::int64_t sum = 0;
    for (;;) {
      const ssize_t got = ::read(fd, buffer.data(), buffer.size());
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) return -errno;
      sum += got;
      if (got == 0 || (stop != nullptr && stop->IsSet())) return sum;
    }
  };
  return walk.Over("reading the files into the page cache", "cannot read", RoomForFiles(),
                   read_all);
}

}  // namespace

std::optional<double> CachedFraction(const FileList& files) {
  constexpr std::int64_t kMostAsked = 4096;
  const std::int64_t asked = std::min(files.size(), kMostAsked);
  Pages sum;
  for (std::int64_t i = 0; i < asked; ++i) {
    const std::optional<Pages> pages = PagesOf(files.PathOf(i * files.size() / asked));
    if (!pages) continue;
    sum.all += pages->all;
    sum.cached += pages->cached;
  }
  if (sum.all == 0) return std::nullopt;
  return static_cast<double>(sum.cached) / static_cast<double>(sum.all);
}

PageCacheState PreparePageCache(const spec::Storage& storage, const PageCacheControl& control) {
  const FileList files(storage.path);
  const Walk walk(files, storage, control);
  PageCacheState state;
  switch (storage.file_cache) {
    case spec::FileCacheState::kCold:
      state.interrupted = !Evict(walk);
      break;
    case spec::FileCacheState::kWarm:
      state.interrupted = !Fill(walk, control.stop);
      break;
    case spec::FileCacheState::kAsIs:
      break;
  }
  if (!state.interrupted) state.cached_fraction = CachedFraction(files);
  return state;
}

}  // namespace pipesim::engine
