// docs/verdicts.md says what `pipesim explain` says: it is written from the same texts.
#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <sstream>

#include "diagnose/verdicts.h"

namespace pipesim::diagnose {
namespace {

std::string List(std::initializer_list<std::string_view> items) {
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
  for (const VerdictRow& row : kVerdicts) {
    const VerdictPage& e = *row.page;
    page += "## " + std::string(row.name) + "\n\n" + std::string(e.meaning) + "\n\n**Decided:** " +
            std::string(e.decided) + "\n\nSigns:\n\n" + List(e.signs) + "\nAs flags:\n\n" +
            List(e.flags) + "\nIn PyTorch:\n\n" + List(e.pytorch) + "\n";
  }
  page.pop_back();
  return page;
}

TEST(Explain, CoversEveryVerdictOnce) {
  std::set<Verdict> seen;
  for (const VerdictRow& row : kVerdicts) {
    const VerdictPage& e = *row.page;
    EXPECT_TRUE(seen.insert(row.verdict).second) << row.name;
    EXPECT_FALSE(e.meaning.empty() || e.decided.empty());
    EXPECT_TRUE(e.signs.size() > 0 && e.flags.size() > 0 && e.pytorch.size() > 0) << row.name;
    EXPECT_TRUE(e.headline && e.evidence && e.remedy) << row.name;
    EXPECT_EQ(FindVerdict(row.name), &row);
  }
  EXPECT_EQ(seen.size(), static_cast<std::size_t>(Verdict::kInconclusive) + 1);
  EXPECT_EQ(RowOf(Verdict::kIoBound).name, "io-bound");
  EXPECT_EQ(FindVerdict("no-such"), nullptr);
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
