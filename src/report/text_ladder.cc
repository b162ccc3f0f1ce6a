// The ladder: whether GPU, CPU and IO are full.
#include <cmath>

#include "base/text.h"
#include "report/text_parts.h"

namespace pipesim::report {
namespace {

constexpr std::size_t kTextColumn = 8, kFullColumn = 67;
// Less is within the resolution of the reading (a scheduler tick in a hundred).
constexpr double kForeignCoresShown = 0.05;

std::string GpuMemory(View document) {
  const auto used = document.At("memory.device_peak_bytes").Number();
  const auto total = document.At("memory.device_total_bytes").Number();
  return used && total ? ", memory " + AmountOf(*used, *total) : "";
}

std::string NvmlText(View document) {
  if (document.At("prediction").IsPresent()) return " (predicted)";
  if (const auto nvml = document.At("resources.gpu_utilization_nvml").Number())
    return " (NVML: " + Percent(*nvml) + ")";
  return " (NVML: n/a, not readable here)";
}

std::string GpuText(View document) {
  const spec::DeviceId device = DeviceOf(document);
  const std::string name = document.At("effective.device_name").Text();
  const auto busy = document.At("result.accelerator_utilization").Number();
  const std::int64_t accelerators = Accelerators(document);
  const std::string which =
      accelerators > 1 ? ", each of " + WithCommas(accelerators) : std::string();
  const std::string share = (busy ? Percent(*busy) + " busy" : "n/a") + which;
  if (device.IsCuda()) return share + NvmlText(document) + GpuMemory(document);
  if (device.IsEmulated()) {
    const bool named = !name.empty() && name != "emulated";
    return share + " (emulated" + (named ? " " + name : "") + ")" + GpuMemory(document);
  }
  if (!device.IsChosen()) return "n/a, no device was opened";
  const bool chosen = document.At("effective.device_requested").Text() == "auto";
  if (chosen && document.At("prediction").IsPresent())
    return "unknown, device auto means " + spec::ToText(device);
  return chosen ? "none visible, device auto chose " + spec::ToText(device)
                : "not used, device is " + spec::ToText(device);
}

std::string CpuText(View document) {
  const View resources = document.At("resources");
  const auto used = resources.At("cores_used").Number();
  const double cores = resources.At("cores").NumberOr(0);
  const std::string of = Count(cores) + (cores == 1 ? " core" : " cores");
  if (!used) return "n/a, CPU time cannot be read here (" + of + ")";
  std::string text = cores > 0 ? Percent(*used / cores) + ", " : "";
  text += Fixed(*used, 1) + " of " + of;
  const auto train = resources.At("cores_used_training").Number();
  const auto load = resources.At("cores_used_loading").Number();
  if (train && load) text += ": " + Fixed(*train, 1) + " train, " + Fixed(*load, 1) + " load";
  const double foreign = resources.At("foreign_cores").NumberOr(0);
  if (foreign >= kForeignCoresShown) text += "; other programs " + Fixed(foreign, 1);
  return text;
}

std::string CacheText(View document) {
  const std::string cache = document.At("effective.storage.file_cache").Text();
  if (cache.empty()) return {};
  return cache == "as_is" ? ", page cache as it was" : ", page cache " + cache;
}

std::string IoText(View document, View row) {
  const View resources = document.At("resources");
  if (document.At("effective.storage.kind").Text() == "none") return "none, data in memory";
  const auto busy = resources.At("storage_utilization").Number();
  const double bytes = resources.At("storage_bytes_per_s").NumberOr(0);
  const double reads = resources.At("reads_per_s").NumberOr(0);
  const auto limit = row.At("limit").Number();
  const std::string unit = row.At("unit").Text();
  std::string text = busy ? Percent(*busy) + " busy, " : "";
  text += limit && unit == "bytes/s" ? RateOf(bytes, *limit) : Amount(bytes) + "/s";
  text += ", " + Significant(reads, 3);
  if (limit && unit.starts_with("reads")) text += " of " + Significant(*limit, 3);
  return text + " reads/s" + CacheText(document);
}

/// The block device under real files, as iostat shows it; "" when unknown.
std::string DiskText(View document) {
  const View disk = document.At("resources.disk");
  if (!disk.IsPresent()) return {};
  const auto await = disk.At("await_s").Number();
  return "disk " + disk.At("name").Text() + ": " + Amount(disk.At("read_bytes_per_s").NumberOr(0)) +
         "/s, " + Significant(disk.At("reads_per_s").NumberOr(0), 3) + " reads/s" +
         (await ? " of " + Seconds(*await, 3) : "") + ", " +
         Percent(disk.At("utilization").NumberOr(0)) + " in use";
}

/// "412 of 700 W", "1,755 MHz"; "" when unknown.
std::string OfLimit(View used, std::optional<double> most, const char* unit) {
  const auto value = used.Number();
  if (!value) return {};
  return WithCommas(std::llround(*value)) +
         (most ? " of " + WithCommas(std::llround(*most)) : std::string()) + " " + unit;
}

/// Power and clocks of the GPU that trains; "" when unknown.
std::string PowerText(View document) {
  const View gpu = document.At("resources.gpu");
  std::string text;
  const auto add = [&](const char* name, const std::string& figure) {
    if (!figure.empty()) text += (text.empty() ? "" : ", ") + (name + figure);
  };
  add("", OfLimit(gpu.At("power_w"), gpu.At("power_limit_w").Number(), "W"));
  add("SM clock ", OfLimit(gpu.At("sm_clock_mhz"), gpu.At("sm_clock_limit_mhz").Number(), "MHz"));
  add("memory clock ", OfLimit(gpu.At("memory_clock_mhz"), std::nullopt, "MHz"));
  return text;
}

/// Whether the device spends most of its unused time without a batch.
bool DeviceWaits(View document) {
  const View device = document.At("device");
  const double starved = device.At("starved_s").NumberOr(0);
  const double idle = device.At("wall_s").NumberOr(0) - device.At("busy_s").NumberOr(0);
  return starved > 0 && starved > idle / 2;
}

std::string LadderFullText(View document, View row) {
  const std::string full = row.At("full").Text();
  std::string text = full == "yes"      ? "YES"
                     : full == "no"     ? "no"
                     : full == "unsure" ? "not sure"
                                        : "-";
  if (row.At("is_limit").IsTrue()) return full == "unsure" ? "likely limit" : PadRight(text, 5) + "<- limit";
  if (full == "no" && row.At("resource").Text() == "GPU" && DeviceWaits(document)) text += ": it waits";
  return text;
}

std::string LadderRowText(View document, View row) {
  const std::string resource = row.At("resource").Text();
  if (resource == "GPU") return GpuText(document);
  if (!HasMeasurement(document)) return "n/a";
  if (resource == "CPU") return CpuText(document);
  if (resource == "IO") return IoText(document, row);
  const auto used = row.At("used").Number(), limit = row.At("limit").Number();
  return (used ? Count(*used) : "n/a") + (limit ? " of " + Count(*limit) : "") + " " +
         row.At("unit").Text();
}

}  // namespace

std::vector<LadderLine> LadderLines(View document) {
  std::vector<LadderLine> lines;
  if (!HasMeasurement(document)) return lines;
  for (const View row : document.At("ladder").Items()) {
    const std::string name = row.At("resource").Text();
    const auto used = row.At("used").Number(), limit = row.At("limit").Number();
    lines.push_back({name, LadderRowText(document, row), LadderFullText(document, row),
                     name == "IO"    ? DiskText(document)
                     : name == "GPU" ? PowerText(document)
                                     : "",
                     row.At("is_limit").IsTrue()});
    if (used && limit && *limit > 0) lines.back().share = *used / *limit;
  }
  return lines;
}

void AddLadder(const Sheet& sheet) {
  const std::vector<LadderLine> rows = LadderLines(sheet.document);
  if (rows.empty()) return;
  sheet.page.AddBlank();
  sheet.page.Add(PadRight("Ladder", kFullColumn) + "full?", Style::kStrong);
  for (const LadderLine& row : rows) {
    const std::vector<std::string> lines =
        Wrap(PadRight("  " + row.resource + " ", kTextColumn) + row.text, kFullColumn - 1,
             std::string(kTextColumn, ' '));
    for (std::size_t i = 0; i < lines.size(); ++i)
      sheet.page.Add(i == 0 ? PadRight(lines[i], kFullColumn) + row.full : lines[i],
                     row.is_limit ? Style::kAttention : Style::kPlain);
    if (!row.below.empty()) sheet.page.Add(std::string(kTextColumn, ' ') + row.below);
  }
}

}  // namespace pipesim::report
