#include "base/files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "base/error.h"

namespace pipesim::base {
namespace fs = std::filesystem;
namespace {

// What the user can do about errno `error`.
std::string AdviceFor(int error) {
  switch (error) {
    case ENOENT:
    case ENOTDIR:
      return "create the folder first, or choose another path";
    case EISDIR:
      return "name a file in it";
    case EACCES:
    case EPERM:
    case EROFS:
      return "choose a path that you may write to";
    case ENOSPC:
    case EDQUOT:
      return "free some space, or choose a path on another disk";
    default:
      return "choose another path";
  }
}

[[noreturn]] void ThrowCannotWrite(const fs::path& path, int error) {
  throw EnvironmentError(fmt::format("cannot write {}: {}; {}", path.string(), std::strerror(error),
                                     AdviceFor(error)));
}

// Devices and pipes are written in place, and so is the target of /dev/stdout and its like: a
// renamed file would never reach the process that holds the old one open.
bool IsWrittenInPlace(const fs::path& path, const struct stat& status) {
  const std::string text = path.string();
  return !S_ISREG(status.st_mode) || text.starts_with("/dev/") || text.starts_with("/proc/");
}

// Returns errno, or 0.
int WriteAll(int fd, std::string_view content) {
  while (!content.empty()) {
    const ssize_t written = write(fd, content.data(), content.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return errno;
    content.remove_prefix(static_cast<std::size_t>(written));
  }
  return 0;
}

// Makes the rename durable. Errors are ignored: some file systems cannot sync a folder, and the
// file is complete either way.
void SyncFolder(const fs::path& folder) {
  const int fd = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return;
  fsync(fd);
  close(fd);
}

fs::path FolderOf(const fs::path& path) {
  return path.has_parent_path() ? path.parent_path() : ".";
}

}  // namespace

std::string ReadFile(const fs::path& path) {
  const auto fail = [&path](int error) {
    const char* advice = error == ENOENT   ? "; check the name"
                         : error == EISDIR ? "; name a file in it"
                         : error == EACCES ? "; it needs read permission"
                                           : "";
    throw EnvironmentError(
        fmt::format("cannot read {}: {}{}", path.string(), std::strerror(error), advice));
  };
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) fail(errno);
  std::string content;
  char block[65536];
  for (;;) {
    const ssize_t size = read(fd, block, sizeof block);
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) {
      const int error = errno;
      close(fd);
      fail(error);
    }
    if (size == 0) break;
    content.append(block, static_cast<std::size_t>(size));
  }
  close(fd);
  return content;
}

OutputFile::OutputFile(fs::path path) : path_(std::move(path)), target_(path_) {
  struct stat status {};
  const bool exists = stat(path_.c_str(), &status) == 0;
  if (!exists && errno != ENOENT) ThrowCannotWrite(path_, errno);
  if (exists && S_ISDIR(status.st_mode)) ThrowCannotWrite(path_, EISDIR);
  if (exists && IsWrittenInPlace(path_, status)) {
    // O_APPEND keeps what a redirected /dev/stdout already holds.
    fd_ = open(path_.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
    if (fd_ < 0) ThrowCannotWrite(path_, errno);
    return;
  }
  // A rename could replace a write-protected file, but its owner wants it kept.
  if (exists && access(path_.c_str(), W_OK) != 0) ThrowCannotWrite(path_, errno);
  if (exists) {  // keep a symbolic link, replace what it points to
    std::error_code ignored;
    const fs::path real = fs::canonical(path_, ignored);
    if (!real.empty()) target_ = real;
  }
  if (!target_.has_filename()) ThrowCannotWrite(path_, EISDIR);
  CreateTemporary();
  if (exists) fchmod(fd_, status.st_mode & 07777);
}

void OutputFile::CreateTemporary() {
  // A short name, not the target's plus a suffix: the target's may have the maximum length.
  for (int attempt = 0; fd_ < 0; ++attempt) {
    temporary_ = FolderOf(target_) / fmt::format(".pipesim-{}-{}.tmp", getpid(), attempt);
    fd_ = open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd_ < 0 && errno != EEXIST) {
      const int error = errno;
      temporary_.clear();
      ThrowCannotWrite(path_, error);
    }
  }
}

OutputFile::OutputFile(OutputFile&& other) noexcept
    : path_(std::move(other.path_)),
      target_(std::move(other.target_)),
      temporary_(std::move(other.temporary_)),
      fd_(std::exchange(other.fd_, -1)) {
  other.temporary_.clear();
}

OutputFile::~OutputFile() {
  if (fd_ >= 0) close(fd_);
  if (!temporary_.empty()) unlink(temporary_.c_str());
}

void OutputFile::Commit(std::string_view content) {
  int error = WriteAll(fd_, content);
  // Pipes and devices cannot be synced.
  if (error == 0 && fsync(fd_) != 0 && !temporary_.empty()) error = errno;
  if (close(std::exchange(fd_, -1)) != 0 && error == 0) error = errno;
  if (error != 0) ThrowCannotWrite(path_, error);
  if (temporary_.empty()) return;
  if (rename(temporary_.c_str(), target_.c_str()) != 0) ThrowCannotWrite(path_, errno);
  temporary_.clear();
  SyncFolder(FolderOf(target_));
}

}  // namespace pipesim::base
