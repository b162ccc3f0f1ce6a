// The files of /proc, and its folders that have an entry per process or thread.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/units.h"

namespace pipesim::base {

/// The entries of `folder` that are ids: processes in /proc, threads in /proc/PID/task. What cannot
/// be read is left out.
std::vector<pid_t> IdsIn(const std::filesystem::path& folder);

/// The whole of `file`; what could be read of it where reading fails: a process may end between
/// the opening of its file and the reading, which is then ESRCH.
std::string ReadProcFile(const std::filesystem::path& file);

/// Of each processor, by number: its time since boot in which it was neither idle nor waited for IO
/// nor was taken by the hypervisor, in the resolution of the kernel's tick. Source: proc(5),
/// /proc/stat.
std::map<int, Duration> ReadBusyTimes(const std::filesystem::path& root = "/");
/// That of `cpus` together; nullopt where one of them is not shown, or there is none.
std::optional<Duration> BusyTimeOf(const std::vector<int>& cpus);

}  // namespace pipesim::base
