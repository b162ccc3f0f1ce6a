// The bytes of a TensorBoard event file: records of one `Event` message each. It uses five fields
// of the message, so it encodes them itself: protobuf's library would be a dependency and a code
// generator in every build, and TensorFlow's .proto files would have to be copied.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace pipesim::report {

/// CRC-32C (Castagnoli), as RFC 3720, appendix B.4, describes it.
std::uint32_t Crc32c(std::string_view bytes);

class EventFile {
 public:
  /// Begins with the version that readers ask for. `wall_s`: seconds since 1970.
  explicit EventFile(double wall_s);

  /// A point of a chart. TensorBoard keeps `value` as float32: about 7 digits.
  void AddScalar(std::string_view tag, double wall_s, std::int64_t step, double value);
  /// Markdown for the text tab.
  void AddText(std::string_view tag, double wall_s, std::string_view markdown);

  const std::string& bytes() const { return bytes_; }

 private:
  void AddRecord(const std::string& event);

  std::string bytes_;
};

}  // namespace pipesim::report
