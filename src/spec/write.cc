#include "spec/write.h"

#include <vector>

#include "base/text.h"
#include "spec/keys.h"

namespace pipesim::spec {

std::string WriteExperiment(const Experiment& experiment) {
  std::string text = "version: 1\n";
  std::vector<std::string> open;  // the sections that the last line stands in
  for (const Key& key : Keys()) {
    const auto found = experiment.settings.find(std::string(key.path));
    if (found == experiment.settings.end() || key.path == "version") continue;
    const Origin origin = found->second.origin;
    if (origin != Origin::kFile && origin != Origin::kFlag) continue;
    std::vector<std::string> sections = base::Split(key.path, '.');
    const std::string name = sections.back();
    sections.pop_back();
    std::size_t same = 0;
    while (same < sections.size() && same < open.size() && sections[same] == open[same]) ++same;
    for (std::size_t i = same; i < sections.size(); ++i)
      text += std::string(2 * i, ' ') + sections[i] + ":\n";
    text += std::string(2 * sections.size(), ' ') + name + ": " + found->second.text + "\n";
    open = std::move(sections);
  }
  return text;
}

}  // namespace pipesim::spec
