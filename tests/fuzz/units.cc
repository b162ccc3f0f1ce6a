// Quantities, and the small text tools under every message.
#include "base/names.h"
#include "base/text.h"
#include "fuzz.h"
#include "spec/device_id.h"
#include "spec/units_text.h"
#include "spec/yaml_tree.h"

namespace pipesim::fuzz {
namespace {

template <class T>
void RequireReason(const spec::Parsed<T>& parsed) {
  if (const auto* bad = std::get_if<spec::BadText>(&parsed))
    Require(!bad->what.empty(), "a refusal says why");
}

/// What is parsed prints as a text that parses to the same value.
template <class T>
void CheckUnit(std::string_view text, spec::Parsed<T> (*parse)(std::string_view)) {
  const auto parsed = parse(text);
  RequireReason(parsed);
  const T* value = std::get_if<T>(&parsed);
  if (value == nullptr) return;
  const std::string shown = spec::ToText(*value);
  const auto again = parse(shown);
  const T* same = std::get_if<T>(&again);
  Require(same != nullptr && *same == *value, "a quantity reads back: " + shown);
}

/// A text quoted as YAML reads back as itself.
void CheckQuoting(std::string_view text) {
  if (base::FirstUnreadableByte(text)) return;
  std::vector<base::Problem> problems;
  const spec::Node node =
      spec::ParseYaml("key: " + spec::QuoteYaml(text), "quoted.yaml", spec::Origin::kFile, problems);
  if (!problems.empty()) Require(false, "quoted: " + base::FormatProblems(problems));
  const spec::Node* value = node.Find("key");
  Require(value != nullptr && value->kind == spec::NodeKind::kScalar && value->text == text,
          "a quoted text reads back: " + spec::QuoteYaml(text));
}

}  // namespace

void Try(std::string_view input) {
  CheckUnit<base::Duration>(input, spec::ParseDuration);
  CheckUnit<base::Bytes>(input, spec::ParseBytes);
  CheckUnit<base::BytesPerSecond>(input, spec::ParseRate);
  RequireReason(spec::ParsePerSecond(input));
  RequireReason(spec::ParseCount(input));
  RequireReason(spec::ParseShare(input));
  if (const auto device = spec::ParseDevice(input))
    Require(spec::ParseDevice(spec::ToText(*device)) == device, "a device reads back");
  RequirePrintable(base::Printable(input));
  base::DisplayWidth(input);
  base::ShellQuote(input);
  const std::vector<std::string> names{"samples_per_s", "resnet18", "workers"};
  base::Nearest(input, names);
  base::FindName(input, names);
  CheckQuoting(input);
}

}  // namespace pipesim::fuzz
