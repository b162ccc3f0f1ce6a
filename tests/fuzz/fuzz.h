// What the fuzzers share. A fuzzer gives the bytes of libFuzzer to one reader of the program. The
// reader answers with a value or with the errors of its contract; address and undefined-behaviour
// sanitizers watch everything else. Fuzzers are deterministic, use no network, and write no file
// outside a temporary folder.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

#include "spec/read.h"

namespace pipesim::fuzz {

/// What a fuzzer does with an input. Each fuzzer is a file that defines it.
void Try(std::string_view input);

/// Ends the process, so that libFuzzer keeps the input, unless the program keeps this promise.
void Require(bool kept, const std::string& promise);

/// Text that is safe on a terminal, line by line.
void RequirePrintable(const std::string& text);

/// Calls `read`, which may refuse its input: a ConfigError whose problems are complete and printable,
/// or an EnvironmentError or UsageError that says why. Returns whether it did not.
bool Accepted(const std::function<void()>& read);

/// The project's presets and models: $PIPESIM_DATA_DIR, else the source tree.
spec::DataFolders Folders();

/// An experiment that was accepted: its settings read back as the same experiment, and its memory,
/// epochs and costs can be computed.
void CheckExperiment(const spec::Experiment& experiment);

/// A path of an input names something inside the folder that it is appended to.
bool StaysInside(const std::filesystem::path& path);

/// A file that exists in memory only, for readers that want a path.
class MemoryFile {
 public:
  MemoryFile();
  ~MemoryFile();
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;
  /// Replaces its content.
  void Write(std::string_view content) const;
  std::string path() const;

 private:
  int fd_;
};

/// An empty temporary folder, removed with its content at the end of its scope.
class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace pipesim::fuzz
