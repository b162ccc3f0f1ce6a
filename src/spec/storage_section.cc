// The `storage:` section: a preset, single figures, or a folder of real files.
#include <array>

#include "spec/overrides.h"
#include "spec/sections.h"
#include "spec/words.h"

namespace pipesim::spec {
namespace {

constexpr std::array<std::string_view, 6> kEmulatedKeys{"preset", "latency",     "bandwidth",
                                                        "iops",   "queue_depth", "open_cost"};
constexpr std::array<std::string_view, 3> kFileKeys{"path", "direct", "on_error"};

/// The preset's figures, overridden by the user's own.
Node WithPreset(Reading& reading, const DataFiles& files, const Node& section, Storage& out) {
  const Node* preset = section.IsMap() ? section.Find("preset") : nullptr;
  if (preset == nullptr || preset->IsNull()) return section;
  if (preset->kind != NodeKind::kScalar) {
    reading.Problem(preset->place,
                    std::string("storage.preset must be one name, not a ") +
                        (preset->IsMap() ? "map" : "list"),
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
  if (out.policy != CachePolicy::kNone && out.size.count <= 0) {
    reading.Problem(reading.PlaceOf("storage.cache"), "storage.cache needs a size",
                    "cache: {size: 16GiB, policy: lru}");
  }
}

void ReadEmulated(Reading& reading, MapReader& reader, Storage& out) {
  reader.Drawn("latency", out.latency);
  reader.Rate("bandwidth", out.bandwidth, "unlimited");
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
  for (const std::string_view key : kEmulatedKeys) {
    if (emulated) reader.Take(key);
    if (!emulated) refuse(key);
  }
  for (const std::string_view key : kFileKeys) {
    if (!real) refuse(key);
  }
  if (!emulated && !real) refuse("cache");
  if (emulated) ReadEmulated(reading, reader, out);
  if (real) ReadFiles(reading, files, reader, out);
  if (!emulated) out.preset.clear();
  reader.Finish();
}

}  // namespace pipesim::spec
