#include "spec/model_layers.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/names.h"
#include "base/text.h"

namespace pipesim::spec {
namespace {

/// Largest number of layers after expanding repeats.
constexpr std::size_t kMostLayers = 10'000;
// These bounds keep products of sizes within 64 bits (model_costs.cc).
constexpr std::int64_t kMostOut = std::int64_t{1} << 20;
constexpr std::int64_t kMostVocab = std::int64_t{1} << 24;
constexpr std::int64_t kMostKernel = 256;

enum Field : unsigned {
  kOut = 1U << 0,
  kKernel = 1U << 1,
  kStride = 1U << 2,
  kPadding = 1U << 3,
  kGroups = 1U << 4,
  kBias = 1U << 5,
  kVocab = 1U << 6,
  kHeads = 1U << 7,
  kP = 1U << 8,
  kBody = 1U << 9,
  kShortcut = 1U << 10,
};

struct LayerRule {
  std::string_view name;
  LayerKind kind;
  unsigned allowed = 0;
  unsigned required = 0;
  std::string_view example = {};  ///< shown when a required field is missing
};

constexpr std::array<LayerRule, 16> kLayerRules{{
    {"flatten", LayerKind::kFlatten},
    {"linear", LayerKind::kLinear, kOut | kBias, kOut, "linear: {out: 512}"},
    {"conv2d", LayerKind::kConv2d, kOut | kKernel | kStride | kPadding | kGroups | kBias,
     kOut | kKernel, "conv2d: {out: 64, kernel: 3, padding: 1}"},
    {"batch_norm2d", LayerKind::kBatchNorm2d},
    {"layer_norm", LayerKind::kLayerNorm},
    {"relu", LayerKind::kRelu},
    {"gelu", LayerKind::kGelu},
    {"max_pool2d", LayerKind::kMaxPool2d, kKernel | kStride | kPadding, kKernel,
     "max_pool2d: {kernel: 2}"},
    {"avg_pool2d", LayerKind::kAvgPool2d, kKernel | kStride | kPadding, kKernel,
     "avg_pool2d: {kernel: 2}"},
    {"global_avg_pool", LayerKind::kGlobalAvgPool},
    {"dropout", LayerKind::kDropout, kP},
    {"embedding", LayerKind::kEmbedding, kVocab | kOut, kVocab | kOut,
     "embedding: {vocab: 10000, out: 256}"},
    {"positional", LayerKind::kPositional},
    {"attention", LayerKind::kAttention, kHeads, kHeads, "attention: {heads: 4}"},
    {"mean", LayerKind::kMean},
    {"residual", LayerKind::kResidual, kBody | kShortcut, kBody,
     "residual: {body: [...], shortcut: [...]}"},
}};

const LayerRule& RuleOf(LayerKind kind) {
  return *std::find_if(kLayerRules.begin(), kLayerRules.end(),
                       [&](const LayerRule& rule) { return rule.kind == kind; });
}

/// In any case: PyTorch writes ReLU.
const LayerRule* FindRule(std::string_view name) {
  const std::string lower = base::LowerCase(name);
  const auto found = std::find_if(kLayerRules.begin(), kLayerRules.end(),
                                  [&](const LayerRule& rule) { return rule.name == lower; });
  return found == kLayerRules.end() ? nullptr : &*found;
}

std::vector<std::string> LayerNames() {
  std::vector<std::string> names;
  for (const LayerRule& rule : kLayerRules) names.emplace_back(rule.name);
  names.emplace_back("repeat");
  return names;
}

bool IsPool(LayerKind kind) {
  return kind == LayerKind::kMaxPool2d || kind == LayerKind::kAvgPool2d;
}

class LayerReader {
 public:
  explicit LayerReader(Reading& reading) : reading_(reading) {}

  LayerList List(const Node& list, const std::string& path) {
    LayerList result;
    if (list.kind != NodeKind::kSequence || list.items.empty()) {
      reading_.Problem(list.place, path + " must be a list of layers",
                       "[flatten, linear: {out: 10}]");
      return result;
    }
    for (const Node& item : list.items) Item(item, path, result);
    return result;
  }

