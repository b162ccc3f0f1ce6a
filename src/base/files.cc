#include "base/files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
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
    case EFBIG:
      return "raise the limit on the size of files (ulimit -f)";
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

/// While it lives, signals do not end this thread; they come afterwards. Only SIGKILL cannot wait.
class SignalsWait {
 public:
  SignalsWait() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before_);
  }
  ~SignalsWait() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsWait(const SignalsWait&) = delete;
  SignalsWait& operator=(const SignalsWait&) = delete;

 private:
  sigset_t before_{};
};

fs::path TemporaryName(const fs::path& target, int attempt) {
  return FolderOf(target) / fmt::format(".pipesim-{}-{}.tmp", getpid(), attempt);
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
    in_place_ = true;
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
  if (exists) permissions_ = status.st_mode & 07777;
  CreateTemporary();  // tells whether Commit can
  Discard();
}

void OutputFile::CreateTemporary() {
  // Without a name nothing can stay behind. Not every file system has such files, and naming one
  // takes /proc.
  if (access("/proc/self/fd", X_OK) == 0)
    fd_ = open(FolderOf(target_).c_str(), O_WRONLY | O_TMPFILE | O_CLOEXEC, 0666);
  // A short name, not the target's plus a suffix: the target's may have the maximum length.
  for (int attempt = 0; fd_ < 0; ++attempt) {
    temporary_ = TemporaryName(target_, attempt);
    fd_ = open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd_ < 0 && errno != EEXIST) {
      const int error = errno;
      temporary_.clear();
      Fail(error);
    }
  }
}

void OutputFile::NameTemporary() {
  const std::string unnamed = fmt::format("/proc/self/fd/{}", fd_);
  const auto give = [&](const fs::path& name) {
    if (linkat(AT_FDCWD, unnamed.c_str(), AT_FDCWD, name.c_str(), AT_SYMLINK_FOLLOW) == 0)
      return true;
    if (errno != EEXIST) Fail(errno);
    return false;
  };
  // A new file gets the target's name at once: nothing stays behind, however this process ends.
  if (!temporary_.empty() || give(target_)) return;
  for (int attempt = 0; temporary_.empty(); ++attempt)
    if (const fs::path name = TemporaryName(target_, attempt); give(name)) temporary_ = name;
}

void OutputFile::Fail(int error) {
  Discard();
  ThrowCannotWrite(path_, error);
}

void OutputFile::Discard() {
  if (fd_ >= 0) close(std::exchange(fd_, -1));
  if (!temporary_.empty()) unlink(temporary_.c_str());
  temporary_.clear();
}

OutputFile::OutputFile(OutputFile&& other) noexcept
    : path_(std::move(other.path_)),
      target_(std::move(other.target_)),
      temporary_(std::move(other.temporary_)),
      permissions_(other.permissions_),
      in_place_(other.in_place_),
      fd_(std::exchange(other.fd_, -1)) {
  other.temporary_.clear();
}

OutputFile::~OutputFile() { Discard(); }

void OutputFile::Commit(std::string_view content) {
  Commit([content](const TextSink& sink) { sink(content); });
}

void OutputFile::Commit(const std::function<void(const TextSink&)>& write) {
  if (!in_place_) CreateTemporary();
  if (permissions_) fchmod(fd_, *permissions_);
  write([this](std::string_view piece) {
    if (const int error = WriteAll(fd_, piece); error != 0) Fail(error);
  });
  int error = 0;
  // Pipes and devices cannot be synced.
  if (error == 0 && fsync(fd_) != 0 && !in_place_) error = errno;
  if (error != 0) Fail(error);
  const SignalsWait wait;  // while a file that is replaced has a temporary name
  if (!in_place_) NameTemporary();
  if (close(std::exchange(fd_, -1)) != 0) Fail(errno);
  if (in_place_) return;
  if (!temporary_.empty() && rename(temporary_.c_str(), target_.c_str()) != 0) Fail(errno);
  temporary_.clear();
  SyncFolder(FolderOf(target_));
}

}  // namespace pipesim::base
