#include "base/disk.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <fstream>
#include <limits>
#include <sstream>
#include <system_error>

namespace pipesim::base {
namespace fs = std::filesystem;
namespace {

// The source of a mounted file system whose device number is not a disk's (btrfs), from
// /proc/self/mountinfo: "31 23 0:28 <root> <mount point> <options> [<optional>…] - <type> <source>
// <options>".
std::string MountSource(dev_t device) {
  const std::string wanted = fmt::format("{}:{}", major(device), minor(device));
  std::ifstream mounts("/proc/self/mountinfo");
  for (std::string line; std::getline(mounts, line);) {
    std::istringstream words(line);
    std::string word, number, type, source;
    words >> word >> word >> number;
    while (words >> word && word != "-") {
    }
    words >> type >> source;
    if (number == wanted) return source;
  }
  return {};
}

std::optional<dev_t> BlockDeviceOf(const fs::path& path) {
  struct stat status {};
  if (stat(path.c_str(), &status) != 0) return std::nullopt;
  if (major(status.st_dev) != 0) return status.st_dev;
  const std::string source = MountSource(status.st_dev);
  if (!source.starts_with("/dev/") || stat(source.c_str(), &status) != 0) return std::nullopt;
  return S_ISBLK(status.st_mode) ? std::optional(status.st_rdev) : std::nullopt;
}

std::string FirstLine(const fs::path& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

}  // namespace

std::optional<DiskCounters> ParseDiskStat(std::string_view text) {
  std::istringstream fields{std::string(text)};
  constexpr std::int64_t kSectorBytes = 512;  // the kernel's unit, not the device's sector size
  std::int64_t reads = 0, merged = 0, sectors = 0, read_ms = 0, writes = 0, writes_merged = 0,
               write_sectors = 0, write_ms = 0, in_flight = 0, busy_ms = 0, queued_ms = 0;
  fields >> reads >> merged >> sectors >> read_ms >> writes >> writes_merged >> write_sectors >>
      write_ms >> in_flight >> busy_ms >> queued_ms;
  // What does not fit into 64 bits of nanoseconds and bytes is no counter.
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max() / 1'000'000;
  const auto counts = [](std::int64_t value) { return value >= 0 && value <= kMost; };
  if (!fields || !counts(sectors) || !counts(read_ms) || !counts(busy_ms) || !counts(queued_ms)) return std::nullopt;
  using std::chrono::milliseconds;
  return DiskCounters{.reads = reads,
                      .read_bytes = {sectors * kSectorBytes},
                      .reading = milliseconds(read_ms),
                      .busy = milliseconds(busy_ms),
                      .queued = milliseconds(queued_ms)};
}

std::optional<Disk> DiskOf(const fs::path& path) {
  const std::optional<dev_t> device = BlockDeviceOf(path);
  if (!device) return std::nullopt;
  std::error_code error;
  fs::path folder =
      fs::canonical(fmt::format("/sys/dev/block/{}:{}", major(*device), minor(*device)), error);
  if (error) return std::nullopt;
  // A partition's folder lies in its disk's folder.
  if (fs::exists(folder / "partition", error)) folder = folder.parent_path();
  const Disk disk{folder.filename().string(), folder / "stat"};
  if (!ReadDiskCounters(disk)) return std::nullopt;
  return disk;
}

std::optional<DiskCounters> ReadDiskCounters(const Disk& disk) {
  return ParseDiskStat(FirstLine(disk.stat));
}

std::optional<Bytes> FetchedByProcess() {
  std::ifstream file("/proc/self/io");
  std::string name;
  std::int64_t value = 0;
  while (file >> name >> value) {
    if (name == "read_bytes:") return Bytes{value};
  }
  return std::nullopt;
}

}  // namespace pipesim::base
