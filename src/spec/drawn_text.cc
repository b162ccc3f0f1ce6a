#include "spec/drawn_text.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace pipesim::spec {
namespace {

using base::Distribution;
using base::DistributionKind;

/// Limits the values of an empirical distribution: every stage that draws holds a copy.
constexpr std::size_t kMostValues = 65'536;

/// 2^53: doubles hold every integer up to here (104 days in ns, 9 PB in bytes).
constexpr double kLargestAmount = 9007199254740992.0;

enum Part : unsigned { kMean = 1, kStdev = 2, kLowHigh = 4, kValues = 8 };

struct DistributionRule {
  std::string_view name;
  DistributionKind kind;
  unsigned parts;
  std::string_view example;
};
constexpr std::array<DistributionRule, 7> kKinds{{
    {"fixed", DistributionKind::kFixed, kMean, "{distribution: fixed, mean: 2ms}"},
    {"uniform", DistributionKind::kUniform, kLowHigh,
     "{distribution: uniform, low: 1ms, high: 3ms}"},
    {"normal", DistributionKind::kNormal, kMean | kStdev,
     "{distribution: normal, mean: 2ms, stdev: 1ms}"},
    {"lognormal", DistributionKind::kLognormal, kMean | kStdev,
     "{distribution: lognormal, mean: 2ms, stdev: 1ms}"},
    {"exponential", DistributionKind::kExponential, kMean,
     "{distribution: exponential, mean: 2ms}"},
    {"gamma", DistributionKind::kGamma, kMean | kStdev,
     "{distribution: gamma, mean: 2ms, stdev: 1ms}"},
    {"empirical", DistributionKind::kEmpirical, kValues,
     "{distribution: empirical, values: [1ms, 2ms, 9ms]}"},
}};

const DistributionRule& RuleOf(DistributionKind kind) {
  return *std::find_if(kKinds.begin(), kKinds.end(),
                       [&](const DistributionRule& rule) { return rule.kind == kind; });
}

class DistributionReader {
 public:
  DistributionReader(Reading& reading, std::string path, const ParseAmountText& parse)
      : reading_(reading), path_(std::move(path)), parse_(parse) {}

  std::optional<Distribution> Read(const Node& node) {
    if (node.kind == NodeKind::kScalar) {
      const auto value = Amount(node, path_);
      if (!value) return std::nullopt;
      return Distribution::Fixed(*value);
    }
    MapReader reader(reading_, node, path_);
    if (!node.IsMap()) return std::nullopt;
    Distribution distribution;
    std::vector<Named<DistributionKind>> choices;
    for (const DistributionRule& rule : kKinds) choices.push_back({rule.name, rule.kind});
    const bool named = reader.Choice(
        "distribution", std::span<const Named<DistributionKind>>(choices), distribution.kind);
    const DistributionRule& rule = RuleOf(distribution.kind);
    if (!named && !reader.Has("distribution")) {
      reading_.Problem(node.place, path_ + " must name a distribution",
                       std::string(RuleOf(DistributionKind::kLognormal).example));
    }
    Parts(reader, node, rule, distribution);
    if (named) {
      reader.Finish();
      if (good_) Check(node, rule, distribution);
    }
    if (!named || !good_) return std::nullopt;
    return distribution;
  }

 private:
  void Parts(MapReader& reader, const Node& node, const DistributionRule& rule,
             Distribution& distribution) {
    if ((rule.parts & kMean) != 0) One(reader, node, rule, "mean", distribution.mean);
    if ((rule.parts & kStdev) != 0) One(reader, node, rule, "stdev", distribution.stdev);
    if ((rule.parts & kLowHigh) != 0) {
      One(reader, node, rule, "low", distribution.low);
      One(reader, node, rule, "high", distribution.high);
    }
    if ((rule.parts & kValues) != 0) Values(reader, node, rule, distribution.values);
  }

  void One(MapReader& reader, const Node& node, const DistributionRule& rule, const char* key,
           double& out) {
    const Node* value = reader.Take(key);
    if (value == nullptr) return Missing(node, rule, key);
    const auto amount = Amount(*value, reader.PathOf(key));
    good_ = good_ && amount.has_value();
    if (amount) out = *amount;
  }

