// The `device:` section: where the training step runs, real or emulated.
#include <array>

#include "base/names.h"
#include "base/text.h"
#include "spec/drawn_text.h"
#include "spec/key_rule.h"
#include "spec/overrides.h"
#include "spec/sections.h"
#include "spec/yaml_tree.h"

namespace pipesim::spec {
namespace {

constexpr std::string_view kDefaultPreset = "rtx-4060";
constexpr std::array<std::string_view, 8> kPresetKeys{
    "source", "fp32_tflops",   "bf16_tflops", "memory_bandwidth",
    "memory", "h2d_bandwidth", "launch",      "efficiency"};

bool HasMeasuredStep(const Experiment& e) { return e.device.step.has_value(); }

constexpr auto kDeviceKeys = std::to_array<KeyRule>({
    {{"device", "auto|cpu|cuda:N|emulated|preset|map", "auto", "short for device.name"}},
    {{"device.name", "auto|cpu|cuda:N|emulated|preset", "auto", "auto: cuda:0 if there is one"},
     [](const Experiment& e) { return ToText(e.device.Id()); }},
    {{"device.in_flight", "count", "2", "maximum steps in flight"},
     [](const Experiment& e) { return CountText(e.device.in_flight); }},
    {{"device.emulated.preset", "preset", "rtx-4060",
      "device for the roofline: configs/devices/*.yaml or a file"},
     [](const Experiment& e) { return QuoteYaml(e.device.preset->name); },
     [](const Experiment& e) { return e.device.preset.has_value(); }},
    {{"device.emulated.base", "duration or distribution", "0", "stated step cost: fixed part"},
     [](const Experiment& e) { return ToText(*e.device.step_base); },
     [](const Experiment& e) { return e.device.step_base.has_value(); }},
    {{"device.emulated.per_sample", "duration or distribution", "0",
      "stated step cost: per sample"},
     [](const Experiment& e) { return ToText(e.device.step_per_sample); },
     [](const Experiment& e) { return e.device.step_base.has_value(); }},
    {{"device.step", "duration or map", "none", "short for device.step.base"}},
    {{"device.step.base", "duration or distribution", "0",
      "predict: measured step of a real device: fixed part"},
     [](const Experiment& e) { return ToText(e.device.step->base); },
     HasMeasuredStep},
    {{"device.step.per_sample", "duration or distribution", "0",
      "predict: measured step of a real device: per sample"},
     [](const Experiment& e) { return ToText(e.device.step->per_sample); },
     HasMeasuredStep},
    {{"device.step.threads", "count", "limits.compute_threads",
      "predict: threads of the CPU that the step was measured on"},
     [](const Experiment& e) { return std::to_string(*e.device.step->threads); },
     [](const Experiment& e) { return HasMeasuredStep(e) && e.device.step->threads; }},
    {{"device.step.one_thread", "number", "at most as many times as there are threads",
      "predict: times as long as the step takes on one thread of the CPU"},
     [](const Experiment& e) { return NumberText(*e.device.step->one_thread); },
     [](const Experiment& e) { return HasMeasuredStep(e) && e.device.step->one_thread; }},
    {{"device.step.host", "duration", "0", "predict: of a GPU, the host's work before it launches the step"},
     [](const Experiment& e) { return ToText(*e.device.step->host); },
     [](const Experiment& e) { return HasMeasuredStep(e) && e.device.step->host; }},
    {{"device.step.launch", "duration", "0", "predict: of a GPU, the host's time to launch the step"},
     [](const Experiment& e) { return ToText(*e.device.step->launch); },
     [](const Experiment& e) { return HasMeasuredStep(e) && e.device.step->launch; }},
    {{"device.step.launch_cpu", "duration", "launch",
      "predict: of launch, the calling thread's CPU time, which needs Python's lock"},
     [](const Experiment& e) { return ToText(*e.device.step->launch_cpu); },
     [](const Experiment& e) { return HasMeasuredStep(e) && e.device.step->launch_cpu; }},
    {{"device.step.with_copies", "true|false", "false",
      "predict: of a GPU, the step's time includes copying its batch there"},
     [](const Experiment& e) { return YesNo(e.device.step->with_copies); },
     [](const Experiment& e) { return HasMeasuredStep(e) && e.device.step->with_copies; }},
});

std::optional<DevicePreset> ReadPreset(Reading& reading, const DataFiles& files,
                                       const std::string& name, const Place& place) {
  const auto loaded = files.Load(reading, DataKind::kDevice, name, place);
  if (!loaded) return std::nullopt;
  DevicePreset preset;
  MapReader reader(reading, loaded->tree, "preset " + name);
  double fp32_tflops = 0;
  double tf32_tflops = 0;
  double bf16_tflops = 0;
  int read = 0;
  read += reader.Text("source", preset.source) ? 1 : 0;
  read += reader.Number("fp32_tflops", fp32_tflops, 1e-3, 1e9) ? 1 : 0;
  read += reader.Number("bf16_tflops", bf16_tflops, 1e-3, 1e9) ? 1 : 0;
  reader.Number("tf32_tflops", tf32_tflops, 1e-3, 1e9);
  read += reader.Rate("memory_bandwidth", preset.memory_bandwidth) ? 1 : 0;
  read += reader.Size("memory", preset.memory) ? 1 : 0;
  read += reader.Rate("h2d_bandwidth", preset.h2d_bandwidth) ? 1 : 0;
  read += reader.Time("launch", preset.launch) ? 1 : 0;
  read += reader.Share("efficiency", preset.efficiency) ? 1 : 0;
  // These may be left out.
  preset.step_launch = preset.launch;
  reader.Time("step_launch", preset.step_launch);
  reader.Time("kernel", preset.kernel);
  preset.conv_efficiency = preset.efficiency;
  reader.Share("conv_efficiency", preset.conv_efficiency);
  preset.product_efficiency = preset.efficiency;
  reader.Share("product_efficiency", preset.product_efficiency);
  double capability = 0;
  if (reader.Number("compute_capability", capability, 1, 99)) preset.compute_capability = capability;
  reader.Finish();
  std::vector<std::string> missing;
  for (const std::string_view key : kPresetKeys)
    if (!reader.Has(key)) missing.emplace_back(key);
  if (!missing.empty())
    reading.Problem(loaded->tree.place, "device preset " + name + " does not set every figure",
                    base::Join(missing, ", "));
  bool idle = false;
  for (const auto& [key, share] : {std::pair{"efficiency", preset.efficiency},
                                   {"conv_efficiency", preset.conv_efficiency},
                                   {"product_efficiency", preset.product_efficiency}}) {
    if (!reader.Has(key) || share > 0) continue;
    idle = true;
    if (!reading.IsInvalid(reader.PathOf(key)))
      reading.Problem(reader.Peek(key)->place, reader.PathOf(key) + " must be above 0", "0.5");
  }
  if (read < 8 || idle) return std::nullopt;
  preset.name = loaded->reference;
  preset.fp32_flops_per_s = fp32_tflops * 1e12;
  preset.tf32_flops_per_s = tf32_tflops * 1e12;
  preset.bf16_flops_per_s = bf16_tflops * 1e12;
  return preset;
}

/// The word after `device:`. A word that is not a device is a preset's name.
void ReadName(Reading& reading, const DataFiles& files, const Node& node, Device& out) {
  const std::string& name = node.text;
  if (const auto id = ParseDevice(base::LowerCase(name))) {
    out.kind = id->kind;
    out.cuda_index = id->index;
  } else if (base::LowerCase(name).starts_with("cuda:")) {
    reading.Problem(node.place, "device: '" + name + "' is not a GPU", "cuda:0");
  } else if (base::LowerCase(name) == "gpu") {
    reading.Problem(node.place, "device: 'gpu' is not a device", "cuda:0");
  } else {
    out.kind = DeviceKind::kEmulated;
    out.preset = ReadPreset(reading, files, name, node.place);
  }
}

void ReadEmulated(Reading& reading, const DataFiles& files, const Node& node, Device& out) {
  const Node section = Expanded("device.emulated", node);
  MapReader reader(reading, section, "device.emulated");
  Drawn<Duration> step_base;
  std::string preset;
  const bool has_base = reader.Drawn("base", step_base);
  const bool has_per_sample = reader.Drawn("per_sample", out.step_per_sample);
  const bool has_preset = reader.Text("preset", preset);
  reader.Finish();
  if (has_base || has_per_sample) out.step_base = step_base;
  if (has_preset && out.preset) {
    reading.Problem(reading.PlaceOf("device.emulated.preset"),
                    "device.name is a preset already ('" + out.preset->name + "')", "device: " + preset);
  } else if (has_preset && (reader.Has("base") || reader.Has("per_sample"))) {
    reading.Problem(reading.PlaceOf("device.emulated.preset"),
                    "device.emulated takes a preset or a stated cost, not both",
                    "{preset: " + preset + "}, or {base: 200us, per_sample: 5us}");
  } else if (has_preset) {
    out.preset = ReadPreset(reading, files, preset, reading.PlaceOf("device.emulated.preset"));
  } else if (out.preset && out.step_base) {
    reading.Problem(reading.PlaceOf("device.emulated"),
                    "device.name is a preset and device.emulated states a cost",
                    "device: {name: emulated, emulated: {base: 200us, per_sample: 5us}}");
  }
}

void ReadMeasuredStep(Reading& reading, const Node& node, Device& out) {
  const Node section = Expanded("device.step", node);
  MapReader reader(reading, section, "device.step");
  StepCost step;
  reader.Drawn("base", step.base);
  reader.Drawn("per_sample", step.per_sample);
  if (int threads = 0; reader.Count("threads", threads, 1, 4096)) step.threads = threads;
  if (double times = 0; reader.Number("one_thread", times, 1e-6, 1e6)) step.one_thread = times;
  if (Duration host{}; reader.Time("host", host)) step.host = host;
  if (Duration launch{}; reader.Time("launch", launch)) step.launch = launch;
  if (Duration cpu{}; reader.Time("launch_cpu", cpu)) step.launch_cpu = cpu;
  reader.Flag("with_copies", step.with_copies);
  reader.Finish();
  for (const std::string_view key : {"host", "launch", "launch_cpu", "with_copies"}) {
    if (out.kind == DeviceKind::kCpu && reader.Has(key))
      reading.Problem(reader.Peek(key)->place,
                      reader.PathOf(key) + " has no effect on a CPU, which launches and copies nothing",
                      "leave it out, or name: cuda:0");
  }
  if (step.launch_cpu.value_or(Duration::zero()) > step.launch.value_or(Duration::zero()))
    reading.Problem(reader.Peek("launch_cpu")->place,
                    "device.step.launch_cpu is more than device.step.launch, of which it is a part",
                    "leave it out: all of launch");
  if (out.kind != DeviceKind::kEmulated) {
    out.step = step;
    return;
  }
  reading.Problem(node.place, "device.step is the measured step of a real device, not an emulated one",
                  "device: {emulated: {base: 200us, per_sample: 5us}}");
}

}  // namespace

std::span<const KeyRule> DeviceKeys() { return kDeviceKeys; }

void ReadDevice(Reading& reading, const DataFiles& files, const Node& section, Device& out) {
  const Node expanded = Expanded("device", section);
  MapReader reader(reading, expanded, "device");
  const Node* emulated = reader.Take("emulated");
  const Node* step = reader.Take("step");
  if (emulated != nullptr) out.kind = DeviceKind::kEmulated;
  std::string name;
  if (reader.Text("name", name)) {
    ReadName(reading, files, *reader.Peek("name"), out);
    if (out.preset) reading.Note("device.emulated.preset", *reader.Peek("name"));
  }
  reader.Count("in_flight", out.in_flight, 1, 64);
  reader.Finish();
  if (step != nullptr) ReadMeasuredStep(reading, *step, out);
  if (emulated != nullptr && out.kind != DeviceKind::kEmulated) {
    reading.Problem(emulated->place, "device.emulated has no effect on device " + name,
                    "device: {name: emulated, ...}");
    return;
  }
  if (emulated != nullptr) ReadEmulated(reading, files, *emulated, out);
  const bool stated = out.preset || out.step_base;
  const bool named_preset = reader.Has("name") && base::LowerCase(name) != "emulated";
  if (out.kind == DeviceKind::kEmulated && !stated && !named_preset) {
    out.preset = ReadPreset(reading, files, std::string(kDefaultPreset), reading.PlaceOf("device"));
  }
}

}  // namespace pipesim::spec
