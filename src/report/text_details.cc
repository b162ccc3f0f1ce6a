// What only `--full` prints: queue, copies, memory, epochs, every setting, program and machine.
#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "report/text_parts.h"

namespace pipesim::report {
namespace {

std::string ShareOrNone(View value) {
  const auto share = value.Number();
  return share ? Percent(*share) : "n/a";
}

std::string AmountOrNone(View value) {
  const auto bytes = value.Number();
  return bytes ? Amount(*bytes) : "n/a";
}

void AddQueue(const Sheet& sheet) {
  const View queue = sheet.document.At("queue");
  if (queue.At("capacity").NumberOr(0) <= 0) return;
  const auto mean = queue.At("occupancy_mean").Number();
  sheet.page.Add(
      fmt::format("  queue: capacity {}, mean {}, empty {}, full {} when a batch was taken",
                  Count(queue.At("capacity").NumberOr(0)), mean ? Significant(*mean, 3) : "n/a",
                  ShareOrNone(queue.At("empty_fraction")), ShareOrNone(queue.At("full_fraction"))));
}

void AddPin(const Sheet& sheet) {
  const View pin = sheet.document.At("pin");
  if (!pin.IsPresent()) return;
  const std::vector<double> parts = {std::max(pin.At("pin_s").NumberOr(0), 0.0),
                                     std::max(pin.At("blocked_s").NumberOr(0), 0.0),
                                     std::max(pin.At("idle_s").NumberOr(0), 0.0),
                                     std::max(pin.At("contended_s").NumberOr(0), 0.0)};
  const std::vector<std::string> shares = WholePercents(parts);
  sheet.page.Add("  pin thread: copies " + shares[0] + ", blocked " + shares[1] + ", idle " +
                 shares[2] + ", contended " + shares[3]);
}

void AddRealFiles(const Sheet& sheet) {
  const View resources = sheet.document.At("resources");
  if (const auto cached = resources.At("page_cached_fraction").Number())
    sheet.page.Add("  page cache at the start: " + Percent(*cached) + " of the files' bytes");
  const View disk = resources.At("disk");
  if (!disk.IsPresent()) return;
  sheet.page.Add("  disk " + disk.At("name").Text() + ": " +
                     Significant(disk.At("queue_length").NumberOr(0), 3) +
                     " requests in queue and device on average; in use " +
                     Percent(disk.At("utilization").NumberOr(0)) +
                     " of the time (not the limit of an SSD, which serves many at once)",
                 Style::kPlain, "    ");
}

void AddEpochs(const Sheet& sheet) {
  const std::vector<View> epochs = sheet.document.At("result.epochs").Items();
  if (epochs.empty()) return;
  sheet.page.AddBlank();
  sheet.page.Add("Epochs", Style::kStrong);
  sheet.page.Add("   epoch   samples/s  first batch  starved  cache hits");
  for (const View epoch : epochs) {
    const auto first = epoch.At("time_to_first_batch_s").Number();
    sheet.page.Add(fmt::format(
        "  {:>6}  {:>10}  {:>11}  {:>7}  {:>10}", Count(epoch.At("index").NumberOr(0)),
        Significant(epoch.At("samples_per_s").NumberOr(0), 4), first ? Seconds(*first, 3) : "n/a",
        ShareOrNone(epoch.At("starved_fraction")), ShareOrNone(epoch.At("cache_hit_fraction"))));
  }
  const View judged = sheet.document.At("result.judged_epochs");
  if (judged.IsPresent())
    sheet.page.Add(fmt::format("  measured and judged: epochs {} to {}",
                               Count(judged.At("first").NumberOr(0)),
                               Count(judged.At("last").NumberOr(0))));
}

void AddSettings(const Sheet& sheet) {
  const auto settings = sheet.document.At("experiment").Members();
  if (settings.empty()) return;
  sheet.page.AddBlank();
  sheet.page.Add("Settings and where each came from", Style::kStrong);
  for (const auto& [path, setting] : settings)
    sheet.page.Add(PadRight("  " + path + " ", 32) +
                       PadRight(setting.At("value").Text() + " ", 36) + setting.At("origin").Text(),
                   Style::kPlain, std::string(32, ' '));
}

}  // namespace

void AddStages(const Sheet& sheet) {
  const View document = sheet.document, memory = document.At("memory");
  AddQueue(sheet);
  AddPin(sheet);
  const auto copied = document.At("transfer.bytes_per_s").Number();
  sheet.page.Add("  copies to the device: " + AmountOrNone(document.At("transfer.bytes")) +
                 (copied ? " at " + Amount(*copied) + "/s" : ""));
  sheet.page.Add("  memory: process peak " + AmountOrNone(memory.At("rss_peak_bytes")) +
                     ", batches in the queue up to " + AmountOrNone(memory.At("queued_bytes")) +
                     ", device peak " + AmountOrNone(memory.At("device_peak_bytes")),
                 Style::kPlain, "    ");
  AddRealFiles(sheet);
  const auto error = document.At("diagnosis.model_error").Number();
  sheet.page.Add("  estimate of this run against its measurement: " +
                 (error ? Gain(*error) : std::string("n/a")));
  sheet.page.Add("  stopped by: " + document.At("result.stopped_by").Text());
}

void AddProgramAndMachine(const Sheet& sheet) {
  const View program = sheet.document.At("pipesim"), context = sheet.document.At("context");
  const auto add = [&](const std::string& label, const std::string& text) {
    if (!text.empty()) sheet.page.Add("  " + label + ": " + text, Style::kPlain, "    ");
  };
  const std::string commit = program.At("commit").Text();
  add("pipesim", program.At("version").Text() + (commit.empty() ? "" : " (" + commit + ")"));
  add("build", program.At("build").Text());
  add("LibTorch", context.At("libtorch_version").Text());
  add("date", context.At("date").Text());
  add("host", context.At("host").Text());
  add("cpu", context.At("cpu").Text());
  add("os", context.At("os").Text());
  if (const auto load = context.At("load_average_1min").Number())
    add("load before the run", Fixed(*load, 2));
  add("device", sheet.document.At("effective.device_name").Text());
}

void AddDetails(const Sheet& sheet) {
  if (HasMeasurement(sheet.document)) {
    sheet.page.AddBlank();
    sheet.page.Add("Between the stages", Style::kStrong);
    AddStages(sheet);
    AddEpochs(sheet);
  }
  AddSettings(sheet);
  sheet.page.AddBlank();
  sheet.page.Add("Program and machine", Style::kStrong);
  AddProgramAndMachine(sheet);
}

}  // namespace pipesim::report
