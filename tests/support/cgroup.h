// A cgroup of a test's own, gone at the end of its scope.
#pragma once

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace pipesim::support {

class Cgroup {
 public:
  /// Below `parent`, a folder of a mounted hierarchy; not made() where this process may not.
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
  /// Whether there is such a file and it reads as `value` afterwards.
  bool Set(const std::string& file, const std::string& value) const {
    if (!made_ || !std::filesystem::exists(folder_ / file)) return false;
    std::ofstream(folder_ / file) << value << std::flush;
    std::string now;
    return std::getline(std::ifstream(folder_ / file), now) && now == value;
  }
  /// The calling process goes into it.
  void Enter() const { std::ofstream(folder_ / "cgroup.procs") << getpid() << std::flush; }

 private:
  std::filesystem::path folder_;
  bool made_ = false;
};

}  // namespace pipesim::support
