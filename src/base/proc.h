// The files of /proc, and its folders that have an entry per process or thread.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <string>
#include <vector>

namespace pipesim::base {

/// The entries of `folder` that are ids: processes in /proc, threads in /proc/PID/task. What cannot
/// be read is left out.
std::vector<pid_t> IdsIn(const std::filesystem::path& folder);

/// The whole of `file`; what could be read of it where reading fails: a process may end between
/// the opening of its file and the reading, which is then ESRCH.
std::string ReadProcFile(const std::filesystem::path& file);

}  // namespace pipesim::base
