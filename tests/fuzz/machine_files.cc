// What the kernel says of the machine: files of /proc and /sys. A line "== PATH" begins a file.
#include <fstream>

#include "base/cgroup.h"
#include "base/cpus.h"
#include "base/disk.h"
#include "base/memory.h"
#include "base/neighbours.h"
#include "base/text.h"
#include "fuzz.h"

namespace pipesim::fuzz {
namespace {

namespace fs = std::filesystem;
constexpr int kMostFiles = 20;
constexpr std::string_view kBegin = "== ";

/// Ignores what cannot be made.
void MakeFiles(const fs::path& root, std::string_view input) {
  std::ofstream file;
  int files = 0;
  for (const std::string& line : base::Split(input, '\n')) {
    if (!line.starts_with(kBegin)) {
      file << line << "\n";
      continue;
    }
    file = std::ofstream();
    const std::string name = line.substr(kBegin.size());
    if (++files > kMostFiles || !StaysInside(name)) continue;
    std::error_code error;
    fs::create_directories((root / name).parent_path(), error);
    file.open(root / name);
  }
}

}  // namespace

void Try(std::string_view input) {
  base::ParseDiskStat(input);
  const TemporaryFolder folder;
  MakeFiles(folder.path(), input);
  const fs::path& root = folder.path();
  Require(base::ReadCpuAllowance(root).Cores() > 0, "a process may use a part of a core");
  base::ReadThrottling(root);
  base::CpuModelName(root);
  for (const base::MemoryBound& bound : base::ReadMemoryBounds(root))
    Require(!bound.name.empty(), "a limit of memory has a name");
  base::OomKills(root);
  base::SchedulingGroup(1, root);
  base::NeighbourWatch({0, 1}, root).PeerCores();
}

}  // namespace pipesim::fuzz
