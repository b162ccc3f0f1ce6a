#include "base/proc.h"

#include <fcntl.h>
#include <unistd.h>

#include <sstream>

#include "base/text.h"

namespace pipesim::base {

std::vector<pid_t> IdsIn(const std::filesystem::path& folder) {
  std::vector<pid_t> ids;
  std::error_code failed;
  std::filesystem::directory_iterator at(folder, failed);
  for (; !failed && at != std::filesystem::directory_iterator(); at.increment(failed))
    if (const auto id = WholeNumber<pid_t>(at->path().filename().string())) ids.push_back(*id);
  return ids;
}

std::string ReadProcFile(const std::filesystem::path& file) {
  const int fd = open(file.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return {};
  std::string text;
  char part[4096];
  for (ssize_t size; (size = read(fd, part, sizeof part)) > 0;) {
    text.append(part, static_cast<std::size_t>(size));
  }
  close(fd);
  return text;
}

// "cpuN user nice system idle iowait irq softirq steal …" in clock ticks.
std::map<int, Duration> ReadBusyTimes(const std::filesystem::path& root) {
  std::map<int, Duration> times;
  const long per_second = sysconf(_SC_CLK_TCK);
  if (per_second <= 0) return times;
  std::istringstream lines(ReadProcFile(root / "proc/stat"));
  for (std::string line; std::getline(lines, line) && line.starts_with("cpu");) {
    std::istringstream fields(line.substr(3));
    int cpu = 0;
    std::int64_t user = 0, nice = 0, system = 0, idle = 0, iowait = 0, irq = 0, softirq = 0;
    if (line[3] == ' ' || !(fields >> cpu)) continue;  // the sum over all
    if (!(fields >> user >> nice >> system >> idle >> iowait >> irq >> softirq)) continue;
    const auto ticks = static_cast<double>(user + nice + system + irq + softirq);
    times[cpu] = FromSeconds(ticks / static_cast<double>(per_second));
  }
  return times;
}

std::optional<Duration> BusyTimeOf(const std::vector<int>& cpus) {
  const std::map<int, Duration> times = ReadBusyTimes();
  Duration busy{};
  for (const int cpu : cpus) {
    const auto time = times.find(cpu);
    if (time == times.end()) return std::nullopt;
    busy += time->second;
  }
  return cpus.empty() ? std::nullopt : std::optional(busy);
}

}  // namespace pipesim::base
