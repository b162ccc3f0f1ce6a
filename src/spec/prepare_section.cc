// The `prepare:` section: what preparing one sample costs.
#include <array>

#include "spec/drawn_text.h"
#include "spec/key_rule.h"
#include "spec/overrides.h"
#include "spec/sections.h"
#include "spec/words.h"

namespace pipesim::spec {
namespace {

/// Burns or waits a stated cost.
bool TakesCost(const Prepare& prepare) {
  return prepare.kind == PrepareKind::kBurn || prepare.kind == PrepareKind::kWait;
}

constexpr auto kPrepareKeys = std::to_array<KeyRule>({
    {{"prepare", "duration|none|decode|map", "the model's", "short for prepare.cost or .kind"}},
    {{"prepare.kind", "none|burn|wait|decode", "the model's",
      "burn CPU time, wait without a core, or decode real JPEG files"},
     [](const Experiment& e) { return WordOf(kPrepareKinds, e.prepare.kind); }},
    {{"prepare.cost", "duration or distribution", "the model's", "burn, wait: time per sample"},
     [](const Experiment& e) { return ToText(e.prepare.cost); },
     [](const Experiment& e) { return TakesCost(e.prepare); }},
    {{"prepare.wait", "duration or distribution", "0",
      "burn: time per sample without a core, on top"},
     [](const Experiment& e) { return ToText(e.prepare.wait); },
     [](const Experiment& e) { return e.prepare.kind == PrepareKind::kBurn; }},
});

}  // namespace

std::span<const KeyRule> PrepareKeys() { return kPrepareKeys; }

void ReadPrepare(Reading& reading, const Node& section, const Node& natural, bool real_files,
                 Prepare& out) {
  const Node own = Expanded("prepare", section);
  const Node* own_kind = own.IsMap() ? own.Find("kind") : nullptr;
  Node base = real_files ? Node{} : Expanded("prepare", natural);
  // A cost applies only to the kind it was stated for.
  if (own_kind != nullptr && (own_kind->text == "none" || own_kind->text == "decode")) {
    base.Erase("cost");
    base.Erase("wait");
  }
  const Node merged = Overlay(base, own);
  MapReader reader(reading, merged, "prepare");
  if (reader.Has("cost")) out.kind = PrepareKind::kBurn;
  if (real_files) out.kind = PrepareKind::kDecode;
  ReadWord(reader, "kind", kPrepareKinds, out.kind);
  reader.Drawn("cost", out.cost);
  const bool waits = reader.Drawn("wait", out.wait) && !out.wait.IsZero();
  reader.Finish();
  const bool takes_cost = TakesCost(out);
  const std::string kind = WordOf(kPrepareKinds, out.kind);
  if (takes_cost && !reader.Has("cost")) {
    reading.Problem(reading.PlaceOf("prepare.kind"), "prepare.kind " + kind + " needs a cost",
                    "prepare: {kind: " + kind + ", cost: 2ms}");
  }
  if (!takes_cost && reader.Has("cost")) {
    reading.Problem(reading.PlaceOf("prepare.cost"), "prepare.cost has no effect with kind " + kind,
                    "prepare: {kind: burn, cost: 2ms}");
  }
  if (waits && out.kind != PrepareKind::kBurn) {
    reading.Problem(reading.PlaceOf("prepare.wait"), "prepare.wait has no effect with kind " + kind,
                    "prepare: {kind: burn, cost: 2ms, wait: 4ms}");
  }
}

}  // namespace pipesim::spec