  void Values(MapReader& reader, const Node& node, const DistributionRule& rule,
              std::vector<double>& out) {
    const Node* list = reader.Take("values");
    if (list == nullptr) return Missing(node, rule, "values");
    if (list->kind != NodeKind::kSequence || list->items.empty() ||
        list->items.size() > kMostValues) {
      reading_.Problem(list->place,
                       reader.PathOf("values") + " must be a list of 1 to 65536 values",
                       "[1ms, 2ms, 9ms]");
      good_ = false;
      return;
    }
    for (const Node& item : list->items) {
      const auto amount = Amount(item, reader.PathOf("values"));
      good_ = good_ && amount.has_value();
      if (amount) out.push_back(*amount);
    }
  }

  void Missing(const Node& node, const DistributionRule& rule, const char* key) {
    good_ = false;
    reading_.Problem(node.place, path_ + " needs " + key + " for " + std::string(rule.name),
                     std::string(rule.example));
  }

  std::optional<double> Amount(const Node& node, const std::string& path) {
    if (node.kind != NodeKind::kScalar) {
      reading_.Problem(node.place, path + " must be one value");
      return std::nullopt;
    }
    const auto parsed = parse_(node.text);
    if (const auto* bad = std::get_if<BadText>(&parsed)) {
      reading_.Problem(node.place, path + ": " + bad->what, bad->suggestion);
      return std::nullopt;
    }
    const double amount = std::get<double>(parsed);
    if (amount > kLargestAmount) {
      reading_.Problem(node.place, path + ": " + node.text + " is too large");
      return std::nullopt;
    }
    return amount;
  }

  void Check(const Node& node, const DistributionRule& rule, const Distribution& distribution) {
    const bool needs_mean = rule.kind == DistributionKind::kLognormal ||
                            rule.kind == DistributionKind::kGamma ||
                            rule.kind == DistributionKind::kExponential;
    if (needs_mean && distribution.mean <= 0) {
      reading_.Problem(node.place,
                       path_ + ": the mean of " + std::string(rule.name) + " must be above 0",
                       std::string(rule.example));
      good_ = false;
    }
    if (rule.kind == DistributionKind::kGamma && distribution.stdev <= 0) {
      reading_.Problem(node.place, path_ + ": the stdev of gamma must be above 0",
                       std::string(rule.example));
      good_ = false;
    }
    if (distribution.low > distribution.high) {
      reading_.Problem(node.place, path_ + ": low is above high", std::string(rule.example));
      good_ = false;
    }
  }

  Reading& reading_;
  std::string path_;
  const ParseAmountText& parse_;
  bool good_ = true;
};

template <class Unit>
std::string DrawnText(const Distribution& distribution) {
  const auto amount = [](double value) { return ToText(base::UnitTraits<Unit>::From(value)); };
  if (distribution.kind == DistributionKind::kFixed) return amount(distribution.mean);
  const DistributionRule& rule = RuleOf(distribution.kind);
  std::string text = "{distribution: " + std::string(rule.name);
  if ((rule.parts & kMean) != 0) text += ", mean: " + amount(distribution.mean);
  if ((rule.parts & kStdev) != 0) text += ", stdev: " + amount(distribution.stdev);
  if ((rule.parts & kLowHigh) != 0) {
    text += ", low: " + amount(distribution.low) + ", high: " + amount(distribution.high);
  }
  if ((rule.parts & kValues) != 0) {
    text += ", values: [";
    for (std::size_t i = 0; i < distribution.values.size(); ++i) {
      text += (i == 0 ? "" : ", ") + amount(distribution.values[i]);
    }
    text += ']';
  }
  return text + "}";
}

}  // namespace

std::optional<Distribution> ReadDistribution(Reading& reading, const Node& node,
                                             const std::string& path,
                                             const ParseAmountText& parse) {
  return DistributionReader(reading, path, parse).Read(node);
}

std::string ToText(const Drawn<Duration>& drawn) { return DrawnText<Duration>(drawn.in_units); }
std::string ToText(const Drawn<Bytes>& drawn) { return DrawnText<Bytes>(drawn.in_units); }

}  // namespace pipesim::spec
