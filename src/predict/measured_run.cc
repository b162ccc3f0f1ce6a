#include <algorithm>

#include "base/text.h"
#include "predict/basis.h"

namespace pipesim::predict {
namespace {

bool IsAtOrBelow(std::string_view path, std::string_view top) {
  return path == top || (path.starts_with(top) && path.size() > top.size() &&
                         path[top.size()] == '.');
}

}  // namespace

bool MeasuredRun::SameIn(const spec::Experiment& experiment,
                         const std::vector<std::string>& paths) const {
  const auto concerns = [&](const std::string& path) {
    return std::any_of(paths.begin(), paths.end(),
                       [&](const std::string& top) { return IsAtOrBelow(path, top); });
  };
  std::map<std::string, std::string> now;
  for (const auto& [path, setting] : experiment.settings)
    if (concerns(path)) now[path] = base::Printable(setting.text);
  std::map<std::string, std::string> then;
  for (const auto& [path, text] : texts)
    if (concerns(path)) then[path] = text;
  return now == then;
}

}  // namespace pipesim::predict