 private:
  void Item(const Node& item, const std::string& path, LayerList& result) {
    const bool single = item.IsMap() && item.keys.size() == 1;
    if (item.kind != NodeKind::kScalar && !single) {
      reading_.Problem(item.place, path + ": a layer is a name, or one name with its fields",
                       "- linear: {out: 512}");
      return;
    }
    const std::string& name = single ? item.keys[0].text : item.text;
    const Place& place = single ? item.keys[0].place : item.place;
    Node nothing;
    nothing.place = place;
    const Node& fields = single ? item.items[0] : nothing;
    if (name == "repeat") return Repeat(fields, path, result);
    const LayerRule* rule = FindRule(name);
    if (rule == nullptr) {
      const auto near = base::Nearest(name, LayerNames());
      reading_.Problem(place, base::Quoted(name) + " is not a layer",
                       near.value_or(base::Join(LayerNames(), ", ")));
      return;
    }
    if (!Room(place, 1)) return;
    result.layers.push_back(One(*rule, fields, place, path + "." + name));
    result.places.push_back(place);
  }

  void Repeat(const Node& fields, const std::string& path, LayerList& result) {
    MapReader reader(reading_, fields, path + ".repeat");
    std::int64_t times = 0;
    const bool has_times = reader.Count("times", times, 1, 1000);
    const Node* body = reader.Take("body");
    reader.Finish();
    if (!reader.Has("times") || body == nullptr) {
      reading_.Problem(fields.place, "repeat needs times and body",
                       "repeat: {times: 4, body: [...]}");
    }
    if (!has_times || body == nullptr) return;
    const LayerList once = List(*body, path + ".repeat.body");
    // Reading the body has counted its layers once.
    const std::size_t more = TotalOf(once.layers) * static_cast<std::size_t>(times - 1);
    if (!Room(fields.place, more)) return;
    for (std::int64_t i = 0; i < times; ++i) {
      result.layers.insert(result.layers.end(), once.layers.begin(), once.layers.end());
      result.places.insert(result.places.end(), once.places.begin(), once.places.end());
    }
  }

  static std::size_t TotalOf(const std::vector<Layer>& layers) {
    std::size_t total = layers.size();
    for (const Layer& layer : layers) total += TotalOf(layer.body) + TotalOf(layer.shortcut);
    return total;
  }

  bool Room(const Place& place, std::size_t more) {
    count_ += more;
    if (count_ <= kMostLayers) return true;
    if (!full_) reading_.Problem(place, "more than 10,000 layers after expanding repeats");
    full_ = true;
    return false;
  }

  Layer One(const LayerRule& rule, const Node& fields, const Place& place,
            const std::string& path) {
    Layer layer;
    layer.kind = rule.kind;
    if (rule.kind == LayerKind::kDropout) layer.p = 0.5;  // torch.nn.Dropout's default
    MapReader reader(reading_, fields, path);
    unsigned given = 0;
    if ((rule.allowed & kOut) != 0) given |= Out(reader, rule, layer) ? kOut : 0U;
    const auto count = [&](Field field, const char* key, std::int64_t& out, std::int64_t low,
                           std::int64_t high) {
      if ((rule.allowed & field) == 0) return;
      if (reader.Count(key, out, low, high) || reader.Has(key)) given |= field;
    };
    count(kKernel, "kernel", layer.kernel, 1, kMostKernel);
    // torch.nn.MaxPool2d's default; 1 where the kernel could not be read.
    if (IsPool(rule.kind)) layer.stride = std::max<std::int64_t>(1, layer.kernel);
    count(kStride, "stride", layer.stride, 1, kMostKernel);
    count(kPadding, "padding", layer.padding, 0, kMostKernel);
    count(kGroups, "groups", layer.groups, 1, kMostOut);
    count(kVocab, "vocab", layer.vocab, 1, kMostVocab);
    count(kHeads, "heads", layer.heads, 1, 4096);
    if ((rule.allowed & kBias) != 0) reader.Flag("bias", layer.bias);
    if ((rule.allowed & kP) != 0) reader.Share("p", layer.p);
    if ((rule.allowed & kBody) != 0) {
      if (Nested(reader, "body", path, layer.body)) given |= kBody;
      Nested(reader, "shortcut", path, layer.shortcut);
    }
    reader.Finish();
    if ((rule.required & ~given) != 0) {
      reading_.Problem(place, std::string(rule.name) + " lacks a required field",
                       std::string(rule.example));
    }
    return layer;
  }

