#include "spec/keys.h"

#include <array>
#include <span>

#include "spec/key_rule.h"
#include "spec/sections.h"

namespace pipesim::spec {
namespace {

/// In the file's order.
std::array<std::span<const KeyRule>, 12> AllRules() {
  return {HeadKeys(),   DatasetKeys(), StorageKeys(),  PrepareKeys(), CollateKeys(), LoaderKeys(),
          LimitsKeys(), TransferKeys(), ModelKeys(), DeviceKeys(),  RunKeys(),     SweepKeys()};
}

struct OtherName {
  std::string_view name, key;
};
/// Names of keys in PyTorch or on the command line.
constexpr std::array<OtherName, 18> kOtherNames{{{"num_workers", "loader.workers"},
                                                 {"n_workers", "loader.workers"},
                                                 {"multiprocessing_context", "loader.start_method"},
                                                 {"batch", "loader.batch_size"},
                                                 {"prefetch", "loader.prefetch_factor"},
                                                 {"threads", "limits.compute_threads"},
                                                 {"num_threads", "limits.compute_threads"},
                                                 {"lr", "model.learning_rate"},
                                                 {"amp", "model.precision"},
                                                 {"data", "storage.path"},
                                                 {"num_classes", "dataset.classes"},
                                                 {"size", "dataset.sample_bytes"},
                                                 {"bw", "storage.bandwidth"},
                                                 {"throughput", "storage.bandwidth"},
                                                 {"disk", "storage"},
                                                 {"gpus", "run.accelerators"},
                                                 {"ranks", "run.accelerators"},
                                                 {"world_size", "run.accelerators"}}};

}  // namespace

const std::vector<Key>& Keys() {
  static const std::vector<Key> keys = [] {
    std::vector<Key> all;
    for (const std::span<const KeyRule> rules : AllRules()) {
      for (const KeyRule& rule : rules) all.push_back(rule.key);
    }
    return all;
  }();
  return keys;
}

std::optional<std::string> SettingText(const Experiment& experiment, std::string_view path) {
  for (const std::span<const KeyRule> rules : AllRules()) {
    for (const KeyRule& rule : rules) {
      if (rule.key.path != path || rule.text == nullptr) continue;
      if (rule.applies != nullptr && !rule.applies(experiment)) return std::nullopt;
      return rule.text(experiment);
    }
  }
  return std::nullopt;
}

std::map<std::string, Experiment::Setting> SettingsOf(const Experiment& experiment,
                                                      const Reading& reading) {
  std::map<std::string, Experiment::Setting> settings;
  for (const Key& key : Keys()) {
    const std::string path(key.path);
    if (auto text = SettingText(experiment, path)) {
      settings[path] = {std::move(*text), reading.OriginOf(path).value_or(Origin::kDefault)};
    }
  }
  return settings;
}

std::string MeantKey(std::string_view path, std::string_view key) {
  const std::string prefix = path.empty() ? "" : std::string(path) + ".";
  const auto shown = [&](std::string_view full) {
    return std::string(full.starts_with(prefix) ? full.substr(prefix.size()) : full);
  };
  for (const OtherName& other : kOtherNames) {
    if (other.name == key) return shown(other.key);
  }
  for (const Key& known : Keys()) {
    const std::size_t dot = known.path.rfind('.');
    if (dot != std::string_view::npos && known.path.substr(dot + 1) == key)
      return shown(known.path);
  }
  return "";
}

}  // namespace pipesim::spec
