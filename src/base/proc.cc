#include "base/proc.h"

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

}  // namespace pipesim::base
