// An open file, closed at the end of its scope. Reports nothing: fd() < 0 and errno say why it
// could not be opened.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <filesystem>

namespace pipesim::engine {

class File {
 public:
  /// For reading; `flags` beside that (O_DIRECT).
  explicit File(const std::filesystem::path& path, int flags = 0)
      // Not to block on a pipe that someone named like an image.
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
