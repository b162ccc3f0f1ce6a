// The `storage:` section: a preset, single figures, or a folder of real files.
#include <array>

#include "spec/drawn_text.h"
#include "spec/key_rule.h"
#include "spec/overrides.h"
#include "spec/sections.h"
#include "spec/words.h"
#include "spec/yaml_tree.h"

namespace pipesim::spec {
namespace {

constexpr auto kStorageKeys = std::to_array<KeyRule>({
    {{"storage", "preset|none|map", "the model's",
      "where samples come from: a preset or its parts"}},
    {{"storage.kind", "none|emulated|files", "emulated", "none: the data is in memory"},
     [](const Experiment& e) { return WordOf(kStorageKinds, e.storage.kind); }},
    {{"storage.preset", "preset", "none",
      "figures to start from: configs/storage/*.yaml or a file"},
     [](const Experiment& e) { return QuoteYaml(e.storage.preset); },
     [](const Experiment& e) { return !e.storage.preset.empty(); }},
    {{"storage.latency", "duration or distribution", "0", "latency of each read"},
     [](const Experiment& e) { return ToText(e.storage.latency); },
     IsEmulated},
    {{"storage.bandwidth", "rate", "unlimited", "total over all readers"},
     [](const Experiment& e) { return OrWord(e.storage.bandwidth, "unlimited"); },
     IsEmulated},
    {{"storage.sharing", "fifo|fair", "fifo",
      "fair: predict; outstanding reads get equal parts of the bandwidth"},
     [](const Experiment& e) { return WordOf(kStorageSharings, e.storage.sharing); },
     IsEmulated},
    {{"storage.iops", "count per second", "unlimited", "reads per second over all readers"},
     [](const Experiment& e) { return OrWord(e.storage.iops_per_s, "unlimited"); },
     IsEmulated},
    {{"storage.queue_depth", "count", "unlimited", "maximum outstanding reads"},
     [](const Experiment& e) { return OrWord(e.storage.queue_depth, "unlimited"); },
     IsEmulated},
    {{"storage.open_cost", "duration or distribution", "0", "cost of opening each sample's file"},
     [](const Experiment& e) { return ToText(e.storage.open_cost); },
     IsEmulated},
    {{"storage.cache", "as_is|cold|warm or map", "as_is",
      "files: the page cache at the start; emulated: size, policy, warm, hit_bandwidth"},
     [](const Experiment& e) { return WordOf(kFileCacheStates, e.storage.file_cache); },
     HasRealFiles},
    {{"storage.cache.policy", "none|lru|random", "lru with a size, else none", "eviction policy"},
     [](const Experiment& e) { return WordOf(kCachePolicies, e.storage.cache.policy); },
     IsEmulated},
    {{"storage.cache.size", "bytes", "0", "cache capacity"},
     [](const Experiment& e) { return ToText(e.storage.cache.size); },
     IsEmulated},
    {{"storage.cache.warm", "share", "0", "share of the cache filled at the start"},
     [](const Experiment& e) { return NumberText(e.storage.cache.warm); },
     IsEmulated},
    {{"storage.cache.hit_bandwidth", "rate", "unlimited", "bandwidth of cache hits"},
     [](const Experiment& e) { return OrWord(e.storage.cache.hit_bandwidth, "unlimited"); },
     IsEmulated},
    {{"storage.path", "folder", "required for files",
      "folder of JPEG files, one subfolder per class"},
     [](const Experiment& e) { return QuoteYaml(e.storage.path.string()); },
     HasRealFiles},
    {{"storage.direct", "true|false", "false", "files: bypass the page cache (O_DIRECT)"},
     [](const Experiment& e) { return YesNo(e.storage.direct); },
     HasRealFiles},
    {{"storage.on_error", "fail|skip", "fail", "files: fail the run or skip a bad file"},
     [](const Experiment& e) { return WordOf(kOnBadFile, e.storage.on_bad_file); },
     HasRealFiles},
});

/// The keys directly below `storage` that only storage of `kind` has, but `cache` and `preset`.
std::vector<std::string_view> KeysOf(bool (*kind)(const Experiment&)) {
  constexpr std::string_view kAbove = "storage.";
  std::vector<std::string_view> keys;
  for (const KeyRule& rule : kStorageKeys) {
    if (rule.applies != kind) continue;
    const std::string_view key = rule.key.path.substr(kAbove.size());
    if (key != "cache" && key.find('.') == std::string_view::npos) keys.push_back(key);
  }
  return keys;
}

/// The preset's figures, overridden by the user's own.
Node WithPreset(Reading& reading, const DataFiles& files, const Node& section, Storage& out) {
  const Node* preset = section.IsMap() ? section.Find("preset") : nullptr;
  if (preset == nullptr || preset->IsNull()) return section;
  if (preset->kind != NodeKind::kScalar) {
    reading.Problem(
        preset->place,
        std::string("storage.preset must be one name, not a ") + (preset->IsMap() ? "map" : "list"),
        "storage: hdd");
    return section;
  }
  auto loaded = files.Load(reading, DataKind::kStorage, preset->text, preset->place);
  if (!loaded) return section;
  out.preset = loaded->reference;
  loaded->tree.Erase("source");
  Node merged = Overlay(loaded->tree, section);
  const Node* below = loaded->tree.Find("cache");
  const Node* above = section.Find("cache");
  if (below != nullptr && above != nullptr) {
    *merged.Find("cache") =
        Overlay(Expanded("storage.cache", *below), Expanded("storage.cache", *above));
  }
  return merged;
}

void ReadCache(Reading& reading, const Node* node, Cache& out) {
  if (node == nullptr) return;
  const Node section = Expanded("storage.cache", *node);
  MapReader reader(reading, section, "storage.cache");
  const bool wanted = reader.Has("size") || reader.Has("warm") || reader.Has("hit_bandwidth");
  out.policy = wanted ? CachePolicy::kLru : CachePolicy::kNone;
  ReadWord(reader, "policy", kCachePolicies, out.policy);
  reader.Size("size", out.size);
  reader.Share("warm", out.warm);
  reader.Rate("hit_bandwidth", out.hit_bandwidth, "unlimited");
  reader.Finish();
  if (out.policy != CachePolicy::kNone && out.size.count <= 0 &&
      !reading.IsInvalid("storage.cache.size")) {
    reading.Problem(reading.PlaceOf("storage.cache"), "storage.cache needs a size",
                    "cache: {size: 16GiB, policy: lru}");
  }
}

void ReadEmulated(Reading& reading, MapReader& reader, Storage& out) {
  reader.Take("preset");  // read already
  reader.Drawn("latency", out.latency);
  reader.Rate("bandwidth", out.bandwidth, "unlimited");
  ReadWord(reader, "sharing", kStorageSharings, out.sharing);
  reader.PerSecond("iops", out.iops_per_s, "unlimited");
  reader.Count("queue_depth", out.queue_depth, 1, 65'536, "unlimited");  // NVMe's deepest queue
  reader.Drawn("open_cost", out.open_cost);
  ReadCache(reading, reader.Take("cache"), out.cache);
}

void ReadFiles(Reading& reading, const DataFiles& files, MapReader& reader, Storage& out) {
  std::string path;
  if (reader.Text("path", path)) {
    out.path = files.Resolve(path, reading.OriginOf("storage.path").value_or(Origin::kFlag));
  } else if (!reader.Has("path")) {
    reading.Problem(reading.PlaceOf("storage"), "storage of kind files needs a path",
                    "storage: {kind: files, path: DIR}");
  }
  reader.Flag("direct", out.direct);
  ReadWord(reader, "cache", kFileCacheStates, out.file_cache);
  ReadWord(reader, "on_error", kOnBadFile, out.on_bad_file);
}

}  // namespace

std::span<const KeyRule> StorageKeys() { return kStorageKeys; }

void ReadStorage(Reading& reading, const DataFiles& files, const Node& section, const Node& natural,
                 Storage& out) {
  const Node chosen = Expanded("storage", section.IsNull() ? natural : section);
  const Node merged = WithPreset(reading, files, chosen, out);
  MapReader reader(reading, merged, "storage");
  out.kind = merged.IsMap() && !merged.keys.empty() ? StorageKind::kEmulated : StorageKind::kNone;
  ReadWord(reader, "kind", kStorageKinds, out.kind);
  if (!reader.Has("kind") && reader.Has("path")) out.kind = StorageKind::kFiles;
  const bool emulated = out.kind == StorageKind::kEmulated;
  const bool real = out.kind == StorageKind::kFiles;
  const std::string kind = WordOf(kStorageKinds, out.kind);
  const auto refuse = [&](std::string_view key) {
    if (const Node* node = reader.Take(key)) {
      reading.Problem(node->place,
                      "storage." + std::string(key) + " has no effect with kind " + kind,
                      key == "path" ? "kind: files" : "kind: emulated");
    }
  };
  if (!emulated) {
    refuse("preset");
    for (const std::string_view key : KeysOf(IsEmulated)) refuse(key);
  }
  if (!real) {
    for (const std::string_view key : KeysOf(HasRealFiles)) refuse(key);
  }
  if (!emulated && !real) refuse("cache");
  if (emulated) ReadEmulated(reading, reader, out);
  if (real) ReadFiles(reading, files, reader, out);
  if (!emulated) out.preset.clear();
  reader.Finish();
}

}  // namespace pipesim::spec
