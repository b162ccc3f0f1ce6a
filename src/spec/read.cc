#include "spec/read.h"

#include <limits>
#include <utility>

#include "spec/checks.h"
#include "spec/data_files.h"
#include "spec/key_rule.h"
#include "spec/keys.h"
#include "spec/overrides.h"
#include "spec/sections.h"
#include "spec/yaml_tree.h"

namespace pipesim::spec {
namespace {

constexpr auto kHeadKeys = std::to_array<KeyRule>({
    {{"version", "count", "1", "version of this format"},
     [](const Experiment& e) { return CountText(e.version); }},
    {{"name", "text", "the file's name", "name of the experiment, for reports"},
     [](const Experiment& e) { return QuoteYaml(e.name); }},
});

void ThrowProblems(Reading& reading) {
  if (reading.HasProblems()) throw base::ConfigError(reading.TakeProblems());
}

Node SectionOf(MapReader& top, const char* key) {
  const Node* section = top.Take(key);
  return section == nullptr ? Node{} : *section;
}

void ReadHead(Reading& reading, MapReader& top, const std::string& default_name, Experiment& out) {
  if (top.Count("version", out.version, 1, std::numeric_limits<int>::max()) && out.version != 1) {
    reading.Problem(reading.PlaceOf("version"),
                    "version " + std::to_string(out.version) + " is newer than this pipesim reads",
                    "version: 1");
  }
  out.name = default_name;
  top.Text("name", out.name);
}

void ReadSections(Reading& reading, const Node& tree, const DataFiles& files,
                  const std::string& default_name, Experiment& out) {
  MapReader top(reading, tree, "");
  ReadHead(reading, top, default_name, out);
  const ModelInput model = ReadModel(reading, files, SectionOf(top, "model"), out);
  ReadStorage(reading, files, SectionOf(top, "storage"), model.storage, out.storage);
  const bool real_files = out.storage.kind == StorageKind::kFiles;
  ReadPrepare(reading, SectionOf(top, "prepare"), model.prepare, real_files, out.prepare);
  // Without a model most other checks would only report its absence again.
  if (model.good) {
    ReadDataset(reading, SectionOf(top, "dataset"), model.dataset, real_files, out.dataset);
  } else {
    top.Take("dataset");
  }
  ReadCollate(reading, SectionOf(top, "collate"), out.collate);
  ReadLoader(reading, SectionOf(top, "loader"), out.loader);
  ReadLimits(reading, SectionOf(top, "limits"), out.limits);
  ReadTransfer(reading, SectionOf(top, "transfer"), out.transfer);
  ReadDevice(reading, files, SectionOf(top, "device"), out.device);
  ReadRun(reading, SectionOf(top, "run"), out.run);
  Sweep sweep;
  ReadSweep(reading, SectionOf(top, "sweep"), sweep);
  CheckAxes(reading, sweep);
  top.Finish();
  if (out.name.empty()) out.name = out.model.name;
  FitModel(reading, model, out);
  CheckWhole(reading, out);
}

/// A flag that takes the workers away takes what the file says of them along.
void LeaveOutWorkers(Node& tree) {
  Node* loader = tree.Find("loader");
  const Node* workers = loader != nullptr && loader->IsMap() ? loader->Find("workers") : nullptr;
  if (workers == nullptr || workers->origin != Origin::kFlag || workers->text != "0") return;
  for (const WorkerKey& key : WorkerKeys({})) {
    const Node* given = loader->Find(key.name);
    if (given != nullptr && given->origin == Origin::kFile) loader->Erase(key.name);
  }
}

ReadResult ReadTree(Node tree, std::vector<base::Problem> problems, const Request& request,
                    const std::string& default_name, const DataFolders& folders) {
  Reading reading;
  bool unreadable = tree.IsNull() && !problems.empty();
  if (!tree.IsNull() && !tree.IsMap()) {  // flags must not make a readable experiment of it
    unreadable = true;
    problems.push_back(
        ProblemAt(tree.place, "an experiment must be a map of keys and values", "version: 1"));
  }
  for (const Override& change : request.overrides) ApplyOverride(tree, change, problems);
  LeaveOutWorkers(tree);
  reading.Add(std::move(problems));
  if (unreadable)
    ThrowProblems(reading);  // checking a file that was not parsed would only add noise
  const DataFiles files(folders, request.file ? request.file->parent_path() : "");
  ReadResult result;
  ReadSections(reading, tree, files, default_name, result.experiment);
  if (request.for_run) CheckForRun(reading, result.experiment);
  if (request.files_here) CheckFilesHere(reading, result.experiment.storage);
  ThrowProblems(reading);
  result.experiment.settings = SettingsOf(result.experiment, reading);
  result.warnings = reading.TakeWarnings();
  return result;
}

}  // namespace

std::span<const KeyRule> HeadKeys() { return kHeadKeys; }

ReadResult ReadExperiment(const Request& request, const DataFolders& folders) {
  if (!request.file) return ReadTree({}, {}, request, "", folders);
  std::vector<base::Problem> problems;
  Node tree = ParseFile(*request.file, Origin::kFile, folders, problems);
  if (tree.IsNull() && problems.empty()) {
    base::Problem empty;
    empty.source = request.file->string();
    empty.line = 1;
    empty.column = 1;
    empty.what = "the file says nothing";
    empty.suggestion = "version: 1";
    problems.push_back(std::move(empty));
  }
  return ReadTree(std::move(tree), std::move(problems), request, request.file->stem().string(),
                  folders);
}

Sweep ReadAxes(const Request& request, const DataFolders& folders,
               std::span<const std::string> typed, std::span<const ShortKey> short_keys) {
  std::vector<base::Problem> problems;
  Node tree;
  if (request.file) tree = ParseFile(*request.file, Origin::kFile, folders, problems);
  for (const Override& change : request.overrides) ApplyOverride(tree, change, problems);
  Reading reading;
  reading.Add(std::move(problems));
  Sweep sweep;
  if (const Node* section = tree.Find("sweep")) ReadSweep(reading, *section, sweep);
  ReadAxisFlags(reading, typed, short_keys, sweep);
  CheckAxes(reading, sweep);
  ThrowProblems(reading);
  return sweep;
}

std::vector<Override> OverridesAt(const Sweep& sweep, std::size_t point) {
  std::vector<Override> overrides;
  const std::vector<std::size_t> position = sweep.PositionOf(point);
  for (std::size_t i = 0; i < sweep.axes.size(); ++i) {
    const SweepAxis& axis = sweep.axes[i];
    for (std::size_t key = 0; key < axis.keys.size(); ++key) {
      const AxisValue& value = axis.values[position[i]][key];
      const bool in_file = value.place.source && value.place.source->numbered;
      overrides.push_back({axis.keys[key], value.text, "--axis",
                           in_file ? Origin::kFile : Origin::kFlag, value.place});
    }
  }
  return overrides;
}

ReadResult ReadExperimentText(std::string_view yaml, const std::string& source,
                              const std::vector<Override>& overrides, const DataFolders& folders) {
  std::vector<base::Problem> problems;
  Node tree = ParseYaml(yaml, source, Origin::kFile, problems);
  const Request request{.file = std::filesystem::path(source), .overrides = overrides};
  return ReadTree(std::move(tree), std::move(problems), request, request.file->stem().string(),
                  folders);
}

}  // namespace pipesim::spec
