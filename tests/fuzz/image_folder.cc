// Folders of images: each line is the path of a file; PATH@ is a link to the folder itself.
#include <fstream>

#include "base/text.h"
#include "engine/files/file_list.h"
#include "engine/files/page_cache.h"
#include "fuzz.h"

namespace pipesim::fuzz {
namespace {

namespace fs = std::filesystem;
constexpr int kMostFiles = 20;

void MakeFile(const fs::path& root, std::string name) {
  const bool link = name.ends_with('@');
  if (link) name.pop_back();
  if (!StaysInside(name)) return;
  std::error_code error;
  fs::create_directories((root / name).parent_path(), error);
  if (link)
    fs::create_directory_symlink(root, root / name, error);
  else
    std::ofstream(root / name) << name;
}

}  // namespace

void Try(std::string_view input) {
  const TemporaryFolder folder;
  int files = 0;
  for (const std::string& line : base::Split(input, '\n'))
    if (files++ < kMostFiles) MakeFile(folder.path(), line);
  Accepted([&] {
    const engine::FileList list(folder.path());
    Require(list.size() > 0 && list.classes() > 0, "a folder that is accepted has files");
    for (std::int64_t file = 0; file < list.size(); ++file) {
      Require(list.ClassOf(file) >= 0 && list.ClassOf(file) < list.classes(),
              "a file has a class");
      Require(fs::exists(list.PathOf(file)), "a listed file exists");
    }
    list.MeanSize();
    engine::CachedFraction(list);
  });
}

}  // namespace pipesim::fuzz
