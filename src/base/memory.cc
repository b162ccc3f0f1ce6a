#include "base/memory.h"

#include <fmt/format.h>
#include <malloc.h>
#include <sys/resource.h>

#include <algorithm>
#include <fstream>

#include "base/cgroup.h"

namespace pipesim::base {
namespace fs = std::filesystem;
namespace {

// What a machine may have; more is no number of bytes that sums and differences could take.
constexpr std::int64_t kMostBytes = std::int64_t{1} << 61;

// A line of /proc/meminfo or /proc/self/status: "MemAvailable:   23172608 kB".
std::optional<Bytes> ReadKilobytes(const fs::path& path, std::string_view name) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with(name) || line[name.size()] != ':') continue;
    try {
      const std::int64_t kilobytes = std::stoll(line.substr(name.size() + 1));
      if (kilobytes < 0 || kilobytes > kMostBytes / 1024) return std::nullopt;
      return Bytes{kilobytes * 1024};
    } catch (const std::exception&) {
      return std::nullopt;
    }
  }
  return std::nullopt;
}

std::optional<Bytes> SoftLimit(decltype(RLIMIT_AS) resource) {
  rlimit limit{};
  if (getrlimit(resource, &limit) != 0 || limit.rlim_cur > kMostBytes) return std::nullopt;
  return Bytes{static_cast<std::int64_t>(limit.rlim_cur)};
}

}  // namespace

std::vector<MemoryBound> ReadMemoryBounds(const fs::path& root) {
  std::vector<MemoryBound> bounds;
  if (const auto free = ReadKilobytes(root / "proc/meminfo", "MemAvailable"))
    bounds.push_back({"this machine", *free, false});
  for (const CgroupMemory& group : CgroupMemoryLimits(root))
    bounds.push_back({fmt::format("the memory limit in {}", group.folder.string()),
                      group.limit - group.used, false});
  const fs::path status = root / "proc/self/status";
  const auto address_space = SoftLimit(RLIMIT_AS), mapped = ReadKilobytes(status, "VmSize");
  if (address_space && mapped) bounds.push_back({"ulimit -v", *address_space - *mapped, true});
  const auto data = SoftLimit(RLIMIT_DATA), held = ReadKilobytes(status, "VmData");
  if (data && held) bounds.push_back({"ulimit -d", *data - *held, true});
  return bounds;
}

std::optional<MemoryBound> Tightest(const std::vector<MemoryBound>& bounds) {
  if (bounds.empty()) return std::nullopt;
  return *std::min_element(
      bounds.begin(), bounds.end(),
      [](const MemoryBound& a, const MemoryBound& b) { return a.free < b.free; });
}

std::optional<std::int64_t> OomKills(const fs::path& root) {
  if (const auto kills = CgroupOomKills(root)) return kills;
  std::ifstream file(root / "proc/vmstat");
  std::string name;
  for (std::int64_t count = 0; file >> name >> count;)
    if (name == "oom_kill") return count;
  return std::nullopt;
}

bool LimitOwnData(Bytes more) {
  const auto held = ReadKilobytes("/proc/self/status", "VmData");
  rlimit limit{};
  if (!held || getrlimit(RLIMIT_DATA, &limit) != 0) return false;
  const auto wanted = static_cast<rlim_t>(std::max<std::int64_t>((*held + more).count, 0));
  if (limit.rlim_cur != RLIM_INFINITY && limit.rlim_cur <= wanted) return true;
  limit.rlim_cur = wanted;
  return setrlimit(RLIMIT_DATA, &limit) == 0;
}

void KeepFreedMemory() {
  // The largest array of a prediction's trace holds trace::kKeptSpans spans, 5 MB; a prediction
  // with 64 workers needs about 15 MB. By default glibc returns more than 128 KiB (mallopt(3)).
  constexpr int kLargestKept_bytes = 8 << 20, kKept_bytes = 64 << 20;
  mallopt(M_MMAP_THRESHOLD, kLargestKept_bytes);
  mallopt(M_TRIM_THRESHOLD, kKept_bytes);
}

}  // namespace pipesim::base
