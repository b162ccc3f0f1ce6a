// Reading whole files, and replacing them atomically.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace pipesim::base {

/// The file's content. Throws EnvironmentError naming the file and the reason.
std::string ReadFile(const std::filesystem::path& path);

/// Takes text piece by piece.
using TextSink = std::function<void(std::string_view)>;

/// Made before a long run, so that a bad path fails early, and written after it. Commit writes a
/// file without a name, syncs it and gives it the target's, so an interrupted or failed write leaves
/// the old file intact, and a killed process leaves nothing behind; only to replace a file takes a
/// temporary name, for a moment. The target's permissions are kept.
/// Devices and pipes (/dev/stdout) are written in place. Not thread-safe.
class OutputFile {
 public:
  /// Throws EnvironmentError when the path cannot be written.
  explicit OutputFile(std::filesystem::path path);
  ~OutputFile();
  OutputFile(OutputFile&&) noexcept;
  OutputFile& operator=(OutputFile&&) = delete;

  const std::filesystem::path& path() const { return path_; }
  /// Throws EnvironmentError (disk full, ...); the target is then unchanged. Call once.
  void Commit(std::string_view content);
  /// The same with a content that is too large to hold: `write` gives it to the sink in pieces.
  /// What `write` throws leaves the target unchanged, too.
  void Commit(const std::function<void(const TextSink&)>& write);

 private:
  void CreateTemporary();
  void NameTemporary();
  [[noreturn]] void Fail(int error);
  void Discard();

  std::filesystem::path path_;
  std::filesystem::path target_;         ///< path_ with symbolic links resolved
  std::filesystem::path temporary_;      ///< empty: there is none, or it has no name yet
  std::optional<unsigned> permissions_;  ///< of the file to replace
  bool in_place_ = false;
  int fd_ = -1;
};

}  // namespace pipesim::base
