// Finds and parses YAML files: the experiment, models, storage and device presets, machine
// profiles. The only part of spec that opens files.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "spec/map_reader.h"
#include "spec/node.h"
#include "spec/read.h"

namespace pipesim::spec {

struct ModelFile;

enum class DataKind { kModel, kStorage, kDevice, kMachine };

struct DataFile {
  Node tree;              ///< a map
  std::string reference;  ///< its name, or its absolute path: loads the same file again
};

class DataFiles {
 public:
  /// `beside`: the experiment file's folder, searched first for relative paths; may be empty.
  DataFiles(const DataFolders& folders, std::filesystem::path beside)
      : folders_(folders), beside_(std::move(beside)) {}

  /// A name (a file of that name in the data folders) or a path (it has a '/' or ends in .yaml or
  /// .json). On failure adds a problem at `place` to `reading` and returns nullopt.
  std::optional<DataFile> Load(Reading& reading, DataKind kind, const std::string& text,
                               const Place& place) const;
  /// What `text`, a model file, said when it was kept; nullptr: it was not.
  std::shared_ptr<const ModelFile> KnownModel(const std::string& text) const;
  /// For further reads, where the folders keep what was read.
  void Keep(const std::string& text, std::shared_ptr<const ModelFile> model) const;
  /// An absolute path: relative ones start at the experiment file's folder where `text` came from
  /// the file, else at the working folder.
  std::filesystem::path Resolve(const std::string& text, Origin origin) const;

 private:
  std::optional<std::filesystem::path> Find(DataKind kind, const std::string& text) const;

  const DataFolders& folders_;
  std::filesystem::path beside_;
};

/// Names of the files found in all data folders, sorted.
std::vector<std::string> DataNames(const DataFolders& folders, DataKind kind);

/// Parses one file, or takes it from `folders.parsed`. Throws EnvironmentError when it cannot be read or
/// is not a regular file.
Node ParseFile(const std::filesystem::path& path, Origin origin, const DataFolders& folders,
               std::vector<base::Problem>& problems);

}  // namespace pipesim::spec
