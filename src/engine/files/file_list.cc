#include "engine/files/file_list.h"

#include <fmt/format.h>

#include <algorithm>
#include <system_error>

#include "base/error.h"

namespace pipesim::engine {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void FailToList(const fs::path& folder, const std::error_code& error) {
  throw base::EnvironmentError(
      fmt::format("cannot list the folder {}: {}", folder.string(), error.message()));
}

bool EndsWithIgnoringCase(std::string_view text, std::string_view lower_case_end) {
  if (text.size() < lower_case_end.size()) return false;
  return std::equal(lower_case_end.begin(), lower_case_end.end(),
                    text.end() - lower_case_end.size(), [](char want, char have) {
                      return have >= 'A' && have <= 'Z' ? have + 32 == want : have == want;
                    });
}

bool HasJpegName(const fs::path& path) {
  const std::string& name = path.native();
  return EndsWithIgnoringCase(name, ".jpg") || EndsWithIgnoringCase(name, ".jpeg");
}

// Uses the type from the folder listing, without a stat call per file. Assumes that a link with a
// JPEG's name is a file; otherwise reading it fails later.
bool IsFile(const fs::directory_entry& entry) {
  std::error_code ignored;
  return entry.is_symlink(ignored) || !entry.is_directory(ignored);
}

std::vector<fs::path> ClassFolders(const fs::path& root, std::int64_t& images_outside) {
  std::vector<fs::path> folders;
  std::error_code error;
  for (fs::directory_iterator it(root, error), end; !error && it != end; it.increment(error)) {
    std::error_code not_followed;
    if (it->is_directory(not_followed)) {
      folders.push_back(it->path());
    } else if (HasJpegName(it->path())) {
      ++images_outside;
    }
  }
  if (error) FailToList(root, error);
  std::sort(folders.begin(), folders.end(),
            [](const fs::path& a, const fs::path& b) { return a.native() < b.native(); });
  return folders;
}

}  // namespace

FileList::FileList(fs::path root) : root_(std::move(root)) {
  std::int64_t images_outside = 0;
  for (const fs::path& folder : ClassFolders(root_, images_outside)) AddClass(folder);
  names_.shrink_to_fit();
  name_begin_.shrink_to_fit();
  if (size() > 0) return;
  const std::string seen =
      images_outside > 0 ? fmt::format("{} holds {} JPEG files but none in a subfolder",
                                       root_.string(), images_outside)
                         : fmt::format("{} holds no subfolder with JPEG files", root_.string());
  throw base::EnvironmentError(
      seen + "; put the images of each class into a separate folder, as in " +
      (root_ / "cat" / "1.jpg").string() + ", or write such a folder with tools/make_dataset");
}

void FileList::AddClass(const fs::path& folder) {
  std::vector<std::string> found;
  const std::size_t prefix = folder.native().size() + 1;
  std::error_code error;
  for (fs::recursive_directory_iterator it(folder, error), end; !error && it != end;
       it.increment(error)) {
    if (HasJpegName(it->path()) && IsFile(*it)) found.push_back(it->path().native().substr(prefix));
  }
  if (error) FailToList(folder, error);
  if (found.empty()) return;
  std::sort(found.begin(), found.end());
  class_names_.push_back(folder.filename().native());
  class_begin_.push_back(size());
  for (const std::string& name : found) {
    names_ += name;
    name_begin_.push_back(names_.size());
  }
}

std::int64_t FileList::ClassOf(std::int64_t file) const {
  const auto after = std::upper_bound(class_begin_.begin(), class_begin_.end(), file);
  return after - class_begin_.begin() - 1;
}

fs::path FileList::PathOf(std::int64_t file) const {
  const auto index = static_cast<std::size_t>(file);
  const std::uint64_t begin = name_begin_[index];
  const std::string_view name(names_.data() + begin, name_begin_[index + 1] - begin);
  return root_ / class_names_[static_cast<std::size_t>(ClassOf(file))] / name;
}

base::Bytes FileList::MeanSize() const {
  constexpr std::int64_t kMostAsked = 1000;
  const std::int64_t asked = std::min(size(), kMostAsked);
  std::uintmax_t sum = 0;
  std::int64_t answered = 0;
  std::error_code error;
  for (std::int64_t i = 0; i < asked; ++i) {
    std::error_code failed;
    const std::uintmax_t bytes = fs::file_size(PathOf(i * size() / asked), failed);
    if (failed) {
      error = failed;
      continue;
    }
    sum += bytes;
    ++answered;
  }
  if (answered == 0) {
    throw base::EnvironmentError(
        fmt::format("cannot read the size of any file in {}: {}", root_.string(), error.message()));
  }
  return {static_cast<std::int64_t>(sum / static_cast<std::uintmax_t>(answered))};
}

}  // namespace pipesim::engine
