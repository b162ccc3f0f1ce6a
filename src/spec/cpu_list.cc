#include "spec/cpu_list.h"

#include <algorithm>

#include "base/text.h"

namespace pipesim::spec {
namespace {

/// The largest CONFIG_NR_CPUS of Linux on x86-64.
constexpr int kMostCpus = 8192;

std::optional<int> CpuNumber(std::string_view text) {
  const auto parsed = ParseCount(text);
  const auto* number = std::get_if<std::int64_t>(&parsed);
  if (number == nullptr || *number >= kMostCpus) return std::nullopt;
  return static_cast<int>(*number);
}

/// Appends "6" or "0-3"; false when it is neither.
bool AppendRange(const std::string& text, std::vector<int>& cpus) {
  const std::vector<std::string> ends = base::Split(text, '-');
  if (ends.empty() || ends.size() > 2) return false;
  const auto first = CpuNumber(base::Trim(ends.front()));
  const auto last = CpuNumber(base::Trim(ends.back()));
  if (!first || !last || *first > *last) return false;
  for (int cpu = *first; cpu <= *last; ++cpu) cpus.push_back(cpu);
  return true;
}

}  // namespace

void ReadCpus(MapReader& reader, Reading& reading, Limits& out) {
  const Node* node = reader.Take("cpus");
  if (node == nullptr || (node->kind == NodeKind::kScalar && node->text == "auto")) return;
  std::vector<std::string> parts;
  if (node->kind == NodeKind::kScalar) {
    if (const auto count = CpuNumber(node->text)) {
      if (*count > 0) {
        out.cpu_count = *count;
      } else {
        reading.Problem(node->place, "limits.cpus: 0 processors can run nothing", "auto");
      }
      return;
    }
    parts = base::Split(node->text, ',');
  }
  for (const Node& item : node->items) parts.push_back(item.text);
  std::vector<int> cpus;
  bool good = !parts.empty() && !node->IsMap();
  for (const std::string& part : parts) good = good && AppendRange(part, cpus);
  std::sort(cpus.begin(), cpus.end());
  good = good && std::adjacent_find(cpus.begin(), cpus.end()) == cpus.end();
  if (!good) {
    reading.Problem(node->place, "limits.cpus must be auto, a count or a list of processors",
                    "4, or \"0-3,6\"");
    return;
  }
  out.cpu_list = std::move(cpus);
}

std::string CpusText(const Limits& limits) {
  if (limits.cpu_count) return std::to_string(*limits.cpu_count);
  if (limits.cpu_list.empty()) return "auto";
  return "\"" + CpuRangesText(limits.cpu_list) + "\"";
}

std::string CpuRangesText(const std::vector<int>& cpus) {
  std::string text;
  for (std::size_t i = 0; i < cpus.size();) {
    std::size_t last = i;
    while (last + 1 < cpus.size() && cpus[last + 1] == cpus[last] + 1) ++last;
    if (!text.empty()) text += ',';
    text += std::to_string(cpus[i]);
    if (last > i || cpus.size() == 1) text += "-" + std::to_string(cpus[last]);
    i = last + 1;
  }
  return text;
}

}  // namespace pipesim::spec
