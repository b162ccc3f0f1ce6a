// docs/verdicts.md says what `pipesim explain` says: it is written from the same texts.
#include "diagnose/explain.h"

#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <sstream>

namespace pipesim::diagnose {
namespace {

std::string List(std::span<const std::string_view> items) {
  std::string text;
  for (const auto item : items) {
    text += "- " + std::string(item) + "\n";
  }
  return text;
}

std::string Page() {
  std::string page =
      "# Verdicts\n\n"
      "What each value of `diagnosis.bottleneck` means, how it is decided and how to fix it. "
      "`pipesim explain VERDICT` prints the same. The order is that of the decision: settings "
      "first, "
      "then demands.\n\n";
  for (const auto& e : Explanations()) {
    page += "## " + std::string(ToText(e.verdict)) + "\n\n" + std::string(e.meaning) +
            "\n\n**Decided:** " + std::string(e.decided) + "\n\nSigns:\n\n" + List(e.signs) +
            "\nAs flags:\n\n" + List(e.flags) + "\nIn PyTorch:\n\n" + List(e.pytorch) + "\n";
  }
  page.pop_back();
  return page;
}

TEST(Explain, CoversEveryVerdictOnce) {
  std::set<Verdict> seen;
  for (const auto& e : Explanations()) {
    EXPECT_TRUE(seen.insert(e.verdict).second) << ToText(e.verdict);
    EXPECT_FALSE(e.meaning.empty() || e.decided.empty());
    EXPECT_FALSE(e.signs.empty() || e.flags.empty() || e.pytorch.empty()) << ToText(e.verdict);
  }
  EXPECT_EQ(seen.size(), static_cast<std::size_t>(Verdict::kInconclusive) + 1);
  EXPECT_EQ(Explain(Verdict::kIoBound).verdict, Verdict::kIoBound);
}

TEST(Explain, DocsSayTheSame) {
  std::ifstream file(PIPESIM_SOURCE_DIR "/docs/verdicts.md");
  std::stringstream docs;
  docs << file.rdbuf();
  const std::string written = PIPESIM_BINARY_DIR "/verdicts.md";
  std::ofstream(written) << Page();
  EXPECT_EQ(docs.str(), Page()) << "docs/verdicts.md differs; what it should be is in " << written;
}

}  // namespace
}  // namespace pipesim::diagnose
