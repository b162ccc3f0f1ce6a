// Block devices as the kernel counts them: which one holds a path, and its counters, those that
// iostat shows. Reads /sys and /proc; knows nothing of who reads.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "base/units.h"

namespace pipesim::base {

/// Since the device appeared, by all programs. Source of the fields: Linux,
/// Documentation/block/stat.rst.
struct DiskCounters {
  std::int64_t reads = 0;  ///< finished; adjacent ones that were merged count once
  Bytes read_bytes;
  Duration reading{};  ///< summed over the reads, from entering the queue until done
  Duration busy{};     ///< with at least one request in queue or device
  Duration queued{};   ///< requests in queue or device × time, writes too
  bool operator==(const DiskCounters&) const = default;
};

/// The text of /sys/block/<name>/stat; nullopt when it is none.
std::optional<DiskCounters> ParseDiskStat(std::string_view text);

struct Disk {
  std::string name;            ///< "nvme0n1", "dm-0"
  std::filesystem::path stat;  ///< the file of its counters
};
/// The whole device, not the partition, that holds `path`. nullopt where there is none that the
/// kernel names: tmpfs, overlay, network and shared file systems, or without /sys.
std::optional<Disk> DiskOf(const std::filesystem::path& path);
std::optional<DiskCounters> ReadDiskCounters(const Disk& disk);

/// What this process made the kernel fetch from block devices so far (`read_bytes` of
/// /proc/self/io); nullopt where it cannot be read.
std::optional<Bytes> FetchedByProcess();

}  // namespace pipesim::base
