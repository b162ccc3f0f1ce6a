#include "app/verdict_names.h"

#include <vector>

#include "base/names.h"
#include "base/text.h"

namespace pipesim::app {
namespace {

struct OtherVerdictName {
  std::string_view name, verdict;
};
/// What users call them.
constexpr OtherVerdictName kOtherVerdictNames[] = {
    {"gpu-bound", "compute-bound"},     {"device-bound", "compute-bound"},
    {"disk-bound", "io-bound"},         {"storage-bound", "io-bound"},
    {"data-bound", "io-bound"},         {"input-bound", "loader-bound"},
    {"transfer-bound", "h2d-bound"},    {"pcie-bound", "h2d-bound"},
    {"python-bound", "host-bound"},     {"contention", "cpu-contention"},
    {"overhead-bound", "launch-bound"},
};

std::vector<std::string> VerdictNames() {
  std::vector<std::string> names;
  for (const diagnose::VerdictRow& row : diagnose::kVerdicts) names.emplace_back(row.name);
  return names;
}

}  // namespace

const diagnose::VerdictRow* FindVerdictAsTyped(const std::string& name) {
  const auto names = VerdictNames();
  const auto at = base::FindName(name, names);
  return at ? diagnose::FindVerdict(names[*at]) : nullptr;
}

std::string VerdictMeant(const std::string& name) {
  std::string lower = base::LowerCase(name);
  for (char& c : lower)
    if (c == '_' || c == ' ') c = '-';
  for (const OtherVerdictName& other : kOtherVerdictNames)
    if (other.name == lower) return "did you mean " + std::string(other.verdict) + "?";
  const auto near = base::Nearest(lower, VerdictNames());
  return near ? "did you mean " + *near + "?" : "";
}

}  // namespace pipesim::app
