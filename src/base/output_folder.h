// A folder of files that one program owns, replaced as a whole.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/files.h"

namespace pipesim::base {

struct FolderFile {
  std::string path;  ///< inside the folder: "NAME" or "SUBFOLDER/NAME"
  std::string content;
};

/// Made before a long run, so that a bad path fails early, and written after it. The folder must be
/// new, or hold only files that end with `own_end`: an earlier export, which Commit replaces. Until
/// all new files are written the earlier ones stay. Not thread-safe.
class OutputFolder {
 public:
  /// Throws EnvironmentError when the folder holds other files or cannot be written.
  OutputFolder(std::filesystem::path folder, std::string own_end);

  /// Throws EnvironmentError (disk full, ...); the folder is then as before. Call once.
  void Commit(const std::vector<FolderFile>& files);

 private:
  std::vector<std::filesystem::path> OwnFiles() const;

  std::filesystem::path folder_;
  std::string own_end_;
};

}  // namespace pipesim::base
