// The file that keeps a sweep's finished points: one line each, with a checksum, on disk before the
// next point begins. So a killed sweep goes on where it was. Does not know what a line says.
//
//   {"crc32":"1c291ca3","record":{...}}
//
// The first record says which sweep it is, each further one is a point. A last line that is torn,
// by a kill or a full disk, is dropped.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace pipesim::sweep {

/// What must be equal for two journals to belong to one sweep: names and values.
using Identity = std::map<std::string, std::string>;

struct Difference {
  std::string name, in_journal, here;  ///< empty: not there
};
std::vector<Difference> Differences(const Identity& journal, const Identity& here);

/// One line, with its newline. `record` is JSON without newlines.
std::string JournalLine(std::string_view record);

struct JournalContent {
  std::vector<std::string> records;
  std::size_t good_bytes = 0;  ///< up to the end of the last whole line
  bool torn = false;           ///< something after that was dropped
};
/// Throws base::EnvironmentError, naming `source` and the line, where a line other than the last is
/// damaged: that is not what a kill leaves behind.
JournalContent ParseJournal(std::string_view text, const std::string& source);

/// Opened by one process at a time (flock). Not thread-safe.
class Journal {
 public:
  /// Opens or creates the file and drops a torn last line. Throws base::EnvironmentError when it is
  /// no journal or no regular file, cannot be written, another process has it, or it is damaged.
  explicit Journal(std::filesystem::path path);
  ~Journal();
  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;

  const std::vector<std::string>& records() const { return records_; }
  /// Appends a record and waits until it is on disk. Throws base::EnvironmentError; the file then
  /// ends with its last whole line, if the disk lets it.
  void Append(std::string_view record);

 private:
  std::filesystem::path path_;
  int fd_ = -1;
  std::size_t size_ = 0;
  std::vector<std::string> records_;  ///< as found
};

/// The records of a journal; while a sweep writes it, those that are whole by now. Throws
/// base::EnvironmentError.
std::vector<std::string> ReadJournal(const std::filesystem::path& path);
/// Whether a sweep has it open at the moment; false on a file system without locks.
bool IsBeingWritten(const std::filesystem::path& path);

}  // namespace pipesim::sweep
