// Block devices: which one holds a path, and its I/O counters (those of iostat). Reads /sys and
// /proc.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "base/units.h"

namespace pipesim::base {

/// Totals of all programs since the device appeared. Source of the fields: Linux,
/// Documentation/block/stat.rst.
struct DiskCounters {
  std::int64_t reads = 0;  ///< completed; merged adjacent reads count once
  Bytes read_bytes;
  Duration reading{};  ///< sum over the reads of queueing plus service time
  Duration busy{};     ///< time with at least one request in flight
  Duration queued{};   ///< integral of the requests in flight over time, writes included
  bool operator==(const DiskCounters&) const = default;
};

/// Parses the text of /sys/block/<name>/stat; nullopt when it has another format.
std::optional<DiskCounters> ParseDiskStat(std::string_view text);

struct Disk {
  std::string name;            ///< "nvme0n1", "dm-0"
  std::filesystem::path stat;  ///< the file with its counters
};
/// The whole device, not the partition, that holds `path`. nullopt where the kernel names none:
/// tmpfs, overlay, network and shared file systems, or without /sys.
std::optional<Disk> DiskOf(const std::filesystem::path& path);
std::optional<DiskCounters> ReadDiskCounters(const Disk& disk);

/// Bytes that the kernel fetched from block devices for this process so far (`read_bytes` of
/// /proc/self/io); nullopt where that cannot be read.
std::optional<Bytes> FetchedByProcess();

}  // namespace pipesim::base
