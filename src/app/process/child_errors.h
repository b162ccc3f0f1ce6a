// What a child writes to its stderr.
#pragma once

#include <deque>
#include <string>
#include <string_view>

namespace pipesim::app {

/// Passes it on to this process's stderr, line by line. A warning that children give again and again, such as every
/// run of a sweep, is passed on once in the life of this process. Throws base::EnvironmentError when there is no pipe.
class ChildErrors {
 public:
  ChildErrors();
  ~ChildErrors();
  ChildErrors(const ChildErrors&) = delete;
  ChildErrors& operator=(const ChildErrors&) = delete;

  /// To be the child's stderr.
  int write_end() const { return ends_[1]; }
  /// Whole lines that are there by now; never waits.
  void PassOn();
  /// Call when the child has ended: passes on the rest.
  void PassOnRest();
  /// Its last lines without warnings, printable, on one line of about 400 bytes at most: why it ended,
  /// where it says so.
  std::string LastWords() const;

 private:
  void PassOnLine(std::string_view line);

  int ends_[2] = {-1, -1};
  std::string left_;              ///< of a line whose end has not come
  std::deque<std::string> last_;  ///< lines that are no warnings
};

}  // namespace pipesim::app
