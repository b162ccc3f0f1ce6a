#include "base/output_folder.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <set>

#include "base/error.h"

namespace pipesim::base {
namespace fs = std::filesystem;
namespace {

[[noreturn]] void ThrowBadFolder(const fs::path& folder, std::string_view why) {
  throw EnvironmentError(fmt::format("cannot write the folder {}: {}", folder.string(), why));
}

/// Removes the files, and the subfolders of `folder` that this leaves empty.
void RemoveFiles(const fs::path& folder, const std::set<fs::path>& files) {
  std::error_code ignored;
  for (const fs::path& file : files) {
    fs::remove(file, ignored);
    if (file.parent_path() != folder) fs::remove(file.parent_path(), ignored);  // only if empty
  }
}

/// The nearest existing folder above a new one must be writable.
void CheckCanCreate(const fs::path& folder) {
  fs::path above = fs::absolute(folder).lexically_normal();
  if (!above.has_filename()) above = above.parent_path();
  std::error_code error;
  do above = above.parent_path();
  while (!fs::exists(above, error) && above.has_relative_path());
  if (!fs::is_directory(above, error)) ThrowBadFolder(folder, above.string() + " is not a folder");
  if (access(above.c_str(), W_OK | X_OK) != 0)
    ThrowBadFolder(folder,
                   std::string(std::strerror(errno)) + "; choose a path that you may write to");
}

}  // namespace

OutputFolder::OutputFolder(fs::path folder, std::string own_end)
    : folder_((std::move(folder) / "").lexically_normal().parent_path()),
      own_end_(std::move(own_end)) {
  std::error_code error;
  if (!fs::exists(folder_, error)) {
    CheckCanCreate(folder_);
    return;
  }
  if (!fs::is_directory(folder_, error)) ThrowBadFolder(folder_, "it is a file; name a folder");
  if (access(folder_.c_str(), W_OK | X_OK) != 0)
    ThrowBadFolder(folder_,
                   std::string(std::strerror(errno)) + "; choose a path that you may write to");
  OwnFiles();
}

/// Throws where there are others.
std::vector<fs::path> OutputFolder::OwnFiles() const {
  std::vector<fs::path> files;
  std::error_code error;
  for (fs::recursive_directory_iterator at(folder_, error), end; !error && at != end;
       at.increment(error)) {
    if (at->is_directory(error) && !at->is_symlink(error)) continue;
    if (!at->path().filename().string().ends_with(own_end_))
      ThrowBadFolder(folder_, fmt::format("it holds other files ({}); name a new folder",
                                          fs::relative(at->path(), folder_, error).string()));
    files.push_back(at->path());
  }
  if (error) ThrowBadFolder(folder_, error.message());
  return files;
}

void OutputFolder::Commit(const std::vector<FolderFile>& files) {
  std::error_code error;
  const bool existed = fs::exists(folder_, error);
  std::set<fs::path> old, added;
  if (existed)
    for (const fs::path& file : OwnFiles()) old.insert(file.lexically_normal());
  try {
    for (const FolderFile& file : files) {
      const fs::path target = (folder_ / file.path).lexically_normal();
      fs::create_directories(target.parent_path(), error);
      if (error) ThrowBadFolder(target.parent_path(), error.message());
      if (!old.contains(target)) added.insert(target);
      OutputFile(target).Commit(file.content);
    }
  } catch (...) {
    RemoveFiles(folder_, added);
    if (!existed) fs::remove(folder_, error);
    throw;
  }
  for (const FolderFile& file : files) old.erase((folder_ / file.path).lexically_normal());
  RemoveFiles(folder_, old);
}

}  // namespace pipesim::base
