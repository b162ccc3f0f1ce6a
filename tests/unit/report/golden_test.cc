// Texts and documents of the examples, compared byte for byte. PIPESIM_UPDATE_GOLDEN=1 rewrites the
// files; review the diff before committing.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "examples.h"
#include "report/view.h"
#include "support/schema.h"
#include "text_checks.h"

namespace pipesim::tests {
namespace {

std::string GoldenFile(const std::string& name) {
  return PIPESIM_SOURCE_DIR "/tests/golden/" + name;
}

void ExpectGolden(const std::string& name, const std::string& text) {
  if (std::getenv("PIPESIM_UPDATE_GOLDEN") != nullptr) {
    std::ofstream(GoldenFile(name), std::ios::binary) << text;
    return;
  }
  std::ifstream file(GoldenFile(name), std::ios::binary);
  ASSERT_TRUE(file) << GoldenFile(name)
                    << " is missing: run this test with PIPESIM_UPDATE_GOLDEN=1";
  const std::string golden((std::istreambuf_iterator<char>(file)), {});
  EXPECT_EQ(text, golden) << "if this is right, run with PIPESIM_UPDATE_GOLDEN=1 and read the diff";
}

struct Golden {
  std::string name;
  report::RunReport (*make)();
};

class GoldenReport : public testing::TestWithParam<Golden> {};

TEST_P(GoldenReport, DocumentIsAsRecordedAndFitsItsSchema) {
  const report::Document document = report::ToJson(GetParam().make());
  EXPECT_TRUE(FitsSchema(document));
  ExpectGolden(GetParam().name + ".json", document.dump(2) + "\n");
}

TEST_P(GoldenReport, TextIsAsRecordedAndKeepsTheRules) {
  const report::Document document = report::ToJson(GetParam().make());
  const std::string text = report::ToText(document, {});
  EXPECT_TRUE(KeepsTheRules(text));
  ExpectGolden(GetParam().name + ".txt", text);
}

TEST_P(GoldenReport, FullTextIsAsRecordedAndKeepsTheRules) {
  const report::Document document = report::ToJson(GetParam().make());
  const std::string text = report::ToText(document, {.detail = report::Detail::kFull});
  EXPECT_TRUE(KeepsTheRules(text));
  ExpectGolden(GetParam().name + ".full.txt", text);
}

TEST_P(GoldenReport, TextOfTheKeptDocumentIsTheSame) {
  const report::Document document = report::ToJson(GetParam().make());
  const report::Document kept = report::Parse(document.dump(2), "kept.json");
  EXPECT_EQ(report::ToText(kept, {}), report::ToText(document, {}));
}

INSTANTIATE_TEST_SUITE_P(
    Examples, GoldenReport,
    testing::Values(Golden{"io_bound", &IoBound}, Golden{"compute_bound", &ComputeBound},
                    Golden{"inconclusive", &Inconclusive}, Golden{"out_of_memory", &OutOfMemory},
                    Golden{"nothing_measured", &NothingMeasured}, Golden{"no_workers", &NoWorkers}),
    [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace pipesim::tests
