// The `collate:` section: stated cost of making a batch of prepared samples.
#include <array>

#include "spec/key_rule.h"
#include "spec/sections.h"

namespace pipesim::spec {
namespace {

constexpr auto kCollateKeys = std::to_array<KeyRule>({
    {{"collate.batch", "duration or distribution", "auto",
      "CPU time to collate a batch: fixed part; auto: the profile's"},
     [](const Experiment& e) { return OrAuto(e.collate.batch); }},
    {{"collate.sample", "duration", "auto", "CPU time to collate a batch: per sample"},
     [](const Experiment& e) { return OrWord(e.collate.sample, "auto"); }},
});

}  // namespace

std::span<const KeyRule> CollateKeys() { return kCollateKeys; }

void ReadCollate(Reading& reading, const Node& section, Collate& out) {
  MapReader reader(reading, section, "collate");
  reader.Drawn("batch", out.batch, "auto");
  reader.Time("sample", out.sample, "auto");
  reader.Finish();
}

}  // namespace pipesim::spec