  bool Nested(MapReader& reader, const char* key, const std::string& path,
              std::vector<Layer>& out) {
    const Node* list = reader.Take(key);
    if (list == nullptr) return false;
    if (list->kind == NodeKind::kSequence && list->items.empty()) return true;  // []: identity
    out = List(*list, path + "." + key).layers;
    return true;
  }

  bool Out(MapReader& reader, const LayerRule& rule, Layer& layer) {
    const Node* node = reader.Peek("out");
    if (node != nullptr && node->text == "classes" && rule.kind == LayerKind::kLinear) {
      reader.Take("out");
      layer.out = kOutIsClasses;
      return true;
    }
    return reader.Count("out", layer.out, 1, kMostOut) || reader.Has("out");
  }

  Reading& reading_;
  std::size_t count_ = 0;
  bool full_ = false;
};

void AppendField(std::string& text, std::string_view key, const std::string& value) {
  if (!text.empty()) text += ", ";
  text += std::string(key) + ": " + value;
}

std::string FieldsText(const Layer& layer) {
  const unsigned allowed = RuleOf(layer.kind).allowed;
  std::string text;
  const auto number = [&](Field field, std::string_view key, std::int64_t value) {
    if ((allowed & field) != 0) AppendField(text, key, std::to_string(value));
  };
  if ((allowed & kOut) != 0) {
    AppendField(text, "out", layer.out == kOutIsClasses ? "classes" : std::to_string(layer.out));
  }
  number(kKernel, "kernel", layer.kernel);
  number(kStride, "stride", layer.stride);
  number(kPadding, "padding", layer.padding);
  number(kGroups, "groups", layer.groups);
  number(kVocab, "vocab", layer.vocab);
  number(kHeads, "heads", layer.heads);
  if ((allowed & kBias) != 0) AppendField(text, "bias", layer.bias ? "true" : "false");
  if ((allowed & kP) != 0) AppendField(text, "p", NumberText(layer.p));
  if ((allowed & kBody) != 0) {
    AppendField(text, "body", LayersText(layer.body));
    AppendField(text, "shortcut", LayersText(layer.shortcut));
  }
  return text;
}

}  // namespace

LayerList ReadLayers(Reading& reading, const Node& list, const std::string& path) {
  return LayerReader(reading).List(list, path);
}

std::string LayersText(const std::vector<Layer>& layers) {
  std::string text = "[";
  for (const Layer& layer : layers) {
    if (text.size() > 1) text += ", ";
    const std::string fields = FieldsText(layer);
    const std::string name(RuleOf(layer.kind).name);
    text += fields.empty() ? name : "{" + name + ": {" + fields + "}}";
  }
  return text + "]";
}

std::string DescribeLayer(const Layer& layer) {
  const LayerRule& rule = RuleOf(layer.kind);
  std::string text(rule.name);
  if (layer.out > 0) text += fmt::format(" {}", layer.out);
  if (layer.heads > 0) text += fmt::format(" {} heads", layer.heads);
  if ((rule.allowed & kKernel) != 0) text += fmt::format(" {}x{}", layer.kernel, layer.kernel);
  if ((rule.allowed & kKernel) != 0 && layer.stride != 1) text += fmt::format("/{}", layer.stride);
  return text;
}

void SetClasses(std::vector<Layer>& layers, std::int64_t classes) {
  for (Layer& layer : layers) {
    if (layer.kind == LayerKind::kLinear && layer.out == kOutIsClasses) layer.out = classes;
    SetClasses(layer.body, classes);
    SetClasses(layer.shortcut, classes);
  }
}

bool UsesClasses(const std::vector<Layer>& layers) {
  return std::any_of(layers.begin(), layers.end(), [](const Layer& layer) {
    return (layer.kind == LayerKind::kLinear && layer.out == kOutIsClasses) ||
           UsesClasses(layer.body) || UsesClasses(layer.shortcut);
  });
}

}  // namespace pipesim::spec
