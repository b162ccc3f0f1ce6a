// The `model:` section and its model file.
#include "spec/key_rule.h"
#include "spec/model_layers.h"
#include "spec/overrides.h"
#include "spec/sections.h"
#include "spec/words.h"
#include "spec/yaml_tree.h"

namespace pipesim::spec {
namespace {

constexpr std::string_view kDefaultModel = "mlp";

constexpr auto kModelKeys = std::to_array<KeyRule>({
    {{"model", "name|FILE.yaml|map", "mlp", "short for model.name"}},
    {{"model.name", "name|FILE.yaml", "mlp", "models/*.yaml, or your own file"},
     [](const Experiment& e) {
       return QuoteYaml(e.model.reference.empty() ? e.model.name : e.model.reference);
     }},
    {{"model.layers", "list of layers", "the model file's", "layers instead of a model file"},
     [](const Experiment& e) { return LayersText(e.model.layers); },
     [](const Experiment& e) { return e.model.reference.empty(); }},
    {{"model.precision", "fp32|tf32|bf16", "fp32", "precision of forward and backward"},
     [](const Experiment& e) { return WordOf(kPrecisions, e.training.precision); }},
    {{"model.optimizer", "sgd|momentum|adam", "sgd", "optimizer of the training step"},
     [](const Experiment& e) { return WordOf(kOptimizers, e.training.optimizer); }},
    {{"model.learning_rate", "number", "0.01", "learning rate of the optimizer"},
     [](const Experiment& e) { return NumberText(e.training.learning_rate); }},
    {{"model.sync_every", "count", "0", "read the loss back every n steps; 0: never"},
     [](const Experiment& e) { return CountText(e.training.sync_every); }},
    {{"model.cuda_graph", "true|false", "false", "replay the step as one CUDA graph"},
     [](const Experiment& e) { return YesNo(e.training.cuda_graph); }},
});

Node TakeOr(MapReader& reader, std::string_view key) {
  const Node* node = reader.Take(key);
  return node == nullptr ? Node{} : *node;
}

void TakeLayers(Reading& reading, const Node& layers, const std::string& path, Model& out,
                ModelInput& input) {
  const std::size_t before = reading.problem_count();
  LayerList list = ReadLayers(reading, layers, path);
  out.layers = std::move(list.layers);
  input.layer_places = std::move(list.places);
  input.good = !out.layers.empty();
  input.whole = input.good && reading.problem_count() == before;
}

ModelInput OpenModelFile(Reading& reading, const DataFiles& files, const std::string& name,
                         const Place& place, Model& out) {
  ModelInput input;
  const auto loaded = files.Load(reading, DataKind::kModel, name, place);
  if (!loaded) return input;
  out.reference = loaded->reference;
  out.name = std::filesystem::path(name).stem().string();
  MapReader reader(reading, loaded->tree, "model " + out.name);
  reader.Text("name", out.name);
  reader.Text("source", out.source);
  input.dataset = TakeOr(reader, "dataset");
  input.storage = TakeOr(reader, "storage");
  input.prepare = TakeOr(reader, "prepare");
  const Node* layers = reader.Take("layers");
  reader.Finish();
  if (layers == nullptr) {
    reading.Problem(loaded->tree.place, "model " + out.name + " has no layers",
                    "layers: [flatten, linear: {out: classes}]");
    return input;
  }
  TakeLayers(reading, *layers, "model " + out.name + ".layers", out, input);
  return input;
}

ModelInput ReadModelFile(Reading& reading, const DataFiles& files, const std::string& name,
                         const Place& place, Model& out) {
  if (const auto known = files.KnownModel(name)) {
    out = known->model;
    return known->input;
  }
  const std::size_t before = reading.problem_count();
  ModelInput input = OpenModelFile(reading, files, name, place, out);
  if (reading.problem_count() == before)
    files.Keep(name, std::make_shared<const ModelFile>(ModelFile{out, input}));
  return input;
}

}  // namespace

std::span<const KeyRule> ModelKeys() { return kModelKeys; }

ModelInput ReadModel(Reading& reading, const DataFiles& files, const Node& section,
                     Experiment& out) {
  const Node expanded = Expanded("model", section);
  MapReader reader(reading, expanded, "model");
  std::string name(kDefaultModel);
  const bool named = reader.Text("name", name);
  ReadWord(reader, "precision", kPrecisions, out.training.precision);
  ReadWord(reader, "optimizer", kOptimizers, out.training.optimizer);
  reader.Number("learning_rate", out.training.learning_rate, 0, 1000);
  reader.Count("sync_every", out.training.sync_every, 0, std::int64_t{1} << 40);
  reader.Flag("cuda_graph", out.training.cuda_graph);
  const Node* layers = reader.Take("layers");
  reader.Finish();
  if (layers == nullptr) {
    return ReadModelFile(reading, files, name, reading.PlaceOf("model.name"), out.model);
  }
  ModelInput input;
  out.model.name = named ? name : "custom";
  TakeLayers(reading, *layers, "model.layers", out.model, input);
  return input;
}

}  // namespace pipesim::spec
