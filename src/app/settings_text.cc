#include "app/settings_text.h"

#include <fmt/format.h>

#include <iterator>

#include "base/text.h"
#include "spec/keys.h"

namespace pipesim::app {

std::string SettingsText(const spec::Experiment& experiment) {
  std::string text = fmt::format("{:<26} {:<40} {}\n", "setting", "value", "from");
  for (const spec::Key& key : spec::Keys()) {
    const auto found = experiment.settings.find(std::string(key.path));
    if (found == experiment.settings.end()) continue;
    fmt::format_to(std::back_inserter(text), "{:<26} {:<40} {}\n", key.path,
                   base::Printable(found->second.text), spec::ToText(found->second.origin));
  }
  return text;
}

std::string KeysText() {
  std::string text;
  for (const spec::Key& key : spec::Keys())
    fmt::format_to(std::back_inserter(text), "{}\n    {}\n    {}; default {}\n", key.path, key.help,
                   key.type, key.fallback);
  return text;
}

}  // namespace pipesim::app
