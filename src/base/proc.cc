#include "base/proc.h"

#include <fcntl.h>
#include <unistd.h>

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

}  // namespace pipesim::base
