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

// The process's cgroup that controls the CPU, in the given version; empty when it has none.
std::string OwnGroup(const fs::path& root, bool version_2) {
  std::ifstream file(root / "proc/self/cgroup");
  for (std::string line; std::getline(file, line);) {  // "4:cpu,cpuacct:/a/b", "0::/a/b"
    const std::size_t first = line.find(':');
    const std::size_t second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    if (version_2 ? controllers.empty() : Names(controllers, "cpu")) return line.substr(second + 1);
  }
  return {};
}

// What one line of mountinfo mounts, if it is a cgroup hierarchy with the CPU in it: "31 23 0:28
// <root> <mount point> <options> [<optional>…] - <type> <source> <options>".
struct Mount {
  std::string top;  // the cgroup that is seen at `point`
  std::string point;
  bool version_2 = false;
};
std::optional<Mount> ParseMount(const std::string& line) {
  std::istringstream words(line);
  std::string skip, type, options;
  Mount mount;
  words >> skip >> skip >> skip >> mount.top >> mount.point;
  while (words >> skip && skip != "-") {
  }
  words >> type >> skip >> options;
  mount.version_2 = type == "cgroup2";
  if (mount.version_2 || (type == "cgroup" && Names(options, "cpu"))) return mount;
  return std::nullopt;
}

// Where the process's cgroup is seen, and each above it, up to the mount point.
std::vector<Folder> CpuFolders(const fs::path& root) {
  std::vector<Folder> folders;
  std::ifstream file(root / "proc/self/mountinfo");
  for (std::string line; std::getline(file, line);) {
    const std::optional<Mount> mount = ParseMount(line);
    if (!mount) continue;
    const std::string group = OwnGroup(root, mount->version_2);
    if (group.empty()) continue;
    const fs::path point = root / fs::path(mount->point).relative_path();
    // In a container the mount shows the container's own cgroup as its top; a group outside of what
    // is mounted cannot be seen, and the top stands for it.
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
  for (const Folder& folder : CpuFolders(root)) {
    const std::optional<double> quota = QuotaOf(folder);
    if (quota && (!least || *quota < *least)) least = quota;
  }
  return least;
}

std::optional<Throttling> CgroupThrottling(const fs::path& root) {
  std::optional<Throttling> total;
  for (const Folder& folder : CpuFolders(root)) {
    std::ifstream file(folder.path / "cpu.stat");
    std::string name;
    for (std::int64_t value = 0; file >> name >> value;) {
      if (!name.starts_with("nr_throttled") && !name.starts_with("throttled_")) continue;
      if (!total) total.emplace();
      if (name == "nr_throttled") total->periods_throttled += value;
      if (name == "throttled_usec") total->throttled += std::chrono::microseconds(value);
      if (name == "throttled_time") total->throttled += Duration(value);
    }
  }
  return total;
}

}  // namespace pipesim::base
