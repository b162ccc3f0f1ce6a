#include "spec/machine_profile.h"

#include <limits>
#include <memory>
#include <type_traits>

#include "spec/data_files.h"
#include "spec/words.h"
#include "spec/yaml_tree.h"

namespace pipesim::spec {
namespace {

constexpr double kMostGflops = 1e9;
constexpr double kMostCores = 1e6;
constexpr double kMostSpread = 1e6;  // wake-up times vary by more than their mean

bool ReadValue(MapReader& reader, Duration& out) { return reader.Time("value", out); }
bool ReadValue(MapReader& reader, Bytes& out) { return reader.Size("value", out); }
bool ReadValue(MapReader& reader, BytesPerSecond& out) { return reader.Rate("value", out); }
bool ReadValue(MapReader& reader, double& out) {
  return reader.Number("value", out, 1e-6, kMostGflops);
}

/// `spread` is optional. `how` is required: a figure without provenance cannot be judged.
template <class T>
void ReadOrigin(Reading& reading, MapReader& reader, const std::string& path, Figure<T>& out) {
  double spread = 0;
  if (reader.Number("spread", spread, 0, kMostSpread)) out.spread = spread;
  if (!reader.Text("how", out.how) && !reader.Has("how")) {
    reading.Problem(reading.PlaceOf(path), path + " does not say how it was obtained",
                    "how: measured");
  }
}

template <class T>
MaybeFigure<T> ReadFigure(Reading& reading, const Node& node, const std::string& path) {
  MapReader reader(reading, node, path);
  Figure<T> figure;
  const bool has_value = ReadValue(reader, figure.value);
  ReadOrigin(reading, reader, path, figure);
  reader.Finish();
  if (!has_value && !reader.Has("value")) {
    reading.Problem(node.place, path + " has no value", "{value: ..., how: measured}");
  }
  if (!has_value) return std::nullopt;
  return figure;
}

void ReadFigures(Reading& reading, const Node& section, MachineFigures& out) {
  MapReader reader(reading, section, "figures");
  ForEachFigure(out, [&]<class T>(std::string_view key, MaybeFigure<T>& figure) {
    if (const Node* node = reader.Take(key)) {
      figure = ReadFigure<T>(reading, *node, reader.PathOf(key));
    }
  });
  reader.Finish();
}

bool ReadDevice(Reading& reading, MapReader& reader, DeviceId& out) {
  std::string name;
  if (!reader.Text("device", name)) return false;
  const auto device = ParseDevice(name);
  if (device && (device->IsCpu() || device->IsCuda())) {
    out = *device;
    return true;
  }
  reading.Problem(reader.Peek("device")->place, "'" + name + "' is not a device for measured steps",
                  "cpu, or cuda:0");
  return true;
}

ProfileStep ReadStep(Reading& reading, const Node& node, const std::string& path) {
  MapReader reader(reading, node, path);
  ProfileStep step;
  int read = 0;
  read += reader.Text("model", step.model) ? 1 : 0;
  read += reader.Sizes("shape", step.shape) ? 1 : 0;
  read += ReadDevice(reading, reader, step.device) ? 1 : 0;
  read += reader.Count("batch", step.batch, 1, std::int64_t{1} << 31) ? 1 : 0;
  read += reader.Time("time", step.time.value) ? 1 : 0;
  if (Duration launch{}; reader.Time("launch", launch)) step.launch = launch;
  if (Duration gap{}; reader.Time("gap", gap)) step.gap = gap;
  reader.Time("after_pause", step.after_pause);
  reader.Count("threads", step.threads, 1, 4096);
  ReadWord(reader, "omp_wait", kOmpWaits, step.omp_wait);
  ReadWord(reader, "precision", kPrecisions, step.precision);
  ReadWord(reader, "optimizer", kOptimizers, step.optimizer);
  ReadOrigin(reading, reader, path, step.time);
  reader.Finish();
  if (read < 5 || step.time.value <= Duration::zero()) {
    reading.Problem(node.place, path + " needs model, shape, device, batch and a time above 0",
                    "{model: mlp, shape: [1, 28, 28], device: cpu, batch: 64, time: 1.2ms, "
                    "how: measured}");
  }
  return step;
}

void ReadSteps(Reading& reading, const Node* list, std::vector<ProfileStep>& out) {
  if (list == nullptr) return;
  if (list->kind != NodeKind::kSequence) {
    reading.Problem(list->place, "steps must be a list of measured steps");
    return;
  }
  for (std::size_t i = 0; i < list->items.size(); ++i) {
    out.push_back(ReadStep(reading, list->items[i], "steps[" + std::to_string(i) + "]"));
  }
}

void ReadContext(Reading& reading, const Node& section, MachineProfile& out) {
  MapReader reader(reading, section, "context");
  reader.Text("cpu", out.cpu);
  if (!reader.Number("cores", out.cores, 1e-3, kMostCores) && !reader.Has("cores")) {
    reading.Problem(reading.PlaceOf("context"), "context.cores is not set", "cores: 8");
  }
  reader.Text("gpu", out.gpu);
  reader.Text("date", out.date);
  reader.Finish();
}

MachineProfile ReadTree(Reading& reading, const Node& tree) {
  MachineProfile profile;
  MapReader top(reading, tree, "");
  if (top.Count("version", profile.version, 1, std::numeric_limits<int>::max()) &&
      profile.version != 1) {
    reading.Problem(reading.PlaceOf("version"),
                    "version " + std::to_string(profile.version) +
                        " of machine profiles is newer than this pipesim reads",
                    "version: 1");
  }
  top.Text("source", profile.source);
  const auto section = [&](const char* key) {
    const Node* node = top.Take(key);
    return node == nullptr ? Node{} : *node;
  };
  ReadContext(reading, section("context"), profile);
  ReadFigures(reading, section("figures"), profile.figures);
  ReadSteps(reading, top.Take("steps"), profile.steps);
  top.Finish();
  if (reading.HasProblems()) throw base::ConfigError(reading.TakeProblems());
  return profile;
}

Place AsTyped(const std::string& name, const std::string& flag) {
  Place place;
  place.source = std::make_shared<Source>(Source{"command line", {flag + " " + name}, false});
  place.line = 1;
  place.column = static_cast<int>(flag.size()) + 2;
  place.width = static_cast<int>(name.size());
  return place;
}

std::string ValueText(Duration value) { return ToText(value); }
std::string ValueText(Bytes value) { return ToText(value); }
std::string ValueText(BytesPerSecond value) { return ToText(value); }
std::string ValueText(double value) { return NumberText(value); }

template <class T>
std::string OriginText(const Figure<T>& figure) {
  std::string text;
  if (figure.spread) text += ", spread: " + NumberText(*figure.spread);
  return text + ", how: " + QuoteYaml(figure.how);
}

std::string StepText(const ProfileStep& step) {
  std::string sizes;
  for (const std::int64_t size : step.shape) {
    if (!sizes.empty()) sizes += ", ";
    sizes += std::to_string(size);
  }
  return "  - {model: " + QuoteYaml(step.model) + ", shape: [" + sizes +
         "], device: " + QuoteYaml(ToText(step.device)) +
         ", threads: " + std::to_string(step.threads) +
         (step.omp_wait == OmpWait::kDefault ? "" : ", omp_wait: passive") +
         ", precision: " + WordOf(kPrecisions, step.precision) +
         ", optimizer: " + WordOf(kOptimizers, step.optimizer) +
         ", batch: " + std::to_string(step.batch) +
         (step.after_pause == Duration::zero() ? "" : ", after_pause: " + ToText(step.after_pause)) +
         ", time: " + ToText(step.time.value) +
         (step.launch ? ", launch: " + ToText(*step.launch) : "") +
         (step.gap ? ", gap: " + ToText(*step.gap) : "") + OriginText(step.time) + "}\n";
}

}  // namespace

MachineProfile ReadMachineProfile(const std::string& name, const std::string& flag,
                                  const DataFolders& folders) {
  Reading reading;
  const DataFiles files(folders, "");
  auto loaded = files.Load(reading, DataKind::kMachine, name, AsTyped(name, flag));
  if (!loaded) throw base::ConfigError(reading.TakeProblems());
  MachineProfile profile = ReadTree(reading, loaded->tree);
  profile.reference = loaded->reference;
  return profile;
}

MachineProfile ReadMachineProfileText(std::string_view text, const std::string& source) {
  std::vector<base::Problem> problems;
  const Node tree = ParseYaml(text, source, Origin::kFile, problems);
  Reading reading;
  if (problems.empty() && !tree.IsMap()) {
    const auto whole = std::make_shared<Source>(Source{source, {}});
    problems.push_back(ProblemAt({whole, 1}, "a machine profile must be a map of keys and values"));
  }
  reading.Add(std::move(problems));
  if (reading.HasProblems()) throw base::ConfigError(reading.TakeProblems());
  MachineProfile profile = ReadTree(reading, tree);
  profile.reference = source;
  return profile;
}

std::string WriteProfile(const MachineProfile& profile) {
  std::string text = "version: " + std::to_string(profile.version) + "\n";
  if (!profile.source.empty()) text += "source: " + QuoteYaml(profile.source) + "\n";
  text += "context: {";
  if (!profile.cpu.empty()) text += "cpu: " + QuoteYaml(profile.cpu) + ", ";
  text += "cores: " + NumberText(profile.cores);
  if (!profile.gpu.empty()) text += ", gpu: " + QuoteYaml(profile.gpu);
  if (!profile.date.empty()) text += ", date: " + QuoteYaml(profile.date);
  text += "}\n";
  std::string figures;
  ForEachFigure(profile.figures, [&](std::string_view key, const auto& figure) {
    if (!figure) return;
    figures += "  " + std::string(key) + ": {value: " + ValueText(figure->value) +
               OriginText(*figure) + "}\n";
  });
  if (!figures.empty()) text += "figures:\n" + figures;
  if (!profile.steps.empty()) text += "steps:\n";
  for (const ProfileStep& step : profile.steps) text += StepText(step);
  return text;
}

}  // namespace pipesim::spec
