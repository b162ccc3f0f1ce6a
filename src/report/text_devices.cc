// The text of a report of `devices`: the device to use, each GPU, the processors, what is not here.
#include <fmt/format.h>

#include "base/text.h"
#include "report/devices_report.h"
#include "report/text_parts.h"

namespace pipesim::report {
namespace {

constexpr std::string_view kBelowName = "        ";

void AddDevicesAnswer(const Sheet& sheet) {
  const View asked = sheet.document.At("asked");
  const std::vector<std::string> all = sheet.document.At("all").Texts();
  const std::string automatic = sheet.document.At("auto").Text();
  if (asked.IsPresent()) {
    const std::string device = asked.At("device").Text(), use = asked.At("use").Text();
    sheet.page.Add(device == use ? device + " is here" : use + ": " + device + " is not here",
                   device == use ? Style::kGood : Style::kAttention);
  } else if (automatic == "cpu") {
    sheet.page.Add("cpu: there is no GPU here, training uses the CPU", Style::kAttention);
  } else {
    sheet.page.Add(fmt::format("{}: {} here, `--device auto` takes {}", base::Join(all, ", "),
                               all.size() == 1 ? "one GPU is" : fmt::format("{} GPUs are", all.size()),
                               automatic),
                   Style::kGood);
  }
}

/// "5.0 x16 (63.0 GB/s)".
std::string LinkText(View link) {
  if (!link.IsPresent()) return "n/a";
  const auto rate = link.At("bytes_per_s").Number();
  return fmt::format("{}.0 x{}", link.At("generation").Whole(), link.At("lanes").Whole()) +
         (rate ? fmt::format(" ({} GB/s)", Significant(*rate / 1e9, 3)) : "");
}

std::string GpuMemoryText(View gpu) {
  const auto free = gpu.At("memory_free_bytes").Number(), all = gpu.At("memory_bytes").Number();
  if (free && all) return AmountOf(*free, *all) + " free";
  return all ? AmountOf(*all, *all).substr(AmountOf(*all, *all).find(" of ") + 4) : "n/a";
}

void AddGpu(const Sheet& sheet, View gpu) {
  std::string first = PadRight(gpu.At("device").Text(), kBelowName.size()) + gpu.At("name").Text();
  if (const std::string capability = gpu.At("compute_capability").Text(); !capability.empty())
    first += ", compute capability " + capability;
  if (const auto count = gpu.At("multiprocessors").Number())
    first += fmt::format(", {} multiprocessors", Count(*count));
  sheet.page.Add(first, Style::kStrong, kBelowName);
  const std::vector<std::string> peers = gpu.At("nvlink_peers").Texts();
  const auto links = gpu.At("nvlinks").Number();
  std::string nvlink = "NVLink n/a";
  if (!peers.empty())
    nvlink = fmt::format("NVLink to {} ({} links)", base::Join(peers, ", "), links ? Count(*links) : "n/a");
  else if (links)
    nvlink = "no NVLink peer";
  const View now = gpu.At("pcie"), most = gpu.At("pcie_at_most");
  std::string pcie = "PCIe " + LinkText(now);
  if (most.IsPresent() && LinkText(most) != LinkText(now)) pcie += ", at most " + LinkText(most);
  sheet.page.Add(std::string(kBelowName) + GpuMemoryText(gpu) + "; " + pcie + "; " + nvlink,
                 Style::kPlain, kBelowName);
}

/// 0,1,2,5 as "0-2,5".
std::string RangesText(const std::vector<View>& numbers) {
  std::string text;
  for (std::size_t i = 0; i < numbers.size();) {
    std::size_t last = i;
    while (last + 1 < numbers.size() && numbers[last + 1].Whole() == numbers[last].Whole() + 1) ++last;
    text += fmt::format("{}{}", text.empty() ? "" : ",", numbers[i].Whole());
    if (last > i) text += fmt::format("-{}", numbers[last].Whole());
    i = last + 1;
  }
  return text;
}

void AddCpu(const Sheet& sheet) {
  const View cpu = sheet.document.At("cpu");
  const std::string name = cpu.At("name").Text();
  sheet.page.Add(PadRight("cpu", kBelowName.size()) + (name.empty() ? "n/a" : name), Style::kStrong,
                 kBelowName);
  const double cores = cpu.At("cores").NumberOr(0), physical = cpu.At("physical_cores").NumberOr(0);
  std::string text = fmt::format("{} {}; processors {} of {}, on {} physical {}", Count(cores),
                                 cores == 1 ? "core" : "cores", RangesText(cpu.At("allowed").Items()),
                                 Count(cpu.At("processors").NumberOr(0)), Count(physical),
                                 physical == 1 ? "core" : "cores");
  const auto quota = cpu.At("quota_cores").Number();
  text += quota ? fmt::format("; CPU quota {}", Count(*quota)) : "; no CPU quota";
  if (const std::string cgroup = cpu.At("cgroup").Text(); !cgroup.empty())
    text += "; cgroup " + cgroup;
  if (const auto free = cpu.At("memory_free_bytes").Number())
    text += fmt::format("; {} of memory free by {}", Amount(*free), cpu.At("memory_limit").Text());
  sheet.page.Add(std::string(kBelowName) + text, Style::kPlain, kBelowName);
}

void AddUnavailable(const Sheet& sheet) {
  const std::vector<View> missing = sheet.document.At("unavailable").Items();
  if (missing.empty()) return;
  sheet.page.AddBlank();
  sheet.page.Add("Not here");
  for (const View each : missing)
    sheet.page.Add("  " + each.At("what").Text() + ": " + each.At("why").Text(), Style::kPlain, "    ");
}

}  // namespace

std::string DevicesText(const Document& document, const TextOptions& options) {
  Page page(options.colour);
  const Sheet sheet{View(&document, options.utf8), page, options.utf8,
                    options.detail == Detail::kFull};
  AddDevicesAnswer(sheet);
  if (options.detail == Detail::kBrief) return page.Take();
  page.AddBlank();
  for (const View gpu : sheet.document.At("gpus").Items()) AddGpu(sheet, gpu);
  AddCpu(sheet);
  const View driver = sheet.document.At("driver");
  if (const std::string version = driver.At("version").Text(); !version.empty())
    page.Add(fmt::format("driver  {}, CUDA {}", version, driver.At("cuda_version").Text()));
  AddUnavailable(sheet);
  return page.Take();
}

}  // namespace pipesim::report
