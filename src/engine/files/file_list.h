// The image files under a folder, one subfolder a class, kept compactly: a million names are one
// text and one row of offsets. Lists folders; opens and checks no file.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/units.h"

namespace pipesim::engine {

/// Immutable once made, so threads may share it.
class FileList {
 public:
  /// Lists `root`: each subfolder that holds a JPEG (*.jpg, *.jpeg, any case, at any depth, as
  /// torchvision's ImageFolder looks for them) is a class; classes and the files of a class are
  /// sorted by name, byte by byte. Links to files and to class folders are followed, links to
  /// folders deeper down are not. Throws EnvironmentError when a folder cannot be listed or no
  /// class is found.
  explicit FileList(std::filesystem::path root);

  std::int64_t size() const { return static_cast<std::int64_t>(name_begin_.size()) - 1; }
  std::int64_t classes() const { return static_cast<std::int64_t>(class_names_.size()); }
  /// 0 <= file < size() in all three.
  std::int64_t ClassOf(std::int64_t file) const;
  std::filesystem::path PathOf(std::int64_t file) const;
  /// Mean size of at most 1,000 files spread evenly over the list (the standard error of a mean
  /// over 1,000 is 3 % of the sizes' spread): asking each of a million for its size would take
  /// minutes on a cold disk. Throws EnvironmentError when none of those files can be asked.
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
