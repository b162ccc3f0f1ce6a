#include "spec/presets.h"

#include "spec/data_files.h"
#include "spec/sections.h"

namespace pipesim::spec {
namespace {

Node Word(const std::string& text) {
  Node word;
  word.kind = NodeKind::kScalar;
  word.text = text;
  word.origin = Origin::kPreset;
  return word;
}

/// What `read` makes of each name; without those that have problems.
template <class Value, class Read>
std::vector<Value> Readable(const DataFolders& folders, DataKind kind, Read read) {
  std::vector<Value> values;
  for (const std::string& name : DataNames(folders, kind)) {
    Reading reading;
    Value value;
    try {
      read(reading, Word(name), value);
    } catch (const base::EnvironmentError&) {
      continue;
    }
    if (!reading.HasProblems()) values.push_back(std::move(value));
  }
  return values;
}

}  // namespace

Presets ReadPresets(const DataFolders& folders) {
  const DataFiles files(folders, "");
  Presets presets;
  presets.storages = Readable<Storage>(
      folders, DataKind::kStorage, [&](Reading& reading, const Node& name, Storage& out) {
        ReadStorage(reading, files, name, {}, out);
      });
  const auto devices = Readable<Device>(
      folders, DataKind::kDevice, [&](Reading& reading, const Node& name, Device& out) {
        ReadDevice(reading, files, name, out);
      });
  for (const Device& device : devices)
    if (device.preset) presets.devices.push_back(*device.preset);
  return presets;
}

}  // namespace pipesim::spec
