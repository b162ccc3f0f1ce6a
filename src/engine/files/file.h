// An open file, closed at the end of its scope. On failure fd() < 0 and errno is set.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <filesystem>

namespace pipesim::engine {

class File {
 public:
  /// Opens for reading, with additional `flags` (O_DIRECT).
  explicit File(const std::filesystem::path& path, int flags = 0)
      // O_NONBLOCK: do not block on a pipe with an image's name.
      : fd_(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | flags)) {}
  ~File() {
    if (fd_ >= 0) ::close(fd_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  int fd() const { return fd_; }

 private:
  int fd_;
};

}  // namespace pipesim::engine
