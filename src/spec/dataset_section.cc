// The `dataset:` section.
#include <array>

#include "spec/drawn_text.h"
#include "spec/key_rule.h"
#include "spec/sections.h"
#include "spec/words.h"

namespace pipesim::spec {
namespace {

constexpr std::int64_t kMostSamples = std::int64_t{1} << 40;
constexpr std::int64_t kMostClasses = std::int64_t{1}
                                      << 20;  // the outputs of a layer, model_layers.cc
constexpr int kMostTensors = 1'000'000;

/// "auto" until the folder of real samples has been counted.
std::string FromData(const Experiment& e, std::int64_t value) {
  return HasRealFiles(e) && value == 0 ? "auto" : CountText(value);
}

std::string SizesText(const Shape& shape) {
  std::string text = "[";
  for (const std::int64_t size : shape) {
    if (text.size() > 1) text += ", ";
    text += std::to_string(size);
  }
  return text + "]";
}

constexpr auto kDatasetKeys = std::to_array<KeyRule>({
    {{"dataset.samples", "count", "the model's", "samples of one epoch"},
     [](const Experiment& e) { return FromData(e, e.dataset.samples); }},
    {{"dataset.sample_bytes", "bytes or distribution", "the model's", "bytes read per sample"},
     [](const Experiment& e) {
       return HasRealFiles(e) && e.dataset.sample_bytes.IsZero() ? "auto"
                                                                 : ToText(e.dataset.sample_bytes);
     }},
    {{"dataset.shape", "sizes", "the model's", "shape of a prepared sample, [C, H, W]"},
     [](const Experiment& e) { return SizesText(e.dataset.shape); }},
    {{"dataset.dtype", "uint8|float32|float16|bfloat16|int64", "the model's",
      "element type of a prepared sample"},
     [](const Experiment& e) { return WordOf(kDTypes, e.dataset.dtype); }},
    {{"dataset.classes", "count", "the model's", "number of label classes"},
     [](const Experiment& e) { return FromData(e, e.dataset.classes); }},
    {{"dataset.tensors", "count", "2", "tensors of a batch, each handed over by processes"},
     [](const Experiment& e) { return CountText(e.dataset.tensors); }},
    {{"dataset.numbers", "count", "0", "of these tensors, those that a sample has as Python numbers"},
     [](const Experiment& e) { return CountText(e.dataset.numbers); }},
});

/// Drops entries set to `auto`, which means the same as leaving them out.
Node WithoutAuto(Node section) {
  for (Node& item : section.items) {
    if (item.kind == NodeKind::kScalar && item.text == "auto") item.kind = NodeKind::kNull;
  }
  return section;
}

}  // namespace

std::span<const KeyRule> DatasetKeys() { return kDatasetKeys; }

void ReadDataset(Reading& reading, const Node& section, const Node& natural, bool real_files,
                 Dataset& out) {
  Node base = natural;
  if (real_files) {
    // The folder determines these; the model's defaults describe other data.
    for (const char* key : {"samples", "sample_bytes", "classes"}) base.Erase(key);
  }
  const Node merged = Overlay(base, WithoutAuto(section));
  MapReader reader(reading, merged, "dataset");
  const bool has_samples = reader.Count("samples", out.samples, 1, kMostSamples);
  const bool has_bytes = reader.Drawn("sample_bytes", out.sample_bytes);
  const bool has_shape = reader.Sizes("shape", out.shape);
  ReadWord(reader, "dtype", kDTypes, out.dtype);
  reader.Count("classes", out.classes, 1, kMostClasses);
  reader.Count("tensors", out.tensors, 1, kMostTensors);
  if (reader.Count("numbers", out.numbers, 0, kMostTensors) && out.numbers > out.tensors) {
    reading.Problem(reading.PlaceOf("dataset.numbers"),
                    "dataset.numbers is larger than dataset.tensors, of which it is a part", "1");
  }
  reader.Finish();
  const auto missing = [&](const char* key, const char* example) {
    if (reader.Has(key)) return;  // present but invalid: already reported
    // The model that has no default, where the file has no dataset section either.
    const char* where = reading.OriginOf("dataset") ? "dataset" : "model";
    reading.Problem(reading.PlaceOf(where),
                    std::string("dataset.") + key + " is not set, and the model has no default",
                    example);
  };
  if (!has_shape) missing("shape", "shape: [3, 224, 224]");
  if (!real_files && !has_samples) missing("samples", "samples: 50000");
  if (has_bytes && out.sample_bytes.in_units.Mean() < 1) {
    reading.Problem(reading.PlaceOf("dataset.sample_bytes"),
                    "dataset.sample_bytes: a sample has at least 1 B", "110KiB");
  }
  if (!real_files && !has_bytes && has_shape) {
    out.sample_bytes = {base::Distribution::Fixed(static_cast<double>(PreparedBytes(out).count))};
  }
}

}  // namespace pipesim::spec
