#include "base/cgroup.h"

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "base/text.h"

namespace pipesim::base {
namespace fs = std::filesystem;
namespace {

struct Folder {
  fs::path path;
  bool version_2 = false;
};

bool Names(const std::string& list, std::string_view item) {
  const std::vector<std::string> items = Split(list, ',');
  return std::find(items.begin(), items.end(), item) != items.end();
}

// The cgroup of `process` for `controller`, in the given version; empty when it has none.
std::string GroupOf(const fs::path& root, std::string_view process, bool version_2,
                    std::string_view controller) {
  std::ifstream file(root / "proc" / process / "cgroup");
  for (std::string line; std::getline(file, line);) {  // "4:cpu,cpuacct:/a/b", "0::/a/b"
    const std::size_t first = line.find(':');
    const std::size_t second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    if (version_2 ? controllers.empty() : Names(controllers, controller))
      return line.substr(second + 1);
  }
  return {};
}

// Parses one line of mountinfo; nullopt unless it mounts a cgroup hierarchy with `controller`: "31
// 23 0:28 <root> <mount point> <options> [<optional>…] - <type> <source> <options>".
struct Mount {
  std::string top;  // the cgroup mounted at `point`
  std::string point;
  bool version_2 = false;
};
std::optional<Mount> ParseMount(const std::string& line, std::string_view controller) {
  std::istringstream words(line);
  std::string skip, type, options;
  Mount mount;
  words >> skip >> skip >> skip >> mount.top >> mount.point;
  while (words >> skip && skip != "-") {
  }
  words >> type >> skip >> options;
  mount.version_2 = type == "cgroup2";
  if (mount.version_2 || (type == "cgroup" && Names(options, controller))) return mount;
  return std::nullopt;
}

// The folders of a process's cgroup and its ancestors, from the mount point down.
std::vector<Folder> Folders(const fs::path& root, std::string_view controller,
                            std::string_view process = "self") {
  std::vector<Folder> folders;
  std::ifstream file(root / "proc/self/mountinfo");
  for (std::string line; std::getline(file, line);) {
    const std::optional<Mount> mount = ParseMount(line, controller);
    if (!mount) continue;
    const std::string group = GroupOf(root, process, mount->version_2, controller);
    if (group.empty()) continue;
    const fs::path point = root / fs::path(mount->point).relative_path();
    // In a container the mount's root is the container's own cgroup. A cgroup outside the mount is
    // not visible; the mount's root stands in for it.
    fs::path inside = fs::path(group).lexically_relative(mount->top);
    if (inside.empty() || *inside.begin() == "..") inside = ".";
    fs::path at = point;
    folders.push_back({at, mount->version_2});
    for (const fs::path& part : inside) {
      if (part == ".") continue;
      at /= part;
      folders.push_back({at, mount->version_2});
    }
  }
  return folders;
}

std::optional<std::int64_t> ReadNumber(const fs::path& path) {
  std::ifstream file(path);
  std::int64_t number = 0;
  if (file >> number) return number;
  return std::nullopt;
}

// The value after `name` in a file of "name value" lines.
std::optional<std::int64_t> ReadEntry(const fs::path& path, std::string_view name) {
  std::ifstream file(path);
  std::string key;
  for (std::int64_t value = 0; file >> key >> value;)
    if (key == name) return value;
  return std::nullopt;
}

// Else no limit, or no number of bytes. Version 1 reports "no limit" as the largest multiple of the page size.
bool IsSize(std::int64_t bytes) { return bytes >= 0 && bytes < std::int64_t{1} << 61; }

// Page cache charged to a memory cgroup: the kernel reclaims it before it refuses or kills. Dirty
// pages count too, although they must be written first.
Bytes FilePages(const Folder& folder) {
  // In version 1 these names cover the cgroup alone, total_* also its descendants.
  const std::string prefix = folder.version_2 ? "" : "total_";
  Bytes pages;
  for (const char* name : {"active_file", "inactive_file"}) {
    const auto count = ReadEntry(folder.path / "memory.stat", prefix + name);
    if (count && IsSize(*count)) pages.count += *count;
  }
  return pages;
}

std::optional<double> QuotaOf(const Folder& folder) {
  std::optional<std::int64_t> quota, period;
  if (folder.version_2) {  // "200000 100000", "max 100000": no limit
    std::ifstream file(folder.path / "cpu.max");
    std::int64_t quota_us = 0, period_us = 0;
    if (file >> quota_us >> period_us) {
      quota = quota_us;
      period = period_us;
    }
  } else {  // -1: no limit
    quota = ReadNumber(folder.path / "cpu.cfs_quota_us");
    period = ReadNumber(folder.path / "cpu.cfs_period_us");
  }
  if (!quota || !period || *quota <= 0 || *period <= 0) return std::nullopt;
  return static_cast<double>(*quota) / static_cast<double>(*period);
}

}  // namespace

std::optional<double> CgroupCpuQuota(const fs::path& root) {
  std::optional<double> least;
  for (const Folder& folder : Folders(root, "cpu")) {
    const std::optional<double> quota = QuotaOf(folder);
    if (quota && (!least || *quota < *least)) least = quota;
  }
  return least;
}

// Nanoseconds, nine years, or times: a sum over all ancestors holds so many.
constexpr std::int64_t kMostThrottled = std::int64_t{1} << 58;

std::optional<Throttling> CgroupThrottling(const fs::path& root) {
  std::optional<Throttling> total;
  for (const Folder& folder : Folders(root, "cpu")) {
    std::ifstream file(folder.path / "cpu.stat");
    std::string name;
    for (std::int64_t value = 0; file >> name >> value;) {
      if (!name.starts_with("nr_throttled") && !name.starts_with("throttled_")) continue;
      const std::int64_t most = name == "throttled_usec" ? kMostThrottled / 1000 : kMostThrottled;
      if (value < 0 || value > most) continue;
      if (!total) total.emplace();
      if (name == "nr_throttled") total->periods_throttled += value;
      if (name == "throttled_usec") total->throttled += std::chrono::microseconds(value);
      if (name == "throttled_time") total->throttled += Duration(value);
    }
  }
  return total;
}

std::vector<CgroupMemory> CgroupMemoryLimits(const fs::path& root) {
  std::vector<CgroupMemory> limits;
  for (const Folder& folder : Folders(root, "memory")) {
    const bool v2 = folder.version_2;
    const auto limit = ReadNumber(
        folder.path / (v2 ? "memory.max" : "memory.limit_in_bytes"));  // "max": no number
    const auto used = ReadNumber(folder.path / (v2 ? "memory.current" : "memory.usage_in_bytes"));
    if (!limit || !used || !IsSize(*limit) || !IsSize(*used)) continue;
    limits.push_back({folder.path, {*limit}, Bytes{*used} - FilePages(folder)});
  }
  return limits;
}

std::optional<std::int64_t> CgroupOomKills(const fs::path& root) {
  std::optional<std::int64_t> kills;
  for (const Folder& folder : Folders(root, "memory")) {
    const auto count = ReadEntry(
        folder.path / (folder.version_2 ? "memory.events" : "memory.oom_control"), "oom_kill");
    if (count) kills = count;  // the last folder is the process's own cgroup
  }
  return kills;
}

std::string SchedulingCgroup(std::string_view process, const fs::path& root) {
  std::string group;
  std::error_code hidden;
  for (const Folder& folder : Folders(root, "cpu", process)) {
    const char* share = folder.version_2 ? "cpu.weight" : "cpu.shares";
    // Version 1's root has a share as well, which nothing competes with.
    const bool is_root = !folder.version_2 && GroupOf(root, process, false, "cpu") == "/";
    if (!is_root && fs::exists(folder.path / share, hidden)) group = folder.path.string();
  }
  return group;
}

}  // namespace pipesim::base
