#include "sweep/journal.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <boost/crc.hpp>
#include <cerrno>
#include <cstring>
#include <set>

#include "base/error.h"
#include "base/files.h"
#include "base/text.h"

namespace pipesim::sweep {
namespace {

constexpr std::string_view kBegin = "{\"crc32\":\"", kMiddle = "\",\"record\":", kEnd = "}";
constexpr std::size_t kDigits = 8;

std::string Checksum(std::string_view record) {
  boost::crc_32_type crc;
  crc.process_bytes(record.data(), record.size());
  return fmt::format("{:08x}", crc.checksum());
}

/// The record of a line without its newline; nullopt: damaged.
std::optional<std::string_view> RecordOf(std::string_view line) {
  constexpr std::size_t kHead = kBegin.size() + kDigits + kMiddle.size();
  if (line.size() < kHead + kEnd.size() || !line.starts_with(kBegin) || !line.ends_with(kEnd) ||
      line.substr(kBegin.size() + kDigits, kMiddle.size()) != kMiddle)
    return std::nullopt;
  const std::string_view record = line.substr(kHead, line.size() - kHead - kEnd.size());
  if (Checksum(record) != line.substr(kBegin.size(), kDigits)) return std::nullopt;
  return record;
}

[[noreturn]] void ThrowJournal(const std::filesystem::path& path, std::string_view what) {
  throw base::EnvironmentError(fmt::format("journal {}: {}", base::Printable(path.string()), what));
}

/// "No space left on device".
std::string Errno() { return std::strerror(errno); }

/// A device or a pipe keeps nothing, and reading it may never end.
void CheckIsFile(const std::filesystem::path& path) {
  std::error_code error;
  if (std::filesystem::exists(path, error) && !std::filesystem::is_regular_file(path, error))
    ThrowJournal(path, "not a regular file, so it cannot keep points");
}

/// What is no journal is left alone, though it may look like one line that is torn.
void CheckIsJournal(std::string_view text, const std::filesystem::path& path) {
  if (!kBegin.starts_with(text.substr(0, kBegin.size())))
    ThrowJournal(path, "not the journal of a sweep; take another --journal FILE");
}

/// A line can be taken out: each has its own checksum. Without the first one, nobody knows of which
/// sweep the others are.
[[noreturn]] void ThrowDamaged(const std::string& source, std::size_t line) {
  const std::string what = fmt::format("line {} is damaged (its checksum is wrong)", line);
  if (line == 1) ThrowJournal(source, what + ", so it is not the journal of a sweep");
  ThrowJournal(source, fmt::format("{}; without that line the other points can be used: sed -i {}d {}",
                                   what, line, base::ShellQuote(base::Printable(source))));
}

void Lock(int fd, const std::filesystem::path& path) {
  if (flock(fd, LOCK_EX | LOCK_NB) == 0) return;
  if (errno == EWOULDBLOCK)
    ThrowJournal(path, "another sweep is writing it; wait for that one or take --journal FILE");
  // A file system without locks: a second sweep cannot be noticed.
}

}  // namespace

std::vector<Difference> Differences(const Identity& journal, const Identity& here) {
  std::set<std::string> names;
  for (const auto& each : journal) names.insert(each.first);
  for (const auto& each : here) names.insert(each.first);
  const auto value = [](const Identity& identity, const std::string& name) {
    const auto found = identity.find(name);
    return found == identity.end() ? std::string() : found->second;
  };
  std::vector<Difference> differences;
  for (const std::string& name : names)
    if (value(journal, name) != value(here, name))
      differences.push_back({name, value(journal, name), value(here, name)});
  return differences;
}

std::string JournalLine(std::string_view record) {
  return fmt::format("{}{}{}{}{}\n", kBegin, Checksum(record), kMiddle, record, kEnd);
}

JournalContent ParseJournal(std::string_view text, const std::string& source) {
  JournalContent content;
  while (content.good_bytes < text.size()) {
    const std::string_view rest = text.substr(content.good_bytes);
    const std::size_t end = rest.find('\n');
    const auto record =
        end == std::string_view::npos ? std::nullopt : RecordOf(rest.substr(0, end));
    if (!record) {
      const bool last = end == std::string_view::npos || end + 1 == rest.size();
      if (!last) ThrowDamaged(source, content.records.size() + 1);
      content.torn = true;
      return content;
    }
    content.records.emplace_back(*record);
    content.good_bytes += end + 1;
  }
  return content;
}

Journal::Journal(std::filesystem::path path) : path_(std::move(path)) {
  CheckIsFile(path_);
  fd_ = open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (fd_ < 0) ThrowJournal(path_, "cannot be opened: " + Errno());
  try {
    Lock(fd_, path_);
    const std::string text = base::ReadFile(path_);
    JournalContent content = ParseJournal(text, path_.string());
    if (content.records.empty()) CheckIsJournal(text, path_);
    if (content.torn && ftruncate(fd_, static_cast<off_t>(content.good_bytes)) != 0)
      ThrowJournal(path_, "its torn last line cannot be removed: " + Errno());
    size_ = content.good_bytes;
    records_ = std::move(content.records);
  } catch (...) {
    close(fd_);
    throw;
  }
}

Journal::~Journal() { close(fd_); }

void Journal::Append(std::string_view record) {
  const std::string line = JournalLine(record);
  std::size_t written = 0;
  while (written < line.size()) {
    const ssize_t count = pwrite(fd_, line.data() + written, line.size() - written,
                                 static_cast<off_t>(size_ + written));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) break;
    written += static_cast<std::size_t>(count);
  }
  if (written < line.size() || fsync(fd_) != 0) {
    const std::string why = Errno();
    // Where this fails, too, the next opening drops the torn line.
    [[maybe_unused]] const int ignored = ftruncate(fd_, static_cast<off_t>(size_));
    ThrowJournal(path_, "cannot be written: " + why +
                            "; the points before are safe, --resume goes on from there");
  }
  size_ += line.size();
}

std::vector<std::string> ReadJournal(const std::filesystem::path& path) {
  CheckIsFile(path);
  if (access(path.c_str(), R_OK) != 0) ThrowJournal(path, "cannot be read: " + Errno());
  return ParseJournal(base::ReadFile(path), path.string()).records;
}

bool IsBeingWritten(const std::filesystem::path& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  const bool locked = flock(fd, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
  close(fd);
  return locked;
}

}  // namespace pipesim::sweep
