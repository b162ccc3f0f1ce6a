// The folders of /proc that have an entry per process or thread.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <vector>

namespace pipesim::base {

/// The entries of `folder` that are ids: processes in /proc, threads in /proc/PID/task. What cannot
/// be read is left out.
std::vector<pid_t> IdsIn(const std::filesystem::path& folder);

}  // namespace pipesim::base
