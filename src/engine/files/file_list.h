// The image files under a folder, one subfolder per class. Stores all names in one string with an
// array of offsets, to hold millions. Lists folders; opens and checks no file.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/units.h"

namespace pipesim::engine {

/// Immutable; thread-safe.
class FileList {
 public:
  /// Lists `root`. As in torchvision's ImageFolder, each subfolder with a JPEG (*.jpg, *.jpeg, any
  /// case, at any depth) is a class. Classes and the files of a class are sorted by name, bytewise.
  /// Follows links to files and to class folders, but not to deeper folders. Throws
  /// EnvironmentError when a folder cannot be listed or no class is found.
  explicit FileList(std::filesystem::path root);

  std::int64_t size() const { return static_cast<std::int64_t>(name_begin_.size()) - 1; }
  std::int64_t classes() const { return static_cast<std::int64_t>(class_names_.size()); }
  /// Here and below: 0 <= file < size().
  std::int64_t ClassOf(std::int64_t file) const;
  std::filesystem::path PathOf(std::int64_t file) const;
  /// Mean size of at most 1,000 files spread evenly over the list: a million stat calls would take
  /// minutes on a cold disk. The standard error with 1,000 files is 3 % of the sizes' deviation.
  /// Throws EnvironmentError when stat fails for all of these files.
  base::Bytes MeanSize() const;

 private:
  void AddClass(const std::filesystem::path& folder);

  std::filesystem::path root_;
  std::vector<std::string> class_names_;
  std::vector<std::int64_t> class_begin_;  ///< first file of each class
  std::string names_;                      ///< relative to the class folder, one after another
  std::vector<std::uint64_t> name_begin_{0};
};

}  // namespace pipesim::engine
