// Finding and parsing the files that an experiment names: its own, models, storage and device
// presets, machine profiles. The only part of spec that opens files.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "spec/map_reader.h"
#include "spec/node.h"
#include "spec/read.h"

namespace pipesim::spec {

enum class DataKind { kModel, kStorage, kDevice, kMachine };

struct DataFile {
  Node tree;              ///< a map
  std::string reference;  ///< what finds it again: its name, or its absolute path
};

class DataFiles {
 public:
  /// `beside`: the experiment file's folder, where relative paths are looked for first; may be
  /// empty.
  DataFiles(const DataFolders& folders, std::filesystem::path beside)
      : folders_(folders), beside_(std::move(beside)) {}

  /// A name (a file of that name in the data folders) or a path (it has a '/' or ends in .yaml or .json).
  /// What is wrong goes to `reading`, at `place`; then nothing comes back.
  std::optional<DataFile> Load(Reading& reading, DataKind kind, const std::string& text,
                               const Place& place) const;
  /// A path of the experiment's: relative to its file when it stands there, else to the working
  /// folder.
  std::filesystem::path Resolve(const std::string& text, Origin origin) const;

 private:
  std::optional<std::filesystem::path> Find(DataKind kind, const std::string& text) const;

  const DataFolders& folders_;
  std::filesystem::path beside_;
};

std::vector<std::string> DataNames(const DataFolders& folders, DataKind kind);

/// Parses one file; throws EnvironmentError when it cannot be read or is no regular file.
Node ParseFile(const std::filesystem::path& path, Origin origin,
               std::vector<base::Problem>& problems);

}  // namespace pipesim::spec
