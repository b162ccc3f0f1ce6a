// A temporary cgroup for a test.
#pragma once

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace pipesim::support {

class Cgroup {
 public:
  /// Creates it in `parent`, a folder of a mounted hierarchy; made() is false without permission.
  explicit Cgroup(const std::filesystem::path& parent)
      : folder_(parent / ("pipesim-test-" + std::to_string(getpid()))) {
    std::error_code error;
    made_ = std::filesystem::create_directory(folder_, error) && !error;
  }
  ~Cgroup() {
    if (made_) rmdir(folder_.c_str());
  }
  Cgroup(const Cgroup&) = delete;
  Cgroup& operator=(const Cgroup&) = delete;

  bool made() const { return made_; }
  /// Writes `value`; returns whether the file then reads back as `value`.
  bool Set(const std::string& file, const std::string& value) const {
    if (!made_ || !std::filesystem::exists(folder_ / file)) return false;
    std::ofstream(folder_ / file) << value << std::flush;
    std::string now;
    return std::getline(std::ifstream(folder_ / file), now) && now == value;
  }
  /// Moves the calling process into the cgroup.
  void Enter() const { std::ofstream(folder_ / "cgroup.procs") << getpid() << std::flush; }

 private:
  std::filesystem::path folder_;
  bool made_ = false;
};

}  // namespace pipesim::support
