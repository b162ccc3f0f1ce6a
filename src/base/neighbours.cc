#include "base/neighbours.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <optional>
#include <sstream>

#include "base/cgroup.h"
#include "base/proc.h"

namespace pipesim::base {
namespace fs = std::filesystem;
namespace {

struct CpuUse {
  Duration time{};
  int cpu = -1;  ///< that it last ran on
};

/// /proc/PID/stat, "PID (name) state …": fields 14, 15 (user and system time) and 39 (processor).
std::optional<CpuUse> ReadUse(const fs::path& process) {
  const std::string text = ReadProcFile(process / "stat");
  const std::size_t name_end = text.rfind(')');
  if (name_end == std::string::npos) return std::nullopt;
  std::istringstream fields(text.substr(name_end + 1));
  const std::vector<std::string> words{std::istream_iterator<std::string>(fields), {}};
  constexpr std::size_t kFirst = 3, kUser = 14 - kFirst, kSystem = 15 - kFirst, kCpu = 39 - kFirst;
  if (words.size() <= kCpu) return std::nullopt;
  const long per_second = sysconf(_SC_CLK_TCK);
  const double ticks = std::atof(words[kUser].c_str()) + std::atof(words[kSystem].c_str());
  return CpuUse{FromSeconds(ticks / static_cast<double>(per_second)),
                std::atoi(words[kCpu].c_str())};
}

std::map<pid_t, CpuUse> ReadOthers(const fs::path& root) {
  std::map<pid_t, CpuUse> uses;
  for (const pid_t id : IdsIn(root / "proc")) {
    if (id == getpid()) continue;
    if (const auto use = ReadUse(root / "proc" / std::to_string(id))) uses[id] = *use;
  }
  return uses;
}

/// "/autogroup-12 nice 0".
std::string Autogroup(const std::string& process, const fs::path& root) {
  std::ifstream enabled(root / "proc/sys/kernel/sched_autogroup_enabled");
  std::ifstream file(root / "proc" / process / "autogroup");
  std::string group;
  if (int on = 0; !(enabled >> on) || on == 0 || !(file >> group)) return "/";
  return group;
}

}  // namespace

std::string SchedulingGroup(pid_t process, const fs::path& root) {
  const std::string id = std::to_string(process);
  std::error_code hidden;
  if (!fs::exists(root / "proc" / id / "cgroup", hidden)) return {};
  const std::string group = SchedulingCgroup(id, root);
  return group.empty() ? Autogroup(id, root) : group;
}

NeighbourWatch::NeighbourWatch(std::vector<int> cpus, fs::path root)
    : cpus_(std::move(cpus)), root_(std::move(root)), begin_(SystemClock().Now()) {
  for (const auto& [process, use] : ReadOthers(root_)) before_[process] = use.time;
}

double NeighbourWatch::PeerCores() const {
  const double elapsed_s = ToSeconds(SystemClock().Now() - begin_);
  const std::string own = SchedulingGroup(getpid(), root_);
  if (own.empty() || !(elapsed_s > 0)) return 0;
  Duration peers{};
  for (const auto& [process, use] : ReadOthers(root_)) {
    const auto before = before_.find(process);
    const Duration used = use.time - (before == before_.end() ? Duration{} : before->second);
    if (used <= Duration::zero() || std::find(cpus_.begin(), cpus_.end(), use.cpu) == cpus_.end())
      continue;
    if (SchedulingGroup(process, root_) == own) peers += used;
  }
  return ToSeconds(peers) / elapsed_s;
}

namespace {

/// CPU time of this process and of the children that have ended.
Duration OwnCpuTime() {
  rusage children{};
  getrusage(RUSAGE_CHILDREN, &children);
  const auto of = [](const timeval& time) {
    return std::chrono::seconds(time.tv_sec) + std::chrono::microseconds(time.tv_usec);
  };
  return ProcessCpuTime() + of(children.ru_utime) + of(children.ru_stime);
}

}  // namespace

OthersWatch::OthersWatch(std::vector<int> cpus)
    : cpus_(std::move(cpus)), begin_(SystemClock().Now()), own_(OwnCpuTime()), busy_(BusyTimeOf(cpus_)) {}

std::optional<double> OthersWatch::Cores() const {
  const auto busy = BusyTimeOf(cpus_);
  const double elapsed_s = ToSeconds(SystemClock().Now() - begin_);
  if (!busy_ || !busy || elapsed_s <= 0) return std::nullopt;
  // Ticks are coarser than the process's own clock.
  return std::max(0.0, ToSeconds((*busy - *busy_) - (OwnCpuTime() - own_)) / elapsed_s);
}

IdleWatch::IdleWatch(std::vector<int> cpus, fs::path root)
    : cpus_(std::move(cpus)), root_(std::move(root)), begin_(SystemClock().Now()) {
  std::sort(cpus_.begin(), cpus_.end());
  if (!cpus_.empty()) before_ = ReadBusyTimes(root_);
}

std::vector<int> IdleWatch::Idle() const {
  if (cpus_.empty()) return {};
  const double elapsed_s = ToSeconds(SystemClock().Now() - begin_);
  const std::map<int, Duration> now = ReadBusyTimes(root_);
  std::vector<int> idle;
  for (const int cpu : cpus_) {
    const auto from = before_.find(cpu), to = now.find(cpu);
    if (from == before_.end() || to == now.end()) continue;
    if (ToSeconds(to->second - from->second) < kMostBusy * elapsed_s) idle.push_back(cpu);
  }
  return idle;
}

}  // namespace pipesim::base
