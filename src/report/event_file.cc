// Messages: tensorflow/core/util/event.proto, tensorflow/core/framework/summary.proto and
// tensor.proto. Encoding: protobuf.dev/programming-guides/encoding. Framing: a TFRecord,
// tensorflow.org/tutorials/load_data/tfrecord.
#include "report/event_file.h"

#include <array>
#include <bit>
#include <cstring>

namespace pipesim::report {
namespace {

static_assert(std::endian::native == std::endian::little, "all of the format is little-endian");

// ---- protobuf

enum Wire : std::uint8_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

template <class Value>
void AppendRaw(std::string& out, Value value) {
  char bytes[sizeof value];
  std::memcpy(bytes, &value, sizeof value);
  out.append(bytes, sizeof value);
}

void AppendVarint(std::string& out, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) out += static_cast<char>(value | 0x80);
  out += static_cast<char>(value);
}

void AppendTag(std::string& out, int field, Wire wire) {
  AppendVarint(out, static_cast<std::uint64_t>(field) << 3 | wire);
}

void AppendInteger(std::string& out, int field, std::int64_t value) {
  AppendTag(out, field, kVarint);
  AppendVarint(out, static_cast<std::uint64_t>(value));
}

void AppendDouble(std::string& out, int field, double value) {
  AppendTag(out, field, kFixed64);
  AppendRaw(out, value);
}

void AppendFloat(std::string& out, int field, float value) {
  AppendTag(out, field, kFixed32);
  AppendRaw(out, value);
}

void AppendBytes(std::string& out, int field, std::string_view value) {
  AppendTag(out, field, kBytes);
  AppendVarint(out, value.size());
  out += value;
}

// ---- the messages

/// Event{wall_time = 1, step = 2} with one more field.
std::string EventOf(double wall_s, std::int64_t step, int field, std::string_view content) {
  std::string event;
  AppendDouble(event, 1, wall_s);
  AppendInteger(event, 2, step);
  AppendBytes(event, field, content);
  return event;
}
constexpr int kFileVersion = 3, kSummary = 5;  // Event's fields

/// Summary{value = 1}.
std::string SummaryOf(const std::string& value) {
  std::string summary;
  AppendBytes(summary, 1, value);
  return summary;
}

/// TensorProto{dtype = 1, tensor_shape = 2, string_val = 8}: one string, DT_STRING = 7, no
/// dimension.
std::string TensorOf(std::string_view text) {
  std::string tensor;
  AppendInteger(tensor, 1, 7);
  AppendBytes(tensor, 2, "");
  AppendBytes(tensor, 8, text);
  return tensor;
}

/// SummaryMetadata{plugin_data = 1 {plugin_name = 1}}.
std::string MetadataOf(std::string_view plugin) {
  std::string data, metadata;
  AppendBytes(data, 1, plugin);
  AppendBytes(metadata, 1, data);
  return metadata;
}

// ---- records

constexpr std::array<std::uint32_t, 256> MakeCrcTable() {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t i = 0; i < 256; ++i) {
    std::uint32_t crc = i;
    for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ (crc & 1 ? 0x82F63B78U : 0);
    table[i] = crc;
  }
  return table;
}
constexpr auto kCrcTable = MakeCrcTable();

/// A record's checksum is rotated and shifted, because a checksum of data that holds checksums is
/// weak (tensorflow/core/lib/hash/crc32c.h).
std::uint32_t MaskedCrc(std::string_view bytes) {
  return std::rotr(Crc32c(bytes), 15) + 0xA282EAD8U;
}

}  // namespace

std::uint32_t Crc32c(std::string_view bytes) {
  std::uint32_t crc = ~0U;
  for (const char byte : bytes)
    crc = crc >> 8 ^ kCrcTable[(crc ^ static_cast<unsigned char>(byte)) & 0xFF];
  return ~crc;
}

EventFile::EventFile(double wall_s) {
  AddRecord(EventOf(wall_s, 0, kFileVersion, "brain.Event:2"));
}

void EventFile::AddScalar(std::string_view tag, double wall_s, std::int64_t step, double value) {
  std::string content;
  AppendBytes(content, 1, tag);
  AppendFloat(content, 2, static_cast<float>(value));
  AddRecord(EventOf(wall_s, step, kSummary, SummaryOf(content)));
}

void EventFile::AddText(std::string_view tag, double wall_s, std::string_view markdown) {
  std::string content;
  AppendBytes(content, 1, tag);
  AppendBytes(content, 9, MetadataOf("text"));
  AppendBytes(content, 8, TensorOf(markdown));
  AddRecord(EventOf(wall_s, 0, kSummary, SummaryOf(content)));
}

void EventFile::AddRecord(const std::string& event) {
  std::string length;
  AppendRaw(length, std::uint64_t{event.size()});
  bytes_ += length;
  AppendRaw(bytes_, MaskedCrc(length));
  bytes_ += event;
  AppendRaw(bytes_, MaskedCrc(event));
}

}  // namespace pipesim::report
