// LibTorch's warnings as texts for the report. Left alone, LibTorch prints them to stderr.
#pragma once

#include <string>
#include <vector>

namespace c10 {
class WarningHandler;
}

namespace pipesim::engine {

/// While it lives, the calling thread's warnings are kept for TakeWarnings and not printed, those of
/// autograd's threads included: LibTorch hands them to the thread that called backward. May be nested.
class KeepWarnings {
 public:
  KeepWarnings();
  ~KeepWarnings();
  KeepWarnings(const KeepWarnings&) = delete;
  KeepWarnings& operator=(const KeepWarnings&) = delete;

 private:
  c10::WarningHandler* before_;
};

/// Likewise, but they are dropped: for calls that are expected to fail.
class DropWarnings {
 public:
  DropWarnings();
  ~DropWarnings();
  DropWarnings(const DropWarnings&) = delete;
  DropWarnings& operator=(const DropWarnings&) = delete;

 private:
  c10::WarningHandler* before_;
};

/// What was kept since the last call, from all threads: each text once, the first 20. Thread-safe.
std::vector<std::string> TakeWarnings();

}  // namespace pipesim::engine
