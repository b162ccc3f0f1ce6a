// A folder of JPEGs to decode when the user names none.
#pragma once

#include <filesystem>

namespace pipesim::calibrate {

/// 64 JPEGs of noise and slopes, 500 x 375, in a temporary folder that goes with it. Throws
/// base::EnvironmentError where no folder can be made.
class Photos {
 public:
  Photos();
  ~Photos();
  Photos(const Photos&) = delete;
  Photos& operator=(const Photos&) = delete;
  const std::filesystem::path& folder() const { return folder_; }

 private:
  void Write(int index) const;
  std::filesystem::path folder_;
};

}  // namespace pipesim::calibrate
